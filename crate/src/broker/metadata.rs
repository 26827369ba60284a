//! Metadata: who is in the cluster, who leads what, and topics that come into being by being asked for
//! (`KafkaApis.handleTopicMetadataRequest`, `AutoTopicCreationManager`).

use crate::controller::{ControllerRequest, PartitionRegistration, TopicImage, check_topic_name};
use crate::node::ListenerId;
use crate::ordered::BTreeSet;
use crate::wire::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use crate::wire::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition,
    MetadataResponseTopic,
};
use crate::wire::{ErrorCode, Uuid};

use super::Broker;
use super::connections::RequestId;
use super::context::Context;
use super::lifecycle::ControllerCall;

/// The first version in which a topic may be asked for by its id (KIP-516).
const FIRST_BY_ID: i16 = 12;

/// What anybody may do where there is no authorizer, as bits by `AclOperation` code: read, write, create, delete, alter,
/// describe, describe configs, alter configs.
pub(super) const ALL_TOPIC_OPERATIONS: i32 = 0b1101_1111_1000;
/// Create, alter, describe, cluster action, describe configs, alter configs, idempotent write.
pub(super) const ALL_CLUSTER_OPERATIONS: i32 = 0b1_1111_1010_0000;

/// Topics that Kafka keeps for itself.
pub(super) fn is_internal(topic: &str) -> bool {
    matches!(topic, "__consumer_offsets" | "__transaction_state" | "__share_group_state")
}

impl Broker {
    pub(super) fn handle_metadata(&mut self, cx: &mut Context<'_>, request: RequestId, body: &MetadataRequest) {
        let version = request.api_version;
        let all = match &body.topics {
            None => true,
            Some(topics) => version == 0 && topics.is_empty(),
        };
        let asked: &[MetadataRequestTopic] = body.topics.as_deref().unwrap_or_default();
        let response = if all {
            let topics = self.image.topics_by_name().map(|topic| self.topic_metadata(topic, request));
            self.metadata_response(topics.collect(), request.listener)
        } else if let Some(error) = invalid_topics(asked, version) {
            error
        } else {
            let topics = self.asked_topics(request, asked, body.allow_auto_topic_creation);
            self.metadata_response(topics, request.listener)
        };
        let response = with_authorized_operations(response, body);
        self.respond(cx, request, &response);
    }

    fn metadata_response(&self, topics: Vec<MetadataResponseTopic>, listener: ListenerId) -> MetadataResponse {
        let live = self.image.brokers.values().filter(|broker| !broker.fenced);
        let brokers: Vec<MetadataResponseBroker> = live
            .filter_map(|broker| Some((broker, self.endpoint(broker, listener)?)))
            .map(|(broker, address)| MetadataResponseBroker {
                node_id: broker.broker_id,
                host: address.host,
                port: i32::from(address.port),
                rack: broker.rack.clone(),
                ..Default::default()
            })
            .collect();
        MetadataResponse {
            // Kafka names any live broker: requests for the controller are forwarded by all of them.
            controller_id: brokers.first().map_or(-1, |broker| broker.node_id),
            brokers,
            cluster_id: Some(self.identity.cluster_id.clone()),
            topics,
            ..Default::default()
        }
    }

    fn asked_topics(
        &mut self,
        request: RequestId,
        asked: &[MetadataRequestTopic],
        allow_auto_topic_creation: bool,
    ) -> Vec<MetadataResponseTopic> {
        let by_id: BTreeSet<Uuid> = asked.iter().map(|topic| topic.topic_id).filter(|id| !id.is_zero()).collect();
        if !by_id.is_empty() {
            // Names beside ids are not looked at.
            return by_id
                .iter()
                .map(|id| match self.image.topic_by_id(*id) {
                    Some(topic) => self.topic_metadata(topic, request),
                    None => MetadataResponseTopic {
                        error_code: ErrorCode::UNKNOWN_TOPIC_ID.0,
                        name: None,
                        topic_id: *id,
                        ..Default::default()
                    },
                })
                .collect();
        }
        let mut seen = BTreeSet::new();
        let names = asked.iter().filter_map(|topic| topic.name.as_deref()).filter(|name| seen.insert(*name));
        let (mut topics, mut missing) = (Vec::new(), Vec::new());
        for name in names {
            match self.image.topic(name) {
                Some(topic) => topics.push(self.topic_metadata(topic, request)),
                None => missing.push(name),
            }
        }
        let create = allow_auto_topic_creation && self.config.auto_create_topics;
        for name in missing {
            topics.push(self.missing_topic(request, name, create));
        }
        topics
    }

