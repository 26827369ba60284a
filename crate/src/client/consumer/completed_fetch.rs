//! The records of one partition's fetch, handed out piece by piece (Kafka's CompletedFetch): CRC check, control batches
//! and aborted transactions left out, positions past them all the same.

use std::borrow::Cow;
use std::collections::VecDeque;

use bytes::Bytes;

use crate::client::config::{ConsumerConfig, IsolationLevel};
use crate::node::{ConsumerRecord, EventId, Exception, FetchedBatch, TopicPartition};
use crate::ordered::BTreeSet;
use crate::record::{Batch, Batches, EndTransactionMarker, NO_PARTITION_LEADER_EPOCH, unpacked_bytes_max};
use crate::wire::ErrorCode;
use crate::wire::messages::fetch::AbortedTransaction;

#[derive(Debug, Clone)]
pub(super) struct CompletedFetch {
    pub partition: TopicPartition,
    pub error: ErrorCode,
    pub next_fetch_offset: i64,
    pub last_epoch: Option<i32>,
    /// The event in which the response came, and the one in which it was asked for.
    pub causes: [EventId; 2],
    /// Checked against the position once, when its turn comes.
    pub initialized: bool,
    pub size: u64,
    batches: Batches,
    /// The batch in hand, not yet reported as read from.
    current: Option<Batch<Bytes>>,
    reported: bool,
    records: VecDeque<ConsumerRecord>,
    failure: Option<Exception>,
    aborted: Vec<AbortedTransaction>,
    aborted_producers: BTreeSet<i64>,
    consumed: bool,
}

impl CompletedFetch {
    pub fn new(
        partition: TopicPartition,
        error: ErrorCode,
        fetch_offset: i64,
        records: Bytes,
        given: Vec<AbortedTransaction>,
        causes: [EventId; 2],
    ) -> CompletedFetch {
        // The last is the next. Brokers give them in ascending order, so that each goes to the end here.
        let mut aborted: Vec<AbortedTransaction> = Vec::with_capacity(given.len());
        for transaction in given.into_iter().rev() {
            let at = aborted.partition_point(|known| known.first_offset > transaction.first_offset);
            aborted.insert(at, transaction);
        }
        CompletedFetch {
            partition,
            error,
            next_fetch_offset: fetch_offset,
            last_epoch: None,
            causes,
            initialized: false,
            size: records.len() as u64,
            batches: Batches::new(records),
            current: None,
            reported: false,
            records: VecDeque::new(),
            failure: None,
            aborted,
            aborted_producers: BTreeSet::new(),
            consumed: false,
        }
    }

    /// Nothing is left to hand out.
    pub fn is_consumed(&self) -> bool {
        self.consumed
    }

    pub fn drain(&mut self) {
        self.consumed = true;
    }

    /// Whether the bytes hold no whole batch although there are some.
    pub fn is_cut(&self) -> bool {
        self.size > 0 && self.batches.clone().next().is_none()
    }

    /// Up to `max` records, with the batches they come from. A failure after some records is kept for the next call.
    pub fn take(
        &mut self,
        max: usize,
        config: &ConsumerConfig,
        batches: &mut Vec<FetchedBatch>,
    ) -> Result<Vec<ConsumerRecord>, Exception> {
        let mut taken = Vec::new();
        while taken.len() < max && !self.consumed {
            if let Some(record) = self.records.pop_front() {
                if let (false, Some(batch)) = (self.reported, &self.current) {
                    batches.push(FetchedBatch { partition: self.partition.clone(), bytes: batch.bytes().clone() });
                    self.reported = true;
                }
                self.next_fetch_offset = record.offset.saturating_add(1);
                taken.push(record);
                continue;
            }
            if self.failure.is_none() {
                self.failure = self.next_batch(config).err();
            }
            if let Some(cause) = &self.failure {
                if !taken.is_empty() {
                    break;
                }
                return Err(cause.clone());
            }
        }
        Ok(taken)
    }

    fn next_batch(&mut self, config: &ConsumerConfig) -> Result<(), Exception> {
        // A batch may end in offsets without records, after compaction.
        if let Some(batch) = self.current.take() {
            self.next_fetch_offset = self.next_fetch_offset.max(batch.next_offset());
        }
        let Some(batch) = self.batches.next() else {
            self.consumed = true;
            return Ok(());
        };
        let batch = batch.map_err(|_| self.unreadable())?;
        self.last_epoch = Some(batch.partition_leader_epoch()).filter(|epoch| *epoch != NO_PARTITION_LEADER_EPOCH);
        if config.check_crcs && !batch.is_crc_valid() {
            return Err(self.unreadable());
        }
        if self.is_left_out(&batch, config) {
            self.next_fetch_offset = self.next_fetch_offset.max(batch.next_offset());
            return Ok(());
        }
        let limit =
            unpacked_bytes_max(batch.size_in_bytes().max(config.max_partition_fetch_bytes.unsigned_abs().into()));
        let bytes = match batch.unpacked_records(limit) {
            Ok(Cow::Borrowed(records)) => batch.bytes().slice_ref(records),
            Ok(Cow::Owned(records)) => records.into(),
            Err(_) => return Err(self.unreadable()),
        };
        let epoch = batch.partition_leader_epoch();
        for record in batch.records_in(&bytes) {
            let Ok(record) = record else {
                self.failure = Some(self.unreadable());
                break;
            };
            if record.offset < self.next_fetch_offset {
                continue;
            }
            let owned = |slice: &[u8]| bytes.slice_ref(slice);
            self.records.push_back(ConsumerRecord {
                partition: self.partition.clone(),
                offset: record.offset,
                timestamp: record.timestamp,
                leader_epoch: epoch,
                key: record.key.map(owned),
                value: record.value.map(owned),
                headers: record
                    .headers()
                    .map(|(key, value)| (String::from_utf8_lossy(key).into_owned(), value.map(owned)))
                    .collect(),
            });
        }
        self.current = Some(batch);
        self.reported = false;
        Ok(())
    }

    fn is_left_out(&mut self, batch: &Batch<Bytes>, config: &ConsumerConfig) -> bool {
        if config.isolation_level == IsolationLevel::ReadCommitted && batch.has_producer_id() {
            while let Some(transaction) = self.aborted.pop_if(|t| t.first_offset <= batch.last_offset()) {
                self.aborted_producers.insert(transaction.producer_id);
            }
            if EndTransactionMarker::of(batch).is_some_and(|marker| !marker.committed) {
                self.aborted_producers.remove(&batch.producer_id());
            } else if batch.is_transactional() && self.aborted_producers.contains(&batch.producer_id()) {
                return true;
            }
        }
        batch.is_control_batch()
    }

    /// Kafka keeps the reason as the exception's cause.
    fn unreadable(&self) -> Exception {
        Exception::new(
            "KafkaException",
            format!(
                "Received exception when fetching the next record from {}-{}. If needed, please seek past the record \
                 to continue consumption.",
                self.partition.topic, self.partition.partition
            ),
        )
    }
}
