//! A topic's configuration: its own values over the broker's, which have other names for the same thing
//! (`ServerTopicConfigSynonyms`).

use super::broker::{BrokerConfigs, ConfigSource};
use super::key::TOPIC_KEYS;
use super::value::{self, ConfigError};
use crate::ordered::BTreeMap;
use crate::record::Compression;

/// The broker keys that give a topic key its default, the first one set wins; with the factor from their unit to ours.
fn synonyms(topic_key: &str) -> &'static [(&'static str, i64)] {
    const HOURS: i64 = 3_600_000;
    const MINUTES: i64 = 60_000;
    match topic_key {
        "cleanup.policy" => &[("log.cleanup.policy", 1)],
        "compression.gzip.level" => &[("compression.gzip.level", 1)],
        "compression.lz4.level" => &[("compression.lz4.level", 1)],
        "compression.type" => &[("compression.type", 1)],
        "compression.zstd.level" => &[("compression.zstd.level", 1)],
        "delete.retention.ms" => &[("log.cleaner.delete.retention.ms", 1)],
        "file.delete.delay.ms" => &[("log.segment.delete.delay.ms", 1)],
        "flush.messages" => &[("log.flush.interval.messages", 1)],
        "flush.ms" => &[("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)],
        "index.interval.bytes" => &[("log.index.interval.bytes", 1)],
        "local.retention.bytes" => &[("log.local.retention.bytes", 1)],
        "local.retention.ms" => &[("log.local.retention.ms", 1)],
        "max.compaction.lag.ms" => &[("log.cleaner.max.compaction.lag.ms", 1)],
        "max.message.bytes" => &[("message.max.bytes", 1)],
        "message.timestamp.after.max.ms" => &[("log.message.timestamp.after.max.ms", 1)],
        "message.timestamp.before.max.ms" => &[("log.message.timestamp.before.max.ms", 1)],
        "message.timestamp.type" => &[("log.message.timestamp.type", 1)],
        "min.cleanable.dirty.ratio" => &[("log.cleaner.min.cleanable.ratio", 1)],
        "min.compaction.lag.ms" => &[("log.cleaner.min.compaction.lag.ms", 1)],
        "min.insync.replicas" => &[("min.insync.replicas", 1)],
        "preallocate" => &[("log.preallocate", 1)],
        "retention.bytes" => &[("log.retention.bytes", 1)],
        "retention.ms" => {
            &[("log.retention.ms", 1), ("log.retention.minutes", MINUTES), ("log.retention.hours", HOURS)]
        }
        "segment.bytes" => &[("log.segment.bytes", 1)],
        "segment.index.bytes" => &[("log.index.size.max.bytes", 1)],
        "segment.jitter.ms" => &[("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", HOURS)],
        "segment.ms" => &[("log.roll.ms", 1), ("log.roll.hours", HOURS)],
        "unclean.leader.election.enable" => &[("unclean.leader.election.enable", 1)],
        _ => &[],
    }
}

/// The broker key whose description stands for a topic key's default: the first of its names there.
pub fn broker_name_of(topic_key: &str) -> Option<&'static str> {
    synonyms(topic_key).first().map(|(name, _)| *name)
}

/// Checks what a topic is to be configured with, as the controller does before it is written down: names, values, and
/// what must hold between them (`LogConfig.validate`).
pub fn check_topic_configs(configs: &BTreeMap<String, String>, broker: BrokerConfigs<'_>) -> Result<(), ConfigError> {
    let conflict = |text: String| Err(ConfigError::Conflict(text));
    for name in configs.keys() {
        if TOPIC_KEYS.find(name).is_none() {
            return conflict(format!("Unknown topic config name: {name}"));
        }
    }
    for (name, value) in configs {
        if let Some(key) = TOPIC_KEYS.find(name) {
            value::check(&key, value)?;
        }
    }
    let layers = TopicConfigs { topic: Some(configs), broker };
    let (min, max) = (layers.number("min.compaction.lag.ms"), layers.number("max.compaction.lag.ms"));
    if min > max {
        return conflict(format!(
            "conflict topic config setting min.compaction.lag.ms ({min}) > max.compaction.lag.ms ({max})"
        ));
    }
    if layers.text("remote.storage.enable").eq_ignore_ascii_case("true") {
        return conflict(
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log \
             storage."
                .to_string(),
        );
    }
    Ok(())
}

/// The layers in which a topic's values lie.
#[derive(Debug, Clone, Copy)]
pub struct TopicConfigs<'a> {
    /// The topic's own.
    pub topic: Option<&'a BTreeMap<String, String>>,
    pub broker: BrokerConfigs<'a>,
}

