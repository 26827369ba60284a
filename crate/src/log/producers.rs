//! What a partition knows of its producers: their epochs and last batches, by which retries are recognised
//! (ProducerStateManager, ProducerStateEntry, ProducerAppendInfo).

use std::collections::VecDeque;
use std::sync::Arc;

use super::append::AppendError;
use crate::ordered::BTreeMap;
use crate::record::{Batch, EndTransactionMarker, NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP};

/// How many batches of a producer are remembered: as many as may be in flight (`NUM_BATCHES_TO_RETAIN`).
const BATCHES_TO_RETAIN: usize = 5;

/// A batch that a producer has appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchMetadata {
    pub last_sequence: i32,
    pub last_offset: i64,
    pub offset_delta: i32,
    pub timestamp: i64,
}

impl BatchMetadata {
    pub fn first_offset(&self) -> i64 {
        self.last_offset - i64::from(self.offset_delta)
    }

    pub fn first_sequence(&self) -> i32 {
        let first = i64::from(self.last_sequence) - i64::from(self.offset_delta);
        // Sequences wrap from 2147483647 to 0.
        if first < 0 { (first + i64::from(i32::MAX) + 1) as i32 } else { first as i32 }
    }
}

/// The state of one producer id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducerState {
    pub producer_epoch: i16,
    pub coordinator_epoch: i32,
    pub last_timestamp: i64,
    pub current_txn_first_offset: Option<i64>,
    /// Oldest first, at most five.
    pub batches: VecDeque<BatchMetadata>,
}

impl ProducerState {
    fn empty() -> ProducerState {
        ProducerState {
            producer_epoch: NO_PRODUCER_EPOCH,
            coordinator_epoch: -1,
            last_timestamp: NO_TIMESTAMP,
            current_txn_first_offset: None,
            batches: VecDeque::new(),
        }
    }

    pub fn last_sequence(&self) -> i32 {
        self.batches.back().map_or(NO_SEQUENCE, |batch| batch.last_sequence)
    }

    fn set_epoch(&mut self, producer_epoch: i16) {
        if self.producer_epoch != producer_epoch {
            self.batches.clear();
            self.producer_epoch = producer_epoch;
        }
    }

    pub(super) fn is_expired(&self, now_ms: i64, expiration_ms: i64) -> bool {
        self.current_txn_first_offset.is_none() && now_ms.saturating_sub(self.last_timestamp) >= expiration_ms
    }
}

/// Who appends, which decides what is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Client,
    /// What is in the log already: state is only updated.
    Replay,
}

/// All producers of a partition. Cloning is cheap until one of the clones changes.
#[derive(Debug, Clone, Default)]
pub struct ProducerStates {
    producers: Arc<BTreeMap<i64, ProducerState>>,
    /// The state is that of the log up to this offset (`lastMapOffset`).
    pub(super) end_offset: i64,
    /// The offset of the newest snapshot (`lastSnapOffset`).
    pub(super) snapshot_offset: i64,
}

