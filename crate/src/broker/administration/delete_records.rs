//! DeleteRecords: a partition's log start moves forward, and what lies wholly before it goes (KIP-107;
//! `ReplicaManager.deleteRecords`).

use crate::wire::ErrorCode;
use crate::wire::messages::administration::delete_records::{
    DeleteRecordsPartition, DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse,
    DeleteRecordsTopicResult,
};

use crate::broker::Broker;
use crate::broker::connections::RequestId;
use crate::broker::context::Context;
use crate::broker::metadata::is_internal;

/// `DeleteRecordsRequest.HIGH_WATERMARK`: everything that can be read goes.
const HIGH_WATERMARK: i64 = -1;
const INVALID_LOW_WATERMARK: i64 = -1;

impl Broker {
    pub(in crate::broker) fn handle_delete_records(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        body: &DeleteRecordsRequest,
    ) {
        let mut topics = Vec::with_capacity(body.topics.len());
        for topic in &body.topics {
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for asked in &topic.partitions {
                let (low_watermark, error) = match self.delete_records(cx, &topic.name, asked) {
                    Ok(low_watermark) => (low_watermark, ErrorCode::NONE),
                    Err(error) => (INVALID_LOW_WATERMARK, error),
                };
                partitions.push(DeleteRecordsPartitionResult {
                    partition_index: asked.partition_index,
                    low_watermark,
                    error_code: error.0,
                    ..Default::default()
                });
            }
            partitions.sort_by_key(|partition| partition.partition_index);
            topics.push(DeleteRecordsTopicResult { name: topic.name.clone(), partitions, ..Default::default() });
        }
        self.respond(cx, request, &DeleteRecordsResponse { topics, ..Default::default() });
    }

    /// Gives the log start after it: an offset before it is no error and changes nothing.
    fn delete_records(
        &mut self,
        cx: &mut Context<'_>,
        topic: &str,
        asked: &DeleteRecordsPartition,
    ) -> Result<i64, ErrorCode> {
        let id = self.image.topic_ids.get(topic).copied().ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        let key = (id, asked.partition_index);
        if self.image.partition(key.0, key.1).is_none() {
            return Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        }
        if is_internal(topic) {
            return Err(ErrorCode::INVALID_TOPIC_EXCEPTION);
        }
        let only_compacted = self
            .image
            .topic_configs(topic, &self.config)
            .effective("cleanup.policy")
            .is_some_and(|(value, _)| value == "compact");
        let partition = self.partitions.get_mut(&key).filter(|partition| partition.is_leader());
        let partition = partition.ok_or(ErrorCode::NOT_LEADER_OR_FOLLOWER)?;
        if only_compacted {
            return Err(ErrorCode::POLICY_VIOLATION);
        }
        let offset = if asked.offset == HIGH_WATERMARK { partition.high_watermark() } else { asked.offset };
        if offset < 0 || offset > partition.high_watermark() {
            return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
        }
        let failed = |_| ErrorCode::KAFKA_STORAGE_ERROR;
        if partition.log.increment_log_start_offset(cx.disk, offset).map_err(failed)? {
            partition.log.delete_segments_before_start(cx.disk).map_err(failed)?;
            self.purgatory.touch(key);
            self.checkpoints_are_behind(cx.now());
        }
        Ok(self.partitions.get(&key).map_or(INVALID_LOW_WATERMARK, |partition| partition.log.log_start_offset()))
    }
}
