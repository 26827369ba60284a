//! DescribeLogDirs and AlterReplicaLogDirs over the one log directory that a broker has here
//! (`ReplicaManager.describeLogDirs`, `alterReplicaLogDirs`).

use crate::broker::Broker;
use crate::broker::connections::RequestId;
use crate::broker::context::Context;
use crate::broker::partition::Partition;
use crate::ordered::{BTreeMap, BTreeSet};
use crate::wire::ErrorCode;
use crate::wire::messages::administration::log_dirs::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult, AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse, DescribeLogDirsPartition, DescribeLogDirsRequest, DescribeLogDirsResponse,
    DescribeLogDirsResult, DescribeLogDirsTopic,
};

impl Broker {
    pub(in crate::broker) fn handle_describe_log_dirs(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        body: &DescribeLogDirsRequest,
    ) {
        let asked: Option<BTreeSet<(&str, i32)>> = body.topics.as_ref().map(|topics| {
            let partitions = |topic| move |index: &i32| (topic, *index);
            topics.iter().flat_map(|topic| topic.partitions.iter().map(partitions(topic.topic.as_str()))).collect()
        });
        let is_asked = |partition: &&Partition| {
            asked.as_ref().is_none_or(|asked| asked.contains(&(partition.topic.as_str(), partition.index)))
        };
        let mut topics: BTreeMap<&str, Vec<DescribeLogDirsPartition>> = BTreeMap::new();
        for partition in self.partitions.values().filter(is_asked) {
            // How far the log is behind what is known to be committed: a leader never is.
            let offset_lag = (partition.high_watermark() - partition.log.log_end_offset()).max(0);
            topics.entry(&partition.topic).or_default().push(DescribeLogDirsPartition {
                partition_index: partition.index,
                partition_size: i64::try_from(partition.log.size_in_bytes()).unwrap_or(i64::MAX),
                offset_lag,
                ..Default::default()
            });
        }
        let topics = topics.into_iter().map(|(name, partitions)| DescribeLogDirsTopic {
            name: name.to_string(),
            partitions,
            ..Default::default()
        });
        let (total_bytes, usable_bytes) = cx.disk.space().unwrap_or((-1, -1));
        let result = DescribeLogDirsResult {
            log_dir: self.config.log_dir.clone(),
            topics: topics.collect(),
            total_bytes,
            usable_bytes,
            ..Default::default()
        };
        let response = DescribeLogDirsResponse { results: vec![result], ..Default::default() };
        self.respond(cx, request, &response);
    }

    pub(in crate::broker) fn handle_alter_replica_log_dirs(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        body: &AlterReplicaLogDirsRequest,
    ) {
        let mut topics: BTreeMap<&str, Vec<AlterReplicaLogDirPartitionResult>> = BTreeMap::new();
        for directory in &body.dirs {
            for topic in &directory.topics {
                for index in &topic.partitions {
                    let error = self.alter_log_dir(&directory.path, &topic.name, *index);
                    topics.entry(&topic.name).or_default().push(AlterReplicaLogDirPartitionResult {
                        partition_index: *index,
                        error_code: error.0,
                        ..Default::default()
                    });
                }
            }
        }
        let results = topics.into_iter().map(|(name, partitions)| AlterReplicaLogDirTopicResult {
            topic_name: name.to_string(),
            partitions,
            ..Default::default()
        });
        let response = AlterReplicaLogDirsResponse { results: results.collect(), ..Default::default() };
        self.respond(cx, request, &response);
    }

    /// With one directory a log can only be told to stay where it is.
    fn alter_log_dir(&self, path: &str, topic: &str, index: i32) -> ErrorCode {
        if path != self.config.log_dir {
            return ErrorCode::LOG_DIR_NOT_FOUND;
        }
        let Some(id) = self.image.topic_ids.get(topic).copied() else { return ErrorCode::UNKNOWN_TOPIC_OR_PARTITION };
        match (self.image.partition(id, index), self.partitions.get(&(id, index))) {
            (None, _) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            (Some(_), None) => ErrorCode::REPLICA_NOT_AVAILABLE,
            (Some(_), Some(_)) => ErrorCode::NONE,
        }
    }
}
