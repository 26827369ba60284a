//! Fetches and what they bring (Kafka's AbstractFetch and FetchCollector): one request in flight per node, none to a
//! node that still has buffered data of ours, and records handed out in the order in which their fetches arrived.

use bytes::Bytes;

use super::completed_fetch::CompletedFetch;
use super::session::Wanted;
use super::subscription::{EARLIEST_TIMESTAMP, FetchState, LATEST_TIMESTAMP, Position};
use super::{Consumer, Request};
use crate::client::config::{IsolationLevel, OffsetReset};
use crate::client::drive;
use crate::client::metadata::NewLeader;
use crate::client::network::{Completion, Outcome, Sent};
use crate::client::outbox::Outbox;
use crate::disk::Slice;
use crate::node::{Address, ConsumerRecord, EventId, Exception, FetchedBatch, Note, TopicPartition};
use crate::ordered::{BTreeMap, BTreeSet};
use crate::wire;
use crate::wire::ErrorCode;
use crate::wire::messages::fetch::{FetchPartition, FetchRequest, FetchResponse};

/// From this version on topics go by id only (KIP-516).
const FETCH_TOPIC_IDS: i16 = 13;

/// What one `poll()` can be given.
#[derive(Debug, Clone, Default)]
pub(super) struct Collected {
    pub records: Vec<ConsumerRecord>,
    pub batches: Vec<FetchedBatch>,
    /// A position moved, over control records perhaps: reason enough for `poll()` to return.
    pub advanced: bool,
    /// The events that brought the records.
    pub causes: Vec<EventId>,
}

impl Consumer {
    /// Fetches for every partition that can be fetched and has nothing buffered. True if something was sent.
    pub(super) fn send_fetches(&mut self, outbox: &mut Outbox<'_>) -> bool {
        let buffered: BTreeSet<&TopicPartition> =
            self.buffer.iter().filter(|fetch| !fetch.is_consumed()).map(|fetch| &fetch.partition).collect();
        let buffered_nodes: BTreeSet<i32> =
            buffered.iter().filter_map(|partition| self.network.metadata.leader(partition)).collect();
        let mut by_node: BTreeMap<i32, Vec<(TopicPartition, Wanted)>> = BTreeMap::new();
        let mut lacks_leader = false;
        for partition in self.subscription.in_order() {
            let Some(position) = self.subscription.position(partition).filter(|_| !buffered.contains(partition)) else {
                continue;
            };
            let Some(node) = self.network.metadata.leader(partition) else {
                lacks_leader = true;
                continue;
            };
            let busy = self.fetching.contains(&node) || buffered_nodes.contains(&node);
            if busy {
                continue;
            }
            let leader_epoch = self.network.metadata.partition(partition).and_then(|known| known.leader_epoch);
            let wanted = Wanted {
                topic_id: self.network.metadata.topic_id(&partition.topic),
                fetch: FetchPartition {
                    partition: partition.partition,
                    current_leader_epoch: leader_epoch.unwrap_or(-1),
                    fetch_offset: position.offset,
                    partition_max_bytes: self.config.max_partition_fetch_bytes,
                    ..Default::default()
                },
            };
            by_node.entry(node).or_default().push((partition.clone(), wanted));
        }
        if lacks_leader {
            self.network.metadata.request_update();
        }
        let mut acted = false;
        for (node, wanted) in by_node {
            if self.network.ready(node, outbox) {
                acted |= self.send_fetch(node, wanted, outbox);
            } else {
                self.look_at(self.network.poll_at_ms(node, outbox.now_ms()));
            }
        }
        acted
    }

    fn send_fetch(&mut self, node: i32, wanted: Vec<(TopicPartition, Wanted)>, outbox: &mut Outbox<'_>) -> bool {
        let assigned = wanted.iter().filter_map(|(partition, _)| self.subscription.get(partition));
        let mut earlier: Vec<EventId> = assigned.map(|assigned| assigned.set_by).collect();
        earlier.push(self.network.metadata.changed_by);
        earlier.extend(self.poll.as_ref().map(|poll| poll.called_by));
        let next = self.sessions.entry(node).or_default().next(wanted);
        let latest = if next.by_name { FETCH_TOPIC_IDS - 1 } else { i16::MAX };
        let config = &self.config;
        let build = |_| FetchRequest {
            max_wait_ms: config.fetch_max_wait_ms,
            min_bytes: config.fetch_min_bytes,
            max_bytes: config.fetch_max_bytes,
            isolation_level: i8::from(config.isolation_level == IsolationLevel::ReadCommitted),
            session_id: next.session_id,
            session_epoch: next.session_epoch,
            topics: next.topics,
            forgotten_topics_data: next.forgotten,
            ..Default::default()
        };
        let sent = Sent { latest, earlier: &earlier, ..Sent::to(node) };
        let is_sent = self.network.send(sent, Request::Fetch, build, outbox).is_ok();
        if is_sent {
            self.fetching.insert(node);
        }
        is_sent
    }

