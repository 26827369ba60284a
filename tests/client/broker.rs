//! A broker by script: it answers by the book until told otherwise, and keeps what it was sent.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use steplog::disk::Slice;
use steplog::node::TopicPartition;
use steplog::record::{Batch, CompressionType};
use steplog::wire::messages::api_versions::{ApiVersion, ApiVersionsResponse};
use steplog::wire::messages::fetch::{FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData};
use steplog::wire::messages::init_producer_id::InitProducerIdResponse;
use steplog::wire::messages::list_offsets::{
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopicResponse,
};
use steplog::wire::messages::metadata::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use steplog::wire::messages::produce::{
    PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse,
};
use steplog::wire::{self, ApiKey, Uuid};

/// What becomes of one Produce request.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Append,
    Error(i16),
    /// It and all that follows on the connection is never answered.
    Silence,
    /// Appended, and never answered.
    AppendAndSilence,
}

/// A batch as it was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    pub at_ms: i64,
    pub size: u64,
    pub compression: CompressionType,
    pub partition: i32,
    pub values: Vec<String>,
    pub producer_id: i64,
    pub epoch: i16,
    pub base_sequence: i32,
}

pub struct Broker {
    pub topics: BTreeMap<String, i32>,
    pub answers: VecDeque<Answer>,
    pub api_versions_max: i16,
    pub sent: Vec<Sent>,
    pub log: BTreeMap<TopicPartition, Vec<u8>>,
    pub end: BTreeMap<TopicPartition, i64>,
    pub requests: Vec<(i64, i16, i16)>,
    pub silent: bool,
    pub fetch_errors: VecDeque<i16>,
    pub log_start: i64,
}

impl Broker {
    pub fn new() -> Broker {
        Broker {
            topics: BTreeMap::from([("t".to_owned(), 1)]),
            answers: VecDeque::new(),
            api_versions_max: 4,
            sent: Vec::new(),
            log: BTreeMap::new(),
            end: BTreeMap::new(),
            requests: Vec::new(),
            silent: false,
            fetch_errors: VecDeque::new(),
            log_start: 0,
        }
    }

    fn id(name: &str) -> Uuid {
        let mut id = [7; 16];
        id[0] = name.as_bytes().first().copied().unwrap_or(0);
        Uuid(id)
    }

    fn name(&self, id: Uuid) -> String {
        self.topics.keys().find(|name| Broker::id(name) == id).cloned().unwrap_or_default()
    }

    /// The answer's frame with its size, if there is one.
    pub fn request(&mut self, now_ms: i64, frame: Bytes) -> Option<Vec<Slice>> {
        let (header, at) = wire::decode_request_header(&frame).expect("a request header");
        let (key, version, id) = (header.request_api_key, header.request_api_version, header.correlation_id);
        self.requests.push((now_ms, key, version));
        if self.silent {
            return None;
        }
        let answer = match ApiKey(key) {
            ApiKey::API_VERSIONS => return self.api_versions(version, id),
            ApiKey::METADATA => {
                let request: MetadataRequest = wire::decode(&frame, at, version).expect("Metadata");
                wire::encode_response(version, id, &self.metadata(request))
            }
            ApiKey::INIT_PRODUCER_ID => {
                let response = InitProducerIdResponse { producer_id: 1000, ..Default::default() };
                wire::encode_response(version, id, &response)
            }
            ApiKey::PRODUCE => {
                let request: ProduceRequest = wire::decode(&frame, at, version).expect("Produce");
                let acks = request.acks;
                let response = self.produce(now_ms, request)?;
                if acks == 0 {
                    return None;
                }
                wire::encode_response(version, id, &response)
            }
            ApiKey::LIST_OFFSETS => {
                let request: ListOffsetsRequest = wire::decode(&frame, at, version).expect("ListOffsets");
                wire::encode_response(version, id, &self.list_offsets(request))
            }
            ApiKey::FETCH => {
                let request: FetchRequest = wire::decode(&frame, at, version).expect("Fetch");
                wire::encode_response(version, id, &self.fetch(request)?)
            }
            other => panic!("unexpected request {other:?}"),
        };
        Some(answer.expect("an answer that can be encoded"))
    }

    fn api_versions(&self, version: i16, id: i32) -> Option<Vec<Slice>> {
        let api =
            |api_key, min_version, max_version| ApiVersion { api_key, min_version, max_version, ..Default::default() };
        if version > self.api_versions_max {
            let api_keys = vec![api(18, 0, self.api_versions_max)];
            let response = ApiVersionsResponse { error_code: 35, api_keys, ..Default::default() };
            return wire::encode_response(0, id, &response).ok();
        }
        let api_keys = vec![api(0, 0, 13), api(1, 4, 18), api(2, 1, 11), api(3, 0, 13), api(18, 0, 4), api(22, 0, 5)];
        wire::encode_response(version, id, &ApiVersionsResponse { api_keys, ..Default::default() }).ok()
    }

