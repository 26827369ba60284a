//! Hand-made Produce requests, step by step, each with the answer, the connection's state and the log's end that Apache
//! Kafka 4.3.0 gave.

mod shell;

use bytes::Bytes;
use serde_json::{Value, json};
use shell::recorded::{Differences, fixture};
use shell::{Seen, Shell, WALL_MS, config};
use steplog::disk::Slice;
use steplog::node::{ConnId, Duration};
use steplog::record::{put_varlong, size_of_varlong};
use steplog::wire::messages::administration::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsResponse, DeleteRecordsTopic,
};
use steplog::wire::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use steplog::wire::messages::create_topics::{
    CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse,
};
use steplog::wire::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use steplog::wire::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use steplog::wire::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceData,
};
use steplog::wire::schema::Message;
use steplog::wire::{ErrorCode, RequestHeader, Uuid, decode_response, encode_request};

const ATTRIBUTE_LOG_APPEND_TIME: i16 = 0x08;
const ATTRIBUTE_TRANSACTIONAL: i16 = 0x10;

/// Key, value and timestamp delta.
type RecordFields = (Option<Vec<u8>>, Option<Vec<u8>>, i64);

/// A batch written field by field, wrong ones too.
#[derive(Clone)]
struct B {
    base_offset: i64,
    length_add: i32,
    leader_epoch: i32,
    magic: i8,
    crc_flip: u32,
    attributes: i16,
    last_offset_delta: Option<i32>,
    first_timestamp: Option<i64>,
    max_timestamp: Option<i64>,
    producer: (i64, i16, i32),
    count: Option<i32>,
    records: Vec<RecordFields>,
    offset_deltas: Option<Vec<i64>>,
    record_attributes: u8,
    gzip: bool,
}

fn b() -> B {
    B {
        base_offset: 0,
        length_add: 0,
        leader_epoch: -1,
        magic: 2,
        crc_flip: 0,
        attributes: 0,
        last_offset_delta: None,
        first_timestamp: None,
        max_timestamp: None,
        producer: (-1, -1, -1),
        count: None,
        records: Vec::new(),
        offset_deltas: None,
        record_attributes: 0,
        gzip: false,
    }
}

impl B {
    fn ids(mut self, producer_id: i64, epoch: i16, sequence: i32) -> B {
        self.producer = (producer_id, epoch, sequence);
        self
    }

    fn record(mut self, key: Option<&str>, value: Option<&str>, delta: i64) -> B {
        let bytes = |text: &str| text.as_bytes().to_vec();
        self.records.push((key.map(bytes), value.map(bytes), delta));
        self
    }

    fn n(mut self, count: usize) -> B {
        for i in 0..count {
            self = self.record(Some("k"), Some(&format!("v{i}")), 0);
        }
        self
    }

    fn with(mut self, change: impl FnOnce(&mut B)) -> B {
        change(&mut self);
        self
    }

    /// `clock` gives the timestamp of a batch that names none.
    fn bytes(&self, clock: &mut i64) -> Vec<u8> {
        let first = self.first_timestamp.unwrap_or_else(|| {
            *clock += 1;
            *clock
        });
        let mut records = Vec::new();
        let mut max = first;
        for (i, (key, value, delta)) in self.records.iter().enumerate() {
            let mut body = vec![self.record_attributes];
            put_varlong(&mut body, *delta);
            put_varlong(&mut body, self.offset_deltas.as_ref().map_or(i as i64, |deltas| deltas[i]));
            for field in [key, value] {
                put_varlong(&mut body, field.as_ref().map_or(-1, |field| field.len() as i64));
                body.extend_from_slice(field.as_deref().unwrap_or_default());
            }
            put_varlong(&mut body, 0);
            put_varlong(&mut records, body.len() as i64);
            records.extend_from_slice(&body);
            max = max.max(first + delta);
        }
        let mut attributes = self.attributes;
        if self.gzip {
            let mut packer = flate2::read::GzEncoder::new(records.as_slice(), flate2::Compression::default());
            let mut packed = Vec::new();
            std::io::Read::read_to_end(&mut packer, &mut packed).expect("gzip");
            records = packed;
            attributes |= 1;
        }
        let count = self.records.len() as i32;
        let mut out = Vec::new();
        out.extend_from_slice(&self.base_offset.to_be_bytes());
        out.extend_from_slice(&(49 + records.len() as i32 + self.length_add).to_be_bytes());
        out.extend_from_slice(&self.leader_epoch.to_be_bytes());
        out.push(self.magic as u8);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&attributes.to_be_bytes());
        out.extend_from_slice(&self.last_offset_delta.unwrap_or(count - 1).to_be_bytes());
        out.extend_from_slice(&first.to_be_bytes());
        out.extend_from_slice(&self.max_timestamp.unwrap_or(max).to_be_bytes());
        out.extend_from_slice(&self.producer.0.to_be_bytes());
        out.extend_from_slice(&self.producer.1.to_be_bytes());
        out.extend_from_slice(&self.producer.2.to_be_bytes());
        out.extend_from_slice(&self.count.unwrap_or(count).to_be_bytes());
        out.extend_from_slice(&records);
        let crc = crc32c::crc32c(&out[21..]) ^ self.crc_flip;
        out[17..21].copy_from_slice(&crc.to_be_bytes());
        out
    }
}

/// One case under way: its own topic on the shared broker.
struct Case<'a> {
    shell: &'a mut Option<Shell>,
    differences: &'a mut Differences,
    name: String,
    steps: Vec<Value>,
    next_step: usize,
    topic: String,
    topic_id: Uuid,
    conn: ConnId,
    client_id: String,
    correlation_id: i32,
    clock: i64,
    sent: Vec<(usize, i64)>,
    answered: Vec<(usize, i64)>,
}

