//! What people's tools have the controller do: leader elections, feature levels, quotas, SCRAM credentials,
//! reassignments, brokers that leave for good, and the state of the quorum. The page goes without it.
//!
//! In: forwarded requests over the image. Out: answers, and the records to write first.

mod client_quotas;
mod elect_leaders;
mod reassignments;
mod scram;
mod update_features;

use crate::broker::config::ServerConfig;
use crate::wire::ErrorCode;
use crate::wire::messages::administration::client_quotas::{AlterClientQuotasRequest, AlterClientQuotasResponse};
use crate::wire::messages::administration::describe_quorum::{
    DescribeQuorumRequest, DescribeQuorumResponse, Listener, Node, PartitionData, ReplicaState, TopicData,
};
use crate::wire::messages::administration::elect_leaders::{ElectLeadersRequest, ElectLeadersResponse};
use crate::wire::messages::administration::reassignments::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse,
};
use crate::wire::messages::administration::scram::{
    AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse,
};
use crate::wire::messages::administration::unregister_broker::{UnregisterBrokerRequest, UnregisterBrokerResponse};
use crate::wire::messages::administration::update_features::{UpdateFeaturesRequest, UpdateFeaturesResponse};
use crate::wire::messages::metadata_records::UnregisterBrokerRecord;

use super::MetadataRecord;
use super::active::{Controller, Reason};
use super::image::PartitionRegistration;
use super::quorum::METADATA_TOPIC;

#[derive(Debug, Clone, PartialEq)]
pub enum AdministrationRequest {
    ElectLeaders(ElectLeadersRequest),
    /// With the request's version: only old ones are answered feature by feature.
    UpdateFeatures(UpdateFeaturesRequest, i16),
    /// With the request's version: only new ones are told where voters listen.
    DescribeQuorum(DescribeQuorumRequest, i16),
    UnregisterBroker(UnregisterBrokerRequest),
    AlterPartitionReassignments(AlterPartitionReassignmentsRequest),
    AlterClientQuotas(AlterClientQuotasRequest),
    AlterUserScramCredentials(AlterUserScramCredentialsRequest),
}

#[derive(Debug, Clone, PartialEq)]
pub enum AdministrationResponse {
    ElectLeaders(ElectLeadersResponse),
    UpdateFeatures(UpdateFeaturesResponse),
    DescribeQuorum(DescribeQuorumResponse),
    UnregisterBroker(UnregisterBrokerResponse),
    AlterPartitionReassignments(AlterPartitionReassignmentsResponse),
    AlterClientQuotas(AlterClientQuotasResponse),
    AlterUserScramCredentials(AlterUserScramCredentialsResponse),
}

/// The first version of DescribeQuorum that tells where voters listen (KIP-853).
const FIRST_WITH_NODES: i16 = 2;

/// A refusal: code and Kafka's text.
type ApiError = (ErrorCode, Option<String>);

fn refused(error: ErrorCode, text: impl Into<String>) -> ApiError {
    (error, Some(text.into()))
}

impl Controller {
    /// The answer to a request, and the records that must be committed first.
    pub(super) fn administer(
        &mut self,
        request: &AdministrationRequest,
        now_ms: i64,
    ) -> (AdministrationResponse, Vec<MetadataRecord>) {
        use AdministrationRequest as Request;
        use AdministrationResponse as Response;
        let mut records = Vec::new();
        let response = match request {
            Request::ElectLeaders(body) => Response::ElectLeaders(self.elect_leaders(body, &mut records)),
            Request::UpdateFeatures(body, version) => {
                Response::UpdateFeatures(self.update_features(body, *version, &mut records))
            }
            Request::DescribeQuorum(body, version) => {
                Response::DescribeQuorum(self.describe_quorum(body, *version, now_ms))
            }
            Request::UnregisterBroker(body) => Response::UnregisterBroker(self.unregister_broker(body, &mut records)),
            Request::AlterPartitionReassignments(body) => {
                Response::AlterPartitionReassignments(self.alter_partition_reassignments(body))
            }
            Request::AlterClientQuotas(body) => {
                Response::AlterClientQuotas(client_quotas::alter(&self.image, body, &mut records))
            }
            Request::AlterUserScramCredentials(body) => {
                Response::AlterUserScramCredentials(scram::alter(&self.image, body, &mut records))
            }
        };
        (response, records)
    }

    /// Of a quorum of one: this node leads, and nobody observes.
    fn describe_quorum(&self, body: &DescribeQuorumRequest, version: i16, now_ms: i64) -> DescribeQuorumResponse {
        let is_ours = matches!(&body.topics[..], [topic] if topic.topic_name == METADATA_TOPIC
            && matches!(&topic.partitions[..], [partition] if partition.partition_index == 0));
        let partition = |index: i32| {
            if !is_ours {
                return PartitionData {
                    partition_index: index,
                    error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0,
                    error_message: Some("This server does not host this topic-partition.".to_string()),
                    ..Default::default()
                };
            }
            let voter = ReplicaState {
                replica_id: self.config.node_id,
                log_end_offset: self.end_offset(),
                last_fetch_timestamp: now_ms,
                last_caught_up_timestamp: now_ms,
                ..Default::default()
            };
            PartitionData {
                leader_id: self.config.node_id,
                leader_epoch: self.leader_epoch(),
                high_watermark: self.high_watermark(),
                current_voters: vec![voter],
                ..Default::default()
            }
        };
        let topics = body.topics.iter().map(|topic| TopicData {
            topic_name: topic.topic_name.clone(),
            partitions: topic.partitions.iter().map(|asked| partition(asked.partition_index)).collect(),
            ..Default::default()
        });
        DescribeQuorumResponse {
            topics: topics.collect(),
            nodes: if is_ours && version >= FIRST_WITH_NODES { vec![voter_node(&self.config)] } else { Vec::new() },
            ..Default::default()
        }
    }

    fn unregister_broker(
        &self,
        body: &UnregisterBrokerRequest,
        records: &mut Vec<MetadataRecord>,
    ) -> UnregisterBrokerResponse {
        let broker_id = body.broker_id;
        let Some(broker) = self.image.brokers.get(&broker_id) else {
            return UnregisterBrokerResponse {
                error_code: ErrorCode::BROKER_ID_NOT_REGISTERED.0,
                error_message: Some(format!("Broker ID {broker_id} is not currently registered")),
                ..Default::default()
            };
        };
        let concerned = |partition: &PartitionRegistration| {
            partition.isr.contains(&broker_id) || partition.elr.contains(&broker_id)
        };
        self.change_partitions(concerned, Reason::Leaving(broker_id), records);
        records
            .push(UnregisterBrokerRecord { broker_id, broker_epoch: broker.broker_epoch, ..Default::default() }.into());
        UnregisterBrokerResponse { error_message: None, ..Default::default() }
    }
}

/// Where this voter listens for others: Kafka names the listeners of `controller.listener.names`.
fn voter_node(config: &ServerConfig) -> Node {
    let listeners = config.controller_listeners.iter().map(|listener| Listener {
        name: listener.name.clone(),
        host: listener.address.host.clone(),
        port: listener.address.port,
        ..Default::default()
    });
    Node { node_id: config.node_id, listeners: listeners.collect(), ..Default::default() }
}
