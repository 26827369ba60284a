//! What an administrator does to a broker, and what is left of it after a restart.

mod shell;

use shell::{Seen, Shell, config};
use steplog::disk::{Disk, MemoryDisk};
use steplog::node::{ConnId, Duration};
use steplog::record::{BatchBuilder, ProducerIdentity};
use steplog::wire::messages::administration::client_quotas::{
    AlterClientQuotasRequest, AlterClientQuotasResponse, DescribeClientQuotasRequest, DescribeClientQuotasResponse,
    QuotaAlteration, QuotaEntity, QuotaOperation,
};
use steplog::wire::messages::administration::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsResponse, DeleteRecordsTopic,
};
use steplog::wire::messages::administration::log_dirs::{DescribeLogDirsRequest, DescribeLogDirsResponse};
use steplog::wire::messages::administration::scram::{
    AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse, DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse, ScramCredentialUpsertion,
};
use steplog::wire::messages::administration::update_features::{
    FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse,
};
use steplog::wire::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use steplog::wire::messages::create_topics::{
    CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse,
};
use steplog::wire::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use steplog::wire::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use steplog::wire::schema::Message;
use steplog::wire::{ErrorCode, RequestHeader, decode_response, encode_request};

/// A broker with somebody who talks to it.
struct Talk {
    shell: Shell,
    conn: ConnId,
}

impl Talk {
    fn new(mut shell: Shell) -> Talk {
        let conn = shell.connect();
        Talk { shell, conn }
    }

    fn call<Response: Message>(&mut self, key: i16, version: i16, body: &impl Message) -> Response {
        let header = RequestHeader {
            request_api_key: key,
            request_api_version: version,
            correlation_id: 1,
            ..Default::default()
        };
        let chunks = encode_request(&header, body).expect("encodable");
        let bytes: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.to_bytes().expect("in memory").to_vec()).collect();
        match self.shell.exchange(self.conn, bytes, Duration::from_ms(5000)) {
            Seen::Reply(frame) => decode_response(&frame, version).expect("an answer").1,
            other => panic!("key {key}: {other:?}"),
        }
    }

    fn create_topic(&mut self, name: &str, configs: &[(&str, &str)]) {
        let configs = configs.iter().map(|(name, value)| CreatableTopicConfig {
            name: name.to_string(),
            value: Some(value.to_string()),
            ..Default::default()
        });
        let topic = CreatableTopic {
            name: name.to_string(),
            num_partitions: 1,
            replication_factor: 1,
            configs: configs.collect(),
            ..Default::default()
        };
        let body = CreateTopicsRequest { topics: vec![topic], ..Default::default() };
        let response: CreateTopicsResponse = self.call(19, 7, &body);
        assert_eq!(response.topics[0].error_code, 0, "{:?}", response.topics[0].error_message);
    }

    fn produce(&mut self, topic: &str, value: &[u8]) {
        let mut batch = BatchBuilder::at(0, -1);
        batch.append(shell::WALL_MS, None, Some(value), std::iter::empty());
        let records = steplog::disk::Slice::Bytes(batch.build(ProducerIdentity::NONE));
        let data = PartitionProduceData { records: Some(records), ..Default::default() };
        let topic = TopicProduceData { name: topic.to_string(), partition_data: vec![data], ..Default::default() };
        let body = ProduceRequest { acks: -1, timeout_ms: 1000, topic_data: vec![topic], ..Default::default() };
        let response: ProduceResponse = self.call(0, 11, &body);
        assert_eq!(response.responses[0].partition_responses[0].error_code, 0);
    }

    fn delete_records(&mut self, topic: &str, offset: i64) -> (i16, i64) {
        let asked = DeleteRecordsPartition { offset, ..Default::default() };
        let topic = DeleteRecordsTopic { name: topic.to_string(), partitions: vec![asked], ..Default::default() };
        let body = DeleteRecordsRequest { topics: vec![topic], timeout_ms: 1000, ..Default::default() };
        let response: DeleteRecordsResponse = self.call(21, 2, &body);
        let partition = &response.topics[0].partitions[0];
        (partition.error_code, partition.low_watermark)
    }

    /// Error code and log start of a fetch from there.
    fn fetch(&mut self, topic: &str, fetch_offset: i64) -> (i16, i64) {
        let partition = FetchPartition { fetch_offset, partition_max_bytes: 1 << 20, ..Default::default() };
        let topic = FetchTopic { topic: topic.to_string(), partitions: vec![partition], ..Default::default() };
        let body = FetchRequest { min_bytes: 1, topics: vec![topic], ..Default::default() };
        let response: FetchResponse = self.call(1, 12, &body);
        let data = &response.responses[0].partitions[0];
        (data.error_code, data.log_start_offset)
    }

    fn log_size(&mut self) -> i64 {
        let response: DescribeLogDirsResponse =
            self.call(35, 4, &DescribeLogDirsRequest { topics: None, ..Default::default() });
        response.results[0].topics[0].partitions[0].partition_size
    }

    fn restart(self) -> Talk {
        let mut shell = self.shell;
        shell.shut_down();
        let now = shell.now;
        let mut next = Shell::start_on(config(&[]), shell.kill(), 2);
        assert!(next.listening, "{:?}", next.exit);
        next.wait(now.since(next.now));
        Talk::new(next)
    }
}

fn segments(disk: &MemoryDisk, directory: &str) -> Vec<String> {
    let names = disk.list(directory).expect("a directory");
    names.into_iter().filter(|name| name.ends_with(".log")).collect()
}

