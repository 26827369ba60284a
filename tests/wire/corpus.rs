//! The recorded frames, and what the tests do with a frame of any message.

use std::io::Read;
use std::path::PathBuf;

use bytes::Bytes;
use serde_json::Value;
use steplog::disk::Slice;
use steplog::wire::messages::administration::{
    acls, client_quotas, delegation_tokens, delete_records, describe_cluster, describe_producers, describe_quorum,
    describe_topic_partitions, elect_leaders, log_dirs, reassignments, sasl, scram, telemetry, unregister_broker,
    update_features,
};
use steplog::wire::messages::{
    api_versions, broker_lifecycle, configs, create_partitions, create_topics, delete_topics, fetch, find_coordinator,
    init_producer_id, list_offsets, metadata, offset_for_leader_epoch, produce,
};
use steplog::wire::schema::Kind;
use steplog::wire::{
    ApiKey, Message, RequestHeader, ResponseHeader, WireError, decode_prefix, decode_request_header,
    decode_response_header, encode_request, encode_response, json, tree,
};

/// One recorded frame, without its 4-byte size.
pub struct Frame {
    pub name: String,
    pub key: ApiKey,
    pub version: i16,
    pub is_request: bool,
    pub bytes: Bytes,
    pub header: Value,
    pub body: Value,
}

pub fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wire").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn hex(text: &str) -> Bytes {
    let digits = (0..text.len()).step_by(2);
    digits.map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The packed lists of frames.
const DECODED: &[&str] = &["decoded.json.gz", "decoded-configs.json.gz", "decoded-administration.json.gz"];

pub fn frames() -> Vec<Frame> {
    DECODED.iter().flat_map(|name| frames_of(name)).collect()
}

fn frames_of(packed: &str) -> Vec<Frame> {
    let packed = fixture(packed);
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
    let list: Vec<Value> = serde_json::from_str(&text).unwrap();
    let frames = list.into_iter().map(|mut entry| Frame {
        name: entry["name"].as_str().unwrap().to_owned(),
        key: ApiKey(entry["key"].as_i64().unwrap() as i16),
        version: entry["version"].as_i64().unwrap() as i16,
        is_request: entry["request"].as_bool().unwrap(),
        bytes: hex(entry["hex"].as_str().unwrap()),
        header: entry["header"].take(),
        body: entry["body"].take(),
    });
    frames.collect()
}

/// A frame that was read: its end, both parts as Kafka's JSON, and the bytes that it encodes to again.
pub struct Reading {
    pub end: usize,
    pub header: Value,
    pub body: Value,
    pub again: Result<Vec<u8>, WireError>,
}

