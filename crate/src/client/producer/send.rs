//! `send()` from its call to its return: it waits for metadata, chooses a partition, and waits for buffer memory
//! (KafkaProducer.doSend).

use super::accumulator::Appended;
use super::batch::Waiter;
use super::partitioner::partition_for_key;
use super::{Producer, round_robin, settle};
use crate::client::exceptions;
use crate::client::metadata::TopicMetadata;
use crate::client::outbox::Outbox;
use crate::client::plugins::Partitions;
use crate::node::{CallId, EventId, Exception, Note, ProducerRecord, Reply, TopicPartition};
use crate::record::one_record_size_upper_bound;

/// What a blocked caller waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Waiting {
    /// A metadata update newer than this version.
    Metadata { version: u32 },
    /// That many bytes of buffer.memory, since then.
    Memory { size: u64, since_ms: i64 },
}

#[derive(Debug, Clone)]
pub(super) enum Blocked {
    Send(ProducerRecord),
    PartitionsFor { topic: String },
}

impl Blocked {
    fn topic(&self) -> &str {
        match self {
            Blocked::Send(record) => &record.topic,
            Blocked::PartitionsFor { topic } => topic,
        }
    }

    fn partition(&self) -> Option<i32> {
        match self {
            Blocked::Send(record) => record.partition,
            Blocked::PartitionsFor { .. } => None,
        }
    }
}

/// A call that has not returned.
#[derive(Debug, Clone)]
pub(super) struct BlockedCall {
    pub(super) call: CallId,
    what: Blocked,
    /// Of a record, once it has been chosen; the accumulator chooses where it is not.
    partition: Option<i32>,
    pub(super) waiting: Waiting,
    pub(super) since_ms: i64,
    called_by: EventId,
}

impl Producer {
    /// `send()`: what ProducerRecord's constructor refuses reaches no interceptor, what a closed producer refuses does.
    pub(super) fn send(&mut self, call: CallId, record: ProducerRecord, outbox: &mut Outbox<'_>) {
        if let Some(exception) = refused_record(&record) {
            return outbox.reply(&[], call, Reply::Threw(exception));
        }
        let what = Blocked::Send(self.plugins.on_send(record, call, outbox));
        if !self.is_closing() {
            return self.call(call, what, outbox);
        }
        let message = "Cannot perform operation after producer has been closed".to_owned();
        let exception = Exception::new("IllegalStateException", message);
        self.fail_call(&self.blocked_call(call, what, outbox), exception, outbox);
    }

    fn blocked_call(&self, call: CallId, what: Blocked, outbox: &Outbox<'_>) -> BlockedCall {
        let waiting = Waiting::Metadata { version: self.network.metadata.update_version() };
        let (since_ms, called_by) = (outbox.now_ms(), outbox.event());
        BlockedCall { call, what, partition: None, waiting, since_ms, called_by }
    }

    /// A call that may have to wait for metadata (KafkaProducer.waitOnMetadata).
    pub(super) fn call(&mut self, call: CallId, what: Blocked, outbox: &mut Outbox<'_>) {
        let now_ms = outbox.now_ms();
        let blocked = self.blocked_call(call, what, outbox);
        let topic = blocked.what.topic().to_owned();
        if let Some(exception) = self.network.metadata.exception(&topic).filter(|e| e.class == "InvalidTopicException")
        {
            // Kafka gives the bare name here, and a list elsewhere.
            return self.fail_call(&blocked, Exception { message: topic, ..exception }, outbox);
        }
        self.network.metadata.add(&topic, now_ms);
        if self.is_known(&blocked.what) {
            return self.proceed(blocked, outbox);
        }
        self.wait_for_metadata(blocked, outbox);
    }

    fn is_known(&self, what: &Blocked) -> bool {
        let count = self.network.metadata.partition_count(what.topic());
        count.is_some_and(|count| what.partition().is_none_or(|partition| partition < count))
    }

    fn wait_for_metadata(&mut self, mut blocked: BlockedCall, outbox: &mut Outbox<'_>) {
        let topic = blocked.what.topic().to_owned();
        self.network.metadata.add(&topic, outbox.now_ms());
        let version = self.network.metadata.request_update_for_topic(&topic);
        blocked.waiting = Waiting::Metadata { version };
        if self.config.max_block_ms <= outbox.now_ms() - blocked.since_ms {
            let exception = self.not_present(&blocked.what);
            return self.fail_call(&blocked, exception, outbox);
        }
        outbox.note(&[blocked.called_by], Note::WaitingForMetadata { call: blocked.call, topic });
        self.blocked.push_back(blocked);
    }