impl TopicConfigs<'_> {
    /// The effective value and where it comes from; `None` if it is null.
    pub fn effective(&self, name: &str) -> Option<(String, ConfigSource)> {
        if let Some(value) = self.topic.and_then(|configs| configs.get(name)) {
            return Some((value.clone(), ConfigSource::Topic));
        }
        for source in [ConfigSource::Broker, ConfigSource::ClusterDefault, ConfigSource::StaticBroker] {
            let set = |(key, factor): &(&'static str, i64)| Some((self.broker.set(source, key)?, *factor));
            if let Some((value, factor)) = synonyms(name).iter().find_map(set) {
                return Some((scaled(value, factor), source));
            }
        }
        let default = TOPIC_KEYS.find(name)?.default?;
        Some((default.to_string(), ConfigSource::Default))
    }

    /// Every topic key in order of name, as CreateTopics lists them; an internal one if the topic has it.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, String, ConfigSource)> + '_ {
        let own = |name: &str| self.topic.is_some_and(|configs| configs.contains_key(name));
        TOPIC_KEYS
            .keys()
            .filter(move |key| !key.is_internal() || own(key.name))
            .filter_map(|key| self.effective(key.name).map(|(value, source)| (key.name, value, source)))
    }

    fn number(&self, name: &str) -> i64 {
        self.effective(name).and_then(|(value, _)| value.trim().parse().ok()).unwrap_or_default()
    }

    fn int(&self, name: &str) -> i32 {
        i32::try_from(self.number(name)).unwrap_or(i32::MAX)
    }

    fn text(&self, name: &str) -> String {
        self.effective(name).map(|(value, _)| value.trim().to_string()).unwrap_or_default()
    }

    /// The values that a partition's leader needs, parsed.
    pub fn resolve(&self) -> TopicConfig {
        let policy = self.text("cleanup.policy");
        let segment_bytes = match self.effective("internal.segment.bytes") {
            Some((value, _)) => value.trim().parse().unwrap_or_default(),
            None => self.int("segment.bytes"),
        };
        TopicConfig {
            max_message_bytes: self.int("max.message.bytes"),
            log_append_time: self.text("message.timestamp.type") == "LogAppendTime",
            timestamp_before_max_ms: self.number("message.timestamp.before.max.ms"),
            timestamp_after_max_ms: self.number("message.timestamp.after.max.ms"),
            min_insync_replicas: self.int("min.insync.replicas"),
            unclean_leader_election: self.text("unclean.leader.election.enable").eq_ignore_ascii_case("true"),
            compression: match self.text("compression.type").as_str() {
                "uncompressed" => Some(Compression::NONE),
                codec => Compression::named(codec, |key| self.effective(key)?.0.trim().parse().ok()),
            },
            compact: value::list(&policy).contains(&"compact"),
            segment_bytes,
            segment_ms: self.number("segment.ms"),
            segment_jitter_ms: self.number("segment.jitter.ms"),
            segment_index_bytes: self.int("segment.index.bytes"),
            index_interval_bytes: self.int("index.interval.bytes"),
        }
    }
}

fn scaled(value: &str, factor: i64) -> String {
    match value.parse::<i64>() {
        // −1 stands for "no limit" in every unit.
        Ok(number) if factor != 1 && number >= 0 => number.saturating_mul(factor).to_string(),
        _ => value.to_string(),
    }
}

/// What a partition's leader needs of its topic's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicConfig {
    pub max_message_bytes: i32,
    pub log_append_time: bool,
    pub timestamp_before_max_ms: i64,
    pub timestamp_after_max_ms: i64,
    pub min_insync_replicas: i32,
    pub unclean_leader_election: bool,
    /// `None` keeps what producers sent.
    pub compression: Option<Compression>,
    pub compact: bool,
    pub segment_bytes: i32,
    pub segment_ms: i64,
    pub segment_jitter_ms: i64,
    pub segment_index_bytes: i32,
    pub index_interval_bytes: i32,
}

#[cfg(test)]
mod tests {
    use super::super::ServerConfig;
    use super::*;
    use crate::node::Address;

    fn server(more: &[(&str, &str)]) -> ServerConfig {
        let address = Address { host: "127.0.0.1".to_string(), port: 9092 };
        let mut properties = ServerConfig::standalone_properties(1, &address);
        properties.extend(more.iter().map(|(key, value)| (key.to_string(), value.to_string())));
        ServerConfig::from_properties(&properties).expect("valid")
    }

    #[test]
    fn a_topic_takes_its_own_value_then_the_brokers_then_the_clusters_then_the_files() {
        let server = server(&[("min.insync.replicas", "2"), ("log.roll.hours", "1"), ("log.segment.bytes", "2000000")]);
        let own = BTreeMap::from([("retention.ms".to_string(), "5".to_string())]);
        let cluster = BTreeMap::from([("min.insync.replicas".to_string(), "1".to_string())]);
        let node = BTreeMap::from([("log.segment.bytes".to_string(), "3000000".to_string())]);
        let broker = BrokerConfigs { node: Some(&node), cluster: Some(&cluster), server: &server };
        let configs = TopicConfigs { topic: Some(&own), broker };
        assert_eq!(configs.effective("retention.ms"), Some(("5".into(), ConfigSource::Topic)));
        assert_eq!(configs.effective("segment.bytes"), Some(("3000000".into(), ConfigSource::Broker)));
        assert_eq!(configs.effective("min.insync.replicas"), Some(("1".into(), ConfigSource::ClusterDefault)));
        assert_eq!(configs.effective("segment.ms"), Some(("3600000".into(), ConfigSource::StaticBroker)));
        assert_eq!(configs.effective("retention.bytes"), Some(("-1".into(), ConfigSource::Default)));
        assert_eq!(configs.resolve().segment_ms, 3_600_000);
    }
}
