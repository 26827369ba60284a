//! The producer (KafkaProducer with its sender thread folded in).
//!
//! Owns the records between `send()` and their callbacks. In: Send, Flush, Close, PartitionsFor. Out: Produce and
//! InitProducerId requests; `Returned`, `Acked` and `Failed` replies. `send()` blocks like Kafka's, for metadata and for
//! buffer memory: its `Returned` comes only then.

mod accumulator;
mod batch;
mod buffer;
mod idempotence;
mod partitioner;
mod sender;
mod settle;

use std::collections::VecDeque;
use std::sync::Arc;

use self::accumulator::{Accumulator, Appended};
pub(super) use self::batch::BatchId;
use self::batch::Waiter;
use self::idempotence::Idempotence;
use super::config::ProducerConfig;
use super::drive::Driven;
use super::exceptions;
use super::metadata::{Metadata, TopicMetadata};
use super::network::{Completion, Network, Request};
use super::outbox::Outbox;
use crate::node::{CallId, Command, Duration, EventId, Exception, Note, ProducerRecord, Reply, Rng, TopicPartition};
use crate::ordered::{BTreeMap, BTreeSet};
use crate::record::{Record, one_record_size_upper_bound};

/// What a blocked caller waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Waiting {
    /// A metadata update newer than this version.
    Metadata { version: u32 },
    /// That many bytes of buffer.memory, since then.
    Memory { size: u64, since_ms: i64 },
}

#[derive(Debug, Clone)]
enum Blocked {
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
struct BlockedCall {
    call: CallId,
    what: Blocked,
    waiting: Waiting,
    since_ms: i64,
    called_by: EventId,
}

/// A `flush()` and the batches it waits for.
#[derive(Debug, Clone)]
struct Flush {
    call: CallId,
    batches: BTreeSet<BatchId>,
    called_by: EventId,
}

#[derive(Debug, Clone)]
struct Closing {
    call: CallId,
    deadline_ms: i64,
    called_by: EventId,
}

#[derive(Debug, Clone)]
pub(super) struct Producer {
    config: Arc<ProducerConfig>,
    network: Network,
    accumulator: Accumulator,
    idempotence: Option<Idempotence>,
    /// Batches in requests whose fate is open, oldest first.
    in_flight: BTreeMap<TopicPartition, Vec<BatchId>>,
    /// Batches drained and not yet sent, within one round of the sender.
    drained: Vec<(i32, Vec<BatchId>)>,
    blocked: VecDeque<BlockedCall>,
    flushes: Vec<Flush>,
    closing: Option<Closing>,
    closed: bool,
    /// When the sender has something to do without being told.
    sender_look_ms: Option<i64>,
}

impl Driven for Producer {
    fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn command(&mut self, call: CallId, command: Command, outbox: &mut Outbox<'_>) {
        let refused = |outbox: &mut Outbox<'_>, message: &str| {
            let exception = Exception::new("IllegalStateException", message.to_owned());
            outbox.reply(&[], call, Reply::Failed(exception));
        };
        match command {
            Command::Send(_) if self.is_closing() => {
                let message = "Cannot perform operation after producer has been closed".to_owned();
                outbox.reply(&[], call, Reply::Threw(Exception::new("IllegalStateException", message)));
            }
            Command::Send(record) => self.call(call, Blocked::Send(record), outbox),
            Command::PartitionsFor { topic } => self.call(call, Blocked::PartitionsFor { topic }, outbox),
            Command::Flush => {
                let batches = self.accumulator.incomplete().into_iter().collect();
                self.flushes.push(Flush { call, batches, called_by: outbox.event() });
                self.finish_flushes(outbox);
            }
            Command::Close { .. } if self.closed => outbox.reply(&[], call, Reply::Done),
            Command::Close { timeout } => self.close(call, timeout, outbox),
            Command::Assign { .. }
            | Command::Seek { .. }
            | Command::Poll { .. }
            | Command::EndOffsets { .. }
            | Command::CreateTopics { .. }
            | Command::ProduceRaw(_) => refused(outbox, "Not a command for a producer"),
            Command::Shutdown => self.close(call, Duration::from_ms(u64::MAX / 2000), outbox),
        }
    }

    fn complete(&mut self, done: Completion, outbox: &mut Outbox<'_>) {
        self.completed(done, outbox);
    }

    fn advance(&mut self, outbox: &mut Outbox<'_>) -> bool {
        let unblocked = self.unblock(outbox);
        self.run_sender(outbox) || unblocked
    }

    fn end_round(&mut self, outbox: &mut Outbox<'_>) {
        self.close_if_done(outbox);
    }
}

impl Producer {
    pub fn new(client_id: String, config: ProducerConfig, rng: &Rng) -> Producer {
        let metadata = Metadata::new(&config.connection, Some(config.metadata_max_idle_ms), true, rng.fork("metadata"));
        let network = Network::new(client_id, &config.connection, config.max_in_flight, metadata, rng.fork("network"));
        Producer {
            network,
            accumulator: Accumulator::new(&config, rng.fork("accumulator")),
            idempotence: config.idempotence.then(Idempotence::new),
            in_flight: BTreeMap::new(),
            drained: Vec::new(),
            blocked: VecDeque::new(),
            flushes: Vec::new(),
            closing: None,
            closed: false,
            sender_look_ms: None,
            config: Arc::new(config),
        }
    }

