//! The machine's two clocks, as a node sees them.

use std::time::{Instant as StdInstant, SystemTime, UNIX_EPOCH};

use crate::node::{Instant, Now};

/// Counts from `origin`. Shells that share an origin agree on every instant.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: StdInstant,
}

impl Clock {
    pub fn starting_now() -> Clock {
        Clock { origin: StdInstant::now() }
    }

    pub fn now(&self) -> Now {
        let mono = Instant(u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX));
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Now { mono, wall_ms: i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX) }
    }

    /// When a timer for `instant` has to fire.
    pub fn deadline(&self, instant: Instant) -> tokio::time::Instant {
        // A node may wish for "never" as an instant that no clock reaches; a year is as good.
        const FOREVER_US: u64 = 365 * 24 * 3600 * 1_000_000;
        let span = std::time::Duration::from_micros(instant.0.min(FOREVER_US));
        tokio::time::Instant::from_std(self.origin + span)
    }
}
