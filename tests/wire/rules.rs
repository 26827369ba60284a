//! Rules of the notation that no recorded frame shows.

use std::sync::Arc;

use bytes::Bytes;
use steplog::disk::{DiskError, FileRange, RangeSource, Slice};
use steplog::wire::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse, SupportedFeatureKey};
use steplog::wire::messages::broker_lifecycle::BrokerHeartbeatRequest;
use steplog::wire::messages::fetch::{
    FetchPartition, FetchRequest, FetchResponse, FetchTopic, FetchableTopicResponse, PartitionData,
};
use steplog::wire::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use steplog::wire::messages::metadata_records::{PartitionChangeRecord, TopicRecord};
use steplog::wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use steplog::wire::schema::UnknownTag;
use steplog::wire::{
    RequestHeader, Uuid, WireErrorKind, decode, decode_record, decode_request_header, decode_response, encode,
    encode_record, encode_request, encode_response, record_type,
};

use crate::corpus::without_size;

fn bytes(list: &[u8]) -> Bytes {
    Bytes::copy_from_slice(list)
}

#[test]
fn a_value_that_the_version_cannot_carry_is_an_error_unless_it_may_be_ignored() {
    // Not ignorable: ReplicaId is gone from version 15 on.
    let request = FetchRequest { replica_id: 1, ..Default::default() };
    let error = encode(&request, 15).unwrap_err();
    assert_eq!((error.field, error.kind), ("replica_id", WireErrorKind::NotInVersion { version: 15 }));
    assert!(encode(&request, 14).is_ok());
    // Ignorable: the software's name is dropped before version 3.
    let request = ApiVersionsRequest { client_software_name: "x".into(), ..Default::default() };
    assert_eq!(encode(&request, 0).unwrap(), bytes(&[]));
    // The topic's name gives way to its id, and back.
    let id = Uuid::METADATA_TOPIC;
    let topic = FetchTopic { topic: "t".into(), topic_id: id, ..Default::default() };
    let request = FetchRequest { topics: vec![topic], ..Default::default() };
    let by_name: FetchRequest = decode(&encode(&request, 12).unwrap(), 0, 12).unwrap();
    assert_eq!((by_name.topics[0].topic.as_str(), by_name.topics[0].topic_id), ("t", Uuid::ZERO));
    let by_id: FetchRequest = decode(&encode(&request, 13).unwrap(), 0, 13).unwrap();
    assert_eq!((by_id.topics[0].topic.as_str(), by_id.topics[0].topic_id), ("", id));
}

#[test]
fn null_is_refused_in_versions_that_do_not_allow_it() {
    let all_topics = MetadataRequest { topics: None, ..Default::default() };
    assert_eq!(encode(&all_topics, 0).unwrap_err().kind, WireErrorKind::Null);
    assert_eq!(encode(&all_topics, 1).unwrap(), bytes(&[0xff; 4]));
    let error = decode::<MetadataRequest>(&bytes(&[0xff; 4]), 0, 0).unwrap_err();
    assert_eq!((error.field, error.kind), ("topics", WireErrorKind::Null));
    let unnamed = MetadataRequestTopic { name: None, ..Default::default() };
    let unnamed = MetadataRequest { topics: Some(vec![unnamed]), ..Default::default() };
    assert_eq!(encode(&unnamed, 9).unwrap_err().field, "name");
    assert!(encode(&unnamed, 12).is_ok());
}

#[test]
fn an_unsupported_version_is_a_typed_error_both_ways() {
    let kind = WireErrorKind::UnsupportedVersion { key: 3, version: 14, min: 0, max: 13 };
    assert_eq!(encode(&MetadataRequest::default(), 14).unwrap_err().kind, kind);
    assert_eq!(decode::<MetadataRequest>(&Bytes::new(), 0, 14).unwrap_err().kind, kind);
    let header = RequestHeader { request_api_key: 0, request_api_version: 13, ..Default::default() };
    let error = encode_request(&header, &MetadataRequest::default()).unwrap_err();
    assert_eq!(error.kind, WireErrorKind::UnknownMessage { key: 0 }, "the header must name the body's key");
    let unknown = decode_request_header(&bytes(&[0x7f, 0xff, 0, 0, 0, 0, 0, 0, 0, 0])).unwrap_err();
    assert_eq!(unknown.kind, WireErrorKind::UnknownMessage { key: i16::MAX });
}

