//! What a program hears: callbacks, exceptions, and what it prints of them.

use super::running::{InFlight, State};
use super::{Programs, config};
use crate::experiment::program::{Action, On};
use crate::experiment::{Acked, ClientKind, Outcome, Thrown};
use crate::node::{CallId, Exception, Instant, Reply};
use crate::ordered::BTreeMap;

impl Programs {
    pub(super) fn print(&mut self, text: String) {
        self.measures.printed.push(text.into());
    }

    /// If the reply tells a send's fate: records it, and does what the program says below that send.
    pub(super) fn called_back(&mut self, now: Instant, client: usize, call: CallId, reply: &Reply) {
        let (on, result) = match reply {
            Reply::Acked(metadata) => {
                let (partition, offset) = (metadata.partition.partition, metadata.offset);
                (On::Ok, Ok(Acked { partition, offset, timestamp: metadata.timestamp }))
            }
            Reply::Failed(exception) => (On::Error, Err(self.thrown(exception))),
            Reply::Threw(exception) => (On::Throw, Err(self.thrown(exception))),
            _ => return,
        };
        let Some(sent) = self.clients.get_mut(client).and_then(|running| running.sends.remove(&call)) else { return };
        let topic = self.measures.sends.get(sent.id).map_or_else(|| "".into(), |sent| sent.topic.clone());
        let words = match &result {
            Ok(Acked { partition, offset, timestamp }) => vec![
                ("metadata", format!("{topic}-{partition}@{offset}")),
                ("topic", topic.to_string()),
                ("partition", partition.to_string()),
                ("offset", offset.to_string()),
                ("timestamp", timestamp.to_string()),
            ],
            Err(thrown) => {
                let (class, message) = (thrown.class.clone(), thrown.message.clone());
                vec![("class", class), ("message", message), ("cause", String::new())]
            }
        };
        let at = self.since_begin(now);
        if let Some(sent) = self.measures.sends.get_mut(sent.id) {
            sent.threw = on == On::Throw;
            sent.outcome = Some(Outcome { at, result });
        }
        self.act(client, sent.step, sent.turn, on, &words);
    }

    fn thrown(&self, exception: &Exception) -> Thrown {
        Thrown { class: exception.class.to_string(), message: self.text_of(exception) }
    }

    /// Whether the program says what to do then.
    pub(super) fn handles(&self, client: usize, step: usize, on: On) -> bool {
        let step = self.program_of(client).and_then(|program| program.steps.get(step));
        step.is_some_and(|step| step.callbacks.iter().any(|callback| callback.on == on))
    }

    /// Does what the `on` lines of a step say.
    fn act(&mut self, client: usize, step: usize, turn: u64, on: On, words: &[(&str, String)]) {
        let experiment = self.experiment.clone();
        let program = self.clients.get(client).and_then(|running| experiment.programs.get(running.program?));
        let callbacks = program.and_then(|program| program.steps.get(step)).map_or(&[][..], |step| &step.callbacks);
        for callback in callbacks.iter().filter(|callback| callback.on == on) {
            match &callback.action {
                Action::Print(text) => self.print(text.fill(turn, words)),
                Action::Count(counter) => {
                    let counter = program.and_then(|program| program.counters.get(*counter as usize));
                    if let Some(count) = counter.and_then(|counter| self.measures.counters.get_mut(counter)) {
                        *count += 1;
                    }
                }
            }
        }
    }

    /// A send's callback has fired, and the program has waited for it: get() throws what the callback was told.
    pub(super) fn awaited(&mut self, client: usize, sent: InFlight) -> State {
        let thrown = self.measures.sends.get(sent.id).and_then(|sent| sent.thrown());
        match thrown {
            Some(thrown) if !self.handles(client, sent.step, On::Error) => {
                let what = format!("ExecutionException: {}: {}", thrown.class, thrown.message);
                self.fail(client, what);
                State::Ended
            }
            _ => State::Ready,
        }
    }

    /// One of the client's own settings, given or by default.
    pub(super) fn print_config(&mut self, client: usize, key: &str) {
        let Some(of) = self.experiment.clients.get(client) else { return };
        let value = config::setting(of, key).unwrap_or_else(|| "null".to_string());
        self.print(format!("{key} = {value}"));
    }

    pub(super) fn construct(
        &mut self,
        client: usize,
        step: usize,
        kind: ClientKind,
        config: &BTreeMap<String, Option<String>>,
    ) -> State {
        let turn = self.turn_of(client).unwrap_or(0);
        let Some(thrown) = config::construct(kind, config) else {
            self.act(client, step, turn, On::Ok, &[]);
            return State::Ready;
        };
        if !self.handles(client, step, On::Error) {
            return self.give_up(client, thrown);
        }
        let cause = thrown.cause.as_ref().map_or_else(String::new, |cause| cause.to_string());
        let words = [("class", thrown.class.to_string()), ("message", thrown.message), ("cause", cause)];
        self.act(client, step, turn, On::Error, &words);
        State::Ready
    }
}