impl Case<'_> {
    fn shell(&mut self) -> &mut Shell {
        self.shell.as_mut().expect("running")
    }

    fn frame<M: Message>(&mut self, key: i16, version: i16, body: &M) -> Bytes {
        self.correlation_id += 1;
        let header = RequestHeader {
            request_api_key: key,
            request_api_version: version,
            correlation_id: self.correlation_id,
            client_id: Some(self.client_id.clone()),
            ..Default::default()
        };
        let chunks = encode_request(&header, body).expect("a request");
        chunks.iter().flat_map(|chunk| chunk.to_bytes().expect("in memory")).collect::<Vec<u8>>().into()
    }

    fn call<Q: Message, R: Message>(&mut self, key: i16, version: i16, body: &Q) -> R {
        let request = self.frame(key, version, body);
        let conn = self.conn;
        match self.shell().exchange(conn, request, Duration::from_ms(5000)) {
            Seen::Reply(frame) => decode_response::<R>(&frame, version).expect("an answer").1,
            other => panic!("{other:?} instead of an answer"),
        }
    }

    fn create_topic(&mut self, name: &str, partitions: i32, configs: &[(&str, &str)]) -> Uuid {
        let configs = configs.iter().map(|(name, value)| CreatableTopicConfig {
            name: name.to_string(),
            value: Some(value.to_string()),
            ..Default::default()
        });
        let topic = CreatableTopic {
            name: name.to_string(),
            num_partitions: partitions,
            replication_factor: 1,
            configs: configs.collect(),
            ..Default::default()
        };
        let body = CreateTopicsRequest { topics: vec![topic], ..Default::default() };
        let response: CreateTopicsResponse = self.call(19, 7, &body);
        assert_eq!(response.topics[0].error_code, 0, "{:?}", response.topics[0].error_message);
        response.topics[0].topic_id
    }

    fn new_producer_id(&mut self) -> i64 {
        let body = InitProducerIdRequest { transaction_timeout_ms: 60_000, ..Default::default() };
        for _ in 0..50 {
            let response: InitProducerIdResponse = self.call(22, 5, &body);
            if response.error_code == 0 {
                return response.producer_id;
            }
            assert_eq!(response.error_code, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS.0);
            self.shell().wait(Duration::from_ms(200));
        }
        panic!("no producer id");
    }

    fn bytes(&mut self, batch: &B) -> Vec<u8> {
        batch.bytes(&mut self.clock)
    }

    fn send(&mut self, what: &str, batch: B) {
        let bytes = self.bytes(&batch);
        self.send_bytes(what, bytes);
    }

    fn send_bytes(&mut self, what: &str, records: Vec<u8>) {
        self.step(what, 11, -1, None, "", 0, Some(records));
    }

    fn step_batch(&mut self, what: &str, version: i16, acks: i16, partition: i32, batch: B) {
        let bytes = self.bytes(&batch);
        self.step(what, version, acks, None, "", partition, Some(bytes));
    }

    fn transactional(&mut self, what: &str, version: i16, id: Option<&str>, batch: B) {
        let bytes = self.bytes(&batch.with(|batch| batch.attributes = ATTRIBUTE_TRANSACTIONAL));
        self.step(what, version, -1, id, "", 0, Some(bytes));
    }

    /// One request with one partition; an empty topic name means the case's own.
    #[allow(clippy::too_many_arguments)]
    fn step(
        &mut self,
        what: &str,
        version: i16,
        acks: i16,
        transactional_id: Option<&str>,
        topic: &str,
        partition: i32,
        records: Option<Vec<u8>>,
    ) {
        let own = topic.is_empty();
        let (name, id) = if own { (self.topic.clone(), self.topic_id) } else { (topic.to_string(), UNKNOWN_ID) };
        let id = if topic == "zero" { Uuid::ZERO } else { id };
        let name = if topic == "(empty)" { String::new() } else { name };
        self.multi(what, version, acks, transactional_id, (name, id), vec![(partition, records)], 3000);
    }

    #[allow(clippy::too_many_arguments)]
    fn multi(
        &mut self,
        what: &str,
        version: i16,
        acks: i16,
        transactional_id: Option<&str>,
        (name, topic_id): (String, Uuid),
        partitions: Vec<(i32, Option<Vec<u8>>)>,
        timeout_ms: i32,
    ) {
        for records in partitions.iter().filter_map(|(_, records)| records.as_ref()).filter(|r| r.len() >= 61) {
            let timestamp = i64::from_be_bytes(records[35..43].try_into().expect("8 bytes"));
            if timestamp > 0 && !self.sent.iter().any(|(_, sent)| *sent == timestamp) {
                self.sent.push((self.next_step, timestamp));
            }
        }
        let data = partitions.into_iter().map(|(index, records)| PartitionProduceData {
            index,
            records: records.map(|records| Slice::Bytes(records.into())),
            ..Default::default()
        });
        let mut topic = TopicProduceData { partition_data: data.collect(), ..Default::default() };
        if version >= 13 {
            topic.topic_id = topic_id
        } else {
            topic.name = name
        }
        let topic_data = if topic.partition_data.is_empty() { Vec::new() } else { vec![topic] };
        let transactional_id = transactional_id.map(str::to_string);
        let body = ProduceRequest { transactional_id, acks, timeout_ms, topic_data, ..Default::default() };
        let request = self.frame(0, version, &body);
        let conn = self.conn;
        let wait = Duration::from_ms(if acks == 0 { 0 } else { 5000 });
        let response = match self.shell().exchange(conn, request, wait) {
            Seen::Reply(frame) => self.described(&frame, version),
            Seen::Closed if acks != 0 => json!("none: connection closed by the broker"),
            Seen::Nothing if acks != 0 => json!("none within 5 s"),
            _ => json!("none"),
        };
        self.finish_step(what, response);
    }

    /// Bytes that are no Produce request of ours.
    fn raw(&mut self, what: &str, bytes: Vec<u8>) {
        let conn = self.conn;
        let response = match self.shell().exchange(conn, bytes, Duration::from_ms(2000)) {
            Seen::Reply(_) => json!("some"),
            Seen::Closed => json!("none: connection closed by the broker"),
            Seen::Nothing => json!("none within 2 s"),
        };
        self.finish_step(what, response);
    }

    fn finish_step(&mut self, what: &str, response: Value) {
        // So that no two steps happen at the same millisecond.
        self.shell().wait(Duration::from_ms(1));
        let connection = self.connection_state();
        let expected = self.steps.get(self.next_step).cloned().unwrap_or_default();
        assert_eq!(expected["request"], what, "{}, step {}", self.name, self.next_step);
        let kafka = json!({
            "response": by_partition(expected["response"].clone()),
            "connection_after": expected["connection_after"],
            "log_end_offset_after": expected["log_end_offset_after"],
        });
        let mut ours = json!({
            "response": response,
            "connection_after": connection,
            "log_end_offset_after": self.log_end_offset(),
        });
        if expected["log_end_offset_after"].is_null() {
            ours["log_end_offset_after"] = Value::Null;
        }
        self.differences.compare(&format!("{}: {what}", self.name), &kafka, &ours);
        self.next_step += 1;
    }

    /// A step that is no request; what it leaves is compared by the next one.
    fn note(&mut self, what: &str) {
        assert_eq!(self.steps[self.next_step]["request"], what);
        let end = self.log_end_offset();
        let kafka = self.steps[self.next_step]["log_end_offset_after"].clone();
        self.differences.compare(&format!("{}: {what}", self.name), &kafka, &end);
        self.next_step += 1;
    }

    fn connection_state(&mut self) -> &'static str {
        let request = self.frame(18, 0, &ApiVersionsRequest::default());
        let conn = self.conn;
        let state = match self.shell().exchange(conn, request, Duration::from_ms(5000)) {
            Seen::Reply(frame) => {
                decode_response::<ApiVersionsResponse>(&frame, 0).expect("ApiVersions");
                "open"
            }
            Seen::Closed => "closed",
            Seen::Nothing => "silent: ApiVersions on it is not answered within 5 s",
        };
        if state != "open" {
            self.conn = self.shell().connect();
        }
        state
    }

    fn delete_records(&mut self, offset: i64) {
        let asked = DeleteRecordsPartition { offset, ..Default::default() };
        let topic = DeleteRecordsTopic { name: self.topic.clone(), partitions: vec![asked], ..Default::default() };
        let body = DeleteRecordsRequest { topics: vec![topic], timeout_ms: 1000, ..Default::default() };
        let response: DeleteRecordsResponse = self.call(21, 2, &body);
        let partition = &response.topics[0].partitions[0];
        assert_eq!((partition.error_code, partition.low_watermark), (0, offset));
    }

    fn log_end_offset(&mut self) -> Value {
        let asked = ListOffsetsPartition { timestamp: -1, ..Default::default() };
        let topic = ListOffsetsTopic { name: self.topic.clone(), partitions: vec![asked], ..Default::default() };
        let body = ListOffsetsRequest { replica_id: -1, topics: vec![topic], ..Default::default() };
        let response: ListOffsetsResponse = self.call(2, 7, &body);
        let partition = &response.topics[0].partitions[0];
        if partition.error_code == 0 { json!(partition.offset) } else { Value::Null }
    }

    fn described(&mut self, frame: &Bytes, version: i16) -> Value {
        let (_, response) = decode_response::<ProduceResponse>(frame, version).expect("a Produce response");
        let partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
        let mut described: Vec<Value> = partitions.map(|partition| self.described_partition(partition)).collect();
        match described.as_mut_slice() {
            [only] => {
                only.as_object_mut().expect("an object").remove("partition");
                only.clone()
            }
            _ => by_partition(Value::Array(described)),
        }
    }

    fn described_partition(&mut self, partition: &PartitionProduceResponse) -> Value {
        let mut described = json!({
            "partition": partition.index,
            "error_code": partition.error_code,
            "error": ErrorCode(partition.error_code).name(),
            "error_message": partition.error_message.as_ref().map(|text| self.normal(text)),
            "base_offset": partition.base_offset,
            "log_append_time": self.in_words(partition.log_append_time_ms),
            "log_start_offset": partition.log_start_offset,
        });
        let errors = partition.record_errors.iter().map(|error| {
            let message = error.batch_index_error_message.as_ref().map(|text| self.normal(text));
            json!({"batch_index": error.batch_index, "message": message})
        });
        described["record_errors"] = errors.collect();
        described
    }

    /// Whose time is it?
    fn in_words(&mut self, time: i64) -> Value {
        if time <= 0 {
            return json!(time);
        }
        let step_of = |list: &[(usize, i64)]| list.iter().find(|(_, t)| *t == time).map(|(step, _)| *step);
        if let Some(step) = step_of(&self.sent) {
            json!(format!("maxTimestamp of the batch of step {step}"))
        } else if let Some(step) = step_of(&self.answered) {
            json!(format!("the log_append_time answered in step {step}"))
        } else {
            self.answered.push((self.next_step, time));
            json!("now")
        }
    }

    fn normal(&self, text: &str) -> String {
        let mut out = String::new();
        let mut digits = String::new();
        for character in text.replace(&self.topic, "{topic}").chars().chain(['\0']) {
            if character.is_ascii_digit() {
                digits.push(character);
                continue;
            }
            match digits.len() {
                13 if digits.starts_with('1') => out.push_str("{ms}"),
                19 if out.ends_with('-') => {
                    out.pop();
                    out.push_str("{now - 9223372036854775807}");
                }
                _ => out.push_str(&digits),
            }
            digits.clear();
            if character != '\0' {
                out.push(character);
            }
        }
        out
    }

    /// The broker ends, in order or not, and a new life begins over its disk.
    fn restart(&mut self, in_order: bool) {
        let mut shell = self.shell.take().expect("running");
        let now = shell.now;
        if in_order {
            shell.shut_down();
            assert!(shell.exit.is_some(), "a shutdown ends");
        }
        let mut next = Shell::start_on(config(&NO_AUTO_CREATE), shell.kill(), now.0);
        assert!(next.listening, "{:?}", next.exit);
        next.wait(now.since(next.now));
        self.conn = next.connect();
        *self.shell = Some(next);
    }
}