    pub(super) fn fetch_answered(&mut self, done: Completion, outbox: &mut Outbox<'_>) {
        self.fetching.remove(&done.node);
        let Outcome::Response(frame) = done.outcome else {
            if let Some(session) = self.sessions.get_mut(&done.node) {
                session.failed();
            }
            return;
        };
        let Ok((_, response)) = wire::decode_response::<FetchResponse>(&frame, done.version) else {
            if let Some(session) = self.sessions.get_mut(&done.node) {
                session.failed();
            }
            return drive::give_up(self, done.node, outbox);
        };
        self.network.throttle(done.node, response.throttle_time_ms, outbox.now_ms());
        let error = ErrorCode(response.error_code);
        let Some(session) = self.sessions.get_mut(&done.node) else { return };
        let mut partitions = Vec::new();
        for topic in response.responses {
            for data in topic.partitions {
                partitions.push((session.partition(&topic.topic, topic.topic_id, data.partition_index), data));
            }
        }
        let named: Vec<Option<TopicPartition>> = partitions.iter().map(|(partition, _)| partition.clone()).collect();
        let asked: Vec<Option<i64>> = named.iter().map(|partition| session.fetch_offset(partition.as_ref()?)).collect();
        if !session.answered(error, response.session_id, &named) {
            if error == ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR {
                self.network.metadata.request_update();
            }
            return;
        }
        let mut new_leaders = Vec::new();
        for ((partition, data), asked) in partitions.into_iter().zip(asked) {
            let (Some(partition), Some(fetch_offset)) = (partition, asked) else { continue };
            let error = ErrorCode(data.error_code);
            if matches!(error, ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::FENCED_LEADER_EPOCH) {
                let (leader, leader_epoch) = (data.current_leader.leader_id, data.current_leader.leader_epoch);
                new_leaders.push(NewLeader { partition: partition.clone(), leader, leader_epoch });
            }
            let records = match data.records {
                Some(Slice::Bytes(bytes)) => bytes,
                // What we decode lies in the frame.
                Some(Slice::File(_)) | None => Bytes::new(),
            };
            let aborted = data.aborted_transactions.unwrap_or_default();
            let causes = [outbox.event(), done.sent_by];
            self.buffer.push_back(CompletedFetch::new(partition, error, fetch_offset, records, aborted, causes));
        }
        let nodes = response.node_endpoints.into_iter().filter_map(|node| {
            let port = u16::try_from(node.port).ok()?;
            Some((node.node_id, Address { host: node.host, port }))
        });
        let nodes = nodes.collect();
        self.network.metadata.update_leadership(new_leaders, nodes, outbox.event());
    }

    /// Takes up to max.poll.records out of the buffer. A failure after some records is kept for the next `poll()`.
    pub(super) fn collect(&mut self, outbox: &mut Outbox<'_>) -> Result<Collected, Exception> {
        let mut collected = Collected::default();
        let max = usize::try_from(self.config.max_poll_records).unwrap_or(1);
        while collected.records.len() < max {
            let Some(mut fetch) = self.buffer.pop_front() else { break };
            match self.collect_from(&mut fetch, max - collected.records.len(), &mut collected, outbox) {
                Ok(()) if fetch.is_consumed() => {
                    if fetch.size > 0 {
                        self.subscription.move_to_end(&fetch.partition);
                    }
                }
                Ok(()) => self.buffer.push_front(fetch),
                Err(exception) => {
                    // Records that cannot be read stay where they are until the application seeks past them.
                    if !fetch.error.is_error() {
                        self.buffer.push_front(fetch);
                    }
                    if collected.records.is_empty() && !collected.advanced {
                        return Err(exception);
                    }
                    break;
                }
            }
        }
        Ok(collected)
    }