#[test]
fn an_empty_list_is_not_the_null_that_a_tagged_field_defaults_to() {
    let nothing = PartitionChangeRecord::default();
    let emptied = PartitionChangeRecord { isr: Some(Vec::new()), ..Default::default() };
    let (nothing, emptied) = (encode_record(&nothing, 2).unwrap(), encode_record(&emptied, 2).unwrap());
    assert_eq!(emptied.len(), nothing.len() + 3, "tag, size and a count of none");
    assert_eq!(decode_record::<PartitionChangeRecord>(&emptied).unwrap().isr, Some(Vec::new()));
    assert_eq!(decode_record::<PartitionChangeRecord>(&nothing).unwrap().isr, None);
}

#[test]
fn tagged_fields_are_written_by_ascending_tag_whatever_their_place_in_the_struct() {
    // Directories have tag 8 and stand before tags 6 and 7 in Kafka's schema.
    let record = PartitionChangeRecord {
        directories: Some(vec![]),
        last_known_elr: Some(vec![]),
        eligible_leader_replicas: Some(vec![]),
        leader: 5,
        ..Default::default()
    };
    let encoded = encode_record(&record, 2).unwrap();
    let tags = [4, 1, 4, 0, 0, 0, 5, 6, 1, 1, 7, 1, 1, 8, 1, 1];
    assert_eq!(encoded[encoded.len() - tags.len()..], tags);
    assert_eq!(decode_record::<PartitionChangeRecord>(&encoded).unwrap(), record);
}

#[test]
fn unknown_tags_are_kept_and_go_between_the_known_ones() {
    let mut response = ApiVersionsResponse { finalized_features_epoch: 7, ..Default::default() };
    response.supported_features = vec![SupportedFeatureKey { name: "f".into(), ..Default::default() }];
    response.zk_migration_ready = true;
    response.unknown_tags.push(UnknownTag { tag: 2, bytes: bytes(&[1]) });
    response.unknown_tags.push(UnknownTag { tag: 200, bytes: bytes(&[9, 9]) });
    // Tag 2 is known in version 4, so that an unknown field of the same number cannot stand beside it.
    response.finalized_features = vec![Default::default()];
    assert_eq!(encode(&response, 4).unwrap_err().kind, WireErrorKind::TagOrder { tag: 2 });
    response.finalized_features.clear();
    let encoded = encode(&response, 4).unwrap();
    let end = [1, 8, 0, 0, 0, 0, 0, 0, 0, 7, 2, 1, 1, 3, 1, 1, 200, 1, 2, 9, 9];
    assert_eq!(encoded[encoded.len() - end.len()..], end);
}

#[test]
fn a_tagged_field_must_fill_its_size_and_come_once() {
    // BrokerHeartbeat 1: the body without tags, then a tagged section.
    let body = encode(&BrokerHeartbeatRequest::default(), 1).unwrap();
    let with_tags = |tags: &[u8]| {
        let mut frame = body[..body.len() - 1].to_vec();
        frame.extend_from_slice(tags);
        decode::<BrokerHeartbeatRequest>(&frame.into(), 0, 1)
    };
    // An empty list of directories takes one byte.
    assert!(with_tags(&[1, 0, 1, 1]).is_ok());
    assert_eq!(with_tags(&[1, 0, 2, 1, 0]).unwrap_err().kind, WireErrorKind::TagSize { tag: 0 });
    let error = with_tags(&[1, 0, 1, 2, 0, 0]).unwrap_err();
    assert_eq!(error.kind, WireErrorKind::CountTooLarge { count: 1, left: 0 });
    assert_eq!(with_tags(&[1, 0, 9, 1]).unwrap_err().kind, WireErrorKind::TooShort { needed: 9, left: 1 });
    assert_eq!(with_tags(&[2, 0, 1, 1, 0, 1, 1]).unwrap_err().kind, WireErrorKind::TagRepeated { tag: 0 });
    // Tag 1 is known from version 2 on only: here it is kept as it came.
    let kept = with_tags(&[1, 1, 1, 0]).unwrap();
    assert_eq!(kept.unknown_tags.as_slice(), [UnknownTag { tag: 1, bytes: bytes(&[0]) }]);
}

#[test]
fn a_string_of_more_than_32767_bytes_is_refused_compact_or_not() {
    let name = "x".repeat(32_768);
    for version in [0, 9] {
        let topic = MetadataRequestTopic { name: Some(name.clone()), ..Default::default() };
        let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
        let error = encode(&request, version).unwrap_err();
        assert_eq!(error.kind, WireErrorKind::StringTooLong { length: 32_768 });
    }
    let mut frame = vec![2, 0x81, 0x80, 0x02];
    frame.extend(name.as_bytes());
    let error = decode::<MetadataRequest>(&frame.into(), 0, 9).unwrap_err();
    assert_eq!(error.kind, WireErrorKind::StringTooLong { length: 32_768 });
}

