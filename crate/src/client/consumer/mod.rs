//! The consumer by assignment (KafkaConsumer without groups).
//!
//! Owns positions and fetched records that the application has not asked for yet. In: Assign, Seek, Poll, EndOffsets,
//! PartitionsFor, Close. Out: ListOffsets and Fetch requests; `Polled` with records and the batches they came in. As in
//! Kafka, requests are sent while a `poll()` runs, and the next fetches go out before it returns.

mod completed_fetch;
mod fetcher;
mod offsets;
mod session;
mod subscription;

use std::collections::VecDeque;
use std::sync::Arc;

use self::completed_fetch::CompletedFetch;
use self::offsets::EndOffsetsCall;
pub(super) use self::offsets::Lookup;
use self::session::FetchSession;
use self::subscription::{EARLIEST_TIMESTAMP, FetchState, LATEST_TIMESTAMP, Position, Subscription};
use super::config::ConsumerConfig;
use super::drive::Driven;
use super::metadata::Metadata;
use super::network::{Completion, Network, Request};
use super::outbox::Outbox;
use super::plugins::ConsumerPlugins;
use crate::node::{CallId, Command, EventId, Exception, Note, Reply, Rng, SeekTo, TopicPartition};
use crate::ordered::{BTreeMap, BTreeSet};

/// Kafka's consumers allow many: each waits for its answer anyway.
const MAX_IN_FLIGHT: i32 = 100;

/// A `poll()` that has not returned.
#[derive(Debug, Clone)]
struct Poll {
    call: CallId,
    deadline_ms: i64,
    called_by: EventId,
}

/// A `partitionsFor()` that has not returned.
#[derive(Debug, Clone)]
struct PartitionsFor {
    call: CallId,
    topic: String,
    deadline_ms: i64,
    called_by: EventId,
}

#[derive(Debug, Clone)]
pub(super) struct Consumer {
    config: Arc<ConsumerConfig>,
    plugins: ConsumerPlugins,
    network: Network,
    subscription: Subscription,
    sessions: BTreeMap<i32, FetchSession>,
    /// Nodes with a fetch in flight.
    fetching: BTreeSet<i32>,
    buffer: VecDeque<CompletedFetch>,
    poll: Option<Poll>,
    end_offsets: Vec<EndOffsetsCall>,
    partitions_for: Vec<PartitionsFor>,
    /// What the next `poll()` throws.
    failure: Option<Exception>,
    /// When something can be tried again.
    look_ms: Option<i64>,
    closed: bool,
}

impl Driven for Consumer {
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
        let now_ms = outbox.now_ms();
        let called_by = outbox.event();
        if self.closed && !matches!(command, Command::Close { .. } | Command::Shutdown) {
            return illegal_state(call, "This consumer has already been closed.".to_owned(), outbox);
        }
        match command {
            Command::Assign { partitions } => {
                self.subscription.assign(partitions, called_by);
                let topics = self.subscription.topics();
                self.network.metadata.retain(&topics);
                for topic in &topics {
                    self.network.metadata.add(topic, now_ms);
                }
                outbox.reply(&[], call, Reply::Done);
            }
            Command::Seek { partition, to } => self.seek(call, &partition, to, outbox),
            Command::Poll { .. } if self.subscription.is_empty() => {
                let text = "Consumer is not subscribed to any topics or assigned any partitions";
                illegal_state(call, text.to_owned(), outbox);
            }
            Command::Poll { .. } if self.poll.is_some() => {
                let text = "KafkaConsumer is not safe for multi-threaded access.".to_owned();
                let exception = Exception::new("ConcurrentModificationException", text);
                outbox.reply(&[], call, Reply::Failed(exception));
            }
            Command::Poll { timeout } => {
                let timeout_ms = i64::try_from(timeout.as_ms()).unwrap_or(i64::MAX);
                self.poll = Some(Poll { call, deadline_ms: now_ms.saturating_add(timeout_ms), called_by });
            }
            Command::EndOffsets { partitions } => {
                for partition in &partitions {
                    self.network.metadata.add(&partition.topic, now_ms);
                }
                self.end_offsets.push(EndOffsetsCall {
                    call,
                    partitions,
                    found: BTreeMap::new(),
                    asked: BTreeSet::new(),
                    since_ms: now_ms,
                    not_before_ms: now_ms,
                    called_by,
                });
            }
            Command::PartitionsFor { topic } => {
                self.network.metadata.add(&topic, now_ms);
                let deadline_ms = now_ms.saturating_add(self.config.default_api_timeout_ms);
                self.partitions_for.push(PartitionsFor { call, topic, deadline_ms, called_by });
            }
            Command::Close { .. } | Command::Shutdown => {
                self.network.close(outbox);
                if !self.closed {
                    self.plugins.close(call, outbox);
                }
                self.closed = true;
                outbox.reply(&[], call, Reply::Done);
            }
            Command::Send(_) | Command::Flush | Command::Admin(_) | Command::ProduceRaw(_) => {
                illegal_state(call, "Not a command for a consumer".to_owned(), outbox);
            }
        }
    }

    fn complete(&mut self, done: Completion, outbox: &mut Outbox<'_>) {
        self.completed(done, outbox);
    }

    fn advance(&mut self, outbox: &mut Outbox<'_>) -> bool {
        self.look_ms = None;
        let mut acted = self.advance_poll(outbox);
        acted |= self.ask_end_offsets(outbox);
        acted |= self.finish_end_offsets(outbox.event(), outbox);
        acted |= self.finish_partitions_for(outbox);
        acted
    }
}