#[test]
fn deleted_records_cannot_be_fetched_and_their_segments_are_gone_even_after_a_restart() {
    let mut talk = Talk::new(Shell::start(config(&[])));
    talk.create_topic("t", &[("segment.bytes", "1048576")]);
    for _ in 0..12 {
        talk.produce("t", &[7; 300_000]);
    }
    assert_eq!(segments(talk.shell.server.disk(), "t-0").len(), 4);
    let before = talk.log_size();
    assert_eq!(talk.delete_records("t", 7), (0, 7));
    // Three batches fill a segment: 0 to 2 and 3 to 5 are wholly before 7.
    let names = ["00000000000000000006.log", "00000000000000000009.log"];
    assert_eq!(segments(talk.shell.server.disk(), "t-0"), names);
    assert_eq!(talk.log_size(), before / 2);
    assert_eq!(talk.fetch("t", 6), (ErrorCode::OFFSET_OUT_OF_RANGE.0, -1));
    assert_eq!(talk.fetch("t", 7), (0, 7));
    // Backwards is no error and changes nothing; past the high watermark is one.
    assert_eq!(talk.delete_records("t", 3), (0, 7));
    assert_eq!(talk.delete_records("t", 13), (ErrorCode::OFFSET_OUT_OF_RANGE.0, -1));
    let mut talk = talk.restart();
    assert_eq!(talk.fetch("t", 6), (ErrorCode::OFFSET_OUT_OF_RANGE.0, -1));
    assert_eq!(talk.fetch("t", 7), (0, 7));
    // -1 stands for the high watermark.
    assert_eq!(talk.delete_records("t", -1), (0, 12));
    assert_eq!(talk.fetch("t", 12), (0, 12));
}

#[test]
fn records_of_a_compacted_topic_are_not_deleted() {
    let mut talk = Talk::new(Shell::start(config(&[])));
    talk.create_topic("compacted", &[("cleanup.policy", "compact")]);
    assert_eq!(talk.delete_records("compacted", 0), (ErrorCode::POLICY_VIOLATION.0, -1));
    talk.create_topic("both", &[("cleanup.policy", "compact,delete")]);
    assert_eq!(talk.delete_records("both", 0), (0, 0));
}

#[test]
fn quotas_and_scram_credentials_are_metadata_and_survive_a_restart() {
    let mut talk = Talk::new(Shell::start(config(&[])));
    let entity = QuotaEntity { entity_type: "user".into(), entity_name: None, ..Default::default() };
    let op = QuotaOperation { key: "consumer_byte_rate".into(), value: 1024.0, ..Default::default() };
    let alteration = QuotaAlteration { entity: vec![entity], ops: vec![op], ..Default::default() };
    let body = AlterClientQuotasRequest { entries: vec![alteration], ..Default::default() };
    let altered: AlterClientQuotasResponse = talk.call(49, 1, &body);
    assert_eq!(altered.entries[0].error_code, 0);
    let upsertion = ScramCredentialUpsertion {
        name: "alice".into(),
        mechanism: 2,
        iterations: 8192,
        salt: "salt".into(),
        salted_password: "salted".into(),
        ..Default::default()
    };
    let body = AlterUserScramCredentialsRequest { upsertions: vec![upsertion], ..Default::default() };
    let altered: AlterUserScramCredentialsResponse = talk.call(51, 0, &body);
    assert_eq!(altered.results[0].error_code, 0);
    let mut talk = talk.restart();
    let quotas: DescribeClientQuotasResponse = talk.call(48, 1, &DescribeClientQuotasRequest::default());
    let entries = quotas.entries.expect("entries");
    assert_eq!((entries[0].entity[0].entity_name.as_deref(), entries[0].values[0].value), (None, 1024.0));
    let users: DescribeUserScramCredentialsResponse =
        talk.call(50, 0, &DescribeUserScramCredentialsRequest { users: None, ..Default::default() });
    let alice = &users.results[0];
    assert_eq!((alice.user.as_str(), alice.credential_infos[0].mechanism), ("alice", 2));
    assert_eq!(alice.credential_infos[0].iterations, 8192);
}

#[test]
fn a_feature_goes_down_only_when_that_is_asked_for_and_not_where_metadata_would_be_lost() {
    let mut talk = Talk::new(Shell::start(config(&[])));
    let update = |talk: &mut Talk, feature: &str, level: i16, upgrade_type: i8| -> (i16, Option<String>) {
        let update =
            FeatureUpdateKey { feature: feature.into(), max_version_level: level, upgrade_type, ..Default::default() };
        let body = UpdateFeaturesRequest { feature_updates: vec![update], ..Default::default() };
        let response: UpdateFeaturesResponse = talk.call(57, 2, &body);
        (response.error_code, response.error_message)
    };
    let (code, text) = update(&mut talk, "transaction.version", 1, 1);
    assert_eq!(code, ErrorCode::INVALID_UPDATE_VERSION.0);
    assert_eq!(
        text.as_deref(),
        Some(
            "The update failed for all features since the following feature had an error: Invalid update version 1 for \
             feature transaction.version. Can't downgrade the version of this feature without setting the upgrade type \
             to either safe or unsafe downgrade."
        )
    );
    assert_eq!(update(&mut talk, "transaction.version", 1, 2), (0, None));
    let (code, text) = update(&mut talk, "metadata.version", 29, 2);
    assert_eq!(code, ErrorCode::INVALID_UPDATE_VERSION.0);
    assert!(text.is_some_and(|text| text.ends_with("because it might delete metadata information.")));
    let mut talk = talk.restart();
    let body = ApiVersionsRequest {
        client_software_name: "test".into(),
        client_software_version: "1".into(),
        ..Default::default()
    };
    let versions: ApiVersionsResponse = talk.call(18, 4, &body);
    let level = versions.finalized_features.iter().find(|feature| feature.name == "transaction.version");
    assert_eq!(level.map(|feature| feature.max_version_level), Some(1));
}
