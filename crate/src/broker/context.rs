//! What a chapter of the broker needs of the world while it handles one event.

use crate::disk::Disk;
use crate::node::{EventId, Instant, Outbox};

/// The disk, and where effects go.
pub(super) struct Context<'a> {
    pub disk: &'a mut dyn Disk,
    pub out: Outbox<'a>,
}

impl Context<'_> {
    pub fn now(&self) -> Instant {
        self.out.at().now.mono
    }

    pub fn wall_ms(&self) -> i64 {
        self.out.at().now.wall_ms
    }

    pub fn event(&self) -> EventId {
        self.out.at().event
    }

    /// The same for effects that also had to wait for `earlier` events.
    pub fn because(&mut self, earlier: impl IntoIterator<Item = EventId>) -> Context<'_> {
        Context { disk: &mut *self.disk, out: self.out.because(earlier) }
    }
}