impl Consumer {
    pub fn new(client_id: String, config: ConsumerConfig, plugins: ConsumerPlugins, rng: &Rng) -> Consumer {
        let metadata = Metadata::new(&config.connection, None, config.allow_auto_create_topics, rng.fork("metadata"));
        let network = Network::new(client_id, &config.connection, MAX_IN_FLIGHT, metadata, rng.fork("network"));
        Consumer {
            config: Arc::new(config),
            plugins,
            network,
            subscription: Subscription::default(),
            sessions: BTreeMap::new(),
            fetching: BTreeSet::new(),
            buffer: VecDeque::new(),
            poll: None,
            end_offsets: Vec::new(),
            partitions_for: Vec::new(),
            failure: None,
            look_ms: None,
            closed: false,
        }
    }

    pub fn next_timeout_ms(&self) -> Option<i64> {
        if self.closed {
            return None;
        }
        let poll = self.poll.iter().map(|poll| poll.deadline_ms);
        let timeout_ms = self.config.default_api_timeout_ms;
        let ends = self.end_offsets.iter().map(|query| query.since_ms.saturating_add(timeout_ms));
        let partitions = self.partitions_for.iter().map(|call| call.deadline_ms);
        let own = poll.chain(ends).chain(partitions).chain(self.look_ms);
        self.network.next_timeout_ms().into_iter().chain(own).min()
    }

    /// There is something to do then, if nothing happens before.
    fn look_at(&mut self, at_ms: Option<i64>) {
        self.look_ms = self.look_ms.into_iter().chain(at_ms).min();
    }

    fn seek(&mut self, call: CallId, partition: &TopicPartition, to: SeekTo, outbox: &mut Outbox<'_>) {
        let reset = |timestamp| FetchState::AwaitReset { timestamp, not_before_ms: i64::MIN, asked: false };
        let state = match to {
            SeekTo::Offset(offset) if offset < 0 => {
                let message = "seek offset must not be a negative number".to_owned();
                let exception = Exception::new("IllegalArgumentException", message);
                return outbox.reply(&[], call, Reply::Failed(exception));
            }
            SeekTo::Offset(offset) => FetchState::Fetching(Position { offset, offset_epoch: None }),
            SeekTo::Beginning => reset(EARLIEST_TIMESTAMP),
            SeekTo::End => reset(LATEST_TIMESTAMP),
        };
        if !self.subscription.set(partition, state, outbox.event()) {
            let text = format!("No current assignment for partition {}-{}", partition.topic, partition.partition);
            return illegal_state(call, text, outbox);
        }
        if let FetchState::Fetching(Position { offset, .. }) = state {
            outbox.note(&[], Note::PositionSet { partition: partition.clone(), offset });
        }
        outbox.reply(&[], call, Reply::Done);
    }

