//! The journal: what a reader did, and when. Together with the experiment and the seed it is the whole truth about a
//! history; everything else can be computed again.

use crate::node::Instant;

/// One action of the reader: taken at `at`, when `ordinal` events had happened.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Taken<A> {
    pub at: Instant,
    pub ordinal: u64,
    pub action: A,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Journal<A> {
    pub seed: u64,
    /// Names the experiment and its content, so that a journal is never replayed on another one.
    pub experiment: String,
    /// In the order in which they were taken.
    pub actions: Vec<Taken<A>>,
}
