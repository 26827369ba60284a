//! DescribeTopicPartitions, in pages (KIP-966; `DescribeTopicPartitionsRequestHandler`), and DescribeProducers
//! (KIP-664; `ReplicaManager.activeProducerState`).

use crate::broker::Broker;
use crate::broker::connections::RequestId;
use crate::broker::context::Context;
use crate::broker::metadata::{ALL_TOPIC_OPERATIONS, is_internal};
use crate::controller::{PartitionRegistration, TopicImage, check_topic_name};
use crate::ordered::BTreeSet;
use crate::wire::ErrorCode;
use crate::wire::messages::administration::describe_producers::{
    DescribeProducersRequest, DescribeProducersResponse, PartitionResponse, ProducerState, TopicResponse,
};
use crate::wire::messages::administration::describe_topic_partitions::{
    Cursor, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
};

impl Broker {
    pub(in crate::broker) fn handle_describe_topic_partitions(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        body: &DescribeTopicPartitionsRequest,
    ) {
        let start = body.cursor.as_ref().map_or("", |cursor| cursor.topic_name.as_str());
        let all = body.topics.is_empty();
        let names: BTreeSet<&str> = if all {
            self.image.topics_by_name().map(|topic| topic.name.as_str()).filter(|name| *name >= start).collect()
        } else {
            body.topics.iter().map(|topic| topic.name.as_str()).filter(|name| *name >= start).collect()
        };
        let is_valid = |cursor: &Cursor| cursor.partition_index >= 0 && (all || names.contains(start));
        let response = if body.cursor.as_ref().is_none_or(is_valid) {
            self.page_of(&names, body, all)
        } else {
            let topics = body.topics.iter().map(|topic| DescribeTopicPartitionsResponseTopic {
                error_code: ErrorCode::INVALID_REQUEST.0,
                name: Some(topic.name.clone()),
                ..Default::default()
            });
            DescribeTopicPartitionsResponse { topics: topics.collect(), ..Default::default() }
        };
        self.respond(cx, request, &response);
    }

    fn page_of(
        &self,
        names: &BTreeSet<&str>,
        body: &DescribeTopicPartitionsRequest,
        all: bool,
    ) -> DescribeTopicPartitionsResponse {
        let limit = self.config.value("max.request.partition.size.limit").and_then(|value| value.parse().ok());
        let limit: i32 = limit.unwrap_or(i32::MAX);
        let mut left = usize::try_from(body.response_partition_limit.min(limit)).unwrap_or(0).max(1);
        let mut page = DescribeTopicPartitionsResponse::default();
        for name in names {
            if left == 0 {
                page.next_cursor =
                    Some(Cursor { topic_name: (*name).to_string(), partition_index: 0, ..Default::default() });
                break;
            }
            let Some(topic) = self.image.topic(name) else {
                if !all {
                    page.topics.push(unknown_topic(name));
                }
                continue;
            };
            let cursor = body.cursor.as_ref().filter(|cursor| cursor.topic_name == topic.name);
            let first = cursor.map_or(0, |cursor| cursor.partition_index);
            let partitions: Vec<_> = topic
                .partitions
                .range(first..)
                .take(left)
                .map(|(index, partition)| self.described_partition(*index, partition))
                .collect();
            left -= partitions.len();
            let next = partitions.last().map_or(first, |last| last.partition_index + 1);
            let more = topic.partitions.contains_key(&next);
            page.topics.push(described_topic(topic, partitions));
            if more {
                page.next_cursor =
                    Some(Cursor { topic_name: topic.name.clone(), partition_index: next, ..Default::default() });
                break;
            }
        }
        page
    }

    fn described_partition(
        &self,
        index: i32,
        partition: &PartitionRegistration,
    ) -> DescribeTopicPartitionsResponsePartition {
        let is_live = |id: &i32| self.image.brokers.get(id).is_some_and(|broker| !broker.fenced);
        let has_leader = is_live(&partition.leader);
        DescribeTopicPartitionsResponsePartition {
            error_code: if has_leader { ErrorCode::NONE.0 } else { ErrorCode::LEADER_NOT_AVAILABLE.0 },
            partition_index: index,
            leader_id: if has_leader { partition.leader } else { -1 },
            leader_epoch: partition.leader_epoch,
            replica_nodes: partition.replicas.clone(),
            isr_nodes: partition.isr.clone(),
            eligible_leader_replicas: Some(partition.elr.clone()),
            last_known_elr: Some(partition.last_known_elr.clone()),
            offline_replicas: partition.replicas.iter().copied().filter(|id| !is_live(id)).collect(),
            ..Default::default()
        }
    }

    pub(in crate::broker) fn handle_describe_producers(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        body: &DescribeProducersRequest,
    ) {
        let topics = body.topics.iter().map(|topic| TopicResponse {
            name: topic.name.clone(),
            partitions: topic.partition_indexes.iter().map(|index| self.producers_of(&topic.name, *index)).collect(),
            ..Default::default()
        });
        let response = DescribeProducersResponse { topics: topics.collect(), ..Default::default() };
        self.respond(cx, request, &response);
    }

    fn producers_of(&self, topic: &str, partition_index: i32) -> PartitionResponse {
        let refused = |error: ErrorCode, text: Option<String>| PartitionResponse {
            partition_index,
            error_code: error.0,
            error_message: text,
            ..Default::default()
        };
        if let Err(text) = check_topic_name(topic) {
            return refused(ErrorCode::INVALID_TOPIC_EXCEPTION, Some(text));
        }
        let Some(id) = self.image.topic_ids.get(topic).copied() else {
            let text = "This server does not host this topic-partition.";
            return refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, Some(text.to_string()));
        };
        if self.image.partition(id, partition_index).is_none() {
            return refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, None);
        }
        let partition = self.partitions.get(&(id, partition_index)).filter(|partition| partition.is_leader());
        let Some(partition) = partition else { return refused(ErrorCode::NOT_LEADER_OR_FOLLOWER, None) };
        let producers = partition.log.producers().iter().map(|(producer_id, state)| ProducerState {
            producer_id,
            producer_epoch: i32::from(state.producer_epoch),
            last_sequence: state.last_sequence(),
            last_timestamp: state.last_timestamp,
            coordinator_epoch: state.coordinator_epoch,
            current_txn_start_offset: state.current_txn_first_offset.unwrap_or(-1),
            ..Default::default()
        });
        PartitionResponse { partition_index, active_producers: producers.collect(), ..Default::default() }
    }
}

fn described_topic(
    topic: &TopicImage,
    partitions: Vec<DescribeTopicPartitionsResponsePartition>,
) -> DescribeTopicPartitionsResponseTopic {
    DescribeTopicPartitionsResponseTopic {
        name: Some(topic.name.clone()),
        topic_id: topic.id,
        is_internal: is_internal(&topic.name),
        partitions,
        topic_authorized_operations: ALL_TOPIC_OPERATIONS,
        ..Default::default()
    }
}

fn unknown_topic(name: &str) -> DescribeTopicPartitionsResponseTopic {
    let error = match check_topic_name(name) {
        Ok(()) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        Err(_) => ErrorCode::INVALID_TOPIC_EXCEPTION,
    };
    DescribeTopicPartitionsResponseTopic {
        error_code: error.0,
        name: Some(name.to_string()),
        is_internal: is_internal(name),
        topic_authorized_operations: ALL_TOPIC_OPERATIONS,
        ..Default::default()
    }
}
