//! `kafka-protocol`, an independent implementation, reads what we write and writes what we read.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::{Decodable, Encodable, Message as TheirMessage};
use steplog::disk::Slice;
use steplog::node::Rng;
use steplog::wire::messages::administration::{
    acls, client_quotas, delegation_tokens, delete_records, describe_cluster, describe_producers, describe_quorum,
    describe_topic_partitions, elect_leaders, log_dirs, reassignments, sasl, scram, telemetry, unregister_broker,
    update_features,
};
use steplog::wire::messages::{
    api_versions, broker_lifecycle, configs, create_partitions, create_topics, delete_topics, fetch, find_coordinator,
    init_producer_id, list_offsets, metadata, offset_for_leader_epoch, produce,
};
use steplog::wire::schema::{Field, Slot, Struct, Type};
use steplog::wire::{Message, Uuid, decode_prefix, encode};

/// Fills every field that `version` has with something random, small and valid.
fn fill(target: &mut dyn Struct, version: i16, rng: &mut Rng) {
    for (index, field) in target.table().fields.iter().enumerate() {
        // Tagged fields are left at their default now and then: then they must not be written.
        let is_left_out = field.is_tagged() && rng.below(3) == 0;
        if field.is_in(version)
            && !is_left_out
            && let Some(slot) = target.slot(index)
        {
            fill_slot(slot, field, &field.ty, version, rng);
        }
    }
}

fn fill_slot(slot: Slot<'_>, field: &Field, ty: &Type, version: i16, rng: &mut Rng) {
    let bits = rng.next_u64();
    match slot {
        Slot::Bool(place) => *place = bits & 1 == 1,
        Slot::Int8(place) => *place = bits as i8,
        Slot::Int16(place) => *place = bits as i16,
        Slot::Uint16(place) => *place = bits as u16,
        Slot::Int32(place) => *place = bits as i32,
        Slot::Uint32(place) => *place = bits as u32,
        Slot::Int64(place) => *place = bits as i64,
        Slot::Float64(place) => *place = bits as f64,
        Slot::Uuid(place) => *place = Uuid(rng.bytes16()),
        Slot::String(place) => *place = text(rng),
        Slot::Bytes(place) => *place = bytes(rng),
        Slot::Records(place) => *place = Slice::Bytes(bytes(rng)),
        Slot::Struct(place) => fill(place, version, rng),
        Slot::Array(items) => {
            let Type::Array(item) = ty else { unreachable!("an array's slot") };
            let count = rng.below(4) as usize;
            items.clear_for(count, 1 << 20);
            for _ in 0..count {
                if let Some(slot) = items.push() {
                    fill_slot(slot, field, item, version, rng);
                }
            }
        }
        Slot::Option(place) => {
            if field.may_be_null(version) && rng.below(3) == 0 {
                place.set_null();
            } else {
                fill_slot(place.set_present(), field, ty, version, rng);
            }
        }
    }
}

fn text(rng: &mut Rng) -> String {
    // Some are longer than 127 bytes, so that compact lengths take two.
    let length_max = if rng.below(8) == 0 { 300 } else { 12 };
    let length = rng.below(length_max);
    (0..length).map(|_| ['a', 'Z', '9', '-', 'é', '中'][rng.below(6) as usize]).collect()
}

fn bytes(rng: &mut Rng) -> Bytes {
    let length_max = if rng.below(8) == 0 { 3000 } else { 40 };
    let length = rng.below(length_max);
    (0..length).map(|_| rng.next_u64() as u8).collect()
}

