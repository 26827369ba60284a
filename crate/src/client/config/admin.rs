//! An admin client's configuration (Kafka's AdminClientConfig).

use super::reader::Reader;
use super::{ConfigError, ConnectionConfig, KnownKey, no_effect};
use crate::ordered::BTreeMap;

/// Admin clients let idle connections go earlier than the others.
const ADMIN_CONNECTIONS_MAX_IDLE_MS: i64 = 300_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminConfig {
    pub connection: ConnectionConfig,
    pub default_api_timeout_ms: i64,
    /// Keys that were set and do nothing here.
    pub no_effect: Vec<&'static str>,
}

impl AdminConfig {
    /// Reads Kafka's keys. `bootstrap.servers` is the only one without a default.
    pub fn parse(given: &BTreeMap<String, String>) -> Result<AdminConfig, ConfigError> {
        read(given).map(|(config, _)| config)
    }

    /// Every key that an admin client knows.
    pub fn known_keys() -> Vec<KnownKey> {
        let given = BTreeMap::from([("bootstrap.servers".to_owned(), "localhost:9092".to_owned())]);
        read(&given).map(|(_, known)| known).unwrap_or_default()
    }
}

fn read(given: &BTreeMap<String, String>) -> Result<(AdminConfig, Vec<KnownKey>), ConfigError> {
    let mut keys = Reader::new(given);
    let connection = ConnectionConfig::read(&mut keys, "admin client", ADMIN_CONNECTIONS_MAX_IDLE_MS)?;
    let default_api_timeout_ms = keys.int("default.api.timeout.ms", 60_000, 0..=i32::MAX)?.into();
    let (no_effect, known) = keys.finish(&[no_effect::BOTH, no_effect::ADMIN])?;
    Ok((AdminConfig { connection, default_api_timeout_ms, no_effect }, known))
}