/// Calls `$then!(RequestType, ResponseType)` for the messages of `$key`.
macro_rules! for_api {
    ($key:expr, $then:ident) => {
        match $key {
            ApiKey::PRODUCE => $then!(produce::ProduceRequest, produce::ProduceResponse),
            ApiKey::FETCH => $then!(fetch::FetchRequest, fetch::FetchResponse),
            ApiKey::LIST_OFFSETS => $then!(list_offsets::ListOffsetsRequest, list_offsets::ListOffsetsResponse),
            ApiKey::METADATA => $then!(metadata::MetadataRequest, metadata::MetadataResponse),
            ApiKey::API_VERSIONS => $then!(api_versions::ApiVersionsRequest, api_versions::ApiVersionsResponse),
            ApiKey::CREATE_TOPICS => $then!(create_topics::CreateTopicsRequest, create_topics::CreateTopicsResponse),
            ApiKey::DELETE_TOPICS => $then!(delete_topics::DeleteTopicsRequest, delete_topics::DeleteTopicsResponse),
            ApiKey::CREATE_PARTITIONS => {
                $then!(create_partitions::CreatePartitionsRequest, create_partitions::CreatePartitionsResponse)
            }
            ApiKey::DESCRIBE_CONFIGS => $then!(configs::DescribeConfigsRequest, configs::DescribeConfigsResponse),
            ApiKey::ALTER_CONFIGS => $then!(configs::AlterConfigsRequest, configs::AlterConfigsResponse),
            ApiKey::INCREMENTAL_ALTER_CONFIGS => {
                $then!(configs::IncrementalAlterConfigsRequest, configs::IncrementalAlterConfigsResponse)
            }
            ApiKey::LIST_CONFIG_RESOURCES => {
                $then!(configs::ListConfigResourcesRequest, configs::ListConfigResourcesResponse)
            }
            ApiKey::INIT_PRODUCER_ID => {
                $then!(init_producer_id::InitProducerIdRequest, init_producer_id::InitProducerIdResponse)
            }
            ApiKey::BROKER_REGISTRATION => {
                $then!(broker_lifecycle::BrokerRegistrationRequest, broker_lifecycle::BrokerRegistrationResponse)
            }
            ApiKey::BROKER_HEARTBEAT => {
                $then!(broker_lifecycle::BrokerHeartbeatRequest, broker_lifecycle::BrokerHeartbeatResponse)
            }
            ApiKey::ALLOCATE_PRODUCER_IDS => {
                $then!(broker_lifecycle::AllocateProducerIdsRequest, broker_lifecycle::AllocateProducerIdsResponse)
            }
            ApiKey::FIND_COORDINATOR => {
                $then!(find_coordinator::FindCoordinatorRequest, find_coordinator::FindCoordinatorResponse)
            }
            ApiKey::SASL_HANDSHAKE => $then!(sasl::SaslHandshakeRequest, sasl::SaslHandshakeResponse),
            ApiKey::DELETE_RECORDS => {
                $then!(delete_records::DeleteRecordsRequest, delete_records::DeleteRecordsResponse)
            }
            ApiKey::OFFSET_FOR_LEADER_EPOCH => $then!(
                offset_for_leader_epoch::OffsetForLeaderEpochRequest,
                offset_for_leader_epoch::OffsetForLeaderEpochResponse
            ),
            ApiKey::DESCRIBE_ACLS => $then!(acls::DescribeAclsRequest, acls::DescribeAclsResponse),
            ApiKey::CREATE_ACLS => $then!(acls::CreateAclsRequest, acls::CreateAclsResponse),
            ApiKey::DELETE_ACLS => $then!(acls::DeleteAclsRequest, acls::DeleteAclsResponse),
            ApiKey::ALTER_REPLICA_LOG_DIRS => {
                $then!(log_dirs::AlterReplicaLogDirsRequest, log_dirs::AlterReplicaLogDirsResponse)
            }
            ApiKey::DESCRIBE_LOG_DIRS => $then!(log_dirs::DescribeLogDirsRequest, log_dirs::DescribeLogDirsResponse),
            ApiKey::SASL_AUTHENTICATE => $then!(sasl::SaslAuthenticateRequest, sasl::SaslAuthenticateResponse),
            ApiKey::CREATE_DELEGATION_TOKEN => $then!(
                delegation_tokens::CreateDelegationTokenRequest,
                delegation_tokens::CreateDelegationTokenResponse
            ),
            ApiKey::RENEW_DELEGATION_TOKEN => {
                $then!(delegation_tokens::RenewDelegationTokenRequest, delegation_tokens::RenewDelegationTokenResponse)
            }
            ApiKey::EXPIRE_DELEGATION_TOKEN => $then!(
                delegation_tokens::ExpireDelegationTokenRequest,
                delegation_tokens::ExpireDelegationTokenResponse
            ),
            ApiKey::DESCRIBE_DELEGATION_TOKEN => $then!(
                delegation_tokens::DescribeDelegationTokenRequest,
                delegation_tokens::DescribeDelegationTokenResponse
            ),
            ApiKey::ELECT_LEADERS => $then!(elect_leaders::ElectLeadersRequest, elect_leaders::ElectLeadersResponse),
            ApiKey::ALTER_PARTITION_REASSIGNMENTS => $then!(
                reassignments::AlterPartitionReassignmentsRequest,
                reassignments::AlterPartitionReassignmentsResponse
            ),
            ApiKey::LIST_PARTITION_REASSIGNMENTS => $then!(
                reassignments::ListPartitionReassignmentsRequest,
                reassignments::ListPartitionReassignmentsResponse
            ),
            ApiKey::DESCRIBE_CLIENT_QUOTAS => {
                $then!(client_quotas::DescribeClientQuotasRequest, client_quotas::DescribeClientQuotasResponse)
            }
            ApiKey::ALTER_CLIENT_QUOTAS => {
                $then!(client_quotas::AlterClientQuotasRequest, client_quotas::AlterClientQuotasResponse)
            }
            ApiKey::DESCRIBE_USER_SCRAM_CREDENTIALS => {
                $then!(scram::DescribeUserScramCredentialsRequest, scram::DescribeUserScramCredentialsResponse)
            }
            ApiKey::ALTER_USER_SCRAM_CREDENTIALS => {
                $then!(scram::AlterUserScramCredentialsRequest, scram::AlterUserScramCredentialsResponse)
            }
            ApiKey::DESCRIBE_QUORUM => {
                $then!(describe_quorum::DescribeQuorumRequest, describe_quorum::DescribeQuorumResponse)
            }
            ApiKey::UPDATE_FEATURES => {
                $then!(update_features::UpdateFeaturesRequest, update_features::UpdateFeaturesResponse)
            }
            ApiKey::DESCRIBE_CLUSTER => {
                $then!(describe_cluster::DescribeClusterRequest, describe_cluster::DescribeClusterResponse)
            }
            ApiKey::DESCRIBE_PRODUCERS => {
                $then!(describe_producers::DescribeProducersRequest, describe_producers::DescribeProducersResponse)
            }
            ApiKey::UNREGISTER_BROKER => {
                $then!(unregister_broker::UnregisterBrokerRequest, unregister_broker::UnregisterBrokerResponse)
            }
            ApiKey::GET_TELEMETRY_SUBSCRIPTIONS => {
                $then!(telemetry::GetTelemetrySubscriptionsRequest, telemetry::GetTelemetrySubscriptionsResponse)
            }
            ApiKey::PUSH_TELEMETRY => $then!(telemetry::PushTelemetryRequest, telemetry::PushTelemetryResponse),
            ApiKey::DESCRIBE_TOPIC_PARTITIONS => $then!(
                describe_topic_partitions::DescribeTopicPartitionsRequest,
                describe_topic_partitions::DescribeTopicPartitionsResponse
            ),
            other => panic!("no messages of key {}", other.0),
        }
    };
}

