//! Appends effects together with their causes.

use super::{At, Causes, Effect, EffectKind, EventId, Note};

/// Where a node puts its effects while it handles one event.
pub struct Outbox<'a> {
    at: At,
    earlier: Vec<EventId>,
    effects: &'a mut Vec<Effect>,
}

impl<'a> Outbox<'a> {
    pub fn new(at: At, effects: &'a mut Vec<Effect>) -> Outbox<'a> {
        Outbox { at, earlier: Vec::new(), effects }
    }

    pub fn at(&self) -> At {
        self.at
    }

    /// The same outbox for effects that also had to wait for `earlier` events.
    pub fn because(&mut self, earlier: impl IntoIterator<Item = EventId>) -> Outbox<'_> {
        let Causes { earlier, .. } = Causes::new(self.at.event, self.earlier.iter().copied().chain(earlier));
        Outbox { at: self.at, earlier, effects: self.effects }
    }

    pub fn emit(&mut self, kind: EffectKind) {
        let because = Causes { now: self.at.event, earlier: self.earlier.clone() };
        self.effects.push(Effect { because, kind });
    }

    pub fn note(&mut self, note: Note) {
        self.emit(EffectKind::Note(note));
    }
}
