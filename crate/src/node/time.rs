//! Time as a node sees it: an argument, never a call.

use std::ops::{Add, AddAssign, Sub};

/// A point on the shell's monotonic clock, in microseconds since the shell's own start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct Instant(pub u64);

/// A span of time in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct Duration(pub u64);

impl Duration {
    pub const ZERO: Duration = Duration(0);
    pub const fn from_us(us: u64) -> Duration {
        Duration(us)
    }
    pub const fn from_ms(ms: u64) -> Duration {
        Duration(ms.saturating_mul(1000))
    }
    pub const fn as_ms(self) -> u64 {
        self.0 / 1000
    }
}

impl Instant {
    pub const ZERO: Instant = Instant(0);
    /// The span since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, d: Duration) -> Instant {
        Instant(self.0.saturating_add(d.0))
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, d: Duration) -> Instant {
        Instant(self.0.saturating_sub(d.0))
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, d: Duration) -> Duration {
        Duration(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

/// Both clocks of a node. Timers use `mono`; CreateTime, LogAppendTime and retention use `wall_ms`, so a node's wall
/// clock can be skewed without moving its timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    pub mono: Instant,
    /// Milliseconds since the Unix epoch.
    pub wall_ms: i64,
}

/// The identity of one event: which branch of history, and its ordinal there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct EventId {
    pub branch: u32,
    pub ordinal: u64,
}

/// The moment of one call of [`super::Node::handle`]: which event is being handled, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    pub event: EventId,
    pub now: Now,
}
