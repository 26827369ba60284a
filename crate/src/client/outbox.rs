//! Where a client's effects go, and why they happen: the event being handled, and the earlier ones it waited for.

use crate::node::{At, CallId, Causes, Effect, EffectKind, EventId, Note, Reply};

/// One call of `handle`: its moment and its effects.
pub(super) struct Outbox<'a> {
    pub at: At,
    out: &'a mut Vec<Effect>,
}

impl<'a> Outbox<'a> {
    pub fn new(at: At, out: &'a mut Vec<Effect>) -> Outbox<'a> {
        Outbox { at, out }
    }

    /// The monotonic clock in milliseconds, the only unit that Kafka's clients count in.
    pub fn now_ms(&self) -> i64 {
        i64::try_from(self.at.now.mono.0 / 1000).unwrap_or(i64::MAX)
    }

    pub fn event(&self) -> EventId {
        self.at.event
    }

    pub fn emit(&mut self, earlier: &[EventId], kind: EffectKind) {
        let because = Causes::new(self.at.event, earlier.iter().copied());
        self.out.push(Effect { because, kind });
    }

    pub fn note(&mut self, earlier: &[EventId], note: Note) {
        self.emit(earlier, EffectKind::Note(note));
    }

    pub fn reply(&mut self, earlier: &[EventId], call: CallId, reply: Reply) {
        self.emit(earlier, EffectKind::Reply(call, reply));
    }
}
