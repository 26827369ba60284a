//! One client's program: which line it is at, what that line waits for, and how it goes on.

use std::sync::Arc;

use bytes::Bytes;

use super::drain::Drain;
use super::{Order, Programs};
use crate::experiment::Sent;
use crate::experiment::program::plugins::prefix_of;
use crate::experiment::program::{Datum, Number, On, RawSend, SendRecord, StartAt, What};
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
    pub(super) sends: BTreeMap<CallId, InFlight>,
    /// What `await` waits for.
    last_send: Option<(CallId, InFlight)>,
    pub(super) line: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    pub(super) id: usize,
    /// Index of its step.
    pub(super) step: usize,
    /// The turn of the repeat that it was sent in.
    pub(super) turn: u64,
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
        sent: InFlight,
        awaited: bool,
    },
    /// A send that has returned; its callback is awaited.
    Awaiting(CallId, InFlight),
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
            last_send: None,
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
            What::Await => match running.last_send {
                Some((call, sent)) if running.sends.contains_key(&call) => State::Awaiting(call, sent),
                Some((_, sent)) => self.awaited(client, sent),
                None => State::Ready,
            },
            What::Print(text) => {
                let text = self.fill(client, text);
                self.print(text);
                State::Ready
            }
            What::PrintConfig { key } => {
                self.print_config(client, key);
                State::Ready
            }
            What::Construct { kind, config } => self.construct(client, index, *kind, config),
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
        let turn = self.turn_of(client).unwrap_or(0);
        let bytes = |datum: &Option<Datum>| {
            datum.as_ref().map(|datum| Bytes::from(datum.padded(self.fill(client, &datum.text))))
        };
        let record = ProducerRecord {
            topic: self.on_cluster(&send.topic),
            partition: send.partition,
            timestamp: send.timestamp.map(|timestamp| match send.timestamp_counts {
                true => timestamp.saturating_add_unsigned(turn),
                false => timestamp,
            }),
            key: bytes(&send.key),
            value: bytes(&send.value),
            headers: send.headers.iter().map(|(name, value)| (name.clone(), bytes(value))).collect(),
        };
        // What the client's interceptors put in front is what will be read.
        let prefix = self.program_of(client).map_or_else(String::new, |program| prefix_of(&program.interceptors));
        let value = known_by(&prefix, record.key.as_deref(), record.value.as_deref());
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
            threw: false,
            outcome: None,
        });
        let sent = InFlight { id, step, turn };
        if let Some(running) = self.clients.get_mut(client) {
            running.sends.insert(call, sent);
            running.last_send = Some((call, sent));
        }
        State::Sending { call, sent, awaited: send.awaited }
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

    /// What a reply means for the line that waits for it.
    pub(super) fn advance(&mut self, now: Instant, client: usize, call: CallId, reply: &Reply, out: &mut Vec<Order>) {
        let Some(running) = self.clients.get_mut(client) else { return };
        let called_back = !running.sends.contains_key(&call);
        let state = match std::mem::replace(&mut running.state, State::Ready) {
            State::Sending { call: waited, sent, awaited }
                if waited == call && matches!(reply, Reply::Returned | Reply::Threw(_)) =>
            {
                let at = self.since_begin(now);
                if let Some(sent) = self.measures.sends.get_mut(sent.id) {
                    sent.returned_at = Some(at);
                }
                match reply {
                    Reply::Threw(exception) if !self.handles(client, sent.step, On::Throw) => {
                        self.give_up(client, exception.clone())
                    }
                    Reply::Returned if awaited && called_back => self.awaited(client, sent),
                    Reply::Returned if awaited => State::Awaiting(call, sent),
                    _ => State::Ready,
                }
            }
            State::Awaiting(waited, sent) if waited == call && called_back => self.awaited(client, sent),
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

    /// Nothing catches what a line threw: the program ends there.
    pub(super) fn give_up(&mut self, client: usize, exception: crate::node::Exception) -> State {
        let what = format!("{}: {}", exception.class, self.text_of(&exception));
        self.fail(client, what);
        State::Ended
    }
}

/// What a record is recognised by when it is read again: its value without what fills it up, or its key.
pub(super) fn known_by(prefix: &str, key: Option<&[u8]>, value: Option<&[u8]>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match value {
        Some(value) => prefix.to_string() + &text(value.get(..value.len() - filling(value)).unwrap_or(value)),
        None => format!("null of {}", key.map_or_else(String::new, text)),
    }
}

/// How many dots a value ends in; all of it, if it is nothing else.
fn filling(value: &[u8]) -> usize {
    value.iter().rev().take_while(|byte| **byte == b'.').count()
}

fn seek_to(start: StartAt) -> SeekTo {
    match start {
        StartAt::Beginning => SeekTo::Beginning,
        StartAt::End => SeekTo::End,
        StartAt::Offset(offset) => SeekTo::Offset(offset),
    }
}