    fn metadata(&self, request: MetadataRequest) -> MetadataResponse {
        let topic = |name: String| {
            let partitions = self.topics.get(&name).copied();
            MetadataResponseTopic {
                error_code: if partitions.is_some() { 0 } else { 3 },
                topic_id: if partitions.is_some() { Broker::id(&name) } else { Uuid::ZERO },
                name: Some(name),
                partitions: (0..partitions.unwrap_or(0))
                    .map(|partition_index| MetadataResponsePartition {
                        partition_index,
                        leader_id: 1,
                        leader_epoch: 0,
                        replica_nodes: vec![1],
                        isr_nodes: vec![1],
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            }
        };
        let broker = MetadataResponseBroker { node_id: 1, host: "broker".to_owned(), port: 9092, ..Default::default() };
        MetadataResponse {
            brokers: vec![broker],
            controller_id: 1,
            topics: request.topics.unwrap_or_default().into_iter().filter_map(|t| t.name).map(topic).collect(),
            ..Default::default()
        }
    }

    fn produce(&mut self, now_ms: i64, request: ProduceRequest) -> Option<ProduceResponse> {
        let answer = self.answers.pop_front().unwrap_or(Answer::Append);
        let mut responses = Vec::new();
        for topic in request.topic_data {
            let name = if topic.topic_id.is_zero() { topic.name } else { self.name(topic.topic_id) };
            let mut partition_responses = Vec::new();
            for data in topic.partition_data {
                let Some(Slice::Bytes(bytes)) = data.records else { panic!("records") };
                let batch = Batch::new(bytes).expect("one batch");
                assert!(batch.is_crc_valid());
                let unpacked = batch.unpacked_records(1 << 24).expect("records");
                let values = batch
                    .records_in(&unpacked)
                    .map(|r| String::from_utf8_lossy(r.expect("a record").value.unwrap_or_default()).into_owned());
                self.sent.push(Sent {
                    at_ms: now_ms,
                    size: batch.size_in_bytes(),
                    compression: batch.compression_type(),
                    partition: data.index,
                    values: values.collect(),
                    producer_id: batch.producer_id(),
                    epoch: batch.producer_epoch(),
                    base_sequence: batch.base_sequence(),
                });
                let mut response = PartitionProduceResponse { index: data.index, ..Default::default() };
                match &answer {
                    Answer::Error(code) => (response.error_code, response.base_offset) = (*code, -1),
                    Answer::Append | Answer::AppendAndSilence => {
                        response.base_offset = self.append(&name, data.index, batch);
                    }
                    Answer::Silence => {}
                }
                partition_responses.push(response);
            }
            responses.push(TopicProduceResponse {
                topic_id: Broker::id(&name),
                name,
                partition_responses,
                ..Default::default()
            });
        }
        self.silent |= matches!(answer, Answer::Silence | Answer::AppendAndSilence);
        (!self.silent).then(|| ProduceResponse { responses, ..Default::default() })
    }

    pub fn append(&mut self, topic: &str, partition: i32, batch: Batch<Bytes>) -> i64 {
        let at = TopicPartition { topic: topic.to_owned(), partition };
        let end = self.end.entry(at.clone()).or_insert(0);
        let base = *end;
        *end += i64::from(batch.record_count());
        let mut batch = Batch::new(batch.into_bytes().to_vec()).expect("one batch");
        batch.set_base_offset(base);
        batch.set_partition_leader_epoch(0);
        self.log.entry(at).or_default().extend(batch.into_bytes());
        base
    }

    fn list_offsets(&self, request: ListOffsetsRequest) -> ListOffsetsResponse {
        let topics = request.topics.into_iter().map(|topic| ListOffsetsTopicResponse {
            partitions: topic
                .partitions
                .iter()
                .map(|partition| {
                    let at = TopicPartition { topic: topic.name.clone(), partition: partition.partition_index };
                    let end = self.end.get(&at).copied().unwrap_or(0);
                    ListOffsetsPartitionResponse {
                        partition_index: partition.partition_index,
                        offset: if partition.timestamp == -2 { self.log_start } else { end },
                        leader_epoch: 0,
                        ..Default::default()
                    }
                })
                .collect(),
            name: topic.name,
            ..Default::default()
        });
        ListOffsetsResponse { topics: topics.collect(), ..Default::default() }
    }

    /// Everything from the offset's batch on, without sessions; no answer while there is nothing.
    fn fetch(&mut self, request: FetchRequest) -> Option<FetchResponse> {
        assert_eq!((request.session_id, request.session_epoch), (0, 0));
        let mut something = false;
        let mut responses = Vec::new();
        for topic in request.topics {
            let name = self.name(topic.topic_id);
            let mut partitions = Vec::new();
            for partition in topic.partitions {
                let at = TopicPartition { topic: name.clone(), partition: partition.partition };
                let end = self.end.get(&at).copied().unwrap_or(0);
                let mut error_code = self.fetch_errors.pop_front().unwrap_or(0);
                if partition.fetch_offset > end || partition.fetch_offset < self.log_start {
                    error_code = 1;
                }
                let log = self.log.get(&at).cloned().unwrap_or_default();
                let mut records = Bytes::new();
                for batch in steplog::record::Batches::new(log.clone().into()) {
                    let batch = batch.expect("a batch");
                    if error_code == 0 && batch.last_offset() >= partition.fetch_offset {
                        records = [records.to_vec(), batch.bytes().to_vec()].concat().into();
                    }
                }
                something |= !records.is_empty() || error_code != 0;
                partitions.push(PartitionData {
                    partition_index: partition.partition,
                    error_code,
                    high_watermark: end,
                    records: Some(Slice::Bytes(records)),
                    ..Default::default()
                });
            }
            responses.push(FetchableTopicResponse { topic_id: topic.topic_id, partitions, ..Default::default() });
        }
        something.then(|| FetchResponse { responses, ..Default::default() })
    }
}