impl ProducerStates {
    pub fn get(&self, producer_id: i64) -> Option<&ProducerState> {
        self.producers.get(&producer_id)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (i64, &ProducerState)> {
        self.producers.iter().map(|(id, state)| (*id, state))
    }

    /// The first offset of the oldest open transaction.
    pub fn first_undecided_offset(&self) -> Option<i64> {
        self.producers.values().filter_map(|state| state.current_txn_first_offset).min()
    }

    pub(super) fn insert(&mut self, producer_id: i64, state: ProducerState) {
        Arc::make_mut(&mut self.producers).insert(producer_id, state);
    }

    pub(super) fn clear(&mut self) {
        self.producers = Arc::default();
    }

    /// The kept batch with exactly this batch's sequences, in the same epoch.
    pub(super) fn find_duplicate<T: AsRef<[u8]>>(&self, batch: &Batch<T>) -> Option<BatchMetadata> {
        let state = self.get(batch.producer_id()).filter(|state| state.producer_epoch == batch.producer_epoch())?;
        let (first, last) = (batch.base_sequence(), batch.last_sequence());
        state.batches.iter().find(|kept| kept.first_sequence() == first && kept.last_sequence == last).copied()
    }

    /// Checks a batch, which has a producer id, against the producer's state and gives the state after it. Offsets are
    /// those that the log gives: `first_offset` and the batch's count.
    pub(super) fn prepare<T: AsRef<[u8]>>(
        &self,
        topic_partition: &str,
        batch: &Batch<T>,
        first_offset: i64,
        max_timestamp: i64,
        origin: Origin,
    ) -> Result<ProducerState, AppendError> {
        let mut state = self.get(batch.producer_id()).cloned().unwrap_or_else(ProducerState::empty);
        if batch.is_control_batch() {
            if let Some(marker) = EndTransactionMarker::of(batch) {
                state.set_epoch(batch.producer_epoch());
                state.coordinator_epoch = marker.coordinator_epoch;
                state.current_txn_first_offset = None;
                state.last_timestamp = max_timestamp;
            }
            return Ok(state);
        }
        if origin == Origin::Client {
            check_epoch(topic_partition, batch, &state, first_offset)?;
            check_sequence(topic_partition, batch, &state, first_offset)?;
        }
        state.set_epoch(batch.producer_epoch());
        if state.batches.len() == BATCHES_TO_RETAIN {
            state.batches.pop_front();
        }
        state.batches.push_back(BatchMetadata {
            last_sequence: batch.last_sequence(),
            last_offset: first_offset.wrapping_add(i64::from(batch.last_offset_delta())),
            offset_delta: batch.last_offset_delta(),
            timestamp: max_timestamp,
        });
        state.last_timestamp = max_timestamp;
        match (state.current_txn_first_offset, batch.is_transactional()) {
            (Some(_), false) if origin == Origin::Client => {
                return Err(AppendError::InvalidTxnState {
                    topic_partition: topic_partition.to_owned(),
                    producer_id: batch.producer_id(),
                    offset: first_offset,
                });
            }
            (None, true) => state.current_txn_first_offset = Some(first_offset),
            _ => {}
        }
        Ok(state)
    }

    /// Takes a batch of the log into account, without any check.
    pub(super) fn replay<T: AsRef<[u8]>>(&mut self, batch: &Batch<T>) {
        if batch.has_producer_id()
            && let Ok(state) = self.prepare("", batch, batch.base_offset(), batch.max_timestamp(), Origin::Replay)
        {
            self.insert(batch.producer_id(), state);
        }
        self.end_offset = batch.next_offset();
    }
}

fn check_epoch<T: AsRef<[u8]>>(
    topic_partition: &str,
    batch: &Batch<T>,
    state: &ProducerState,
    offset: i64,
) -> Result<(), AppendError> {
    if batch.producer_epoch() >= state.producer_epoch {
        return Ok(());
    }
    Err(AppendError::InvalidProducerEpoch {
        topic_partition: topic_partition.to_owned(),
        producer_id: batch.producer_id(),
        offset,
        epoch: batch.producer_epoch(),
        last_epoch: state.producer_epoch,
    })
}

fn check_sequence<T: AsRef<[u8]>>(
    topic_partition: &str,
    batch: &Batch<T>,
    state: &ProducerState,
    offset: i64,
) -> Result<(), AppendError> {
    let sequence = batch.base_sequence();
    let (expected, new_epoch) = if batch.producer_epoch() != state.producer_epoch {
        (sequence == 0 || state.producer_epoch == NO_PRODUCER_EPOCH, true)
    } else {
        let last = state.last_sequence();
        let follows = i64::from(sequence) == i64::from(last) + 1 || (sequence == 0 && last == i32::MAX);
        (follows || state.producer_epoch == NO_PRODUCER_EPOCH, false)
    };
    if expected {
        return Ok(());
    }
    Err(AppendError::OutOfOrderSequence {
        topic_partition: topic_partition.to_owned(),
        producer_id: batch.producer_id(),
        offset,
        sequence,
        last_sequence: state.last_sequence(),
        new_epoch: new_epoch.then_some((batch.producer_epoch(), state.producer_epoch)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sequence_of_a_batch_wraps_backwards() {
        let batch =
            |last_sequence, offset_delta| BatchMetadata { last_sequence, last_offset: 9, offset_delta, timestamp: 0 };
        assert_eq!(batch(4, 4).first_sequence(), 0);
        assert_eq!(batch(1, 3).first_sequence(), i32::MAX - 1);
        assert_eq!(batch(0, 0).first_sequence(), 0);
    }
}
