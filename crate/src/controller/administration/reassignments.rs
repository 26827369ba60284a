//! AlterPartitionReassignments (`ReplicationControlManager.alterPartitionReassignments`, KIP-455). With one broker a
//! partition can only be given the replica that it has; there is never a reassignment under way.

use crate::controller::active::Controller;
use crate::wire::ErrorCode;
use crate::wire::messages::administration::reassignments::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, ReassignablePartition,
    ReassignablePartitionResponse, ReassignableTopicResponse,
};

use super::{ApiError, refused};

impl Controller {
    pub(super) fn alter_partition_reassignments(
        &mut self,
        body: &AlterPartitionReassignmentsRequest,
    ) -> AlterPartitionReassignmentsResponse {
        let mut responses = Vec::with_capacity(body.topics.len());
        for topic in &body.topics {
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for asked in &topic.partitions {
                let (error, text) = self.reassign(&topic.name, asked).err().unwrap_or_default();
                partitions.push(ReassignablePartitionResponse {
                    partition_index: asked.partition_index,
                    error_code: error.0,
                    error_message: text,
                    ..Default::default()
                });
            }
            responses.push(ReassignableTopicResponse { name: topic.name.clone(), partitions, ..Default::default() });
        }
        AlterPartitionReassignmentsResponse {
            allow_replication_factor_change: body.allow_replication_factor_change,
            error_message: None,
            responses,
            ..Default::default()
        }
    }

    fn reassign(&mut self, topic: &str, asked: &ReassignablePartition) -> Result<(), ApiError> {
        let unknown = |text: String| refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, text);
        let image = self.image.topic(topic).ok_or_else(|| unknown(format!("Unable to find a topic named {topic}.")))?;
        let partition = image.partitions.get(&asked.partition_index);
        let text = || format!("Unable to find partition {topic}:{}.", asked.partition_index);
        let current = partition.ok_or_else(|| unknown(text()))?.replicas.clone();
        let Some(target) = &asked.replicas else { return Err((ErrorCode::NO_REASSIGNMENT_IN_PROGRESS, None)) };
        self.topics().check_manual_replicas(target, None).map_err(|(error, text)| refused(error, text))?;
        if *target != current {
            let text = format!("Partition {topic}:{} cannot be moved: it has one broker only.", asked.partition_index);
            return Err(refused(ErrorCode::INVALID_REPLICA_ASSIGNMENT, text));
        }
        Ok(())
    }
}
