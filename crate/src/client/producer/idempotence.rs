//! Producer id, epoch and sequences of an idempotent producer (the non-transactional part of Kafka's
//! TransactionManager, KIP-98 and KIP-360).
//!
//! Sequences are given when a batch is drained and never change on a retry, except when an epoch bump starts them
//! again. After a failure only the batch with the lowest sequence in flight may be sent first.

use super::accumulator::Accumulator;
use super::batch::{BatchId, ProducerBatch};
use crate::node::{Exception, TopicPartition};
use crate::ordered::{BTreeMap, BTreeSet};
use crate::record::{NO_PRODUCER_EPOCH, NO_PRODUCER_ID, ProducerIdentity, add_to_sequence};
use crate::wire::ErrorCode;

/// A producer's incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ProducerIdAndEpoch {
    pub producer_id: i64,
    pub epoch: i16,
}

impl ProducerIdAndEpoch {
    pub const NONE: ProducerIdAndEpoch = ProducerIdAndEpoch { producer_id: NO_PRODUCER_ID, epoch: NO_PRODUCER_EPOCH };
}

/// Where the producer stands with its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// An id is needed; not before this time.
    NeedsId {
        not_before_ms: i64,
    },
    Asked,
    Ready,
    /// Nothing can be sent any more.
    Fatal(Exception),
}

#[derive(Debug, Clone)]
struct PartitionEntry {
    id: ProducerIdAndEpoch,
    next_sequence: i32,
    /// −1 before the first.
    last_acked_sequence: i32,
    last_acked_offset: i64,
    /// By producer id, epoch and sequence.
    in_flight: BTreeMap<(ProducerIdAndEpoch, i32), BatchId>,
}