const UNKNOWN_ID: Uuid = Uuid([0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 7]);
const NO_AUTO_CREATE: [(&str, &str); 1] = [("auto.create.topics.enable", "false")];

/// Kafka's order of partitions in an answer varies.
fn by_partition(mut response: Value) -> Value {
    if let Some(partitions) = response.as_array_mut() {
        partitions.sort_by_key(|partition| partition["partition"].as_i64());
    }
    response
}

struct Run {
    shell: Option<Shell>,
    differences: Differences,
    recorded: Vec<Value>,
    done: Vec<String>,
}

impl Run {
    fn case(&mut self, name: &str, body: impl FnOnce(&mut Case<'_>)) {
        let recorded = self.recorded.iter().find(|case| case["case"] == name).expect("a recorded case").clone();
        let shell = self.shell.as_mut().expect("running");
        let conn = shell.connect();
        let mut case = Case {
            shell: &mut self.shell,
            differences: &mut self.differences,
            name: name.to_string(),
            steps: recorded["steps"].as_array().expect("steps").clone(),
            next_step: 0,
            topic: format!("pr-1-{name}"),
            topic_id: Uuid::ZERO,
            conn,
            client_id: "raw".to_string(),
            correlation_id: 0,
            clock: WALL_MS - 200_000,
            sent: Vec::new(),
            answered: Vec::new(),
        };
        let configs = recorded["topic_config"].as_object().cloned().unwrap_or_default();
        let configs: Vec<(&str, &str)> =
            configs.iter().map(|(key, value)| (key.as_str(), value.as_str().expect("text"))).collect();
        let partitions = recorded["partitions"].as_i64().unwrap_or(1) as i32;
        let topic = case.topic.clone();
        case.topic_id = case.create_topic(&topic, partitions, &configs);
        body(&mut case);
        assert_eq!(case.next_step, case.steps.len(), "{name}: all recorded steps");
        self.done.push(name.to_string());
    }
}

#[test]
fn each_hand_made_produce_request_gets_kafkas_answer() {
    let recorded = fixture("produce-replies.json.gz");
    let mut run = Run {
        shell: Some(Shell::start(config(&NO_AUTO_CREATE))),
        differences: Differences::load("produce"),
        recorded: recorded["stable"]["cases"].as_array().expect("cases").clone(),
        done: Vec::new(),
    };
    duplicates_and_sequences(&mut run);
    deleted_records(&mut run);
    requests_and_acks(&mut run);
    broken_batches(&mut run);
    records_and_times(&mut run);
    names_and_partitions(&mut run);
    transactions(&mut run);
    restarts(&mut run);
    // Needs a second broker.
    for case in run.recorded.clone().iter().filter(|case| !run.done.iter().any(|done| case["case"] == *done)) {
        let name = case["case"].as_str().expect("a name");
        run.differences.compare(name, &case["steps"], &json!("not sent"));
    }
    run.differences.finish();
}

fn deleted_records(run: &mut Run) {
    run.case("log-start-offset", |c| {
        c.send("3 records", b().n(3));
        c.delete_records(2);
        c.send("1 record after DeleteRecords before offset 2", b().n(1));
        let p = c.new_producer_id();
        let first = c.bytes(&b().ids(p, 0, 0).n(1));
        c.send_bytes("seq 0", first.clone());
        c.send("seq 5 (gap)", b().ids(p, 0, 5).n(1));
        c.send_bytes("seq 0 again", first.clone());
        c.delete_records(5);
        c.send_bytes("DeleteRecords before offset 5 (all of it), then seq 0 again", first);
        c.send("seq 1", b().ids(p, 0, 1).n(1));
    });
}

fn duplicates_and_sequences(run: &mut Run) {
    run.case("plain", |c| {
        c.send("pid -1, 1 record", b().n(1));
        c.send("the same bytes again, still pid -1", b().n(1));
        c.send("3 records", b().n(3));
        c.step_batch("acks=1, 1 record", 11, 1, 0, b().n(1));
        c.step_batch("version 13, topic id, 1 record", 13, -1, 0, b().n(1));
        c.step_batch("version 3, 1 record", 3, -1, 0, b().n(1));
    });
    run.case("log-append-time", |c| {
        c.send("1 record, CreateTime bit", b().n(1));
        c.send("3 records", b().n(3));
        c.send(
            "1 record, LogAppendTime bit set by the client",
            b().n(1).with(|b| b.attributes = ATTRIBUTE_LOG_APPEND_TIME),
        );
        let p = c.new_producer_id();
        let x = c.bytes(&b().ids(p, 0, 0).n(1));
        c.send_bytes("seq 0", x.clone());
        c.send_bytes("seq 0 again", x);
    });
    run.case("dup-same-batch", |c| {
        let p = c.new_producer_id();
        let x = c.bytes(&b().ids(p, 0, 0).n(3));
        c.send_bytes("pid, epoch 0, seq 0-2", x.clone());
        c.send_bytes("identical bytes again", x.clone());
        c.send_bytes("and again", x.clone());
        let other = b().ids(p, 0, 0).record(Some("other"), Some("payload"), 0);
        let other = other.record(Some("o"), Some("p"), 0).record(Some("q"), Some("r"), 0);
        c.send("seq 0-2 with other keys, values and timestamps", other);
        c.step("seq 0-2 again with acks=1", 11, 1, None, "", 0, Some(x));
        c.send("seq 3", b().ids(p, 0, 3).n(1));
    });
    run.case("dup-old", |c| {
        let p = c.new_producer_id();
        for i in 0..8 {
            c.send(&format!("seq {i}"), b().ids(p, 0, i).n(1));
        }
        for (what, sequence) in [
            ("seq 7 again (newest)", 7),
            ("seq 6 again", 6),
            ("seq 0 again (8th newest)", 0),
            ("seq 1 again", 1),
            ("seq 8 (next)", 8),
        ] {
            c.send(what, b().ids(p, 0, sequence).n(1));
        }
    });
    run.case("dup-overlap", |c| {
        let p = c.new_producer_id();
        for (what, sequence, count) in [
            ("seq 0-2", 0, 3),
            ("seq 3-5", 3, 3),
            ("seq 3-4 (prefix of a kept batch)", 3, 2),
            ("seq 4-5 (suffix)", 4, 2),
            ("seq 5-6 (overlaps the end)", 5, 2),
            ("seq 3-6 (superset)", 3, 4),
            ("seq 0-5 (two kept batches as one)", 0, 6),
            ("seq 6", 6, 1),
        ] {
            c.send(what, b().ids(p, 0, sequence).n(count));
        }
    });
    run.case("gap", |c| {
        let p = c.new_producer_id();
        for (what, sequence) in
            [("seq 0", 0), ("seq 2 (one missing)", 2), ("seq 1 (fills the gap)", 1), ("seq 2", 2), ("seq 100", 100)]
        {
            c.send(what, b().ids(p, 0, sequence).n(1));
        }
    });
    run.case("seq-reset", |c| {
        let p = c.new_producer_id();
        for i in 0..3 {
            c.send(&format!("seq {i}"), b().ids(p, 0, i).n(1));
        }
        c.send("seq 0 again, 1 record (kept batch)", b().ids(p, 0, 0).n(1));
        c.send("seq 0-1 (not a kept batch)", b().ids(p, 0, 0).n(2));
        for i in 3..8 {
            c.send(&format!("seq {i}"), b().ids(p, 0, i).n(1));
        }
        c.send("seq 0, 1 record, after 8 batches", b().ids(p, 0, 0).n(1));
    });
    run.case("epochs", |c| {
        let p = c.new_producer_id();
        for (what, epoch, sequence) in [
            ("epoch 0 seq 0", 0, 0),
            ("epoch 1 seq 1 (new epoch must start at 0)", 1, 1),
            ("epoch 1 seq 0", 1, 0),
            ("epoch 0 seq 1 (old epoch)", 0, 1),
            ("epoch 0 seq 0 (old epoch, once a kept batch)", 0, 0),
            ("epoch 1 seq 0 again", 1, 0),
            ("epoch 7 seq 0 (jump)", 7, 0),
            ("epoch 32767 seq 0", 32767, 0),
            ("epoch 32767 seq 1", 32767, 1),
        ] {
            c.send(what, b().ids(p, epoch, sequence).n(1));
        }
    });
    run.case("unknown-pid", |c| {
        for (what, producer) in [
            ("pid 999999 (never issued), epoch 0, seq 0", (999_999, 0, 0)),
            ("pid 999998, epoch 0, seq 5", (999_998, 0, 5)),
            ("pid 999998, seq 6", (999_998, 0, 6)),
            ("pid 999998, seq 0", (999_998, 0, 0)),
            ("pid 999997, epoch 3, seq 5", (999_997, 3, 5)),
            ("pid 999996, epoch -1, seq 0", (999_996, -1, 0)),
            ("pid 999995, epoch 0, seq -1", (999_995, 0, -1)),
            ("pid -1, epoch -1, seq 0", (-1, -1, 0)),
            ("pid -2, epoch 0, seq 0", (-2, 0, 0)),
        ] {
            c.send(what, b().ids(producer.0, producer.1, producer.2).n(1));
        }
    });
    run.case("wrap", |c| {
        for (what, producer_id, sequence, count) in [
            ("seq 2147483646-2147483647", 888_880, 2_147_483_646, 2),
            ("seq 1 after 2147483647", 888_880, 1, 1),
            ("seq 0 after 2147483647", 888_880, 0, 1),
            ("seq 1", 888_880, 1, 1),
            (
                "other pid: seq 2147483647, 3 records (wraps inside the batch: 2147483647, 0, 1)",
                888_881,
                2_147_483_647,
                3,
            ),
            ("seq 2", 888_881, 2, 1),
            ("seq 2147483647, 3 records again", 888_881, 2_147_483_647, 3),
        ] {
            c.send(what, b().ids(producer_id, 0, sequence).n(count));
        }
    });
}

fn requests_and_acks(run: &mut Run) {
    run.case("two-batches", |c| {
        let two = [c.bytes(&b().n(1)), c.bytes(&b().n(1))].concat();
        c.send_bytes("two batches in one partition's records", two);
        let p = c.new_producer_id();
        let two = [c.bytes(&b().ids(p, 0, 0).n(1)), c.bytes(&b().ids(p, 0, 1).n(1))].concat();
        c.send_bytes("two idempotent batches seq 0, seq 1", two);
    });
    run.case("acks-values", |c| {
        for (what, acks) in [("acks=2", 2), ("acks=-2", -2), ("acks=1", 1), ("acks=-1", -1)] {
            c.step_batch(what, 11, acks, 0, b().n(1));
        }
        let records = c.bytes(&b().n(1));
        c.step("acks=2, unknown topic", 11, 2, None, "pr-no-such", 0, Some(records));
    });
    run.case("acks0", |c| {
        c.step_batch("acks=0, good", 11, 0, 0, b().n(1));
        c.step_batch("acks=0, partition 9 of 1", 11, 0, 9, b().n(1));
        let records = c.bytes(&b().n(1));
        c.step("acks=0, unknown topic", 11, 0, None, "pr-no-such", 0, Some(records));
        c.step_batch("acks=0, bad CRC", 11, 0, 0, b().n(1).with(|b| b.crc_flip = 1));
        let p = c.new_producer_id();
        c.step_batch("acks=0, idempotent seq 0", 11, 0, 0, b().ids(p, 0, 0).n(1));
        c.step_batch("acks=0, seq 0 again (duplicate)", 11, 0, 0, b().ids(p, 0, 0).n(1));
        c.step_batch("acks=0, seq 5 (gap)", 11, 0, 0, b().ids(p, 0, 5).n(1));
        let two = [c.bytes(&b().n(1)), c.bytes(&b().n(1))].concat();
        c.step("acks=0, two batches", 11, 0, None, "", 0, Some(two));
    });
    run.case("requests", |c| {
        let own = (c.topic.clone(), c.topic_id);
        c.multi("no topics at all", 11, -1, None, own.clone(), Vec::new(), 3000);
        let both = |c: &mut Case<'_>, what: &str, parts: [(i32, Vec<u8>); 2]| {
            let parts = parts.into_iter().map(|(index, records)| (index, Some(records))).collect();
            c.multi(what, 11, -1, None, own.clone(), parts, 3000);
        };
        let parts = [(0, c.bytes(&b().n(1))), (1, c.bytes(&b().n(2)))];
        both(c, "partitions 0 and 1, both good", parts);
        let parts = [(0, c.bytes(&b().n(1).with(|b| b.crc_flip = 1))), (1, c.bytes(&b().n(1)))];
        both(c, "partition 0 bad CRC, partition 1 good", parts);
        let two = [c.bytes(&b().n(1)), c.bytes(&b().n(1))].concat();
        let parts = [(0, two), (1, c.bytes(&b().n(1)))];
        both(c, "partition 0 two batches, partition 1 good", parts);
        let second = b().record(Some("b"), Some("second"), 0).record(Some("b"), Some("third"), 0);
        let parts = [(0, c.bytes(&b().record(Some("a"), Some("first"), 0))), (0, c.bytes(&second))];
        both(c, "partition 0 twice in one request", parts);
        let parts = [(0, c.bytes(&b().n(1))), (7, c.bytes(&b().n(1)))];
        both(c, "partition 0 good, partition 7 of 2", parts);
        let own = (c.topic.clone(), c.topic_id);
        let records = c.bytes(&b().n(1));
        c.multi("timeout -1", 11, -1, None, own, vec![(0, Some(records))], -1);
    });
    run.case("versions", |c| {
        for version in [0i16, 1, 2, 14] {
            let mut frame = vec![0, 0];
            frame.extend_from_slice(&version.to_be_bytes());
            frame.extend_from_slice(&77i32.to_be_bytes());
            frame.extend_from_slice(&[0, 3]);
            frame.extend_from_slice(b"raw");
            if version >= 9 {
                frame.extend_from_slice(&[0, 0, 0xff, 0xff, 0, 0, 0, 1, 1, 0]);
            } else {
                frame.extend_from_slice(&[0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 0]);
            }
            let sized = [&(frame.len() as u32).to_be_bytes()[..], &frame].concat();
            c.raw(&format!("Produce version {version} (header only, empty body)"), sized);
        }
        for (what, size, rest) in [
            ("frame length 104857601 (socket.request.max.bytes 104857600)", 104_857_601i32, 0),
            ("frame length -1", -1, 0),
            ("frame length 0", 0, 0),
            ("frame length 3, 3 zero bytes", 3, 3),
        ] {
            c.raw(what, [&size.to_be_bytes()[..], &vec![0; rest]].concat());
        }
    });
}

