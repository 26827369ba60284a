//! Every message that this code speaks, one file per API family. Names are Kafka's; fields are its names in snake
//! case. A struct's `Default` has Kafka's defaults, so write `..Default::default()` for what does not matter.

#[cfg(feature = "administration")]
pub mod administration;
pub mod alter_partition;
pub mod api_versions;
pub mod broker_lifecycle;
#[cfg(feature = "administration")]
pub mod configs;
pub mod control_records;
pub mod create_partitions;
pub mod create_topics;
pub mod delete_topics;
pub mod fetch;
pub mod find_coordinator;
pub mod init_producer_id;
pub mod list_offsets;
pub mod metadata;
pub mod metadata_records;
pub mod offset_for_leader_epoch;
pub mod produce;

use super::schema::{Kind, Message, Schema};

/// The schemas of all requests, responses and metadata records, for readers that only walk tables.
static SCHEMAS: &[&Schema] = &[
    produce::ProduceRequest::SCHEMA,
    produce::ProduceResponse::SCHEMA,
    fetch::FetchRequest::SCHEMA,
    fetch::FetchResponse::SCHEMA,
    list_offsets::ListOffsetsRequest::SCHEMA,
    list_offsets::ListOffsetsResponse::SCHEMA,
    metadata::MetadataRequest::SCHEMA,
    metadata::MetadataResponse::SCHEMA,
    api_versions::ApiVersionsRequest::SCHEMA,
    api_versions::ApiVersionsResponse::SCHEMA,
    create_topics::CreateTopicsRequest::SCHEMA,
    create_topics::CreateTopicsResponse::SCHEMA,
    delete_topics::DeleteTopicsRequest::SCHEMA,
    delete_topics::DeleteTopicsResponse::SCHEMA,
    create_partitions::CreatePartitionsRequest::SCHEMA,
    create_partitions::CreatePartitionsResponse::SCHEMA,
    #[cfg(feature = "administration")]
    configs::DescribeConfigsRequest::SCHEMA,
    #[cfg(feature = "administration")]
    configs::DescribeConfigsResponse::SCHEMA,
    #[cfg(feature = "administration")]
    configs::AlterConfigsRequest::SCHEMA,
    #[cfg(feature = "administration")]
    configs::AlterConfigsResponse::SCHEMA,
    #[cfg(feature = "administration")]
    configs::IncrementalAlterConfigsRequest::SCHEMA,
    #[cfg(feature = "administration")]
    configs::IncrementalAlterConfigsResponse::SCHEMA,
    #[cfg(feature = "administration")]
    configs::ListConfigResourcesRequest::SCHEMA,
    #[cfg(feature = "administration")]
    configs::ListConfigResourcesResponse::SCHEMA,
    init_producer_id::InitProducerIdRequest::SCHEMA,
    init_producer_id::InitProducerIdResponse::SCHEMA,
    offset_for_leader_epoch::OffsetForLeaderEpochRequest::SCHEMA,
    offset_for_leader_epoch::OffsetForLeaderEpochResponse::SCHEMA,
    find_coordinator::FindCoordinatorRequest::SCHEMA,
    find_coordinator::FindCoordinatorResponse::SCHEMA,
    broker_lifecycle::BrokerRegistrationRequest::SCHEMA,
    broker_lifecycle::BrokerRegistrationResponse::SCHEMA,
    broker_lifecycle::BrokerHeartbeatRequest::SCHEMA,
    broker_lifecycle::BrokerHeartbeatResponse::SCHEMA,
    broker_lifecycle::AllocateProducerIdsRequest::SCHEMA,
    broker_lifecycle::AllocateProducerIdsResponse::SCHEMA,
    alter_partition::AlterPartitionRequest::SCHEMA,
    alter_partition::AlterPartitionResponse::SCHEMA,
    metadata_records::RegisterBrokerRecord::SCHEMA,
    metadata_records::UnregisterBrokerRecord::SCHEMA,
    metadata_records::TopicRecord::SCHEMA,
    metadata_records::PartitionRecord::SCHEMA,
    metadata_records::ConfigRecord::SCHEMA,
    metadata_records::PartitionChangeRecord::SCHEMA,
    metadata_records::FenceBrokerRecord::SCHEMA,
    metadata_records::UnfenceBrokerRecord::SCHEMA,
    metadata_records::RemoveTopicRecord::SCHEMA,
    metadata_records::FeatureLevelRecord::SCHEMA,
    metadata_records::ProducerIdsRecord::SCHEMA,
    metadata_records::BrokerRegistrationChangeRecord::SCHEMA,
    metadata_records::NoOpRecord::SCHEMA,
    metadata_records::BeginTransactionRecord::SCHEMA,
    metadata_records::EndTransactionRecord::SCHEMA,
    metadata_records::AbortTransactionRecord::SCHEMA,
    metadata_records::RegisterControllerRecord::SCHEMA,
    metadata_records::ClearElrRecord::SCHEMA,
];

#[cfg(feature = "administration")]
use administration::SCHEMAS as ADMINISTRATION;
#[cfg(not(feature = "administration"))]
const ADMINISTRATION: &[&Schema] = &[];

/// The schema of a request, a response or a metadata record.
pub fn schema(kind: Kind) -> Option<&'static Schema> {
    SCHEMAS.iter().chain(ADMINISTRATION).copied().find(|schema| schema.kind == kind)
}