    fn completed(&mut self, done: Completion, outbox: &mut Outbox<'_>) {
        match done.request.clone() {
            Request::Fetch => self.fetch_answered(done, outbox),
            Request::ListOffsets { lookup, partitions } => self.offsets_answered(lookup, partitions, done, outbox),
            Request::Produce(_) | Request::InitProducerId | Request::Admin(_) => {}
        }
    }

    /// Goes on with the `poll()` that runs, if one does. True if something changed.
    fn advance_poll(&mut self, outbox: &mut Outbox<'_>) -> bool {
        let Some(poll) = self.poll.clone() else { return false };
        if let Some(exception) = self.initialize_positions(outbox) {
            return self.fail_poll(&poll, exception, outbox);
        }
        let mut acted = self.reset_positions(outbox);
        match self.collect(outbox) {
            Err(exception) => return self.fail_poll(&poll, exception, outbox),
            Ok(collected) if !collected.records.is_empty() || collected.advanced => {
                // The next fetches fly while the application works on these.
                self.send_fetches(outbox);
                self.poll = None;
                let mut earlier = collected.causes;
                earlier.push(poll.called_by);
                let records = self.plugins.on_consume(collected.records, poll.call, outbox);
                let reply = Reply::Polled { records, batches: collected.batches };
                outbox.reply(&earlier, poll.call, reply);
                return true;
            }
            Ok(_) => acted |= self.send_fetches(outbox),
        }
        if outbox.now_ms() >= poll.deadline_ms {
            self.poll = None;
            let reply = Reply::Polled { records: Vec::new(), batches: Vec::new() };
            outbox.reply(&[poll.called_by], poll.call, reply);
            return true;
        }
        acted
    }

    fn fail_poll(&mut self, poll: &Poll, exception: Exception, outbox: &mut Outbox<'_>) -> bool {
        self.poll = None;
        outbox.reply(&[poll.called_by, self.network.metadata.changed_by], poll.call, Reply::Failed(exception));
        true
    }

    /// Partitions without a position are reset by auto.offset.reset. Gives what `poll()` throws.
    fn initialize_positions(&mut self, outbox: &mut Outbox<'_>) -> Option<Exception> {
        if let Some(exception) = self.failure.take() {
            return Some(exception);
        }
        let topics = self.subscription.topics();
        if let Some(exception) = topics.iter().find_map(|topic| self.network.metadata.exception(topic)) {
            return Some(exception);
        }
        let initializing = self.subscription.initializing();
        let Some(timestamp) = self.reset_timestamp() else {
            let list: Vec<String> = initializing.iter().map(|p| format!("{}-{}", p.topic, p.partition)).collect();
            return (!list.is_empty()).then(|| {
                Exception::new(
                    "NoOffsetForPartitionException",
                    format!("Undefined offset with no reset policy for partitions: [{}]", list.join(", ")),
                )
            });
        };
        for partition in initializing {
            let set_by = self.subscription.get(&partition).map_or(outbox.event(), |assigned| assigned.set_by);
            let state = FetchState::AwaitReset { timestamp, not_before_ms: i64::MIN, asked: false };
            self.subscription.set(&partition, state, set_by);
        }
        None
    }

    fn finish_partitions_for(&mut self, outbox: &mut Outbox<'_>) -> bool {
        let now_ms = outbox.now_ms();
        let before = self.partitions_for.len();
        let metadata = &mut self.network.metadata;
        self.partitions_for.retain(|waiting| {
            let earlier = [waiting.called_by, metadata.changed_by];
            let reply = match (metadata.partition_count(&waiting.topic), metadata.exception(&waiting.topic)) {
                (Some(count), _) => Reply::Partitions(count),
                (None, Some(exception)) => Reply::Failed(exception),
                (None, None) if now_ms >= waiting.deadline_ms => Reply::Failed(Exception::new(
                    "TimeoutException",
                    "Timeout expired while fetching topic metadata".to_owned(),
                )),
                (None, None) => {
                    metadata.add(&waiting.topic, now_ms);
                    metadata.request_update();
                    return true;
                }
            };
            outbox.reply(&earlier, waiting.call, reply);
            false
        });
        self.partitions_for.len() < before
    }
}

fn illegal_state(call: CallId, message: String, outbox: &mut Outbox<'_>) {
    outbox.reply(&[], call, Reply::Failed(Exception::new("IllegalStateException", message)));
}