impl Default for PartitionEntry {
    fn default() -> PartitionEntry {
        PartitionEntry {
            id: ProducerIdAndEpoch::NONE,
            next_sequence: 0,
            last_acked_sequence: -1,
            last_acked_offset: -1,
            in_flight: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Idempotence {
    pub state: State,
    id: ProducerIdAndEpoch,
    partitions: BTreeMap<TopicPartition, PartitionEntry>,
    /// Partitions with a batch of unknown fate, and the sequence after the last such batch.
    unresolved: BTreeMap<TopicPartition, i32>,
    /// Partitions whose sequences begin again with the next epoch.
    to_rewrite: BTreeSet<TopicPartition>,
    bump_required: bool,
}

fn key(batch: &ProducerBatch) -> (ProducerIdAndEpoch, i32) {
    let id = ProducerIdAndEpoch { producer_id: batch.producer.producer_id, epoch: batch.producer.producer_epoch };
    (id, batch.producer.base_sequence)
}

impl Idempotence {
    pub fn new() -> Idempotence {
        Idempotence {
            state: State::NeedsId { not_before_ms: i64::MIN },
            id: ProducerIdAndEpoch::NONE,
            partitions: BTreeMap::new(),
            unresolved: BTreeMap::new(),
            to_rewrite: BTreeSet::new(),
            bump_required: false,
        }
    }

    pub fn set_id(&mut self, id: ProducerIdAndEpoch) {
        self.id = id;
        self.state = State::Ready;
    }

    fn entry(&mut self, partition: &TopicPartition) -> &mut PartitionEntry {
        self.partitions.entry(partition.clone()).or_default()
    }

    fn has_in_flight(&self, partition: &TopicPartition) -> bool {
        self.partitions.get(partition).is_some_and(|entry| !entry.in_flight.is_empty())
    }

    fn is_stale(&self, partition: &TopicPartition) -> bool {
        self.partitions.get(partition).map_or(ProducerIdAndEpoch::NONE, |entry| entry.id) != self.id
    }

    /// Whether this front batch of a queue has to wait (RecordAccumulator.shouldStopDrainBatchesForPartition).
    pub fn stops_drain(&self, batch: &ProducerBatch) -> bool {
        let partition = &batch.partition;
        if self.state != State::Ready {
            return true;
        }
        if !batch.has_sequence() {
            // No new sequences while batches of the old epoch are in flight, nor behind one of unknown fate.
            return self.has_in_flight(partition) && self.is_stale(partition)
                || self.unresolved.contains_key(partition);
        }
        let first = self.partitions.get(partition).and_then(|entry| entry.in_flight.keys().next());
        first.is_some_and(|(_, sequence)| *sequence != batch.producer.base_sequence)
    }

    /// The producer state for a batch that is drained for the first time.
    pub fn assign(&mut self, batch: &ProducerBatch) -> ProducerIdentity {
        let id = self.id;
        if self.is_stale(&batch.partition) && !self.has_in_flight(&batch.partition) {
            let entry = self.entry(&batch.partition);
            (entry.id, entry.next_sequence, entry.last_acked_sequence) = (id, 0, -1);
        }
        let count = i32::try_from(batch.waiters.len()).unwrap_or(i32::MAX);
        let entry = self.entry(&batch.partition);
        let base_sequence = entry.next_sequence;
        entry.next_sequence = add_to_sequence(base_sequence, count);
        ProducerIdentity { producer_id: id.producer_id, producer_epoch: id.epoch, base_sequence }
    }

    pub fn add_in_flight(&mut self, batch: &ProducerBatch) {
        self.entry(&batch.partition).in_flight.insert(key(batch), batch.id);
    }

    pub fn remove_in_flight(&mut self, batch: &ProducerBatch) {
        if let Some(entry) = self.partitions.get_mut(&batch.partition) {
            entry.in_flight.remove(&key(batch));
        }
    }

    pub fn completed(&mut self, batch: &ProducerBatch, base_offset: i64) {
        let last_sequence = batch.last_sequence();
        let last_offset = base_offset.saturating_add(i64::from(batch.record_count())) - 1;
        let entry = self.entry(&batch.partition);
        entry.last_acked_sequence = entry.last_acked_sequence.max(last_sequence);
        if base_offset >= 0 {
            entry.last_acked_offset = entry.last_acked_offset.max(last_offset);
        }
        entry.in_flight.remove(&key(batch));
    }

    /// A batch has failed for good. `adjust`: the broker has seen or may yet see its sequences, so they must not be
    /// used again.
    pub fn failed(&mut self, batch: &ProducerBatch, exception: &Exception, adjust: bool) {
        const FATAL: &[&str] = &[
            "ClusterAuthorizationException",
            "TransactionalIdAuthorizationException",
            "ProducerFencedException",
            "UnsupportedVersionException",
            "InvalidPidMappingException",
        ];
        if FATAL.contains(&exception.class) {
            self.state = State::Fatal(exception.clone());
        }
        self.remove_in_flight(batch);
        if matches!(self.state, State::Fatal(_)) {
            return;
        }
        match exception.class {
            "OutOfOrderSequenceException" => self.request_bump(&batch.partition),
            // It extends the former in Kafka, and is met by the same rule first.
            "UnknownProducerIdException" => self.request_bump(&batch.partition),
            _ if adjust => self.request_bump(&batch.partition),
            _ => {}
        }
    }

    fn request_bump(&mut self, partition: &TopicPartition) {
        self.bump_required = true;
        self.to_rewrite.insert(partition.clone());
    }

    /// An expired batch had been sent before: nobody knows whether the broker has it.
    pub fn mark_unresolved(&mut self, batch: &ProducerBatch) {
        let next = batch.last_sequence().wrapping_add(1);
        let known = self.unresolved.entry(batch.partition.clone()).or_insert(next);
        *known = (*known).max(next);
    }

    /// Once nothing is in flight, sequences either continue where the broker is, or the epoch is bumped.
    pub fn resolve(&mut self) {
        let settled: Vec<_> = self.unresolved.keys().filter(|p| !self.has_in_flight(p)).cloned().collect();
        for partition in settled {
            let entry = self.entry(&partition);
            if entry.next_sequence.wrapping_sub(entry.last_acked_sequence) != 1 {
                self.request_bump(&partition);
            }
            self.unresolved.remove(&partition);
        }
    }

    /// Bumps the epoch by itself (KIP-360), or asks for a new id when epochs are used up. Batches in flight of the
    /// partitions concerned get new sequences from 0.
    pub fn bump_if_required(&mut self, accumulator: &mut Accumulator) {
        if !std::mem::take(&mut self.bump_required) {
            return;
        }
        if self.id.epoch == i16::MAX {
            self.id = ProducerIdAndEpoch::NONE;
            self.state = State::NeedsId { not_before_ms: i64::MIN };
        } else {
            self.id.epoch += 1;
        }
        let id = self.id;
        for partition in std::mem::take(&mut self.to_rewrite) {
            let entry = self.entry(&partition);
            let mut sequence = 0;
            let mut rewritten = BTreeMap::new();
            for batch_id in std::mem::take(&mut entry.in_flight).into_values() {
                let Some(batch) = accumulator.batch_mut(batch_id) else { continue };
                batch.set_producer(ProducerIdentity {
                    producer_id: id.producer_id,
                    producer_epoch: id.epoch,
                    base_sequence: sequence,
                });
                sequence = add_to_sequence(sequence, batch.waiters.len() as i32);
                rewritten.insert(key(batch), batch_id);
            }
            (entry.id, entry.next_sequence, entry.last_acked_sequence, entry.in_flight) = (id, sequence, -1, rewritten);
            self.unresolved.remove(&partition);
        }
    }

    /// Whether a refused batch may be sent again (TransactionManager.canRetry).
    pub fn can_retry(&mut self, batch: &ProducerBatch, error: ErrorCode, log_start_offset: i64) -> bool {
        let partition = &batch.partition;
        match error {
            ErrorCode::UNKNOWN_PRODUCER_ID => {
                // Without a log start the broker knows too little; a rewritten batch needs no second bump.
                if log_start_offset != -1 && !batch.sequence_was_reset {
                    self.request_bump(partition);
                }
                true
            }
            ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER => {
                let unresolved = self.unresolved.get(partition).copied();
                let is_next = self.is_next_sequence(partition, batch.producer.base_sequence);
                if unresolved.is_none() && (batch.sequence_was_reset || !is_next) {
                    // Its predecessor is still on its way.
                    return true;
                }
                if unresolved.is_none_or(|next| next == batch.producer.base_sequence) {
                    self.request_bump(partition);
                }
                true
            }
            _ => error.is_retriable(),
        }
    }

    fn is_next_sequence(&self, partition: &TopicPartition, sequence: i32) -> bool {
        let last = self.partitions.get(partition).map_or(-1, |entry| entry.last_acked_sequence);
        sequence.wrapping_sub(last) == 1
    }
}
