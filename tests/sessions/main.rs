//! Every recorded session of a real client and of Kafka's tools, replayed frame by frame: our broker answers with the
//! same error codes and the same fields as Apache Kafka 4.3.0 did.

#[path = "../shell/mod.rs"]
mod shell;

mod ids;
mod shape;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use shell::recorded::Differences;
use shell::{Shell, config, fields};
use steplog::node::{ConnId, Duration};
use steplog::wire::api::ListenerKind;
use steplog::wire::messages::find_coordinator::FindCoordinatorRequest;
use steplog::wire::messages::init_producer_id::InitProducerIdRequest;
use steplog::wire::schema::Message;
use steplog::wire::{ApiKey, ErrorCode, RequestHeader, encode_request};

use ids::Ids;
use shape::shape;

/// One line of a recording: the name of a session that begins, or an event of it.
#[derive(Deserialize, Default, Clone)]
#[serde(default)]
struct Line {
    session: Option<String>,
    us: u64,
    conn: String,
    dir: String,
    eof: bool,
    raw: bool,
    key: i16,
    version: i16,
    hex: String,
}

/// Clients that met one broker, in the order in which they did.
struct Group {
    clients: &'static [&'static str],
    /// Its coordinators' topics and a block of producer ids were there before.
    is_warm: bool,
    properties: &'static [(&'static str, &'static str)],
}

const GROUPS: &[Group] = &[
    Group { clients: &["kafka-tools"], is_warm: false, properties: &[] },
    Group {
        clients: &[
            "java-4.3.0",
            "java-3.6.1",
            "franz-go-1.22.3",
            "sarama-1.61.1",
            "kafkajs-2.2.4",
            "platformatic-kafka-1.35.0",
            "confluent-kafka-2.16.1",
            "kafka-python-3.0.12",
            "aiokafka-0.14.0",
            "kcat-librdkafka-2.0.2",
        ],
        is_warm: true,
        properties: &[],
    },
    // The sweep asks for a missing topic in every version of Metadata before Kafka has come to create it.
    Group { clients: &["edge"], is_warm: false, properties: &[("auto.create.topics.enable", "false")] },
];

/// How long an answer may take: longer than any client waits.
const PATIENCE: Duration = Duration(40_000_000);

#[test]
fn every_recorded_session_gets_the_same_codes_and_fields() {
    let mut differences = Differences::load("sessions");
    for group in GROUPS {
        let mut replay = Replay::new(group.properties);
        if group.is_warm {
            replay.warm_up();
        }
        for client in group.clients {
            replay.run(client, &mut differences);
        }
    }
    differences.finish();
}

struct Replay {
    client: &'static str,
    session: String,
    shell: Shell,
    ids: Ids,
    conns: BTreeMap<String, ConnId>,
    /// Requests of which nothing is asked here, by connection and correlation id.
    skipped: BTreeSet<(String, i32)>,
    /// Requests that Kafka refused because a new partition did not lead yet.
    too_early: BTreeSet<(String, i32)>,
    last_us: u64,
    exchanges: BTreeMap<String, u32>,
}

impl Replay {
    fn new(properties: &[(&str, &str)]) -> Replay {
        let mut all = vec![
            ("listeners", "PLAINTEXT://127.0.0.1:25092,CONTROLLER://127.0.0.1:24092"),
            ("offsets.topic.num.partitions", "3"),
            ("transaction.state.log.num.partitions", "3"),
            ("share.coordinator.state.topic.num.partitions", "3"),
        ];
        all.extend(properties);
        let shell = Shell::start(config(&all));
        Replay {
            client: "",
            session: String::new(),
            shell,
            ids: Ids::default(),
            conns: BTreeMap::new(),
            skipped: BTreeSet::new(),
            too_early: BTreeSet::new(),
            last_us: 0,
            exchanges: BTreeMap::new(),
        }
    }

    fn warm_up(&mut self) {
        let conn = self.shell.connect();
        for key_type in [0, 1] {
            self.ask(conn, 10, 1, &FindCoordinatorRequest { key_type, ..Default::default() });
        }
        self.ask(conn, 22, 0, &InitProducerIdRequest::default());
        self.shell.close(conn);
    }

