//! ListOffsets: offsets by time and by name (`ReplicaManager.fetchOffset`, `UnifiedLog.fetchOffsetByTimestamp`).

use crate::log::{ReadError, TimestampAndOffset};
use crate::ordered::BTreeSet;
use crate::wire::ErrorCode;
use crate::wire::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse,
};

use super::Broker;
use super::connections::RequestId;
use super::context::Context;
use super::partition::Partition;

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;
const EARLIEST_PENDING_UPLOAD: i64 = -6;

const READ_COMMITTED: i8 = 1;
/// `ListOffsetsRequest.CONSUMER_REPLICA_ID`; −2 asks any replica, for debugging, and sees the whole log.
const CONSUMER: i32 = -1;
const DEBUGGING: i32 = -2;
/// The first version whose answer has the leader epoch.
const FIRST_WITH_LEADER_EPOCH: i16 = 4;
/// The first version whose clients know OFFSET_NOT_AVAILABLE.
const FIRST_WITH_NOT_AVAILABLE: i16 = 5;

/// The version that brought a special timestamp; `None` for one that does not exist.
fn first_version(timestamp: i64) -> Option<i16> {
    match timestamp {
        0.. | LATEST | EARLIEST => Some(1),
        MAX_TIMESTAMP => Some(7),
        EARLIEST_LOCAL => Some(8),
        LATEST_TIERED => Some(9),
        EARLIEST_PENDING_UPLOAD => Some(11),
        _ => None,
    }
}

impl Broker {
    pub(super) fn handle_list_offsets(&mut self, cx: &mut Context<'_>, request: RequestId, body: &ListOffsetsRequest) {
        let twice = named_twice(body);
        let mut refused = BTreeSet::new();
        let mut topics = Vec::with_capacity(body.topics.len());
        for topic in &body.topics {
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for asked in &topic.partitions {
                let partition = (topic.name.as_str(), asked.partition_index);
                let found = if !twice.contains(&partition) {
                    self.list_offset(cx, request.api_version, body, &topic.name, asked)
                } else if refused.insert(partition) {
                    Err(ErrorCode::INVALID_REQUEST)
                } else {
                    continue;
                };
                partitions.push(answer(asked.partition_index, request.api_version, found));
            }
            topics.push(ListOffsetsTopicResponse { name: topic.name.clone(), partitions, ..Default::default() });
        }
        self.respond(cx, request, &ListOffsetsResponse { topics, ..Default::default() });
    }

    fn list_offset(
        &self,
        cx: &Context<'_>,
        version: i16,
        body: &ListOffsetsRequest,
        topic: &str,
        asked: &ListOffsetsPartition,
    ) -> Result<Option<TimestampAndOffset>, ErrorCode> {
        if first_version(asked.timestamp).is_none_or(|first| version < first) {
            return Err(ErrorCode::UNSUPPORTED_VERSION);
        }
        let id = self.image.topic_ids.get(topic).copied().ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        if self.image.partition(id, asked.partition_index).is_none() {
            return Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        }
        let key = (id, asked.partition_index);
        let partition = self.partitions.get(&key).ok_or(ErrorCode::NOT_LEADER_OR_FOLLOWER)?;
        match partition.check_leadership(asked.current_leader_epoch) {
            Err(ErrorCode::NOT_LEADER_OR_FOLLOWER) if body.replica_id == DEBUGGING => {}
            checked => checked?,
        }
        look_up(cx, partition, version, body, asked.timestamp)
    }
}

fn look_up(
    cx: &Context<'_>,
    partition: &Partition,
    version: i16,
    body: &ListOffsetsRequest,
    timestamp: i64,
) -> Result<Option<TimestampAndOffset>, ErrorCode> {
    let log = &partition.log;
    let bound = match (body.replica_id, body.isolation_level) {
        (CONSUMER, READ_COMMITTED) => partition.last_stable_offset(),
        (CONSUMER, _) => partition.high_watermark(),
        _ => log.log_end_offset(),
    };
    // Right after an election the high watermark may lie before what the new leader is known to have.
    let epoch_start = log.leader_epochs().latest().map_or(0, |latest| latest.start_offset);
    let unsettled = body.replica_id == CONSUMER && partition.high_watermark() < epoch_start;
    let not_available = if version >= FIRST_WITH_NOT_AVAILABLE {
        ErrorCode::OFFSET_NOT_AVAILABLE
    } else {
        ErrorCode::LEADER_NOT_AVAILABLE
    };
    let start = log.log_start_offset();
    let at = |offset: i64, leader_epoch: i32| Ok(Some(TimestampAndOffset { timestamp: -1, offset, leader_epoch }));
    let epoch_of_start = || log.leader_epochs().epoch_for_offset(start).unwrap_or(-1);
    let failed = |_: ReadError| ErrorCode::KAFKA_STORAGE_ERROR;
    match timestamp {
        LATEST if unsettled => Err(not_available),
        LATEST => at(bound, partition.leader_epoch()),
        EARLIEST | EARLIEST_LOCAL => at(start, epoch_of_start()),
        // Without tiered storage nothing is ever uploaded.
        LATEST_TIERED | EARLIEST_PENDING_UPLOAD => Ok(None),
        MAX_TIMESTAMP => log.offset_of_max_timestamp(&*cx.disk).map_err(failed),
        _ => {
            let found = log.offset_for_timestamp(&*cx.disk, timestamp).map_err(failed)?;
            match found {
                Some(found) if found.offset < bound => Ok(Some(found)),
                _ if unsettled => Err(not_available),
                _ => Ok(None),
            }
        }
    }
}

fn answer(
    partition_index: i32,
    version: i16,
    found: Result<Option<TimestampAndOffset>, ErrorCode>,
) -> ListOffsetsPartitionResponse {
    let nothing = ListOffsetsPartitionResponse { partition_index, leader_epoch: -1, ..Default::default() };
    match found {
        Err(error) => ListOffsetsPartitionResponse { error_code: error.0, ..nothing },
        Ok(None) => nothing,
        Ok(Some(found)) => ListOffsetsPartitionResponse {
            timestamp: found.timestamp,
            offset: found.offset,
            leader_epoch: if version >= FIRST_WITH_LEADER_EPOCH { found.leader_epoch } else { -1 },
            ..nothing
        },
    }
}

fn named_twice(body: &ListOffsetsRequest) -> BTreeSet<(&str, i32)> {
    let partitions = body
        .topics
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|asked| (topic.name.as_str(), asked.partition_index)));
    let mut seen = BTreeSet::new();
    partitions.filter(|partition| !seen.insert(*partition)).collect()
}
