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
mod round_robin;
mod send;
mod sender;
mod settle;

use std::collections::VecDeque;
use std::sync::Arc;

use self::accumulator::Accumulator;
pub(super) use self::batch::BatchId;
use self::idempotence::Idempotence;
pub use self::partitioner::{murmur2, partition_for_key};
pub use self::round_robin::RoundRobinPartitioner;
use self::send::{Blocked, BlockedCall, Waiting};
use super::config::ProducerConfig;
use super::drive::Driven;
use super::metadata::Metadata;
use super::network::{Completion, Network, Request};
use super::outbox::Outbox;
use super::plugins::ProducerPlugins;
use crate::node::{CallId, Command, Duration, EventId, Exception, Reply, Rng, TopicPartition};
use crate::ordered::{BTreeMap, BTreeSet};
use crate::record::Record;

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
    plugins: ProducerPlugins,
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

    fn start(&mut self, outbox: &mut Outbox<'_>) {
        self.plugins.configure(outbox);
    }

    fn command(&mut self, call: CallId, command: Command, outbox: &mut Outbox<'_>) {
        let refused = |outbox: &mut Outbox<'_>, message: &str| {
            let exception = Exception::new("IllegalStateException", message.to_owned());
            outbox.reply(&[], call, Reply::Failed(exception));
        };
        match command {
            Command::Send(record) => self.send(call, record, outbox),
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
            | Command::Admin(_)
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
    pub fn new(client_id: String, config: ProducerConfig, mut plugins: ProducerPlugins, rng: &Rng) -> Producer {
        if config.round_robin && plugins.partitioner.is_none() {
            plugins.partitioner = Some(Box::new(RoundRobinPartitioner::default()));
        }
        let metadata = Metadata::new(&config.connection, Some(config.metadata_max_idle_ms), true, rng.fork("metadata"));
        let network = Network::new(client_id, &config.connection, config.max_in_flight, metadata, rng.fork("network"));
        Producer {
            plugins,
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
        self.plugins.close(closing.call, outbox);
        outbox.reply(&[closing.called_by], closing.call, Reply::Done);
    }
}

fn owned_headers(record: &Record<'_>) -> Vec<(String, Option<bytes::Bytes>)> {
    let headers = record.headers();
    headers
        .map(|(key, value)| (String::from_utf8_lossy(key).into_owned(), value.map(bytes::Bytes::copy_from_slice)))
        .collect()
}