fn broken_batches(run: &mut Run) {
    run.case("crc", |c| {
        c.send("one bit of the CRC flipped", b().n(1).with(|b| b.crc_flip = 1));
        let mut flipped = c.bytes(&b().n(1));
        let at = flipped.len() - 2;
        flipped[at] ^= 1;
        c.send_bytes("one bit of a value flipped", flipped);
        c.send("partitionLeaderEpoch changed (outside the CRC)", b().n(1).with(|b| b.leader_epoch = 77));
        c.send("baseOffset 5", b().n(1).with(|b| b.base_offset = 5));
        c.send("baseOffset 5 and bad CRC", b().n(1).with(|b| (b.base_offset, b.crc_flip) = (5, 1)));
    });
    run.case("magic", |c| {
        for magic in [0, 1, 3, -1, 127] {
            c.send(&format!("magic byte {magic} in a v2 batch"), b().n(1).with(|b| b.magic = magic));
        }
    });
    run.case("old-message-sets", |c| {
        for magic in [0u8, 1] {
            let mut message = vec![magic, 0];
            if magic == 1 {
                message.extend_from_slice(&WALL_MS.to_be_bytes());
            }
            for field in [b"k", b"v"] {
                message.extend_from_slice(&1i32.to_be_bytes());
                message.extend_from_slice(field);
            }
            let mut crc = flate2::Crc::new();
            crc.update(&message);
            let size = message.len() as i32 + 4;
            let set = [&0i64.to_be_bytes()[..], &size.to_be_bytes(), &crc.sum().to_be_bytes(), &message].concat();
            c.send_bytes(&format!("a correct magic {magic} message"), set);
        }
    });
    run.case("sizes", |c| {
        for size in [1_048_588, 1_048_589] {
            let more = if size == 1_048_588 { " (default max.message.bytes 1048588)" } else { "" };
            c.send(&format!("batch of {size} bytes{more}"), of_size(size));
        }
    });
    run.case("too-large-topic", |c| {
        c.send("batch of 68+ bytes", b().n(1));
        c.send("batch of 271 bytes, topic max.message.bytes=100", of_size(271));
    });
    run.case("segment-bytes", |c| {
        c.send("batch of 1048650 bytes, segment.bytes=1048576, max.message.bytes=3000000", of_size(1_048_650));
    });
    run.case("empty", |c| {
        c.step("records null", 11, -1, None, "", 0, None);
        c.send_bytes("records of 0 bytes", Vec::new());
        c.send("batch with count 0, lastOffsetDelta 0, no records", b().with(|b| b.last_offset_delta = Some(0)));
        c.send("batch with count 0, lastOffsetDelta -1", b());
        let batch = c.bytes(&b().n(1));
        c.send_bytes("10 bytes of a batch", batch[..10].to_vec());
        c.send_bytes("batch without its last byte", batch[..batch.len() - 1].to_vec());
        c.send("batchLength 5 too large", b().n(1).with(|b| b.length_add = 5));
        c.send("batchLength 5 too small", b().n(1).with(|b| b.length_add = -5));
        c.send("batchLength below the minimum", b().n(1).with(|b| b.length_add = -60));
        let rubbish = [c.bytes(&b().n(1)), vec![1, 2, 3]].concat();
        c.send_bytes("good batch and 3 bytes of rubbish", rubbish);
    });
}

