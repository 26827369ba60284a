//! What a consumer has assigned, and where it stands in each partition (Kafka's SubscriptionState).

use crate::node::{EventId, TopicPartition};
use crate::ordered::{BTreeMap, BTreeSet};

/// Special timestamps of ListOffsets.
pub(super) const LATEST_TIMESTAMP: i64 = -1;
pub(super) const EARLIEST_TIMESTAMP: i64 = -2;

/// The offset of the next record, and the leader epoch of the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub offset: i64,
    pub offset_epoch: Option<i32>,
}

/// Whether a partition can be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FetchState {
    /// Neither a position nor a wish.
    Initializing,
    /// The position of this timestamp is wanted; not to be asked before then.
    AwaitReset {
        timestamp: i64,
        not_before_ms: i64,
        asked: bool,
    },
    Fetching(Position),
}

#[derive(Debug, Clone)]
pub(super) struct Assigned {
    pub state: FetchState,
    /// The event that set the state: assign, seek or a response.
    pub set_by: EventId,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Subscription {
    assigned: BTreeMap<TopicPartition, Assigned>,
    /// Partitions in the order in which they are fetched: those that gave data go to the end.
    order: Vec<TopicPartition>,
}

impl Subscription {
    /// Replaces the assignment; what stays assigned keeps its position.
    pub fn assign(&mut self, partitions: Vec<TopicPartition>, event: EventId) {
        let mut old = std::mem::take(&mut self.assigned);
        self.order.clear();
        for partition in partitions {
            let kept = old.remove(&partition);
            let fresh = Assigned { state: FetchState::Initializing, set_by: event };
            if self.assigned.insert(partition.clone(), kept.unwrap_or(fresh)).is_none() {
                self.order.push(partition);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.assigned.is_empty()
    }

    pub fn topics(&self) -> BTreeSet<String> {
        self.assigned.keys().map(|partition| partition.topic.clone()).collect()
    }

    pub fn in_order(&self) -> &[TopicPartition] {
        &self.order
    }

    pub fn get(&self, partition: &TopicPartition) -> Option<&Assigned> {
        self.assigned.get(partition)
    }

    pub fn position(&self, partition: &TopicPartition) -> Option<Position> {
        match self.assigned.get(partition)?.state {
            FetchState::Fetching(position) => Some(position),
            FetchState::Initializing | FetchState::AwaitReset { .. } => None,
        }
    }

    /// False if the partition is not assigned.
    pub fn set(&mut self, partition: &TopicPartition, state: FetchState, event: EventId) -> bool {
        let assigned = self.assigned.get_mut(partition);
        if let Some(assigned) = assigned {
            *assigned = Assigned { state, set_by: event };
            return true;
        }
        false
    }

    /// Without a position and without a wish for one.
    pub fn initializing(&self) -> Vec<TopicPartition> {
        let initializing = |(_, assigned): &(&TopicPartition, &Assigned)| assigned.state == FetchState::Initializing;
        self.assigned.iter().filter(initializing).map(|(partition, _)| partition.clone()).collect()
    }

    /// Partitions whose reset can be asked for now, with the timestamp.
    pub fn resets_due(&self, now_ms: i64) -> Vec<(TopicPartition, i64)> {
        let due = |(partition, assigned): (&TopicPartition, &Assigned)| match assigned.state {
            FetchState::AwaitReset { timestamp, not_before_ms, asked: false } if not_before_ms <= now_ms => {
                Some((partition.clone(), timestamp))
            }
            _ => None,
        };
        self.assigned.iter().filter_map(due).collect()
    }

    /// When the next reset that backs off can be asked for.
    pub fn next_reset_ms(&self, now_ms: i64) -> Option<i64> {
        let at = |assigned: &Assigned| match assigned.state {
            FetchState::AwaitReset { not_before_ms, asked: false, .. } => Some(not_before_ms),
            _ => None,
        };
        self.assigned.values().filter_map(at).filter(|at| *at > now_ms).min()
    }

    pub fn move_to_end(&mut self, partition: &TopicPartition) {
        if let Some(at) = self.order.iter().position(|other| other == partition) {
            let moved = self.order.remove(at);
            self.order.push(moved);
        }
    }
}