    /// A topic that does not exist is being created while the client is told that it does not exist; it asks again.
    fn missing_topic(&mut self, request: RequestId, name: &str, create: bool) -> MetadataResponseTopic {
        let error = if check_topic_name(name).is_err() {
            ErrorCode::INVALID_TOPIC_EXCEPTION
        } else {
            if create && self.auto_creating.insert(name.to_string()) {
                self.auto_create(request, name);
            }
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        };
        MetadataResponseTopic {
            error_code: error.0,
            name: Some(name.to_string()),
            is_internal: is_internal(name),
            ..Default::default()
        }
    }

    fn auto_create(&mut self, request: RequestId, name: &str) {
        let topic = CreatableTopic {
            name: name.to_string(),
            num_partitions: self.config.num_partitions,
            replication_factor: self.config.default_replication_factor,
            ..Default::default()
        };
        let body = CreateTopicsRequest { topics: vec![topic], ..Default::default() };
        let call = ControllerCall::AutoCreate { topic: name.to_string() };
        self.call_controller(ControllerRequest::CreateTopics(body), call, request.cause);
    }

    fn topic_metadata(&self, topic: &TopicImage, request: RequestId) -> MetadataResponseTopic {
        let partitions = topic.partitions.iter();
        MetadataResponseTopic {
            name: Some(topic.name.clone()),
            topic_id: topic.id,
            is_internal: is_internal(&topic.name),
            partitions: partitions
                .map(|(index, partition)| self.partition_metadata(*index, partition, request))
                .collect(),
            ..Default::default()
        }
    }

    /// `KRaftMetadataCache.getPartitionMetadata`.
    fn partition_metadata(
        &self,
        index: i32,
        partition: &PartitionRegistration,
        request: RequestId,
    ) -> MetadataResponsePartition {
        let (version, listener) = (request.api_version, request.listener);
        let is_live = |id: &i32| self.image.brokers.get(id).is_some_and(|broker| !broker.fenced);
        // Version 0 clients take a dead replica for an error and get no dead ones at all.
        let visible = |ids: &[i32]| ids.iter().copied().filter(|id| version > 0 || is_live(id)).collect::<Vec<_>>();
        let leader = self.image.brokers.get(&partition.leader).filter(|broker| !broker.fenced);
        let (error, leader_id) = match leader {
            None => (ErrorCode::LEADER_NOT_AVAILABLE, -1),
            // Before version 6 a client knows no LISTENER_NOT_FOUND.
            Some(leader) if self.endpoint(leader, listener).is_none() && version < 6 => {
                (ErrorCode::LEADER_NOT_AVAILABLE, -1)
            }
            Some(leader) if self.endpoint(leader, listener).is_none() => (ErrorCode::LISTENER_NOT_FOUND, -1),
            Some(_) => (ErrorCode::NONE, partition.leader),
        };
        MetadataResponsePartition {
            error_code: error.0,
            partition_index: index,
            leader_id,
            leader_epoch: partition.leader_epoch,
            replica_nodes: visible(&partition.replicas),
            isr_nodes: visible(&partition.isr),
            offline_replicas: partition.replicas.iter().copied().filter(|id| !is_live(id)).collect(),
            ..Default::default()
        }
    }
}

fn with_authorized_operations(mut response: MetadataResponse, body: &MetadataRequest) -> MetadataResponse {
    if body.include_topic_authorized_operations {
        let found = response.topics.iter_mut().filter(|topic| topic.error_code == ErrorCode::NONE.0);
        found.for_each(|topic| topic.topic_authorized_operations = ALL_TOPIC_OPERATIONS);
    }
    if body.include_cluster_authorized_operations {
        response.cluster_authorized_operations = ALL_CLUSTER_OPERATIONS;
    }
    response
}

/// Kafka's answer to a request that names topics as its version does not allow: every topic gets the error, and nothing
/// else is said.
fn invalid_topics(asked: &[MetadataRequestTopic], version: i16) -> Option<MetadataResponse> {
    let invalid = |topic: &MetadataRequestTopic| {
        let neither = topic.name.is_none() && topic.topic_id.is_zero();
        let not_by_name = topic.name.is_none() || !topic.topic_id.is_zero();
        neither || (version < FIRST_BY_ID && not_by_name)
    };
    if !asked.iter().any(invalid) {
        return None;
    }
    let topics = asked.iter().map(|topic| MetadataResponseTopic {
        error_code: ErrorCode::INVALID_REQUEST.0,
        name: Some(topic.name.clone().unwrap_or_default()),
        topic_id: topic.topic_id,
        ..Default::default()
    });
    Some(MetadataResponse {
        topics: topics.collect(),
        error_code: ErrorCode::INVALID_REQUEST.0,
        cluster_id: None,
        ..Default::default()
    })
}
