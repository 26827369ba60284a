//! Messages that only people's tools send. No program of a page does, so the page's wasm goes without them.

pub mod acls;
pub mod client_quotas;
pub mod delegation_tokens;
pub mod delete_records;
pub mod describe_cluster;
pub mod describe_producers;
pub mod describe_quorum;
pub mod describe_topic_partitions;
pub mod elect_leaders;
pub mod log_dirs;
pub mod metadata_records;
pub mod reassignments;
pub mod sasl;
pub mod scram;
pub mod telemetry;
pub mod unregister_broker;
pub mod update_features;

use crate::wire::schema::{Message, Schema};

pub(super) static SCHEMAS: &[&Schema] = &[
    acls::DescribeAclsRequest::SCHEMA,
    acls::DescribeAclsResponse::SCHEMA,
    acls::CreateAclsRequest::SCHEMA,
    acls::CreateAclsResponse::SCHEMA,
    acls::DeleteAclsRequest::SCHEMA,
    acls::DeleteAclsResponse::SCHEMA,
    client_quotas::DescribeClientQuotasRequest::SCHEMA,
    client_quotas::DescribeClientQuotasResponse::SCHEMA,
    client_quotas::AlterClientQuotasRequest::SCHEMA,
    client_quotas::AlterClientQuotasResponse::SCHEMA,
    delegation_tokens::CreateDelegationTokenRequest::SCHEMA,
    delegation_tokens::CreateDelegationTokenResponse::SCHEMA,
    delegation_tokens::RenewDelegationTokenRequest::SCHEMA,
    delegation_tokens::RenewDelegationTokenResponse::SCHEMA,
    delegation_tokens::ExpireDelegationTokenRequest::SCHEMA,
    delegation_tokens::ExpireDelegationTokenResponse::SCHEMA,
    delegation_tokens::DescribeDelegationTokenRequest::SCHEMA,
    delegation_tokens::DescribeDelegationTokenResponse::SCHEMA,
    delete_records::DeleteRecordsRequest::SCHEMA,
    delete_records::DeleteRecordsResponse::SCHEMA,
    describe_cluster::DescribeClusterRequest::SCHEMA,
    describe_cluster::DescribeClusterResponse::SCHEMA,
    describe_producers::DescribeProducersRequest::SCHEMA,
    describe_producers::DescribeProducersResponse::SCHEMA,
    describe_quorum::DescribeQuorumRequest::SCHEMA,
    describe_quorum::DescribeQuorumResponse::SCHEMA,
    describe_topic_partitions::DescribeTopicPartitionsRequest::SCHEMA,
    describe_topic_partitions::DescribeTopicPartitionsResponse::SCHEMA,
    elect_leaders::ElectLeadersRequest::SCHEMA,
    elect_leaders::ElectLeadersResponse::SCHEMA,
    log_dirs::DescribeLogDirsRequest::SCHEMA,
    log_dirs::DescribeLogDirsResponse::SCHEMA,
    log_dirs::AlterReplicaLogDirsRequest::SCHEMA,
    log_dirs::AlterReplicaLogDirsResponse::SCHEMA,
    metadata_records::UserScramCredentialRecord::SCHEMA,
    metadata_records::ClientQuotaRecord::SCHEMA,
    metadata_records::RemoveUserScramCredentialRecord::SCHEMA,
    reassignments::AlterPartitionReassignmentsRequest::SCHEMA,
    reassignments::AlterPartitionReassignmentsResponse::SCHEMA,
    reassignments::ListPartitionReassignmentsRequest::SCHEMA,
    reassignments::ListPartitionReassignmentsResponse::SCHEMA,
    sasl::SaslHandshakeRequest::SCHEMA,
    sasl::SaslHandshakeResponse::SCHEMA,
    sasl::SaslAuthenticateRequest::SCHEMA,
    sasl::SaslAuthenticateResponse::SCHEMA,
    scram::DescribeUserScramCredentialsRequest::SCHEMA,
    scram::DescribeUserScramCredentialsResponse::SCHEMA,
    scram::AlterUserScramCredentialsRequest::SCHEMA,
    scram::AlterUserScramCredentialsResponse::SCHEMA,
    telemetry::GetTelemetrySubscriptionsRequest::SCHEMA,
    telemetry::GetTelemetrySubscriptionsResponse::SCHEMA,
    telemetry::PushTelemetryRequest::SCHEMA,
    telemetry::PushTelemetryResponse::SCHEMA,
    unregister_broker::UnregisterBrokerRequest::SCHEMA,
    unregister_broker::UnregisterBrokerResponse::SCHEMA,
    update_features::UpdateFeaturesRequest::SCHEMA,
    update_features::UpdateFeaturesResponse::SCHEMA,
];
