//! One client's program: which line it is at, what that line waits for, and how it goes on.

use std::sync::Arc;

use super::drain::Drain;
use super::{Order, Programs};
use crate::experiment::program::{Number, RawSend, SendRecord, StartAt, What};
use crate::experiment::{Outcome, Sent, Thrown};
use crate::node::{
    CallId, Command, ConsumerRecord, Duration, Instant, ProducerRecord, RawProduce, Reply, SeekTo, TopicPartition,
};
use crate::ordered::BTreeMap;

/// `close` waits as long as it takes, as KafkaProducer.close() does.
const CLOSE_TIMEOUT: Duration = Duration(u64::MAX);

#[derive(Debug, Clone)]
pub(super) struct Running {
    /// Index into the experiment's programs.
    pub(super) program: Option<usize>,
    next_step: usize,
    /// The blocks that it is in, outermost first, each with its turn.
    pub(super) turns: Vec<u64>,
    /// Which of them is the innermost `for each record`.
    pub(super) for_each: Option<usize>,
    /// What the last poll or drain returned.
    pub(super) records: Arc<Vec<ConsumerRecord>>,
    pub(super) state: State,
    calls: u64,
    /// Sends whose callback has not fired.
    sends: BTreeMap<CallId, InFlight>,
    pub(super) line: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
struct InFlight {
    id: usize,
    /// Index of its step.
    step: usize,
}

#[derive(Debug, Clone)]
pub(super) enum State {
    NotBegun,
    Ready,
    Waiting {
        until: Instant,
    },
    WaitingFor {
        client: usize,
    },
    /// A send that has not returned.
    Sending {
        call: CallId,
        id: usize,
        awaited: bool,
    },
    /// A send that has returned; its callback is awaited.
    Awaiting(CallId),
    /// Any other call.
    Calling(CallId),
    /// An `assign`, whose seek comes next.
    Assigning {
        call: CallId,
        partition: TopicPartition,
        from: StartAt,
    },
    Draining(Drain),
    Ended,
}

impl Running {
    pub(super) fn new(program: Option<usize>) -> Running {
        Running {
            program,
            next_step: 0,
            turns: Vec::new(),
            for_each: None,
            records: Arc::default(),
            state: State::NotBegun,
            calls: 0,
            sends: BTreeMap::new(),
            line: None,
        }
    }

    pub(super) fn new_call(&mut self) -> CallId {
        self.calls += 1;
        CallId(self.calls)
    }
}

impl Programs {
    /// Runs every program until each waits for something; one that ends may be what another waits for.
    pub(super) fn run_all(&mut self, now: Instant, out: &mut Vec<Order>) {
        loop {
            let before = self.lines_run;
            for client in 0..self.clients.len() {
                while self.is_ready(client, now) {
                    self.run_line(now, client, out);
                }
            }
            if self.lines_run == before {
                return;
            }
        }
    }

    fn is_ready(&self, client: usize, now: Instant) -> bool {
        match self.clients.get(client).map(|running| &running.state) {
            Some(State::Ready) => true,
            Some(State::Waiting { until }) => *until <= now,
            Some(State::WaitingFor { client }) => {
                self.clients.get(*client).is_none_or(|other| matches!(other.state, State::Ended))
            }
            _ => false,
        }
    }