    fn not_present(&self, what: &Blocked) -> Exception {
        let (topic, max_ms) = (what.topic(), self.config.max_block_ms);
        let message = match (self.network.metadata.partition_count(topic), what.partition()) {
            (Some(count), Some(partition)) => format!(
                "Partition {partition} of topic {topic} with partition count {count} is not present in metadata after \
                 {max_ms} ms."
            ),
            _ => format!("Topic {topic} not present in metadata after {max_ms} ms."),
        };
        Exception::new("TimeoutException", message)
    }

    /// As in KafkaProducer.doSend: an ApiException goes to the callback, which comes before interceptors and return; any
    /// other is thrown.
    pub(super) fn fail_call(&mut self, blocked: &BlockedCall, exception: Exception, outbox: &mut Outbox<'_>) {
        let earlier = [blocked.called_by, self.network.metadata.changed_by];
        let Blocked::Send(record) = &blocked.what else {
            return outbox.reply(&earlier, blocked.call, Reply::Failed(exception));
        };
        let partition = blocked.partition.or(record.partition).unwrap_or(-1);
        let metadata = settle::without_offset(&TopicPartition { topic: record.topic.clone(), partition });
        let is_told = exceptions::is_api_exception(&exception);
        if is_told {
            outbox.reply(&earlier, blocked.call, Reply::Failed(exception.clone()));
        }
        self.plugins.on_acknowledgement(&metadata, Some(&exception), blocked.call, outbox);
        let last = if is_told { Reply::Returned } else { Reply::Threw(exception) };
        outbox.reply(&earlier, blocked.call, last);
    }

    /// Looks whether blocked callers can go on, in the order in which they called. True if one could.
    pub(super) fn unblock(&mut self, outbox: &mut Outbox<'_>) -> bool {
        let now_ms = outbox.now_ms();
        let mut acted = false;
        for blocked in std::mem::take(&mut self.blocked) {
            let expired = now_ms - blocked.since_ms >= self.config.max_block_ms;
            match blocked.waiting {
                Waiting::Metadata { version } => {
                    let updated = self.network.metadata.update_version() > version;
                    if expired {
                        let exception = self.not_present(&blocked.what);
                        self.fail_call(&blocked, exception, outbox);
                    } else if !updated {
                        self.blocked.push_back(blocked);
                        continue;
                    } else if let Some(exception) = self.network.metadata.exception(blocked.what.topic()) {
                        self.fail_call(&blocked, exception, outbox);
                    } else if self.is_known(&blocked.what) {
                        self.proceed(blocked, outbox);
                    } else {
                        self.wait_again(blocked);
                        continue;
                    }
                }
                Waiting::Memory { size, since_ms } => {
                    if self.accumulator.memory.allocate(size) {
                        self.append(blocked, Some(size), outbox);
                    } else if expired {
                        let waited_ms = self.config.max_block_ms - (since_ms - blocked.since_ms);
                        let memory = &self.accumulator.memory;
                        let exception = memory.exhausted(size, waited_ms, self.config.batch_size);
                        self.fail_call(&blocked, exception, outbox);
                    } else {
                        // Memory goes to those who wait in the order in which they came.
                        self.blocked.push_back(blocked);
                        continue;
                    }
                }
            }
            acted = true;
        }
        acted
    }

    fn wait_again(&mut self, mut blocked: BlockedCall) {
        let version = self.network.metadata.request_update_for_topic(blocked.what.topic());
        blocked.waiting = Waiting::Metadata { version };
        self.blocked.push_back(blocked);
    }

    /// The topic is known.
    fn proceed(&mut self, mut blocked: BlockedCall, outbox: &mut Outbox<'_>) {
        match &blocked.what {
            Blocked::PartitionsFor { topic } => {
                let count = self.network.metadata.partition_count(topic).unwrap_or(0);
                let earlier = [blocked.called_by, self.network.metadata.changed_by];
                outbox.reply(&earlier, blocked.call, Reply::Partitions(count));
            }
            Blocked::Send(record) => match self.choose(record) {
                Err(exception) => self.fail_call(&blocked, exception, outbox),
                Ok(partition) => {
                    blocked.partition = partition;
                    self.append(blocked, None, outbox);
                }
            },
        }
    }

