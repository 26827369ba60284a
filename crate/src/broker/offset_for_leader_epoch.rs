//! OffsetForLeaderEpoch: where an epoch ends in this leader's log, so that a reader finds where its own parted from it
//! (KIP-101, KIP-320; `ReplicaManager.lastOffsetForLeaderEpoch`).

use crate::wire::ErrorCode;
use crate::wire::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
};

use super::Broker;
use super::connections::RequestId;
use super::context::Context;

impl Broker {
    pub(super) fn handle_offset_for_leader_epoch(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        body: &OffsetForLeaderEpochRequest,
    ) {
        let topics = body.topics.iter().map(|topic| OffsetForLeaderTopicResult {
            topic: topic.topic.clone(),
            partitions: topic.partitions.iter().map(|asked| self.end_of_epoch(&topic.topic, asked)).collect(),
            ..Default::default()
        });
        let response = OffsetForLeaderEpochResponse { topics: topics.collect(), ..Default::default() };
        self.respond(cx, request, &response);
    }

    fn end_of_epoch(&self, topic: &str, asked: &OffsetForLeaderPartition) -> EpochEndOffset {
        let unknown = EpochEndOffset { partition: asked.partition, ..Default::default() };
        let id = self.image.topic_ids.get(topic).copied();
        let key = id.map(|id| (id, asked.partition)).filter(|key| self.image.partition(key.0, key.1).is_some());
        let Some(key) = key else {
            return EpochEndOffset { error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0, ..unknown };
        };
        let Some(partition) = self.partitions.get(&key) else {
            return EpochEndOffset { error_code: ErrorCode::NOT_LEADER_OR_FOLLOWER.0, ..unknown };
        };
        if let Err(error) = partition.check_leadership(asked.current_leader_epoch) {
            return EpochEndOffset { error_code: error.0, ..unknown };
        }
        match partition.log.leader_epochs().end_offset_for(asked.leader_epoch, partition.log.log_end_offset()) {
            Some(end) => EpochEndOffset { leader_epoch: end.epoch, end_offset: end.end_offset, ..unknown },
            None => unknown,
        }
    }
}