pub fn read_request(bytes: &Bytes) -> Result<Reading, WireError> {
    let (header, at) = decode_request_header(bytes)?;
    macro_rules! read {
        ($request:ty, $response:ty) => {
            read_body::<$request>(bytes, at, &header)
        };
    }
    for_api!(ApiKey(header.request_api_key), read)
}

fn read_body<M: Message>(bytes: &Bytes, at: usize, header: &RequestHeader) -> Result<Reading, WireError> {
    let version = header.request_api_version;
    let (body, end) = decode_prefix::<M>(bytes, at, version)?;
    Ok(Reading {
        end,
        header: parse(&json::to_json(header, 2)),
        body: parse(&json::to_json(&body, version)),
        again: encode_request(header, &body).map(|slices| without_size(&slices)),
    })
}

pub fn read_response(bytes: &Bytes, key: ApiKey, version: i16) -> Result<Reading, WireError> {
    let (header, at) = decode_response_header(bytes, key, version)?;
    macro_rules! read {
        ($request:ty, $response:ty) => {
            read_answer::<$response>(bytes, at, &header, version)
        };
    }
    for_api!(key, read)
}

fn read_answer<M: Message>(
    bytes: &Bytes,
    at: usize,
    header: &ResponseHeader,
    version: i16,
) -> Result<Reading, WireError> {
    let (body, end) = decode_prefix::<M>(bytes, at, version)?;
    Ok(Reading {
        end,
        header: parse(&json::to_json(header, 1)),
        body: parse(&json::to_json(&body, version)),
        again: encode_response(version, header.correlation_id, &body).map(|slices| without_size(&slices)),
    })
}

/// Where the body of a frame ends; reads it and nothing more.
pub fn end_of(frame: &Frame, bytes: &Bytes) -> Result<usize, WireError> {
    let (at, key, version) = if frame.is_request {
        let (header, at) = decode_request_header(bytes)?;
        (at, ApiKey(header.request_api_key), header.request_api_version)
    } else {
        let (_, at) = decode_response_header(bytes, frame.key, frame.version)?;
        (at, frame.key, frame.version)
    };
    macro_rules! end {
        ($request:ty, $response:ty) => {
            if frame.is_request {
                decode_prefix::<$request>(bytes, at, version).map(|(_, end)| end)
            } else {
                decode_prefix::<$response>(bytes, at, version).map(|(_, end)| end)
            }
        };
    }
    for_api!(key, end)
}

pub fn read(frame: &Frame, bytes: &Bytes) -> Result<Reading, WireError> {
    if frame.is_request { read_request(bytes) } else { read_response(bytes, frame.key, frame.version) }
}

pub fn tree_of(frame: &Frame, bytes: &Bytes) -> tree::Reading {
    if frame.is_request { tree::request(bytes) } else { tree::response(bytes, frame.key, frame.version) }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The bytes of a frame's pieces; checks and drops the size in front.
pub fn without_size(slices: &[Slice]) -> Vec<u8> {
    let mut all = Vec::new();
    for slice in slices {
        match slice {
            Slice::Bytes(bytes) => all.extend_from_slice(bytes),
            Slice::File(range) => {
                let mut piece = vec![0; range.len as usize];
                range.source.read_at(range.position, &mut piece).unwrap();
                all.extend_from_slice(&piece);
            }
        }
    }
    let size = i32::from_be_bytes(all[..4].try_into().unwrap());
    assert_eq!(size as usize, all.len() - 4, "the size in front is that of what follows");
    all.split_off(4)
}

/// The kind of a frame, for messages about it.
pub fn kind(frame: &Frame) -> Kind {
    if frame.is_request { Kind::Request(frame.key.0) } else { Kind::Response(frame.key.0) }
}