/// Both directions for every version that both know. How many versions that were.
fn agree<Ours, Theirs>(rng: &mut Rng) -> usize
where
    Ours: Message + PartialEq + std::fmt::Debug,
    Theirs: Decodable + Encodable + TheirMessage,
{
    let schema = Ours::SCHEMA;
    let first = schema.first_version.max(Theirs::VERSIONS.min);
    let last = schema.last_version.min(Theirs::VERSIONS.max);
    for version in first..=last {
        for round in 0..40 {
            let mut message = Ours::default();
            if round > 0 {
                fill(&mut message, version, rng);
            }
            let what = format!("{:?} v{version}: {message:?}", schema.kind);
            let encoded = encode(&message, version).unwrap_or_else(|error| panic!("{what}: {error}"));
            let mut rest = encoded.clone();
            let read = Theirs::decode(&mut rest, version).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(rest.is_empty(), "{what}: {} bytes are left", rest.len());
            let mut again = BytesMut::new();
            read.encode(&mut again, version).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(encoded, again.freeze(), "{what}");
            let (ours, end) = decode_prefix::<Ours>(&encoded, 0, version).unwrap();
            assert_eq!((&ours, end), (&message, encoded.len()), "{what}");
        }
    }
    usize::try_from(i32::from(last) - i32::from(first) + 1).unwrap_or(0)
}

#[test]
fn another_implementation_agrees_on_random_messages_of_every_version_it_knows() {
    let mut rng = Rng::new(20_260_101);
    let rng = &mut rng;
    let versions = [
        agree::<produce::ProduceRequest, theirs::ProduceRequest>(rng),
        agree::<produce::ProduceResponse, theirs::ProduceResponse>(rng),
        agree::<fetch::FetchRequest, theirs::FetchRequest>(rng),
        agree::<fetch::FetchResponse, theirs::FetchResponse>(rng),
        agree::<list_offsets::ListOffsetsRequest, theirs::ListOffsetsRequest>(rng),
        agree::<list_offsets::ListOffsetsResponse, theirs::ListOffsetsResponse>(rng),
        agree::<metadata::MetadataRequest, theirs::MetadataRequest>(rng),
        agree::<metadata::MetadataResponse, theirs::MetadataResponse>(rng),
        agree::<api_versions::ApiVersionsRequest, theirs::ApiVersionsRequest>(rng),
        agree::<api_versions::ApiVersionsResponse, theirs::ApiVersionsResponse>(rng),
        agree::<create_topics::CreateTopicsRequest, theirs::CreateTopicsRequest>(rng),
        agree::<create_topics::CreateTopicsResponse, theirs::CreateTopicsResponse>(rng),
        agree::<init_producer_id::InitProducerIdRequest, theirs::InitProducerIdRequest>(rng),
        agree::<init_producer_id::InitProducerIdResponse, theirs::InitProducerIdResponse>(rng),
        agree::<broker_lifecycle::BrokerRegistrationRequest, theirs::BrokerRegistrationRequest>(rng),
        agree::<broker_lifecycle::BrokerRegistrationResponse, theirs::BrokerRegistrationResponse>(rng),
        agree::<broker_lifecycle::BrokerHeartbeatRequest, theirs::BrokerHeartbeatRequest>(rng),
        agree::<broker_lifecycle::BrokerHeartbeatResponse, theirs::BrokerHeartbeatResponse>(rng),
        agree::<broker_lifecycle::AllocateProducerIdsRequest, theirs::AllocateProducerIdsRequest>(rng),
        agree::<broker_lifecycle::AllocateProducerIdsResponse, theirs::AllocateProducerIdsResponse>(rng),
        agree::<delete_topics::DeleteTopicsRequest, theirs::DeleteTopicsRequest>(rng),
        agree::<delete_topics::DeleteTopicsResponse, theirs::DeleteTopicsResponse>(rng),
        agree::<create_partitions::CreatePartitionsRequest, theirs::CreatePartitionsRequest>(rng),
        agree::<create_partitions::CreatePartitionsResponse, theirs::CreatePartitionsResponse>(rng),
        agree::<configs::DescribeConfigsRequest, theirs::DescribeConfigsRequest>(rng),
        agree::<configs::DescribeConfigsResponse, theirs::DescribeConfigsResponse>(rng),
        agree::<configs::AlterConfigsRequest, theirs::AlterConfigsRequest>(rng),
        agree::<configs::AlterConfigsResponse, theirs::AlterConfigsResponse>(rng),
        agree::<configs::IncrementalAlterConfigsRequest, theirs::IncrementalAlterConfigsRequest>(rng),
        agree::<configs::IncrementalAlterConfigsResponse, theirs::IncrementalAlterConfigsResponse>(rng),
        agree::<configs::ListConfigResourcesRequest, theirs::ListConfigResourcesRequest>(rng),
        agree::<configs::ListConfigResourcesResponse, theirs::ListConfigResourcesResponse>(rng),
    ];
    // All of ours but ListOffsets 11, InitProducerIdRequest 6 and BrokerHeartbeat 2, which it does not know.
    assert_eq!(
        versions,
        [11, 11, 15, 15, 10, 10, 14, 14, 5, 5, 6, 6, 6, 7, 5, 5, 2, 2, 1, 1, 6, 6, 4, 4, 4, 4, 3, 3, 2, 2, 2, 2]
    );
}

