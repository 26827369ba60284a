//! Fetch: reading batches as they lie in the log, and waiting for more (`KafkaApis.handleFetchRequest`,
//! `ReplicaManager.fetchMessages`, `DelayedFetch`).

use crate::log::{OffsetMetadata, ReadError};
use crate::node::{Duration, Instant};
use crate::wire::messages::fetch::{
    EpochEndOffset, FetchPartition, FetchRequest, FetchResponse, FetchableTopicResponse, LeaderIdAndEpoch,
    NodeEndpoint, PartitionData,
};
use crate::wire::{ErrorCode, Records};

use super::Broker;
use super::connections::RequestId;
use super::context::Context;
use super::fetch_sessions::{Asked, FetchContext};
use super::partition::{Partition, PartitionKey};
use super::purgatory::Delayed;

/// The first version in which topics go by id (KIP-516).
pub(super) const FIRST_BY_ID: i16 = 13;
/// The first version whose answer names the new leader's address (KIP-951).
const FIRST_WITH_NODE_ENDPOINTS: i16 = 16;
const READ_COMMITTED: i8 = 1;

/// A Fetch that waits for data.
#[derive(Debug, Clone)]
pub(super) struct DelayedFetch {
    pub request: RequestId,
    pub deadline: Instant,
    /// Without its topics: what is asked stands beside it.
    body: FetchRequest,
    context: FetchContext,
    asked: Vec<Asked>,
    min_bytes: u64,
    /// Where each partition that could be read stood when it was.
    positions: Vec<Position>,
}

#[derive(Debug, Clone)]
struct Position {
    key: PartitionKey,
    current_leader_epoch: i32,
    partition_max_bytes: i32,
    start: OffsetMetadata,
}

/// What reading all partitions of a request gave.
struct ReadAll {
    /// By place among what was asked; what is not even in the metadata comes last.
    data: Vec<(usize, PartitionData)>,
    bytes: u64,
    /// An error from a log, or a diverging epoch: the answer does not wait.
    at_once: bool,
    positions: Vec<Position>,
}

/// What reading one partition gave.
struct ReadOne {
    data: PartitionData,
    bytes: u64,
    at_once: bool,
    start: Option<OffsetMetadata>,
}

impl DelayedFetch {
    pub fn partitions(&self) -> Vec<PartitionKey> {
        self.positions.iter().map(|position| position.key).collect()
    }
}