#[test]
fn produced_records_are_slices_of_the_frame() {
    let batch = Bytes::from(vec![7; 5000]);
    let partition = PartitionProduceData { index: 3, records: Some(Slice::Bytes(batch)), ..Default::default() };
    let topic = TopicProduceData { partition_data: vec![partition], ..Default::default() };
    let request = ProduceRequest { topic_data: vec![topic], ..Default::default() };
    let header = RequestHeader { request_api_version: 13, ..Default::default() };
    let frame = Bytes::from(without_size(&encode_request(&header, &request).unwrap()));
    let (_, at) = decode_request_header(&frame).unwrap();
    let read: ProduceRequest = decode(&frame, at, 13).unwrap();
    let Some(Slice::Bytes(records)) = &read.topic_data[0].partition_data[0].records else {
        panic!("records are bytes of the frame");
    };
    let offset = records.as_ptr() as usize - frame.as_ptr() as usize;
    assert_eq!(frame.slice(offset..offset + 5000), *records);
}

/// A file of the bytes 0, 1, 2, …
#[derive(Debug)]
struct Counting;

impl RangeSource for Counting {
    fn read_at(&self, position: u64, into: &mut [u8]) -> Result<(), DiskError> {
        for (i, byte) in into.iter_mut().enumerate() {
            *byte = (position + i as u64) as u8;
        }
        Ok(())
    }
}

#[test]
fn a_fetched_file_range_goes_out_untouched_between_the_bytes_around_it() {
    let range = FileRange { source: Arc::new(Counting), position: 5, len: 40_000 };
    let partition = |index, records| PartitionData { partition_index: index, records, ..Default::default() };
    let partitions = vec![
        partition(0, Some(Slice::File(range.clone()))),
        partition(1, Some(Slice::Bytes(bytes(&[1, 2, 3])))),
        partition(2, Some(Slice::File(range.clone()))),
        partition(3, None),
    ];
    let topic = FetchableTopicResponse { partitions, ..Default::default() };
    let response = FetchResponse { responses: vec![topic], ..Default::default() };
    for version in [4, 11, 12, 18] {
        let slices = encode_response(version, 77, &response).unwrap();
        assert_eq!(slices.len(), 5, "bytes, range, bytes, range, bytes");
        assert_eq!((&slices[1], &slices[3]), (&Slice::File(range.clone()), &Slice::File(range.clone())));
        let frame = Bytes::from(without_size(&slices));
        let (correlation_id, read) = decode_response::<FetchResponse>(&frame, version).unwrap();
        assert_eq!(correlation_id, 77);
        let read = &read.responses[0].partitions;
        let Some(Slice::Bytes(records)) = &read[2].records else { panic!("records are bytes") };
        assert_eq!((records.len(), records[0], records[39_999]), (40_000, 5, (5 + 39_999) as u8));
        assert_eq!((read[1].partition_index, &read[3].records), (1, &None));
    }
}

#[test]
fn the_answer_to_api_versions_has_no_tagged_fields_in_its_header() {
    let slices = encode_response(4, 9, &ApiVersionsResponse::default()).unwrap();
    let frame = without_size(&slices);
    assert_eq!(frame[..7], [0, 0, 0, 9, 0, 0, 1], "correlation id, error code, no APIs");
}

#[test]
fn a_metadata_record_of_another_frame_version_or_type_is_refused() {
    let record = encode_record(&TopicRecord { name: "t".into(), ..Default::default() }, 0).unwrap();
    assert_eq!(record[..3], [1, 2, 0]);
    assert_eq!(record_type(&record), Ok((2, 0, 3)));
    let error = decode_record::<PartitionChangeRecord>(&record).unwrap_err();
    assert_eq!(error.kind, WireErrorKind::UnknownMessage { key: 2 });
    assert_eq!(record_type(&bytes(&[0, 2, 0])).unwrap_err().kind, WireErrorKind::RecordFrame { version: 0 });
    assert!(record_type(&bytes(&[1, 2])).is_err());
}

#[test]
fn defaults_are_kafkas() {
    let partition = FetchPartition::default();
    assert_eq!((partition.current_leader_epoch, partition.high_watermark), (-1, i64::MAX));
    assert_eq!(MetadataRequest::default().topics, Some(Vec::new()));
    assert!(MetadataRequest::default().allow_auto_topic_creation);
    assert_eq!(PartitionChangeRecord::default().leader, -2);
}
