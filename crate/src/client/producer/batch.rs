//! One batch of records for one partition, from its first record to its end (Kafka's ProducerBatch).

use bytes::Bytes;

use crate::node::{CallId, EventId, ProducerRecord, TopicPartition};
use crate::record::{
    Batch, BatchBuilder, Compression, CompressionRatio, NO_SEQUENCE, ProducerIdentity, RECORD_BATCH_OVERHEAD,
    one_record_size_upper_bound,
};

/// Names a batch within one producer.
pub(in crate::client) type BatchId = u64;

/// Who waits for one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waiter {
    pub call: CallId,
    pub timestamp: i64,
    /// The event in which the record was added.
    pub sent_by: EventId,
}

#[derive(Debug, Clone)]
enum Content {
    Open(BatchBuilder),
    Closed(Bytes),
}

#[derive(Debug, Clone)]
pub(super) struct ProducerBatch {
    pub id: BatchId,
    pub partition: TopicPartition,
    pub created_ms: i64,
    pub created_by: EventId,
    /// The event that last moved the batch: its creation, or the failure after which it waits for another attempt.
    pub moved_by: EventId,
    pub waiters: Vec<Waiter>,
    pub attempts: u32,
    /// The wait before the next attempt, drawn when the last one failed.
    pub retry_backoff_ms: i64,
    pub is_split: bool,
    /// Callbacks have fired; a late answer changes nothing.
    pub done: bool,
    pub in_flight: bool,
    /// Bytes taken from buffer.memory.
    pub allocated: u64,
    pub max_record_size: usize,
    /// How well the records were packed, once they are.
    pub compression_ratio: CompressionRatio,
    pub producer: ProducerIdentity,
    /// Sequences began again since the batch was last sent.
    pub sequence_was_reset: bool,
    content: Content,
    write_limit: usize,
    takes_no_more: bool,
    last_attempt_ms: i64,
    last_append_ms: i64,
    leader_epoch: Option<i32>,
    attempts_when_leader_changed: u32,
}

impl ProducerBatch {
    pub fn new(
        id: BatchId,
        partition: TopicPartition,
        write_limit: usize,
        (compression, estimated_ratio): (Compression, CompressionRatio),
        created_ms: i64,
        event: EventId,
    ) -> ProducerBatch {
        ProducerBatch {
            id,
            partition,
            created_ms,
            created_by: event,
            moved_by: event,
            waiters: Vec::new(),
            attempts: 0,
            retry_backoff_ms: 0,
            is_split: false,
            done: false,
            in_flight: false,
            allocated: 0,
            max_record_size: 0,
            compression_ratio: CompressionRatio::ONE,
            producer: ProducerIdentity::NONE,
            sequence_was_reset: false,
            content: Content::Open(BatchBuilder::new().compressed(compression, estimated_ratio)),
            write_limit,
            takes_no_more: false,
            last_attempt_ms: created_ms,
            last_append_ms: created_ms,
            leader_epoch: None,
            attempts_when_leader_changed: 0,
        }
    }

    /// Adds a record if it fits. The first always does.
    pub fn try_append(&mut self, record: &ProducerRecord, waiter: Waiter, now_ms: i64) -> bool {
        let Content::Open(builder) = &mut self.content else { return false };
        let (key, value) = (record.key.as_deref(), record.value.as_deref());
        let headers = record.headers.iter().map(|(key, value)| (key.as_bytes(), value.as_deref()));
        let fits = builder.has_room_for(self.write_limit, waiter.timestamp, key, value, headers.clone());
        if self.takes_no_more || builder.is_full(self.write_limit) || !fits {
            self.takes_no_more = true;
            return false;
        }
        builder.append(waiter.timestamp, key, value, headers.clone());
        self.max_record_size = self.max_record_size.max(one_record_size_upper_bound(key, value, headers));
        self.waiters.push(waiter);
        self.last_append_ms = now_ms;
        true
    }

    pub fn record_count(&self) -> u32 {
        u32::try_from(self.waiters.len()).unwrap_or(u32::MAX)
    }

    /// Estimated while the batch is open and will be packed.
    pub fn size_in_bytes(&self) -> u64 {
        match &self.content {
            Content::Open(builder) => builder.size_in_bytes() as u64,
            Content::Closed(bytes) => bytes.len() as u64,
        }
    }

    pub fn is_closed(&self) -> bool {
        matches!(self.content, Content::Closed(_))
    }

    /// No record fits any more.
    pub fn is_full(&self) -> bool {
        match &self.content {
            Content::Open(builder) => self.takes_no_more || builder.is_full(self.write_limit),
            Content::Closed(_) => true,
        }
    }

    pub fn take_no_more(&mut self) {
        self.takes_no_more = true;
    }

    pub fn has_sequence(&self) -> bool {
        self.producer.base_sequence != NO_SEQUENCE
    }

    pub fn last_sequence(&self) -> i32 {
        let last = i32::try_from(self.waiters.len()).unwrap_or(i32::MAX) - 1;
        crate::record::add_to_sequence(self.producer.base_sequence, last)
    }

    /// Gives the batch its producer state; a batch that was already closed is rewritten.
    pub fn set_producer(&mut self, producer: ProducerIdentity) {
        self.producer = producer;
        if let Content::Closed(bytes) = &self.content
            && let Ok(mut batch) = Batch::new(bytes.to_vec())
        {
            batch.set_producer(producer);
            self.sequence_was_reset = true;
            self.content = Content::Closed(batch.into_bytes().into());
        }
    }

    /// The batch's bytes; it takes no more records from now on.
    pub fn close(&mut self) -> Bytes {
        self.takes_no_more = true;
        self.sequence_was_reset = false;
        if let Content::Open(builder) = &mut self.content {
            let unpacked = builder.unpacked_size();
            let bytes = std::mem::take(builder).build(self.producer);
            self.compression_ratio = CompressionRatio::of(bytes.len() - RECORD_BATCH_OVERHEAD, unpacked);
            self.content = Content::Closed(bytes);
        }
        match &self.content {
            Content::Closed(bytes) => bytes.clone(),
            Content::Open(_) => Bytes::new(),
        }
    }

    pub fn has_reached_delivery_timeout(&self, delivery_timeout_ms: i64, now_ms: i64) -> bool {
        delivery_timeout_ms <= now_ms - self.created_ms
    }

    /// Waits for another attempt.
    pub fn reenqueued(&mut self, now_ms: i64, backoff_ms: i64, event: EventId) {
        self.attempts += 1;
        self.retry_backoff_ms = backoff_ms;
        self.last_append_ms = self.last_append_ms.max(now_ms);
        self.last_attempt_ms = self.last_append_ms;
        self.moved_by = event;
    }

    pub fn in_retry(&self) -> bool {
        self.attempts > 0
    }

    pub fn last_attempt_ms(&self) -> i64 {
        self.last_attempt_ms
    }

    /// A new leader since the last attempt is worth an attempt at once (KIP-951).
    pub fn update_leader_epoch(&mut self, latest: Option<i32>) {
        if latest.is_some() && (self.leader_epoch.is_none() || self.leader_epoch < latest) {
            self.attempts_when_leader_changed = self.attempts;
            self.leader_epoch = latest;
        }
    }

    pub fn is_backing_off(&self, now_ms: i64) -> bool {
        let leader_changed = self.attempts > 0 && self.attempts == self.attempts_when_leader_changed;
        self.attempts > 0 && !leader_changed && (now_ms - self.last_attempt_ms).max(0) < self.retry_backoff_ms
    }
}