    /// The record's own partition, the partitioner's or its key's, if one of them says; and no record that is too
    /// large.
    fn choose(&mut self, record: &ProducerRecord) -> Result<Option<i32>, Exception> {
        let count = self.network.metadata.partition_count(&record.topic).unwrap_or(0);
        let partition = match (record.partition, &mut self.plugins.partitioner, &record.key) {
            (Some(partition), _, _) => Some(partition),
            (None, Some(partitioner), _) => {
                let available = round_robin::available(&self.network.metadata, &record.topic);
                let chosen = partitioner.partition(record, Partitions { count, available: &available });
                if chosen < 0 {
                    let message = format!(
                        "The partitioner generated an invalid partition number: {chosen}. Partition number should \
                         always be non-negative."
                    );
                    return Err(Exception::new("IllegalArgumentException", message));
                }
                Some(chosen)
            }
            (None, None, Some(key)) if !self.config.ignore_keys => Some(partition_for_key(key, count)),
            (None, None, _) => None,
        };
        match self.too_large(record) {
            Some(exception) => Err(exception),
            None => Ok(partition),
        }
    }

    fn too_large(&self, record: &ProducerRecord) -> Option<Exception> {
        let headers = record.headers.iter().map(|(key, value)| (key.as_bytes(), value.as_deref()));
        let size = one_record_size_upper_bound(record.key.as_deref(), record.value.as_deref(), headers) as u64;
        let max_request_size = self.config.max_request_size;
        if size > u64::try_from(max_request_size).unwrap_or(0) {
            let message = format!(
                "The message is {size} bytes when serialized which is larger than {max_request_size}, which is the \
                 value of the max.request.size configuration."
            );
            return Some(Exception::new("RecordTooLargeException", message));
        }
        (size > u64::try_from(self.config.buffer_memory).unwrap_or(0)).then(|| {
            Exception::new(
                "RecordTooLargeException",
                format!(
                    "The message is {size} bytes when serialized which is larger than the total memory buffer you have \
                 configured with the buffer.memory configuration."
                ),
            )
        })
    }

    fn append(&mut self, mut blocked: BlockedCall, granted: Option<u64>, outbox: &mut Outbox<'_>) {
        let Blocked::Send(record) = &blocked.what else { return };
        let topics = self.network.metadata.topics();
        let known = topics.get(&record.topic).cloned().unwrap_or_else(TopicMetadata::unknown);
        let timestamp = record.timestamp.unwrap_or(outbox.at.now.wall_ms);
        let waiter = Waiter { call: blocked.call, timestamp, sent_by: blocked.called_by };
        match self.accumulator.append(record, blocked.partition, &known, waiter, granted, outbox.now_ms()) {
            Appended::In { batch, partition, is_new } => {
                let earlier = [blocked.called_by];
                if is_new {
                    outbox.note(&earlier, Note::BatchCreated { batch, partition });
                }
                outbox.note(&earlier, Note::RecordBatched { call: blocked.call, batch });
                outbox.reply(&earlier, blocked.call, Reply::Returned);
            }
            Appended::NeedsMemory(size) => match self.accumulator.memory.refuses(size) {
                Some(exception) => self.fail_call(&blocked, exception, outbox),
                None if self.config.max_block_ms <= outbox.now_ms() - blocked.since_ms => {
                    let exception = self.accumulator.memory.exhausted(size, 0, self.config.batch_size);
                    self.fail_call(&blocked, exception, outbox);
                }
                None => {
                    blocked.waiting = Waiting::Memory { size, since_ms: outbox.now_ms() };
                    self.blocked.push_back(blocked);
                }
            },
        }
    }

    pub(super) fn waits_for_memory(&self) -> bool {
        self.blocked.iter().any(|blocked| matches!(blocked.waiting, Waiting::Memory { .. }))
    }
}

/// What ProducerRecord's constructor throws.
fn refused_record(record: &ProducerRecord) -> Option<Exception> {
    let (what, number, title) = match (record.timestamp, record.partition) {
        (Some(timestamp), _) if timestamp < 0 => ("timestamp", timestamp, "Timestamp"),
        (_, Some(partition)) if partition < 0 => ("partition", partition.into(), "Partition number"),
        _ => return None,
    };
    let message = format!("Invalid {what}: {number}. {title} should always be non-negative or null.");
    Some(Exception::new("IllegalArgumentException", message))
}