    fn ask(&mut self, conn: ConnId, key: i16, version: i16, body: &impl Message) {
        let header = RequestHeader { request_api_key: key, request_api_version: version, ..Default::default() };
        let chunks = encode_request(&header, body).expect("encodable");
        let bytes: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.to_bytes().expect("in memory")).collect();
        self.shell.send(conn, bytes);
    }

    fn run(&mut self, client: &'static str, differences: &mut Differences) {
        self.client = client;
        let mut lines = recording(client).into_iter().peekable();
        while let Some(mut line) = lines.next() {
            if let Some(session) = line.session.take() {
                let mut ahead = lines.clone();
                self.begin(session, ahead.by_ref().take_while(|line| line.session.is_none()));
                continue;
            }
            self.shell.wait(Duration(line.us.saturating_sub(self.last_us)));
            self.last_us = self.last_us.max(line.us);
            if line.eof {
                if let Some(conn) = self.conns.remove(&line.conn)
                    && !self.shell.closed.contains(&conn)
                {
                    self.shell.close(conn);
                }
            } else if line.raw {
                // A piece of a frame that was never whole.
            } else if line.dir == "req" {
                self.request(&line, differences);
            } else {
                self.response(&line, differences);
            }
        }
    }

    fn begin(&mut self, session: String, lines: impl Iterator<Item = Line>) {
        for (_, conn) in std::mem::take(&mut self.conns) {
            if !self.shell.closed.contains(&conn) {
                self.shell.close(conn);
            }
        }
        self.session = session;
        self.last_us = 0;
        self.skipped.clear();
        self.exchanges.clear();
        let refused = lines.filter(|line| line.dir == "resp" && line.key == ApiKey::PRODUCE.0 && !line.hex.is_empty());
        self.too_early = refused
            .filter(|line| is_too_early(&hex(&line.hex), line.version))
            .map(|line| (line.conn.clone(), correlation_id(&hex(&line.hex), 0)))
            .collect();
    }

    fn request(&mut self, line: &Line, differences: &mut Differences) {
        let frame = hex(&line.hex);
        if line.conn.starts_with('c') {
            differences.compare("the controller's listener", &json!("answered"), &json!("not opened"));
            self.skipped.insert((line.conn.clone(), correlation_id(&frame, 4)));
            return;
        }
        let api = ApiKey(line.key).api();
        if api.is_some_and(|api| api.served(ListenerKind::Broker).is_none() && api.is_on(ListenerKind::Broker)) {
            let case = format!("API {}", ApiKey(line.key).name());
            differences.compare(&case, &json!("answered"), &json!("not served"));
            self.skipped.insert((line.conn.clone(), correlation_id(&frame, 4)));
            return;
        }
        if self.too_early.contains(&(line.conn.clone(), correlation_id(&frame, 4))) {
            let case = "a partition right after its creation";
            differences.compare(case, &json!("does not lead yet"), &json!("leads at once"));
            self.skipped.insert((line.conn.clone(), correlation_id(&frame, 4)));
            return;
        }
        let shell = &mut self.shell;
        let conn = *self.conns.entry(line.conn.clone()).or_insert_with(|| shell.connect());
        if self.shell.closed.contains(&conn) {
            return;
        }
        let frame = self.ids.ours_in(&frame);
        let mut bytes = u32::try_from(frame.len()).expect("a frame").to_be_bytes().to_vec();
        bytes.extend(frame);
        self.shell.send(conn, bytes);
    }

    fn response(&mut self, line: &Line, differences: &mut Differences) {
        let recorded = hex(&line.hex);
        if self.skipped.remove(&(line.conn.clone(), correlation_id(&recorded, 0))) {
            return;
        }
        let key = ApiKey(line.key);
        let name = format!("{}/{} {} v{}", self.client, self.session, key.name(), line.version);
        let count = self.exchanges.entry(name.clone()).or_default();
        *count += 1;
        let case = format!("{name} #{count}");
        let Some(conn) = self.conns.get(&line.conn).copied() else { return };
        // ApiVersions of a version that is not known is answered in version 0.
        let version = if fields::response(&recorded, key, line.version).is_some() { line.version } else { 0 };
        let theirs = fields::response(&recorded, key, version).expect("a recorded answer");
        let ours = match self.next_frame(conn) {
            Some(frame) => match fields::response(&frame, key, version) {
                Some(ours) => {
                    self.ids.learn(key, &theirs, &ours);
                    shape(&ours)
                }
                None => json!("unreadable"),
            },
            None if self.shell.closed.contains(&conn) => json!("closed"),
            None => json!("nothing"),
        };
        differences.compare(&case, &shape(&theirs), &ours);
    }

    fn next_frame(&mut self, conn: ConnId) -> Option<Bytes> {
        let until = self.shell.now + PATIENCE;
        loop {
            if let Some(frame) = self.shell.next_frame(conn) {
                return Some(frame);
            }
            if self.shell.closed.contains(&conn) || !self.shell.step(until) {
                return None;
            }
        }
    }
}

/// Kafka's broker knows a new partition a moment before it leads it; the client comes again. So the first try is not
/// sent: here it would be taken, and the second one would be a duplicate.
fn is_too_early(answer: &Bytes, version: i16) -> bool {
    let mut found = false;
    let answer = fields::response(answer, ApiKey::PRODUCE, version).unwrap_or_default();
    walk(&answer, &mut |fields| {
        found |= fields.get("errorCode").is_some_and(|code| *code == json!(ErrorCode::NOT_LEADER_OR_FOLLOWER.0));
    });
    found
}

fn recording(client: &str) -> Vec<Line> {
    let path = format!("{}/tests/fixtures/sessions/{client}.jsonl.gz", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).expect("gzip");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{path}: {error}"))).collect()
}

fn hex(text: &str) -> Bytes {
    let pairs = (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hex"));
    pairs.collect()
}

fn correlation_id(frame: &Bytes, at: usize) -> i32 {
    i32::from_be_bytes(frame[at..at + 4].try_into().expect("4 bytes"))
}

/// Walks a value with its name.
fn walk<'a>(value: &'a Value, visit: &mut dyn FnMut(&'a serde_json::Map<String, Value>)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        Value::Object(fields) => {
            visit(fields);
            fields.values().for_each(|value| walk(value, visit));
        }
        _ => {}
    }
}