/// One record, padded so that the whole batch has this size.
fn of_size(size: usize) -> B {
    let fits = |key: usize, value: usize| {
        let field = |length: usize| size_of_varlong(length as i64) + length;
        let body = 3 + field(key) + field(value) + 1;
        61 + size_of_varlong(body as i64) + body
    };
    // A length that grows by a byte leaves one size out; another key then fits.
    let padding = (1..4).find_map(|key| {
        let value = (0..size).rev().find(|value| fits(key, *value) <= size)?;
        (fits(key, value) == size).then_some((key, value))
    });
    let (key, value) = padding.expect("a size that can be had");
    b().record(Some(&"k".repeat(key)), Some(&"x".repeat(value)), 0)
}

fn records_and_times(run: &mut Run) {
    run.case("counts", |c| {
        let counts = |records: usize, count: Option<i32>, last: Option<i32>| {
            b().n(records).with(|b| (b.count, b.last_offset_delta) = (count, last))
        };
        c.send("2 records, count 3, lastOffsetDelta 1", counts(2, Some(3), None));
        c.send("2 records, count 3, lastOffsetDelta 2", counts(2, Some(3), Some(2)));
        c.send("3 records, count 2, lastOffsetDelta 1", counts(3, Some(2), Some(1)));
        c.send("2 records, count 2, lastOffsetDelta 5", counts(2, None, Some(5)));
        let deltas = |deltas: [i64; 2]| b().n(2).with(|b| b.offset_deltas = Some(deltas.to_vec()));
        c.send("offset deltas 0, 0", deltas([0, 0]));
        c.send("offset deltas 1, 0", deltas([1, 0]));
        c.send("gzip, offset deltas 0, 0", deltas([0, 0]).with(|b| b.gzip = true));
        c.send("record attributes 1", b().n(2).with(|b| b.record_attributes = 1));
    });
    run.case("attributes", |c| {
        let attributes = |attributes: i16| b().n(1).with(|b| b.attributes = attributes);
        c.send("control bit", attributes(0x20));
        c.send("LogAppendTime bit", attributes(ATTRIBUTE_LOG_APPEND_TIME));
        c.send("LogAppendTime bit and timestamp -1", attributes(0x08).with(|b| b.first_timestamp = Some(-1)));
        c.send("delete-horizon bit", attributes(0x40));
        c.send("unused bit 7", attributes(0x80));
        c.send("codec 5 (no such codec)", attributes(5));
        c.send("codec 4 (zstd) over bytes that are not zstd", attributes(4));
        c.send("gzip bit over bytes that are not gzip", attributes(1));
        c.send("gzip, 3 records", b().n(3).with(|b| b.gzip = true));
        c.step_batch("zstd codec with Produce version 6", 6, -1, 0, attributes(4));
    });
    run.case("timestamps", |c| {
        let now = WALL_MS + (c.shell().now.0 / 1000) as i64;
        let at = |timestamp: i64| b().n(1).with(|b| b.first_timestamp = Some(timestamp));
        c.send("CreateTime 58 min ahead", at(now + 3_500_000));
        c.send("CreateTime 61.7 min ahead (limit 3600000 ms)", at(now + 3_700_000));
        c.send("CreateTime 1", at(1));
        c.send("CreateTime -1", at(-1));
        let deltas = [0, 4_000_000, 5_000_000, 6_000_000, 7_000_000];
        let five = deltas.iter().fold(b(), |batch, delta| batch.record(Some("a"), Some("b"), *delta));
        c.send("5 records, the last 4 too far ahead", five.with(|b| b.first_timestamp = Some(now)));
        let max = |max: i64| at(now).with(|b| b.max_timestamp = Some(max));
        c.send("maxTimestamp 150 min ahead, record now", max(now + 9_000_000));
        c.send("maxTimestamp 5, record now", max(5));
    });
    run.case("timestamp-before", |c| {
        let now = WALL_MS + (c.shell().now.0 / 1000) as i64;
        c.send(
            "CreateTime 120 s ago, message.timestamp.before.max.ms=60000",
            b().n(1).with(|b| b.first_timestamp = Some(now - 120_000)),
        );
    });
    run.case("compacted", |c| {
        let keys = |keys: &[Option<&str>]| keys.iter().fold(b(), |batch, key| batch.record(*key, Some("v"), 0));
        c.send("null key", keys(&[None]));
        c.send("key, null key, key, null key", keys(&[Some("a"), None, Some("b"), None]));
        c.send("empty key", keys(&[Some("")]));
        c.send("tombstone", b().record(Some("a"), None, 0));
        let p = c.new_producer_id();
        c.send("idempotent seq 0, null key", keys(&[None]).ids(p, 0, 0));
        c.send("seq 0, good key", keys(&[Some("k")]).ids(p, 0, 0));
    });
}