impl Broker {
    pub(super) fn handle_fetch(&mut self, cx: &mut Context<'_>, request: RequestId, mut body: FetchRequest) {
        let privileged = replica_id(&body) >= 0;
        let begun = self.fetch_sessions.begin(request.api_version, &mut body, privileged, cx.now());
        let (context, asked) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                self.respond(cx, request, &FetchResponse { error_code: error.0, ..Default::default() });
                return;
            }
        };
        let budget = self.fetch_budget(&body);
        let min_bytes = u64::try_from(body.min_bytes).unwrap_or(0).min(budget);
        let read = self.read_all(cx, request, &body, &asked);
        let at_once = body.max_wait_ms <= 0 || asked.is_empty() || read.at_once || read.bytes >= min_bytes;
        if at_once || (read.positions.is_empty() && only_errors(&read)) {
            self.answer_fetch(cx, request, context, &asked, read);
            return;
        }
        let wait = Duration::from_ms(u64::try_from(body.max_wait_ms).unwrap_or(0));
        let deadline = cx.now() + wait;
        let fetch = DelayedFetch { request, deadline, body, context, asked, min_bytes, positions: read.positions };
        let keys = fetch.partitions();
        let id = self.purgatory.add(Delayed::Fetch(fetch));
        for key in keys {
            if let Some(partition) = self.partitions.get_mut(&key) {
                partition.waiting.insert(id);
            }
        }
    }

    /// What the session lets through, topic by topic.
    fn answer_fetch(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        context: FetchContext,
        asked: &[Asked],
        mut read: ReadAll,
    ) {
        let (session_id, error) = self.fetch_sessions.finish(context, asked, &mut read.data, cx.now());
        let mut response = FetchResponse { session_id, error_code: error.0, ..Default::default() };
        for (at, data) in read.data {
            let Some(Asked { topic, topic_id, .. }) = asked.get(at) else { continue };
            // Partitions of one topic that follow each other share an entry.
            match response.responses.last_mut() {
                Some(last) if last.topic == *topic && last.topic_id == *topic_id => last.partitions.push(data),
                _ => response.responses.push(FetchableTopicResponse {
                    topic: topic.clone(),
                    topic_id: *topic_id,
                    partitions: vec![data],
                    ..Default::default()
                }),
            }
        }
        self.name_leaders(request, &mut response);
        self.respond(cx, request, &response);
    }

    fn fetch_budget(&self, body: &FetchRequest) -> u64 {
        u64::try_from(body.max_bytes.min(self.config.fetch_max_bytes)).unwrap_or(0)
    }

    fn read_all(&mut self, cx: &mut Context<'_>, request: RequestId, body: &FetchRequest, asked: &[Asked]) -> ReadAll {
        let version = request.api_version;
        let mut left = self.fetch_budget(body);
        let mut read =
            ReadAll { data: Vec::with_capacity(asked.len()), bytes: 0, at_once: false, positions: Vec::new() };
        let mut unknown = Vec::new();
        for (at, Asked { topic, topic_id, fetch }) in asked.iter().enumerate() {
            let id = if version >= FIRST_BY_ID {
                Some(*topic_id).filter(|id| self.image.topic_by_id(*id).is_some())
            } else {
                self.image.topic_ids.get(topic).copied()
            };
            let key = id.map(|id| (id, fetch.partition));
            let Some(key) = key.filter(|key| self.image.partition(key.0, key.1).is_some()) else {
                // Answered beside the others, without an end to their wait.
                let error = match id {
                    None if version >= FIRST_BY_ID => ErrorCode::UNKNOWN_TOPIC_ID,
                    _ => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                };
                unknown.push((at, unknown_data(fetch.partition, error)));
                continue;
            };
            let one = self.read_one(cx, body, key, fetch, left, read.bytes == 0);
            left = left.saturating_sub(one.bytes);
            read.bytes += one.bytes;
            read.at_once |= one.at_once;
            if let Some(start) = one.start {
                read.positions.push(Position {
                    key,
                    current_leader_epoch: fetch.current_leader_epoch,
                    partition_max_bytes: fetch.partition_max_bytes,
                    start,
                });
            }
            read.data.push((at, one.data));
        }
        read.data.append(&mut unknown);
        read
    }

    fn read_one(
        &self,
        cx: &mut Context<'_>,
        body: &FetchRequest,
        key: PartitionKey,
        asked: &FetchPartition,
        left: u64,
        nothing_yet: bool,
    ) -> ReadOne {
        let Some(partition) = self.partitions.get(&key) else {
            return ReadOne::failed(asked.partition, ErrorCode::NOT_LEADER_OR_FOLLOWER);
        };
        match read_partition(cx, partition, body, asked, left, nothing_yet) {
            Ok(one) => one,
            Err(error) => ReadOne::failed(asked.partition, error),
        }
    }

    /// Codes 6 and 74 tell who leads instead; from version 16 on also where (KIP-951).
    fn name_leaders(&self, request: RequestId, response: &mut FetchResponse) {
        let names_leader = [ErrorCode::NOT_LEADER_OR_FOLLOWER.0, ErrorCode::FENCED_LEADER_EPOCH.0];
        if request.api_version < FIRST_WITH_NODE_ENDPOINTS {
            return;
        }
        let mut endpoints: Vec<NodeEndpoint> = Vec::new();
        for topic in &mut response.responses {
            for data in topic.partitions.iter_mut().filter(|data| names_leader.contains(&data.error_code)) {
                let Some(partition) = self.image.partition(topic.topic_id, data.partition_index) else { continue };
                data.current_leader = LeaderIdAndEpoch {
                    leader_id: partition.leader,
                    leader_epoch: partition.leader_epoch,
                    ..Default::default()
                };
                let leader = self.image.brokers.get(&partition.leader);
                let known = |id: i32| endpoints.iter().any(|endpoint| endpoint.node_id == id);
                if let Some((broker, address)) =
                    leader.and_then(|broker| Some((broker, self.endpoint(broker, request.listener)?)))
                    && !known(broker.broker_id)
                {
                    endpoints.push(NodeEndpoint {
                        node_id: broker.broker_id,
                        host: address.host,
                        port: i32::from(address.port),
                        rack: broker.rack.clone(),
                        ..Default::default()
                    });
                }
            }
        }
        response.node_endpoints = endpoints;
    }

    /// Something happened on one of its partitions; gives the operation back if it has to go on waiting.
    pub(super) fn try_complete_fetch(&mut self, cx: &mut Context<'_>, fetch: DelayedFetch) -> Option<DelayedFetch> {
        if !self.has_enough(cx, &fetch) {
            return Some(fetch);
        }
        self.finish_fetch(cx, fetch);
        None
    }

    /// `DelayedFetch.tryComplete`: enough bytes below the bound, or a reason not to wait for them.
    fn has_enough(&self, cx: &Context<'_>, fetch: &DelayedFetch) -> bool {
        let mut available = 0;
        for position in &fetch.positions {
            let Some(partition) = self.partitions.get(&position.key) else { return true };
            if partition.check_leadership(position.current_leader_epoch).is_err() {
                return true;
            }
            let bound = upper_bound(partition, &fetch.body);
            let end = if bound >= partition.log.log_end_offset() {
                partition.log.log_end_offset_metadata()
            } else {
                let Ok(end) = partition.log.offset_metadata(&*cx.disk, bound) else { return true };
                end
            };
            if end.offset < position.start.offset {
                // The end lies before the position: the log was truncated.
                return true;
            }
            if end.offset > position.start.offset {
                if end.segment_base_offset != position.start.segment_base_offset {
                    // A segment was rolled in between; how many bytes that makes is not worth counting.
                    return true;
                }
                let max = u64::try_from(position.partition_max_bytes).unwrap_or(0);
                available += end.position.saturating_sub(position.start.position).min(max);
            }
        }
        available >= fetch.min_bytes
    }

    /// Reads again and answers, whatever there is.
    pub(super) fn finish_fetch(&mut self, cx: &mut Context<'_>, fetch: DelayedFetch) {
        let mut cx = cx.because([fetch.request.cause]);
        let read = self.read_all(&mut cx, fetch.request, &fetch.body, &fetch.asked);
        self.answer_fetch(&mut cx, fetch.request, fetch.context, &fetch.asked, read);
    }
}

