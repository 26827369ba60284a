//! Produce: the checks in Kafka's order, the append, and waiting for the replicas (`KafkaApis.handleProduceRequest`,
//! `ReplicaManager.appendRecords`, `DelayedProduce`).

use std::sync::Arc;

use bytes::Bytes;

use crate::controller::TopicImage;
use crate::log::{AppendError, Appended};
use crate::node::{Duration, EventId, Instant, Note, TopicPartition};
use crate::ordered::BTreeMap;
use crate::record::{Batch, BatchError, Batches, Codec, CompressionType};
use crate::wire::messages::produce::{
    BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, ProduceRequest,
    ProduceResponse, TopicProduceResponse,
};
use crate::wire::{ErrorCode, Records, Uuid};

use super::Broker;
use super::connections::RequestId;
use super::context::Context;
use super::metadata::is_internal;
use super::partition::{PartitionKey, ProduceError};
use super::purgatory::Delayed;

/// The first version in which topics go by id (KIP-516).
const FIRST_BY_ID: i16 = 13;
/// The first version in which zstd may be used.
const FIRST_WITH_ZSTD: i16 = 7;
/// Kafka's own tools write to internal topics under this client id.
const ADMIN_CLIENT_ID: &str = "__admin_client";

/// A Produce with acks=all that waits for the ISR.
#[derive(Debug, Clone)]
pub(super) struct DelayedProduce {
    pub request: RequestId,
    pub deadline: Instant,
    response: ProduceResponse,
    /// For each partition that was appended to: its place in the response, and the offset the high watermark must reach.
    waiting: BTreeMap<PartitionKey, Waiting>,
    /// The events that brought it nearer.
    causes: Vec<EventId>,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    topic: usize,
    partition: usize,
    required_offset: i64,
}

/// One partition of a request, its topic found or not.
struct Target<'a> {
    topic: Option<Arc<TopicImage>>,
    given_name: &'a str,
    topic_id: Uuid,
    index: i32,
    records: &'a Option<Records>,
}

impl Target<'_> {
    fn name(&self) -> &str {
        self.topic.as_ref().map_or(self.given_name, |topic| topic.name.as_str())
    }
}

impl DelayedProduce {
    pub fn partitions(&self) -> Vec<PartitionKey> {
        self.waiting.keys().copied().collect()
    }
}

impl Broker {
    pub(super) fn handle_produce(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        client_id: &str,
        body: &ProduceRequest,
    ) {
        let refused = self.refused_as_a_whole(body);
        let mut response = ProduceResponse::default();
        let mut waiting = BTreeMap::new();
        for (topic_at, topic) in self.targets(request.api_version, body).into_iter().enumerate() {
            let mut result = TopicProduceResponse::default();
            for (partition_at, target) in topic.into_iter().enumerate() {
                result.name = target.name().to_string();
                result.topic_id = target.topic_id;
                let outcome = match &refused {
                    Some(refusal) => Err(refusal.clone()),
                    None => self.produce_to_partition(cx, request, client_id, body.acks, &target),
                };
                let partition = match outcome {
                    Ok((key, appended, answer)) => {
                        let required_offset = appended.last_offset + 1;
                        let place = Waiting { topic: topic_at, partition: partition_at, required_offset };
                        waiting.insert(key, place);
                        answer
                    }
                    Err(refusal) => self.refused_partition(cx, &target, refusal),
                };
                result.partition_responses.push(partition);
            }
            response.responses.push(result);
        }
        self.name_new_leaders(request, &mut response);
        match body.acks {
            0 => self.finish_unanswered(cx, request, &response),
            -1 if !waiting.is_empty() => {
                let timeout = Duration::from_ms(u64::try_from(body.timeout_ms).unwrap_or(0));
                let deadline = cx.now() + timeout;
                let causes = vec![request.cause];
                self.wait_for_replicas(cx, DelayedProduce { request, deadline, response, waiting, causes });
            }
            _ => self.respond(cx, request, &response),
        }
    }