    fn run_line(&mut self, now: Instant, client: usize, out: &mut Vec<Order>) {
        self.lines_run += 1;
        let experiment = self.experiment.clone();
        let Some(running) = self.clients.get_mut(client) else { return };
        let program = running.program.and_then(|program| experiment.programs.get(program));
        let index = running.next_step;
        let Some(step) = program.and_then(|program| program.steps.get(index)) else {
            running.line = None;
            running.state = State::Ended;
            let name = experiment.clients.get(client).map_or_else(String::new, |client| client.name.clone());
            let at = self.since_begin(now);
            self.measures.ended.insert(name, at);
            return;
        };
        running.line = Some(step.line);
        running.next_step += 1;
        running.state = State::Ready;
        let state = match &step.what {
            What::Repeat { .. } => {
                running.turns.push(0);
                State::Ready
            }
            What::ForEachRecord { end } => {
                if running.records.is_empty() {
                    running.next_step = *end as usize + 1;
                } else {
                    running.for_each = Some(running.turns.len());
                    running.turns.push(0);
                }
                State::Ready
            }
            What::End { head } => {
                let head = *head as usize;
                let (times, every) = match program.and_then(|program| program.steps.get(head)).map(|step| &step.what) {
                    Some(What::Repeat { times, every, .. }) => (*times, *every),
                    _ => (running.records.len() as u64, Duration::ZERO),
                };
                let next = running.turns.pop().unwrap_or(0) + 1;
                if next >= times {
                    running.for_each = running.for_each.filter(|depth| *depth < running.turns.len());
                    State::Ready
                } else {
                    running.turns.push(next);
                    running.next_step = head + 1;
                    if every == Duration::ZERO { State::Ready } else { State::Waiting { until: now + every } }
                }
            }
            What::Row(row) => {
                self.row(client, row);
                State::Ready
            }
            What::ProduceRaw(raw) => self.produce_raw(client, raw, out),
            What::Send(send) => self.send(now, client, index, send, out),
            What::Flush => State::Calling(self.order(client, Command::Flush, out)),
            What::Close => State::Calling(self.order(client, Command::Close { timeout: CLOSE_TIMEOUT }, out)),
            What::Wait(span) => State::Waiting { until: now + *span },
            What::WaitFor { client: name } => match experiment.clients.iter().position(|other| other.name == *name) {
                Some(client) => State::WaitingFor { client },
                None => State::Ready,
            },
            What::Assign { topic, partition, from } => {
                let partition = self.partition(topic, *partition);
                let partitions = vec![partition.clone()];
                let call = self.order(client, Command::Assign { partitions }, out);
                State::Assigning { call, partition, from: *from }
            }
            What::Seek { topic, partition, to } => {
                let partition = self.partition(topic, *partition);
                State::Calling(self.order(client, Command::Seek { partition, to: seek_to(*to) }, out))
            }
            What::Poll(timeout) => State::Calling(self.order(client, Command::Poll { timeout: *timeout }, out)),
            What::Drain { topic } => {
                let on_cluster = self.on_cluster(topic);
                let call = self.order(client, Command::PartitionsFor { topic: on_cluster.clone() }, out);
                State::Draining(Drain::new(topic, on_cluster, call))
            }
        };
        self.set_state(client, state);
    }

    fn set_state(&mut self, client: usize, state: State) {
        if let Some(running) = self.clients.get_mut(client) {
            running.state = state;
        }
    }

    fn partition(&self, topic: &str, partition: i32) -> TopicPartition {
        TopicPartition { topic: self.on_cluster(topic), partition }
    }

    fn send(&mut self, now: Instant, client: usize, step: usize, send: &SendRecord, out: &mut Vec<Order>) -> State {
        let value = self.fill(client, &send.value);
        let record = ProducerRecord {
            topic: self.on_cluster(&send.topic),
            key: send.key.as_ref().map(|key| self.fill(client, key).into_bytes().into()),
            value: Some(value.clone().into_bytes().into()),
            ..ProducerRecord::default()
        };
        let call = self.order(client, Command::Send(record), out);
        let id = self.measures.sends.len();
        let (topic, value): (Arc<str>, Arc<str>) = (send.topic.as_str().into(), value.into());
        let sent_to = Arc::make_mut(&mut self.sent_as).entry(topic.clone()).or_default();
        sent_to.entry(value.clone()).or_insert(id);
        let name = self.experiment.clients.get(client).map_or("", |client| &client.name);
        self.measures.sends.push(Sent {
            client: name.into(),
            topic,
            value,
            sent_at: self.since_begin(now),
            returned_at: None,
            outcome: None,
        });
        if let Some(running) = self.clients.get_mut(client) {
            running.sends.insert(call, InFlight { id, step });
        }
        State::Sending { call, id, awaited: send.awaited }
    }

    fn produce_raw(&mut self, client: usize, raw: &RawSend, out: &mut Vec<Order>) -> State {
        let turn = self.turn_of(client).and_then(|turn| i64::try_from(turn).ok()).unwrap_or(0);
        let partition = self.partition(raw.instead.as_ref().unwrap_or(&raw.topic), raw.partition);
        let number = |number: &Number| match number {
            Number::Is(value) => *value,
            Number::Turn => turn,
        };
        let fields = raw.fields.iter().map(|(field, value)| (*field, number(value))).collect();
        State::Calling(self.order(client, Command::ProduceRaw(RawProduce { partition, fields }), out))
    }