fn names_and_partitions(run: &mut Run) {
    run.case("unknown-names", |c| {
        let records = c.bytes(&b().n(1));
        let mut step = |what: &str, version: i16, topic: &str, partition: i32| {
            c.step(what, version, -1, None, topic, partition, Some(records.clone()));
        };
        step("topic that does not exist", 11, "pr-no-such", 0);
        step("partition 1 of 1", 11, "", 1);
        step("partition -1", 11, "", -1);
        step("version 13, unknown topic id", 13, "no-id", 0);
        step("version 13, partition 1 of 1", 13, "", 1);
        step("version 13, zero topic id", 13, "zero", 0);
        step("empty topic name", 11, "(empty)", 0);
        step("illegal topic name", 11, "a b!", 0);
    });
    run.case("two-partitions-one-pid", |c| {
        let p = c.new_producer_id();
        c.send("partition 0 seq 0", b().ids(p, 0, 0).n(1));
        c.step_batch("partition 1 seq 0", 11, -1, 1, b().ids(p, 0, 0).n(1));
        c.step_batch("partition 1 seq 1", 11, -1, 1, b().ids(p, 0, 1).n(1));
        c.send("partition 0 seq 2 (gap there)", b().ids(p, 0, 2).n(1));
        c.send("partition 0 seq 1", b().ids(p, 0, 1).n(1));
    });
    run.case("internal-topic", |c| {
        // Kafka's coordinators create these when they are first asked for.
        c.create_topic("__consumer_offsets", 50, &[]);
        c.create_topic("__transaction_state", 50, &[]);
        let records = c.bytes(&b().n(1));
        for topic in ["__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"] {
            c.step(&format!("client id raw, {topic}"), 11, -1, None, topic, 0, Some(records.clone()));
        }
        c.client_id = "__admin_client".to_string();
        let what = "client id __admin_client, __consumer_offsets, rubbish record";
        c.step(what, 11, 1, None, "__consumer_offsets", 49, Some(records));
    });
}