#[test]
fn another_implementation_agrees_on_what_administrators_send() {
    let rng = &mut Rng::new(20_260_102);
    let versions = [
        agree::<find_coordinator::FindCoordinatorRequest, theirs::FindCoordinatorRequest>(rng),
        agree::<find_coordinator::FindCoordinatorResponse, theirs::FindCoordinatorResponse>(rng),
        agree::<sasl::SaslHandshakeRequest, theirs::SaslHandshakeRequest>(rng),
        agree::<sasl::SaslHandshakeResponse, theirs::SaslHandshakeResponse>(rng),
        agree::<delete_records::DeleteRecordsRequest, theirs::DeleteRecordsRequest>(rng),
        agree::<delete_records::DeleteRecordsResponse, theirs::DeleteRecordsResponse>(rng),
        agree::<offset_for_leader_epoch::OffsetForLeaderEpochRequest, theirs::OffsetForLeaderEpochRequest>(rng),
        agree::<offset_for_leader_epoch::OffsetForLeaderEpochResponse, theirs::OffsetForLeaderEpochResponse>(rng),
        agree::<acls::DescribeAclsRequest, theirs::DescribeAclsRequest>(rng),
        agree::<acls::DescribeAclsResponse, theirs::DescribeAclsResponse>(rng),
        agree::<acls::CreateAclsRequest, theirs::CreateAclsRequest>(rng),
        agree::<acls::CreateAclsResponse, theirs::CreateAclsResponse>(rng),
        agree::<acls::DeleteAclsRequest, theirs::DeleteAclsRequest>(rng),
        agree::<acls::DeleteAclsResponse, theirs::DeleteAclsResponse>(rng),
        agree::<log_dirs::AlterReplicaLogDirsRequest, theirs::AlterReplicaLogDirsRequest>(rng),
        agree::<log_dirs::AlterReplicaLogDirsResponse, theirs::AlterReplicaLogDirsResponse>(rng),
        agree::<log_dirs::DescribeLogDirsRequest, theirs::DescribeLogDirsRequest>(rng),
        agree::<log_dirs::DescribeLogDirsResponse, theirs::DescribeLogDirsResponse>(rng),
        agree::<sasl::SaslAuthenticateRequest, theirs::SaslAuthenticateRequest>(rng),
        agree::<sasl::SaslAuthenticateResponse, theirs::SaslAuthenticateResponse>(rng),
        agree::<delegation_tokens::CreateDelegationTokenRequest, theirs::CreateDelegationTokenRequest>(rng),
        agree::<delegation_tokens::CreateDelegationTokenResponse, theirs::CreateDelegationTokenResponse>(rng),
        agree::<delegation_tokens::RenewDelegationTokenRequest, theirs::RenewDelegationTokenRequest>(rng),
        agree::<delegation_tokens::RenewDelegationTokenResponse, theirs::RenewDelegationTokenResponse>(rng),
        agree::<delegation_tokens::ExpireDelegationTokenRequest, theirs::ExpireDelegationTokenRequest>(rng),
        agree::<delegation_tokens::ExpireDelegationTokenResponse, theirs::ExpireDelegationTokenResponse>(rng),
        agree::<delegation_tokens::DescribeDelegationTokenRequest, theirs::DescribeDelegationTokenRequest>(rng),
        agree::<delegation_tokens::DescribeDelegationTokenResponse, theirs::DescribeDelegationTokenResponse>(rng),
        agree::<elect_leaders::ElectLeadersRequest, theirs::ElectLeadersRequest>(rng),
        agree::<elect_leaders::ElectLeadersResponse, theirs::ElectLeadersResponse>(rng),
        agree::<reassignments::AlterPartitionReassignmentsRequest, theirs::AlterPartitionReassignmentsRequest>(rng),
        agree::<reassignments::AlterPartitionReassignmentsResponse, theirs::AlterPartitionReassignmentsResponse>(rng),
        agree::<reassignments::ListPartitionReassignmentsRequest, theirs::ListPartitionReassignmentsRequest>(rng),
        agree::<reassignments::ListPartitionReassignmentsResponse, theirs::ListPartitionReassignmentsResponse>(rng),
        agree::<client_quotas::DescribeClientQuotasRequest, theirs::DescribeClientQuotasRequest>(rng),
        agree::<client_quotas::DescribeClientQuotasResponse, theirs::DescribeClientQuotasResponse>(rng),
        agree::<client_quotas::AlterClientQuotasRequest, theirs::AlterClientQuotasRequest>(rng),
        agree::<client_quotas::AlterClientQuotasResponse, theirs::AlterClientQuotasResponse>(rng),
        agree::<scram::DescribeUserScramCredentialsRequest, theirs::DescribeUserScramCredentialsRequest>(rng),
        agree::<scram::DescribeUserScramCredentialsResponse, theirs::DescribeUserScramCredentialsResponse>(rng),
        agree::<scram::AlterUserScramCredentialsRequest, theirs::AlterUserScramCredentialsRequest>(rng),
        agree::<scram::AlterUserScramCredentialsResponse, theirs::AlterUserScramCredentialsResponse>(rng),
        agree::<describe_quorum::DescribeQuorumRequest, theirs::DescribeQuorumRequest>(rng),
        agree::<describe_quorum::DescribeQuorumResponse, theirs::DescribeQuorumResponse>(rng),
        agree::<update_features::UpdateFeaturesRequest, theirs::UpdateFeaturesRequest>(rng),
        agree::<update_features::UpdateFeaturesResponse, theirs::UpdateFeaturesResponse>(rng),
        agree::<describe_cluster::DescribeClusterRequest, theirs::DescribeClusterRequest>(rng),
        agree::<describe_cluster::DescribeClusterResponse, theirs::DescribeClusterResponse>(rng),
        agree::<describe_producers::DescribeProducersRequest, theirs::DescribeProducersRequest>(rng),
        agree::<describe_producers::DescribeProducersResponse, theirs::DescribeProducersResponse>(rng),
        agree::<unregister_broker::UnregisterBrokerRequest, theirs::UnregisterBrokerRequest>(rng),
        agree::<unregister_broker::UnregisterBrokerResponse, theirs::UnregisterBrokerResponse>(rng),
        agree::<telemetry::GetTelemetrySubscriptionsRequest, theirs::GetTelemetrySubscriptionsRequest>(rng),
        agree::<telemetry::GetTelemetrySubscriptionsResponse, theirs::GetTelemetrySubscriptionsResponse>(rng),
        agree::<telemetry::PushTelemetryRequest, theirs::PushTelemetryRequest>(rng),
        agree::<telemetry::PushTelemetryResponse, theirs::PushTelemetryResponse>(rng),
        agree::<describe_topic_partitions::DescribeTopicPartitionsRequest, theirs::DescribeTopicPartitionsRequest>(rng),
        agree::<describe_topic_partitions::DescribeTopicPartitionsResponse, theirs::DescribeTopicPartitionsResponse>(
            rng,
        ),
    ];
    // All of ours but DescribeLogDirs 5, which it does not know.
    let expected = [
        7, 7, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 4, 4, 3, 3, 3, 3, 2, 2, 2, 2, 3, 3, 3, 3, 2, 2, 1, 1, 2, 2, 2,
        2, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    ];
    assert_eq!(versions, expected);
}