    /// The request's partitions by topic, in order of first mention. Of a partition that is named twice only the last
    /// counts, as in Kafka, which keeps them in a map.
    fn targets<'a>(&self, version: i16, body: &'a ProduceRequest) -> Vec<Vec<Target<'a>>> {
        let mut topics: Vec<Vec<Target<'a>>> = Vec::new();
        for topic in &body.topic_data {
            let topic_id = if version >= FIRST_BY_ID {
                topic.topic_id
            } else {
                self.image.topic_ids.get(&topic.name).copied().unwrap_or_default()
            };
            let given_name = topic.name.as_str();
            let known = self.image.topics.get(&topic_id);
            let same = |targets: &Vec<Target<'_>>| {
                targets.first().is_some_and(|first| first.given_name == given_name && first.topic_id == topic_id)
            };
            let at = topics.iter().position(same).unwrap_or_else(|| {
                topics.push(Vec::new());
                topics.len() - 1
            });
            let Some(targets) = topics.get_mut(at) else { continue };
            for data in &topic.partition_data {
                targets.retain(|target| target.index != data.index);
                let (topic, index, records) = (known.cloned(), data.index, &data.records);
                targets.push(Target { topic, given_name, topic_id, index, records });
            }
        }
        topics
    }

    /// Step 1: transactional batches need a transactional id.
    fn refused_as_a_whole(&self, body: &ProduceRequest) -> Option<Refusal> {
        let partitions = body.topic_data.iter().flat_map(|topic| &topic.partition_data);
        let first_batch = |records: &Records| Batches::new(records.to_bytes().ok()?).next()?.ok();
        let mut batches = partitions.filter_map(|data| data.records.as_ref().and_then(first_batch));
        if !batches.any(|batch| batch.is_transactional()) {
            return None;
        }
        match &body.transactional_id {
            None => Some(Refusal::of(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED)),
            Some(_) => None,
        }
    }

    fn produce_to_partition(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        client_id: &str,
        acks: i16,
        target: &Target<'_>,
    ) -> Result<(PartitionKey, Appended, PartitionProduceResponse), Refusal> {
        let version = request.api_version;
        let known = match &target.topic {
            None if version >= FIRST_BY_ID => return Err(Refusal::of(ErrorCode::UNKNOWN_TOPIC_ID)),
            None => false,
            Some(topic) => topic.partitions.contains_key(&target.index),
        };
        if !known {
            return Err(Refusal::of(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
        }
        let batch = the_one_batch(target.records, version)?;
        // Step 7: there is no transaction coordinator yet that could know a transactional id's producer.
        if batch.is_transactional() && batch.has_producer_id() {
            return Err(Refusal::of(ErrorCode::INVALID_PRODUCER_ID_MAPPING));
        }
        if !matches!(acks, -1..=1) {
            return Err(Refusal::of(ErrorCode::INVALID_REQUIRED_ACKS));
        }
        if is_internal(target.name()) && client_id != ADMIN_CLIENT_ID {
            return Err(Refusal::of(ErrorCode::INVALID_TOPIC_EXCEPTION));
        }
        self.append(cx, acks, target, &batch)
    }

    /// Steps 10 and on.
    fn append(
        &mut self,
        cx: &mut Context<'_>,
        acks: i16,
        target: &Target<'_>,
        batch: &Batch<Bytes>,
    ) -> Result<(PartitionKey, Appended, PartitionProduceResponse), Refusal> {
        let key = (target.topic_id, target.index);
        let now_ms = cx.wall_ms();
        let Some(partition) = self.partitions.get_mut(&key) else {
            return Err(Refusal::of(ErrorCode::NOT_LEADER_OR_FOLLOWER));
        };
        let log_start_offset = partition.log.log_start_offset();
        let appended = match partition.append(cx.disk, batch, acks, now_ms) {
            Ok(appended) => appended,
            Err(error) => {
                if let ProduceError::Log(AppendError::Storage(error)) = &error {
                    self.storage_failed.get_or_insert_with(|| error.to_string());
                }
                return Err(Refusal::of_append(&error, log_start_offset));
            }
        };
        let name = partition.name();
        if appended.duplicate {
            cx.out.note(Note::DuplicateBatch { partition: name, base_offset: appended.first_offset });
        } else {
            if let Some(base_offset) = appended.rolled {
                cx.out.note(Note::SegmentRolled { partition: name.clone(), base_offset });
            }
            cx.out.note(Note::Appended {
                partition: name.clone(),
                base_offset: appended.first_offset,
                last_offset: appended.last_offset,
                size: u32::try_from(appended.size).unwrap_or(u32::MAX),
            });
            if partition.raise_high_watermark() {
                cx.out.note(Note::HighWatermark { partition: name, offset: partition.high_watermark() });
            }
            self.purgatory.touch(key);
            self.checkpoints_are_behind(cx.now());
        }
        if let Some(base_offset) = appended.rolled {
            self.flush_up_to(cx, key, base_offset);
        }
        let answer = PartitionProduceResponse {
            index: target.index,
            base_offset: appended.first_offset,
            log_append_time_ms: appended.log_append_time,
            log_start_offset,
            ..Default::default()
        };
        Ok((key, appended, answer))
    }

    fn refused_partition(
        &mut self,
        cx: &mut Context<'_>,
        target: &Target<'_>,
        refusal: Refusal,
    ) -> PartitionProduceResponse {
        let partition = TopicPartition { topic: target.name().to_string(), partition: target.index };
        cx.out.note(Note::Refused { partition, error_code: refusal.error.0 });
        PartitionProduceResponse {
            index: target.index,
            error_code: refusal.error.0,
            base_offset: -1,
            log_append_time_ms: -1,
            log_start_offset: refusal.log_start_offset,
            record_errors: refusal.record_errors,
            error_message: refusal.message,
            ..Default::default()
        }
    }

    /// From version 10 on, code 6 tells who leads instead (KIP-951).
    fn name_new_leaders(&self, request: RequestId, response: &mut ProduceResponse) {
        if request.api_version < 10 {
            return;
        }
        let mut leaders = BTreeMap::new();
        for topic in &mut response.responses {
            let id = if topic.topic_id.is_zero() {
                self.image.topic_ids.get(&topic.name).copied().unwrap_or_default()
            } else {
                topic.topic_id
            };
            let refused = topic.partition_responses.iter_mut();
            for answer in refused.filter(|answer| answer.error_code == ErrorCode::NOT_LEADER_OR_FOLLOWER.0) {
                let Some(partition) = self.image.partition(id, answer.index) else { continue };
                answer.current_leader = LeaderIdAndEpoch {
                    leader_id: partition.leader,
                    leader_epoch: partition.leader_epoch,
                    ..Default::default()
                };
                let leader = self.image.brokers.get(&partition.leader);
                if let Some((broker, address)) =
                    leader.and_then(|broker| Some((broker, self.endpoint(broker, request.listener)?)))
                {
                    leaders.insert(broker.broker_id, (address, broker.rack.clone()));
                }
            }
        }
        response.node_endpoints.extend(leaders.into_iter().map(|(node_id, (address, rack))| NodeEndpoint {
            node_id,
            host: address.host,
            port: i32::from(address.port),
            rack,
            ..Default::default()
        }));
    }

    /// With acks=0 there is no answer; all that a client can see of an error is that the connection closes.
    fn finish_unanswered(&mut self, cx: &mut Context<'_>, request: RequestId, response: &ProduceResponse) {
        let mut partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
        if partitions.any(|partition| partition.error_code != ErrorCode::NONE.0) {
            self.refuse(cx, request.conn);
        } else {
            self.answered(request.conn, cx.now());
        }
    }

    fn wait_for_replicas(&mut self, cx: &mut Context<'_>, mut produce: DelayedProduce) {
        self.look_at_replicas(&mut produce);
        if produce.waiting.is_empty() {
            self.respond(cx, produce.request, &produce.response);
            return;
        }
        let keys = produce.partitions();
        let id = self.purgatory.add(Delayed::Produce(produce));
        for key in keys {
            if let Some(partition) = self.partitions.get_mut(&key) {
                partition.waiting.insert(id);
            }
        }
    }

    /// Takes out of `waiting` what has come to its end.
    fn look_at_replicas(&self, produce: &mut DelayedProduce) {
        let DelayedProduce { response, waiting, .. } = produce;
        waiting.retain(|key, place| {
            let error = match self.partitions.get(key) {
                None => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                Some(partition) if !partition.is_leader() => ErrorCode::NOT_LEADER_OR_FOLLOWER,
                Some(partition) if partition.high_watermark() < place.required_offset => return true,
                // The data is in the log and stays, yet on fewer replicas than asked for.
                Some(partition) if !partition.has_enough_replicas() => ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
                Some(_) => ErrorCode::NONE,
            };
            set_error(response, *place, error);
            false
        });
    }

    /// Something happened on one of its partitions; gives the operation back if it has to go on waiting.
    pub(super) fn try_complete_produce(
        &mut self,
        cx: &mut Context<'_>,
        mut produce: DelayedProduce,
    ) -> Option<DelayedProduce> {
        let before = produce.waiting.len();
        self.look_at_replicas(&mut produce);
        if !produce.waiting.is_empty() {
            if produce.waiting.len() < before {
                produce.causes.push(cx.event());
            }
            return Some(produce);
        }
        let causes = std::mem::take(&mut produce.causes);
        self.respond(&mut cx.because(causes), produce.request, &produce.response);
        None
    }

    /// Time is up: what is still waiting gets code 7, with its real offset, for it was appended.
    pub(super) fn expire_produce(&mut self, cx: &mut Context<'_>, mut produce: DelayedProduce) {
        self.look_at_replicas(&mut produce);
        for place in std::mem::take(&mut produce.waiting).into_values() {
            set_error(&mut produce.response, place, ErrorCode::REQUEST_TIMED_OUT);
        }
        self.respond(&mut cx.because(produce.causes), produce.request, &produce.response);
    }
}

fn set_error(response: &mut ProduceResponse, place: Waiting, error: ErrorCode) {
    let topic = response.responses.get_mut(place.topic);
    if let Some(answer) = topic.and_then(|topic| topic.partition_responses.get_mut(place.partition)) {
        answer.error_code = error.0;
    }
}

/// A partition's part of a request that comes to nothing, as it is answered.
#[derive(Debug, Clone)]
struct Refusal {
    error: ErrorCode,
    message: Option<String>,
    record_errors: Vec<BatchIndexAndErrorMessage>,
    log_start_offset: i64,
}

impl Refusal {
    fn of(error: ErrorCode) -> Refusal {
        Refusal { error, message: None, record_errors: Vec::new(), log_start_offset: -1 }
    }

    fn of_append(error: &ProduceError, log_start_offset: i64) -> Refusal {
        match error {
            ProduceError::NotLeader => Refusal::of(ErrorCode::NOT_LEADER_OR_FOLLOWER),
            ProduceError::NotEnoughReplicas => {
                Refusal { log_start_offset, ..Refusal::of(ErrorCode::NOT_ENOUGH_REPLICAS) }
            }
            ProduceError::Log(error) => Refusal {
                error: ErrorCode(error.error_code()),
                message: error.error_message(),
                record_errors: error
                    .record_errors()
                    .iter()
                    .map(|record| BatchIndexAndErrorMessage {
                        batch_index: record.batch_index,
                        batch_index_error_message: Some(record.message.clone()),
                        ..Default::default()
                    })
                    .collect(),
                log_start_offset: if error.tells_log_start_offset() { log_start_offset } else { -1 },
            },
        }
    }
}

/// Step 5 (`ProduceRequest.validateRecords`): exactly one batch, of magic 2. Kafka never answers null records; we do.
fn the_one_batch(records: &Option<Records>, version: i16) -> Result<Batch<Bytes>, Refusal> {
    let invalid = || Refusal::of(ErrorCode::INVALID_RECORD);
    let unreadable = |error: BatchError| match error {
        BatchError::Magic { magic: 0 | 1 } => invalid(),
        BatchError::SizeBelowMinimum { .. } | BatchError::Magic { .. } => {
            Refusal { message: Some(error.to_string()), ..Refusal::of(ErrorCode::CORRUPT_MESSAGE) }
        }
        BatchError::TooShort { .. } | BatchError::Length { .. } => Refusal::of(ErrorCode::CORRUPT_MESSAGE),
    };
    let bytes = records.as_ref().ok_or_else(invalid)?.to_bytes().map_err(|_| invalid())?;
    let mut batches = Batches::new(bytes);
    let batch = batches.next().ok_or_else(invalid)?.map_err(unreadable)?;
    if version < FIRST_WITH_ZSTD && batch.compression_type() == CompressionType::Packed(Codec::Zstd) {
        return Err(Refusal::of(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE));
    }
    match batches.next() {
        None => Ok(batch),
        Some(Ok(_)) => Err(invalid()),
        Some(Err(error)) => Err(unreadable(error)),
    }
}
