//! A broker's configuration in layers: what is set for it, for the whole cluster, in its file, and by default (KIP-226).

use super::ServerConfig;
use super::key::{BROKER_KEYS, QUOTA_KEYS};
use crate::ordered::BTreeMap;

/// Where an effective value comes from, by the numbers of `DescribeConfigsResponse.ConfigSource`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigSource {
    Topic = 1,
    Broker = 2,
    ClusterDefault = 3,
    StaticBroker = 4,
    Default = 5,
    Logger = 6,
    ClientMetrics = 7,
    Group = 8,
}

/// A value that a key could take, under the name that gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synonym {
    pub name: String,
    pub value: String,
    pub source: ConfigSource,
}

/// The layers in which a broker's values lie.
#[derive(Debug, Clone, Copy)]
pub struct BrokerConfigs<'a> {
    /// Set for this broker while it runs.
    pub node: Option<&'a BTreeMap<String, String>>,
    /// The cluster-wide dynamic defaults.
    pub cluster: Option<&'a BTreeMap<String, String>>,
    pub server: &'a ServerConfig,
}

/// Keys that say the same in other units, the first one set counts.
const IN_OTHER_UNITS: &[&[&str]] = &[
    &["log.roll.ms", "log.roll.hours"],
    &["log.roll.jitter.ms", "log.roll.jitter.hours"],
    &["log.retention.ms", "log.retention.minutes", "log.retention.hours"],
];

/// `DynamicBrokerConfig.brokerConfigSynonyms`.
fn names_of(name: &str) -> Vec<&str> {
    if name == "log.flush.interval.ms" {
        return vec![name, "log.flush.scheduler.interval.ms"];
    }
    match IN_OTHER_UNITS.iter().find(|names| names.contains(&name)) {
        Some(names) => names.to_vec(),
        // A key of one listener stands for the same key without the listener.
        None => std::iter::once(name).chain(base_name(name)).collect(),
    }
}

/// `listener.name.NAME.KEY` is KEY for one listener.
pub(super) fn base_name(name: &str) -> Option<&str> {
    Some(name.strip_prefix("listener.name.")?.split_once('.')?.1)
}

impl<'a> BrokerConfigs<'a> {
    /// The value that one layer gives a key.
    pub(super) fn set(&self, source: ConfigSource, name: &str) -> Option<&'a str> {
        let of = |layer: Option<&'a BTreeMap<String, String>>| layer?.get(name).map(String::as_str);
        match source {
            ConfigSource::Broker => of(self.node),
            ConfigSource::ClusterDefault => of(self.cluster),
            ConfigSource::StaticBroker => self.server.given(name),
            ConfigSource::Default => BROKER_KEYS.find(name)?.default,
            _ => None,
        }
    }

    /// Everything that could give the key a value, the first counts (`ConfigHelper.configSynonyms`). Other names for it
    /// are left out as long as it has not been set itself, which Kafka does so as not to show a listener's value as
    /// everybody's; it hides `log.retention.hours` behind `log.retention.ms` by that.
    pub fn synonyms(&self, name: &str) -> Vec<Synonym> {
        const LAYERS: [ConfigSource; 4] =
            [ConfigSource::Broker, ConfigSource::ClusterDefault, ConfigSource::StaticBroker, ConfigSource::Default];
        let names = names_of(name);
        let mut synonyms = Vec::new();
        for source in LAYERS {
            for synonym in &names {
                if let Some(value) = self.set(source, synonym)
                    && (!synonyms.is_empty() || *synonym == name)
                {
                    synonyms.push(Synonym { name: (*synonym).to_string(), value: value.to_string(), source });
                }
            }
        }
        synonyms
    }

    /// The value in force, as it was given; `None` if it is null.
    pub fn value(&self, name: &str) -> Option<&'a str> {
        let dynamic =
            |name: &str| self.set(ConfigSource::Broker, name).or(self.set(ConfigSource::ClusterDefault, name));
        if let Some(value) = dynamic(name) {
            return Some(value);
        }
        // A key that is set while the broker runs takes the place of all that says the same in its file.
        let replaced = IN_OTHER_UNITS.iter().find(|names| names.contains(&name));
        let replaced = replaced.is_some_and(|names| names.iter().any(|other| dynamic(other).is_some()));
        let file = self.set(ConfigSource::StaticBroker, name).filter(|_| !replaced);
        file.or(self.set(ConfigSource::Default, name))
    }

    pub(super) fn number(&self, name: &str) -> i64 {
        self.value(name).and_then(|value| value.trim().parse().ok()).unwrap_or_default()
    }

    /// Keys that are set while the broker runs and that it does not know, for plugins that nobody has here; and those
    /// that can be set only so.
    pub fn set_beside_the_known(&self) -> impl Iterator<Item = &'a str> {
        let names = [self.node, self.cluster].into_iter().flatten().flat_map(|layer| layer.keys());
        names.map(String::as_str).filter(|name| BROKER_KEYS.find(name).is_none() || QUOTA_KEYS.find(name).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Address;

    #[test]
    fn a_key_set_while_the_broker_runs_replaces_what_says_the_same_in_the_file() {
        let address = Address { host: "127.0.0.1".to_string(), port: 9092 };
        let mut properties = ServerConfig::standalone_properties(1, &address);
        properties.insert("log.retention.hours".to_string(), "72".to_string());
        let server = ServerConfig::from_properties(&properties).expect("valid");
        let before = BrokerConfigs { node: None, cluster: None, server: &server };
        assert_eq!(before.value("log.retention.hours"), Some("72"));
        assert_eq!(before.synonyms("log.retention.ms"), []);
        let node = BTreeMap::from([("log.retention.ms".to_string(), "5".to_string())]);
        let after = BrokerConfigs { node: Some(&node), cluster: None, server: &server };
        assert_eq!((after.value("log.retention.ms"), after.value("log.retention.hours")), (Some("5"), Some("168")));
        let sources: Vec<ConfigSource> =
            after.synonyms("log.retention.ms").into_iter().map(|synonym| synonym.source).collect();
        assert_eq!(sources, [ConfigSource::Broker, ConfigSource::StaticBroker, ConfigSource::Default]);
    }
}