impl ReadOne {
    fn failed(index: i32, error: ErrorCode) -> ReadOne {
        ReadOne { data: failed_data(index, error), bytes: 0, at_once: true, start: None }
    }
}

/// Not in the metadata. Kafka's answer has no transactions here, where a failed read has null.
fn unknown_data(index: i32, error: ErrorCode) -> PartitionData {
    PartitionData { aborted_transactions: Some(Vec::new()), ..failed_data(index, error) }
}

fn failed_data(index: i32, error: ErrorCode) -> PartitionData {
    PartitionData {
        partition_index: index,
        error_code: error.0,
        high_watermark: -1,
        aborted_transactions: None,
        records: Some(no_records()),
        ..Default::default()
    }
}

fn no_records() -> Records {
    Records::Bytes(bytes::Bytes::new())
}

fn only_errors(read: &ReadAll) -> bool {
    read.data.iter().all(|(_, data)| data.error_code != ErrorCode::NONE.0)
}

/// The node that asks: −1 for a consumer.
fn replica_id(body: &FetchRequest) -> i32 {
    if body.replica_state.replica_id >= 0 { body.replica_state.replica_id } else { body.replica_id }
}

fn upper_bound(partition: &Partition, body: &FetchRequest) -> i64 {
    match body.isolation_level {
        _ if replica_id(body) >= 0 => partition.log.log_end_offset(),
        READ_COMMITTED => partition.last_stable_offset(),
        _ => partition.high_watermark(),
    }
}

fn read_partition(
    cx: &Context<'_>,
    partition: &Partition,
    body: &FetchRequest,
    asked: &FetchPartition,
    left: u64,
    nothing_yet: bool,
) -> Result<ReadOne, ErrorCode> {
    partition.check_leadership(asked.current_leader_epoch)?;
    let replica = replica_id(body);
    if replica >= 0 && !partition.registration.replicas.contains(&replica) {
        return Err(ErrorCode::UNKNOWN_LEADER_EPOCH);
    }
    let mut data = PartitionData {
        partition_index: asked.partition,
        high_watermark: partition.high_watermark(),
        last_stable_offset: partition.last_stable_offset(),
        log_start_offset: partition.log.log_start_offset(),
        aborted_transactions: (body.isolation_level == READ_COMMITTED).then(Vec::new),
        records: Some(no_records()),
        ..Default::default()
    };
    if let Some(diverging) = diverging_epoch(partition, asked)? {
        data.diverging_epoch = diverging;
        return Ok(ReadOne { data, bytes: 0, at_once: true, start: None });
    }
    let max = u64::try_from(asked.partition_max_bytes).unwrap_or(0).min(left);
    let bound = upper_bound(partition, body);
    let read =
        partition.log.read(&*cx.disk, asked.fetch_offset, max, bound, nothing_yet).map_err(|error| match error {
            ReadError::OffsetOutOfRange { .. } => ErrorCode::OFFSET_OUT_OF_RANGE,
            ReadError::Log(_) | ReadError::Records { .. } => ErrorCode::KAFKA_STORAGE_ERROR,
        })?;
    // A first batch that does not fit behind another partition's data stays for the next fetch.
    let fits = nothing_yet || !read.first_entry_incomplete;
    let bytes = if fits { read.size } else { 0 };
    if let Some(records) = read.records.filter(|_| fits) {
        data.records = Some(records);
    }
    Ok(ReadOne { data, bytes, at_once: false, start: Some(read.fetch_offset) })
}

/// Where the reader's log parted from ours (KIP-595), if it says what it fetched last.
fn diverging_epoch(partition: &Partition, asked: &FetchPartition) -> Result<Option<EpochEndOffset>, ErrorCode> {
    if asked.last_fetched_epoch < 0 {
        return Ok(None);
    }
    let end = partition.log.log_end_offset();
    let Some(epoch_end) = partition.log.leader_epochs().end_offset_for(asked.last_fetched_epoch, end) else {
        return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
    };
    if asked.fetch_offset < partition.log.log_start_offset() {
        return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
    }
    let diverges = epoch_end.epoch < asked.last_fetched_epoch || epoch_end.end_offset < asked.fetch_offset;
    Ok(diverges.then(|| EpochEndOffset {
        epoch: epoch_end.epoch,
        end_offset: epoch_end.end_offset,
        ..Default::default()
    }))
}