    /// Keeps a raw request's answer under the name that its line gives it.
    fn keep_answer(&mut self, client: usize, answer: crate::node::RawAnswer) {
        let name = self.program_of(client).and_then(|program| {
            let step = self.clients.get(client)?.next_step.checked_sub(1)?;
            let What::ProduceRaw(raw) = &program.steps.get(step)?.what else { return None };
            program.answers.get(raw.answer? as usize).cloned()
        });
        if let Some(name) = name {
            self.measures.answers.entry(name).or_default().push(answer);
        }
    }

    /// If the reply is a send's callback: records its fate, and counts where the program says so.
    pub(super) fn called_back(&mut self, now: Instant, client: usize, call: CallId, reply: &Reply) {
        let (partition, result) = match reply {
            Reply::Acked(metadata) => (Some(metadata.partition.partition), Ok(metadata.offset)),
            Reply::Failed(exception) => {
                (None, Err(Thrown { class: exception.class.to_string(), message: self.text_of(exception) }))
            }
            _ => return,
        };
        let Some(send) = self.clients.get_mut(client).and_then(|running| running.sends.remove(&call)) else { return };
        let counter = self.program_of(client).and_then(|program| {
            let What::Send(what) = &program.steps.get(send.step)?.what else { return None };
            let counts = if result.is_ok() { what.on_ok } else { what.on_error }?;
            program.counters.get(counts.counter as usize).cloned()
        });
        if let Some(counter) = counter {
            *self.measures.counters.entry(counter).or_default() += 1;
        }
        let at = self.since_begin(now);
        if let Some(sent) = self.measures.sends.get_mut(send.id) {
            sent.outcome = Some(Outcome { at, partition, result });
        }
    }

    /// What a reply means for the line that waits for it.
    pub(super) fn advance(&mut self, now: Instant, client: usize, call: CallId, reply: &Reply, out: &mut Vec<Order>) {
        let Some(running) = self.clients.get_mut(client) else { return };
        let called_back = !running.sends.contains_key(&call);
        let state = match std::mem::replace(&mut running.state, State::Ready) {
            State::Sending { call: waited, id, awaited } if waited == call && *reply == Reply::Returned => {
                let at = self.since_begin(now);
                if let Some(sent) = self.measures.sends.get_mut(id) {
                    sent.returned_at = Some(at);
                }
                if awaited && !called_back { State::Awaiting(call) } else { State::Ready }
            }
            State::Awaiting(waited) if waited == call && called_back => State::Ready,
            State::Calling(waited) if waited == call => match reply {
                Reply::Failed(exception) => self.give_up(client, exception.clone()),
                Reply::Polled { records, .. } => {
                    let ids: Vec<i64> = records.iter().filter_map(|record| self.id_of(record)).collect();
                    self.measures.polled.extend(ids);
                    self.returned(client, records.clone());
                    State::Ready
                }
                Reply::Produced(answer) => {
                    self.keep_answer(client, *answer);
                    State::Ready
                }
                _ => State::Ready,
            },
            State::Assigning { call: waited, partition, from } if waited == call => match reply {
                Reply::Failed(exception) => self.give_up(client, exception.clone()),
                _ => State::Calling(self.order(client, Command::Seek { partition, to: seek_to(from) }, out)),
            },
            State::Draining(drain) if drain.waits_for(call) => self.drain_on(now, client, drain, reply, out),
            other => other,
        };
        self.set_state(client, state);
    }

    /// What `for each record` goes through from here on.
    pub(super) fn returned(&mut self, client: usize, records: Vec<ConsumerRecord>) {
        if let Some(running) = self.clients.get_mut(client) {
            running.records = Arc::new(records);
        }
    }

    /// A line other than a send threw: the program ends there, as it would uncaught.
    pub(super) fn give_up(&mut self, client: usize, exception: crate::node::Exception) -> State {
        let what = format!("{}: {}", exception.class, self.text_of(&exception));
        self.fail(client, what);
        State::Ended
    }
}

fn seek_to(start: StartAt) -> SeekTo {
    match start {
        StartAt::Beginning => SeekTo::Beginning,
        StartAt::End => SeekTo::End,
        StartAt::Offset(offset) => SeekTo::Offset(offset),
    }
}
