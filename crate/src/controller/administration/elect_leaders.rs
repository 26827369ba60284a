//! ElectLeaders (`ReplicationControlManager.electLeaders`, KIP-460).

use crate::controller::MetadataRecord;
use crate::controller::active::Controller;
use crate::controller::elections::PartitionChange;
use crate::controller::image::NO_LEADER;
use crate::wire::ErrorCode;
use crate::wire::messages::administration::elect_leaders::{
    ElectLeadersRequest, ElectLeadersResponse, PartitionResult, ReplicaElectionResult,
};

use super::{ApiError, refused};

/// `ElectionType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Election {
    Preferred,
    Unclean,
}

impl Controller {
    pub(super) fn elect_leaders(
        &self,
        body: &ElectLeadersRequest,
        records: &mut Vec<MetadataRecord>,
    ) -> ElectLeadersResponse {
        let election = match body.election_type {
            0 => Election::Preferred,
            1 => Election::Unclean,
            other => return refuse_type(body, other),
        };
        let mut results = Vec::new();
        let mut elect = |topic: &str, partitions: &mut dyn Iterator<Item = i32>, all: bool| {
            let mut partition_result = Vec::new();
            for partition_id in partitions {
                let (error, text) = match self.elect_leader(topic, partition_id, election) {
                    Ok(record) => {
                        records.push(record);
                        (ErrorCode::NONE, None)
                    }
                    // Asked for all, Kafka leaves out where nothing had to be done.
                    Err((ErrorCode::ELECTION_NOT_NEEDED, _)) if all => continue,
                    Err(refusal) => refusal,
                };
                partition_result.push(PartitionResult {
                    partition_id,
                    error_code: error.0,
                    error_message: text,
                    ..Default::default()
                });
            }
            results.push(ReplicaElectionResult { topic: topic.to_string(), partition_result, ..Default::default() });
        };
        match &body.topic_partitions {
            Some(topics) => {
                topics.iter().for_each(|topic| elect(&topic.topic, &mut topic.partitions.iter().copied(), false));
            }
            None => {
                self.image
                    .topics_by_name()
                    .for_each(|topic| elect(&topic.name, &mut topic.partitions.keys().copied(), true));
            }
        }
        ElectLeadersResponse { replica_election_results: results, ..Default::default() }
    }

    fn elect_leader(&self, topic: &str, partition_id: i32, election: Election) -> Result<MetadataRecord, ApiError> {
        let unknown = |text: String| refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, text);
        let image = self.image.topic(topic).ok_or_else(|| unknown(format!("No such topic as {topic}")))?;
        let partition = image.partitions.get(&partition_id);
        let partition = partition.ok_or_else(|| unknown(format!("No such partition as {topic}-{partition_id}")))?;
        let in_place = match election {
            Election::Preferred => partition.replicas.first() == Some(&partition.leader),
            Election::Unclean => partition.leader != NO_LEADER,
        };
        if in_place {
            return Err(refused(ErrorCode::ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."));
        }
        let change = PartitionChange {
            preferred_first: election == Election::Preferred,
            unclean_allowed: election == Election::Unclean,
            ..self.partition_change(image, partition_id, partition)
        };
        let record = change.build(|id| self.is_active(id));
        record.map(MetadataRecord::from).ok_or_else(|| match election {
            Election::Preferred => {
                let text = "The preferred leader was not available.";
                refused(ErrorCode::PREFERRED_LEADER_NOT_AVAILABLE, text)
            }
            Election::Unclean => {
                let text = "Eligible topic partition leaders are not available.";
                refused(ErrorCode::ELIGIBLE_LEADERS_NOT_AVAILABLE, text)
            }
        })
    }
}

fn refuse_type(body: &ElectLeadersRequest, election_type: i8) -> ElectLeadersResponse {
    let text = format!("Unknown election type {election_type}");
    let topics = body.topic_partitions.iter().flatten().map(|topic| ReplicaElectionResult {
        topic: topic.topic.clone(),
        partition_result: topic
            .partitions
            .iter()
            .map(|partition_id| PartitionResult {
                partition_id: *partition_id,
                error_code: ErrorCode::INVALID_REQUEST.0,
                error_message: Some(text.clone()),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    });
    ElectLeadersResponse {
        error_code: ErrorCode::INVALID_REQUEST.0,
        replica_election_results: topics.collect(),
        ..Default::default()
    }
}