    fn collect_from(
        &mut self,
        fetch: &mut CompletedFetch,
        max: usize,
        collected: &mut Collected,
        outbox: &mut Outbox<'_>,
    ) -> Result<(), Exception> {
        let position = self.subscription.position(&fetch.partition);
        // Unassigned, reset or sought elsewhere since the request was sent.
        let Some(position) = position.filter(|position| position.offset == fetch.next_fetch_offset) else {
            fetch.drain();
            return Ok(());
        };
        if fetch.error.is_error() {
            fetch.drain();
            self.subscription.move_to_end(&fetch.partition);
            return self.fetch_failed(fetch, position, outbox);
        }
        if !fetch.initialized {
            if fetch.is_cut() {
                let at = format!("{}-{}", fetch.partition.topic, fetch.partition.partition);
                let message = format!(
                    "Failed to make progress reading messages at {at}={}. Received a non-empty fetch response from the \
                     server, but no complete records were found.",
                    fetch.next_fetch_offset
                );
                return Err(Exception::new("KafkaException", message));
            }
            fetch.initialized = true;
        }
        let mut records = fetch.take(max, &self.config, &mut collected.batches)?;
        if !records.is_empty() {
            collected.causes.extend(fetch.causes);
        }
        collected.records.append(&mut records);
        if fetch.next_fetch_offset > position.offset {
            let position = Position { offset: fetch.next_fetch_offset, offset_epoch: fetch.last_epoch };
            self.subscription.set(&fetch.partition, FetchState::Fetching(position), outbox.event());
            let note = Note::PositionSet { partition: fetch.partition.clone(), offset: position.offset };
            outbox.note(&fetch.causes, note);
            collected.advanced = true;
        }
        Ok(())
    }

    fn fetch_failed(
        &mut self,
        fetch: &CompletedFetch,
        position: Position,
        outbox: &mut Outbox<'_>,
    ) -> Result<(), Exception> {
        let partition = &fetch.partition;
        let at = format!("{}-{}", partition.topic, partition.partition);
        match fetch.error {
            ErrorCode::NOT_LEADER_OR_FOLLOWER
            | ErrorCode::REPLICA_NOT_AVAILABLE
            | ErrorCode::KAFKA_STORAGE_ERROR
            | ErrorCode::FENCED_LEADER_EPOCH
            | ErrorCode::OFFSET_NOT_AVAILABLE
            | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
            | ErrorCode::UNKNOWN_TOPIC_ID
            | ErrorCode::INCONSISTENT_TOPIC_ID => {
                self.network.metadata.request_update();
                Ok(())
            }
            ErrorCode::UNKNOWN_LEADER_EPOCH | ErrorCode::UNKNOWN_SERVER_ERROR => Ok(()),
            ErrorCode::OFFSET_OUT_OF_RANGE => match self.reset_timestamp() {
                Some(timestamp) => {
                    let state = FetchState::AwaitReset { timestamp, not_before_ms: i64::MIN, asked: false };
                    self.subscription.set(partition, state, outbox.event());
                    Ok(())
                }
                None => Err(Exception::new(
                    "OffsetOutOfRangeException",
                    format!("Fetch position {} is out of range for partition {at}", self.describe(partition, position)),
                )),
            },
            ErrorCode::TOPIC_AUTHORIZATION_FAILED => Err(Exception::new(
                "TopicAuthorizationException",
                format!("Not authorized to access topics: [{}]", partition.topic),
            )),
            ErrorCode::CORRUPT_MESSAGE => Err(Exception::new(
                "KafkaException",
                format!(
                    "Encountered corrupt message when fetching offset {} for topic-partition {at}",
                    fetch.next_fetch_offset
                ),
            )),
            error => Err(Exception::new(
                "IllegalStateException",
                format!(
                    "Unexpected error code {} while fetching at offset {} from topic-partition {at}",
                    error.0, fetch.next_fetch_offset
                ),
            )),
        }
    }

    /// What auto.offset.reset looks for, if anything.
    pub(super) fn reset_timestamp(&self) -> Option<i64> {
        match self.config.auto_offset_reset {
            OffsetReset::Earliest => Some(EARLIEST_TIMESTAMP),
            OffsetReset::Latest => Some(LATEST_TIMESTAMP),
            OffsetReset::None => None,
        }
    }

    /// As Java prints a FetchPosition.
    fn describe(&self, partition: &TopicPartition, position: Position) -> String {
        let optional = |number: Option<i32>| match number {
            Some(number) => format!("Optional[{number}]"),
            None => "Optional.empty".to_owned(),
        };
        let metadata = &self.network.metadata;
        let leader = metadata.leader(partition).and_then(|id| Some((id, metadata.nodes().get(&id)?)));
        let leader = match leader {
            Some((id, Address { host, port })) => {
                format!("Optional[{host}:{port} (id: {id} rack: null isFenced: false)]")
            }
            None => "Optional.empty".to_owned(),
        };
        let epoch = metadata.partition(partition).and_then(|known| known.leader_epoch);
        let epoch = epoch.map_or("absent".to_owned(), |epoch| epoch.to_string());
        format!(
            "FetchPosition{{offset={}, offsetEpoch={}, currentLeader=LeaderAndEpoch{{leader={leader}, epoch={epoch}}}}}",
            position.offset,
            optional(position.offset_epoch)
        )
    }
}
