//! The settings that a program prints, and the clients that it only constructs.

use crate::client::config::KnownKey;
use crate::client::{AdminConfig, ConfigError, ConsumerConfig, ProducerConfig};
use crate::experiment::{Client, ClientKind};
use crate::node::Exception;
use crate::ordered::BTreeMap;

/// The value of a key, given or by default.
pub(super) fn setting(client: &Client, key: &str) -> Option<String> {
    if let Some(given) = client.config.get(key) {
        return Some(given.clone());
    }
    known(client.kind).into_iter().find(|known| known.name == key)?.default
}

fn known(kind: ClientKind) -> Vec<KnownKey> {
    match kind {
        ClientKind::Producer => ProducerConfig::known_keys(),
        ClientKind::Consumer => ConsumerConfig::known_keys(),
        ClientKind::Admin | ClientKind::Raw => AdminConfig::known_keys(),
    }
}

/// What the constructor of a client throws, if it does. What only this client refuses has no class of Kafka's.
pub(super) fn construct(kind: ClientKind, config: &BTreeMap<String, Option<String>>) -> Option<Exception> {
    let mut given = BTreeMap::from([("bootstrap.servers".to_string(), "localhost:9092".to_string())]);
    for (key, value) in config {
        match value {
            Some(value) => given.insert(key.clone(), value.clone()),
            None => given.remove(key),
        };
    }
    let refused = match kind {
        ClientKind::Producer => ProducerConfig::parse(&given).err(),
        ClientKind::Consumer => ConsumerConfig::parse(&given).err(),
        ClientKind::Admin | ClientKind::Raw => AdminConfig::parse(&given).err(),
    };
    match refused? {
        ConfigError::Thrown(thrown) => Some(thrown),
        ours => Some(Exception::new("Refused", ours.to_string())),
    }
}