fn transactions(run: &mut Run) {
    run.case("transactional", |c| {
        let stranger = || b().ids(777_770, 0, 0).n(1);
        c.transactional("transactional bit, transactionalId null", 11, None, stranger());
        let unknown = Some("no-such-tx");
        c.transactional("v11, transactional id never initialised, pid 777770", 11, unknown, stranger());
        c.transactional("v12, transactional id never initialised, pid 777770", 12, unknown, stranger());
        c.transactional("v12, transactional bit, pid -1", 12, Some("tx-1"), b().n(1));
        // What follows begins with an InitProducerId of a transactional id.
        while let Some(step) = c.steps.get(c.next_step).cloned() {
            let what = step["request"].as_str().expect("a request");
            c.differences.compare(&format!("transactional: {what}"), &step, &json!("not sent"));
            c.next_step += 1;
        }
    });
}

fn restarts(run: &mut Run) {
    for (name, in_order, note) in [
        ("restart-term", true, "broker stopped cleanly (SIGTERM) and started again"),
        ("restart-kill", false, "broker SIGKILLed and started again"),
    ] {
        run.case(name, |c| {
            let p = c.new_producer_id();
            for i in 0..3 {
                c.send(&format!("seq {i}"), b().ids(p, 0, i).n(1));
            }
            c.restart(in_order);
            c.note(note);
            for (what, sequence) in [
                ("seq 2 again (newest batch)", 2),
                ("seq 1 again", 1),
                ("seq 0 again", 0),
                ("seq 3 (next)", 3),
                ("seq 5 (gap)", 5),
            ] {
                c.send(what, b().ids(p, 0, sequence).n(1));
            }
        });
    }
}
