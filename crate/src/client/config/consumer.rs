//! A consumer's configuration (Kafka's ConsumerConfig), as far as a consumer by assignment needs it.

use super::reader::Reader;
use super::{CONNECTIONS_MAX_IDLE_MS, ConfigError, ConnectionConfig, KnownKey, no_effect};
use crate::node::Exception;
use crate::ordered::{BTreeMap, BTreeSet};

/// auto.offset.reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetReset {
    Earliest,
    Latest,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerConfig {
    pub connection: ConnectionConfig,
    pub allow_auto_create_topics: bool,
    pub auto_offset_reset: OffsetReset,
    pub check_crcs: bool,
    pub default_api_timeout_ms: i64,
    pub fetch_max_bytes: i32,
    pub fetch_max_wait_ms: i32,
    pub fetch_min_bytes: i32,
    pub isolation_level: IsolationLevel,
    pub max_partition_fetch_bytes: i32,
    pub max_poll_records: i32,
    /// Keys that were set and do nothing here.
    pub no_effect: Vec<&'static str>,
}

impl ConsumerConfig {
    /// Reads Kafka's keys. `bootstrap.servers` is the only one without a default.
    pub fn parse(given: &BTreeMap<String, String>) -> Result<ConsumerConfig, ConfigError> {
        read(given).map(|(config, _)| config)
    }

    /// Every key that a consumer knows.
    pub fn known_keys() -> Vec<KnownKey> {
        let given = BTreeMap::from([("bootstrap.servers".to_owned(), "localhost:9092".to_owned())]);
        read(&given).map(|(_, known)| known).unwrap_or_default()
    }
}

fn read(given: &BTreeMap<String, String>) -> Result<(ConsumerConfig, Vec<KnownKey>), ConfigError> {
    let mut keys = Reader::new(given);
    let protocol = keys.one_of_any_case("group.protocol", "classic", &["CONSUMER", "CLASSIC"])?;
    let isolation = keys.one_of("isolation.level", "read_uncommitted", &["read_committed", "read_uncommitted"])?;
    let reset = offset_reset(&keys.string("auto.offset.reset", "latest"))?;
    let enable_auto_commit = keys.boolean("enable.auto.commit", true)?;
    let group_id = keys.optional("group.id");
    let session_timeout = keys.int("session.timeout.ms", 45_000, i32::MIN..=i32::MAX)?;
    let heartbeat_interval = keys.int("heartbeat.interval.ms", 3000, i32::MIN..=i32::MAX)?;
    let assignors = "class org.apache.kafka.clients.consumer.RangeAssignor,\
                     class org.apache.kafka.clients.consumer.CooperativeStickyAssignor";
    keys.string("partition.assignment.strategy", assignors);
    keys.optional("group.remote.assignor");
    let interceptors = keys.string("interceptor.classes", "");
    let mut config = ConsumerConfig {
        connection: ConnectionConfig::read(&mut keys, "consumer", CONNECTIONS_MAX_IDLE_MS)?,
        allow_auto_create_topics: keys.boolean("allow.auto.create.topics", true)?,
        auto_offset_reset: reset,
        check_crcs: keys.boolean("check.crcs", true)?,
        default_api_timeout_ms: keys.int("default.api.timeout.ms", 60_000, 0..=i32::MAX)?.into(),
        fetch_max_bytes: keys.int("fetch.max.bytes", 52_428_800, 0..=i32::MAX)?,
        fetch_max_wait_ms: keys.int("fetch.max.wait.ms", 500, 0..=i32::MAX)?,
        fetch_min_bytes: keys.int("fetch.min.bytes", 1, 0..=i32::MAX)?,
        isolation_level: match isolation.as_str() {
            "read_committed" => IsolationLevel::ReadCommitted,
            _ => IsolationLevel::ReadUncommitted,
        },
        max_partition_fetch_bytes: keys.int("max.partition.fetch.bytes", 1_048_576, 0..=i32::MAX)?,
        max_poll_records: keys.int("max.poll.records", 500, 1..=i32::MAX)?,
        no_effect: Vec::new(),
    };
    let set = |name: &'static str| keys.is_given(name).then_some(name);
    let commit_given = set("enable.auto.commit");
    // Groups are joined by nobody here: their keys are checked and named as without effect.
    let group_keys =
        [set("group.id"), commit_given, set("group.protocol"), set("session.timeout.ms"), set("heartbeat.interval.ms")]
            .into_iter()
            .chain([set("partition.assignment.strategy"), set("group.remote.assignor")])
            .flatten()
            .collect::<Vec<_>>();
    check_group(&protocol, &group_keys)?;
    super::no_classes("consumer", &interceptors)?;
    let (no_effect, mut known) = keys.finish(&[no_effect::BOTH, no_effect::CONSUMER])?;
    for key in &mut known {
        key.acts &= !GROUP_KEYS.contains(&key.name);
    }
    config.no_effect = no_effect.into_iter().chain(group_keys).collect::<BTreeSet<_>>().into_iter().collect();
    let wrapped = |class: &'static str, message: &str| {
        Err(ConfigError::construction("consumer", Exception::new(class, message.to_owned())))
    };
    match group_id {
        None if enable_auto_commit && commit_given.is_some() => {
            return Err(ConfigError::Thrown(Exception::new(
                "InvalidConfigurationException",
                "enable.auto.commit cannot be set to true when default group id (null) is used.".to_owned(),
            )));
        }
        Some(id) if id.is_empty() => {
            let text = "The configured group.id should not be an empty string or whitespace.";
            return wrapped("InvalidGroupIdException", text);
        }
        Some(_) if protocol.eq_ignore_ascii_case("classic") && heartbeat_interval >= session_timeout => {
            return wrapped("IllegalArgumentException", "Heartbeat must be set lower than the session timeout");
        }
        _ => {}
    }
    Ok((config, known))
}

const GROUP_KEYS: &[&str] = &[
    "enable.auto.commit",
    "group.id",
    "group.protocol",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "partition.assignment.strategy",
    "session.timeout.ms",
];

/// The new group protocol leaves these to the broker; the classic one knows no remote assignor.
fn check_group(protocol: &str, given: &[&'static str]) -> Result<(), ConfigError> {
    let (refused, name): (&[&str], _) = if protocol.eq_ignore_ascii_case("consumer") {
        (&["partition.assignment.strategy", "heartbeat.interval.ms", "session.timeout.ms"], "CONSUMER")
    } else {
        (&["group.remote.assignor"], "CLASSIC")
    };
    let set: Vec<&str> = refused.iter().copied().filter(|key| given.contains(key)).collect();
    if set.is_empty() {
        return Ok(());
    }
    Err(ConfigError::config(format!("{} cannot be set when group.protocol={name}", set.join(", "))))
}

fn offset_reset(value: &str) -> Result<OffsetReset, ConfigError> {
    match value {
        "earliest" => Ok(OffsetReset::Earliest),
        "latest" => Ok(OffsetReset::Latest),
        "none" => Ok(OffsetReset::None),
        v if v.starts_with("by_duration:P") => {
            Err(ConfigError::NotServed { key: "auto.offset.reset", value: v.to_owned() })
        }
        v => {
            let why = format!(
                "Invalid value `{v}` for configuration auto.offset.reset. The value must be either 'earliest', \
                 'latest', 'none' or of the format 'by_duration:<PnDTnHnMn.nS.>'."
            );
            Err(ConfigError::invalid("auto.offset.reset", v, &why))
        }
    }
}
