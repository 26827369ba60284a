//! Requests that wait: a Produce for its replicas, a Fetch for data (`DelayedOperationPurgatory`).
//!
//! An operation is kept once and watched by each partition it waits for, so that an event on one partition looks at
//! nothing else. It ends when its condition comes true, when its time is up, or when its connection goes.

use crate::node::{ConnId, Instant};
use crate::ordered::{BTreeMap, BTreeSet};

use super::fetch::DelayedFetch;
use super::partition::PartitionKey;
use super::produce::DelayedProduce;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DelayedId(u64);

#[derive(Debug, Clone)]
pub(super) enum Delayed {
    Produce(DelayedProduce),
    Fetch(DelayedFetch),
}

impl Delayed {
    pub fn conn(&self) -> ConnId {
        match self {
            Delayed::Produce(produce) => produce.request.conn,
            Delayed::Fetch(fetch) => fetch.request.conn,
        }
    }

    /// The partitions that watch it.
    pub fn partitions(&self) -> Vec<PartitionKey> {
        match self {
            Delayed::Produce(produce) => produce.partitions(),
            Delayed::Fetch(fetch) => fetch.partitions(),
        }
    }

    pub fn deadline(&self) -> Instant {
        match self {
            Delayed::Produce(produce) => produce.deadline,
            Delayed::Fetch(fetch) => fetch.deadline,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Purgatory {
    next_id: u64,
    operations: BTreeMap<DelayedId, Delayed>,
    deadlines: BTreeSet<(Instant, DelayedId)>,
    /// At most one each: a connection is muted while its request waits.
    by_connection: BTreeMap<ConnId, DelayedId>,
    /// Partitions on which something happened that an operation may wait for, in the order of happening.
    touched: BTreeSet<PartitionKey>,
}

impl Purgatory {
    pub fn add(&mut self, operation: Delayed) -> DelayedId {
        let id = DelayedId(self.next_id);
        self.next_id += 1;
        self.by_connection.insert(operation.conn(), id);
        self.deadlines.insert((operation.deadline(), id));
        self.operations.insert(id, operation);
        id
    }

    /// Takes the operation out to be looked at; then [`Purgatory::put_back`] or [`Purgatory::end`].
    pub fn take(&mut self, id: DelayedId) -> Option<Delayed> {
        self.operations.remove(&id)
    }

    pub fn put_back(&mut self, id: DelayedId, operation: Delayed) {
        self.operations.insert(id, operation);
    }

    /// A taken operation has been answered.
    pub fn end(&mut self, id: DelayedId, conn: ConnId, deadline: Instant) {
        self.deadlines.remove(&(deadline, id));
        self.by_connection.remove(&conn);
    }

    pub fn remove(&mut self, id: DelayedId) -> Option<Delayed> {
        let operation = self.operations.remove(&id)?;
        self.deadlines.remove(&(operation.deadline(), id));
        self.by_connection.remove(&operation.conn());
        Some(operation)
    }

    /// Nobody is there to hear the answer.
    pub fn take_of_connection(&mut self, conn: ConnId) -> Option<(DelayedId, Delayed)> {
        let id = self.by_connection.get(&conn).copied()?;
        Some((id, self.remove(id)?))
    }

    pub fn next_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    pub fn take_expired(&mut self, now: Instant) -> Option<(DelayedId, Delayed)> {
        let (deadline, id) = self.deadlines.first().copied()?;
        if deadline > now { None } else { Some((id, self.remove(id)?)) }
    }

    /// Something happened on the partition: its watchers are to be looked at.
    pub fn touch(&mut self, key: PartitionKey) {
        self.touched.insert(key);
    }

    pub fn next_touched(&mut self) -> Option<PartitionKey> {
        self.touched.pop_first()
    }
}