    pub fn next_timeout_ms(&self) -> Option<i64> {
        if self.closed {
            return None;
        }
        let blocked = self.blocked.iter().map(|call| call.since_ms.saturating_add(self.config.max_block_ms));
        let closing = self.closing.iter().map(|closing| closing.deadline_ms);
        self.network.next_timeout_ms().into_iter().chain(self.sender_look_ms).chain(blocked).chain(closing).min()
    }

    fn is_closing(&self) -> bool {
        self.closed || self.closing.is_some()
    }

    /// A call that may have to wait for metadata (KafkaProducer.waitOnMetadata).
    fn call(&mut self, call: CallId, what: Blocked, outbox: &mut Outbox<'_>) {
        let now_ms = outbox.now_ms();
        let blocked = BlockedCall {
            call,
            what,
            waiting: Waiting::Metadata { version: self.network.metadata.update_version() },
            since_ms: now_ms,
            called_by: outbox.event(),
        };
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

    /// As in KafkaProducer.doSend: an ApiException goes to the callback, which comes before the return; any other is
    /// thrown.
    fn fail_call(&mut self, blocked: &BlockedCall, exception: Exception, outbox: &mut Outbox<'_>) {
        let earlier = [blocked.called_by, self.network.metadata.changed_by];
        let is_send = matches!(blocked.what, Blocked::Send(_));
        if is_send && !exceptions::is_api_exception(&exception) {
            return outbox.reply(&earlier, blocked.call, Reply::Threw(exception));
        }
        outbox.reply(&earlier, blocked.call, Reply::Failed(exception));
        if is_send {
            outbox.reply(&earlier, blocked.call, Reply::Returned);
        }
    }

    /// Looks whether blocked callers can go on, in the order in which they called. True if one could.
    fn unblock(&mut self, outbox: &mut Outbox<'_>) -> bool {
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
    fn proceed(&mut self, blocked: BlockedCall, outbox: &mut Outbox<'_>) {
        match &blocked.what {
            Blocked::PartitionsFor { topic } => {
                let count = self.network.metadata.partition_count(topic).unwrap_or(0);
                let earlier = [blocked.called_by, self.network.metadata.changed_by];
                outbox.reply(&earlier, blocked.call, Reply::Partitions(count));
            }
            Blocked::Send(record) => match self.too_large(record) {
                Some(exception) => self.fail_call(&blocked, exception, outbox),
                None => self.append(blocked, None, outbox),
            },
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
        let partition = match (record.partition, &record.key) {
            (Some(partition), _) if partition < 0 => {
                let message =
                    format!("Invalid partition: {partition}. Partition number should always be non-negative or null.");
                return self.fail_call(&blocked, Exception::new("IllegalArgumentException", message), outbox);
            }
            (Some(partition), _) => Some(partition),
            (None, Some(key)) if !self.config.ignore_keys => {
                let count = i32::try_from(known.partitions.len()).unwrap_or(i32::MAX);
                Some(partitioner::partition_for_key(key, count))
            }
            (None, _) => None,
        };
        let timestamp = record.timestamp.unwrap_or(outbox.at.now.wall_ms);
        let waiter = Waiter { call: blocked.call, timestamp, sent_by: blocked.called_by };
        match self.accumulator.append(record, partition, &known, waiter, granted, outbox.now_ms()) {
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

    fn waits_for_memory(&self) -> bool {
        self.blocked.iter().any(|blocked| matches!(blocked.waiting, Waiting::Memory { .. }))
    }

    fn finish_flushes(&mut self, outbox: &mut Outbox<'_>) {
        self.flushes.retain(|flush| {
            let done = flush.batches.is_empty();
            if done {
                outbox.reply(&[flush.called_by], flush.call, Reply::Done);
            }
            !done
        });
        self.accumulator.flushing = !self.flushes.is_empty();
    }

    /// Lets what is queued be sent until `timeout`, then fails the rest (KafkaProducer.close).
    fn close(&mut self, call: CallId, timeout: Duration, outbox: &mut Outbox<'_>) {
        let wait_ms = i64::try_from(timeout.as_ms()).unwrap_or(i64::MAX);
        let deadline_ms = outbox.now_ms().saturating_add(wait_ms);
        self.closing = Some(Closing { call, deadline_ms, called_by: outbox.event() });
        self.accumulator.closed = true;
        for blocked in std::mem::take(&mut self.blocked) {
            let message = match blocked.waiting {
                Waiting::Metadata { .. } => "Producer closed while send in progress",
                Waiting::Memory { .. } => "Producer closed while allocating memory",
            };
            self.fail_call(&blocked, Exception::new("KafkaException", message.to_owned()), outbox);
        }
        self.close_if_done(outbox);
    }

    fn close_if_done(&mut self, outbox: &mut Outbox<'_>) {
        let Some(closing) = self.closing.clone() else { return };
        let idle = !self.accumulator.has_undrained() && !self.network.has_in_flight();
        let late = outbox.now_ms() >= closing.deadline_ms;
        if !idle && !late {
            return;
        }
        let reason = Exception::new("KafkaException", "Producer is closed forcefully.".to_owned());
        self.abort_batches(&reason, outbox);
        self.network.close(outbox);
        self.closed = true;
        self.closing = None;
        outbox.reply(&[closing.called_by], closing.call, Reply::Done);
    }
}

fn owned_headers(record: &Record<'_>) -> Vec<(String, Option<bytes::Bytes>)> {
    let headers = record.headers();
    headers
        .map(|(key, value)| (String::from_utf8_lossy(key).into_owned(), value.map(bytes::Bytes::copy_from_slice)))
        .collect()
}
