//! Configuration of clients: Kafka's own keys, defaults, checks and texts.
//!
//! In: the keys as a user writes them. Out: a typed [`ProducerConfig`], [`ConsumerConfig`] or [`AdminConfig`], or a [`ConfigError`].
//! Every key that Kafka 4.3.0 knows is known here: it acts, or is listed in `no_effect`, so that nobody believes a
//! setting to be at work that is not. Kafka keeps unknown keys with a log line; here they are errors that name the
//! nearest key.

mod admin;
mod consumer;
mod no_effect;
mod producer;
mod reader;

use std::fmt;

pub use admin::AdminConfig;
pub use consumer::{ConsumerConfig, IsolationLevel, OffsetReset};
pub use producer::ProducerConfig;
pub use reader::KnownKey;

use crate::node::{Address, Exception};

/// Why a client cannot be made from these keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// What Kafka's constructor throws.
    Thrown(Exception),
    /// No key of this name exists.
    UnknownKey { key: String, nearest: Option<&'static str> },
    /// Kafka accepts the value; this client does not serve it.
    NotServed { key: &'static str, value: String },
}

impl ConfigError {
    fn config(message: String) -> ConfigError {
        ConfigError::Thrown(Exception::new("ConfigException", message))
    }

    fn invalid(key: &str, value: &str, why: &str) -> ConfigError {
        ConfigError::config(format!("Invalid value {value} for configuration {key}: {why}"))
    }

    /// As Kafka wraps what fails after the keys have been checked one by one.
    fn construction(client: &str, cause: Exception) -> ConfigError {
        let message = format!("Failed to construct kafka {client}");
        ConfigError::Thrown(Exception::new("KafkaException", message).caused_by(cause))
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Thrown(thrown) => {
                write!(f, "{thrown}")?;
                thrown.chain().skip(1).try_for_each(|cause| write!(f, ", caused by {cause}"))
            }
            ConfigError::UnknownKey { key, nearest: Some(nearest) } => {
                write!(f, "unknown configuration key `{key}`; the nearest known one is `{nearest}`")
            }
            ConfigError::UnknownKey { key, nearest: None } => write!(f, "unknown configuration key `{key}`"),
            ConfigError::NotServed { key, value } => write!(f, "{key}={value} is valid for Kafka but not served here"),
        }
    }
}

impl std::error::Error for ConfigError {}

/// connections.max.idle.ms of producers and consumers.
const CONNECTIONS_MAX_IDLE_MS: i64 = 540_000;

/// What all clients share: connections and metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionConfig {
    pub bootstrap_servers: Vec<Address>,
    pub client_id: String,
    pub request_timeout_ms: i64,
    pub reconnect_backoff_ms: i64,
    pub reconnect_backoff_max_ms: i64,
    pub retry_backoff_ms: i64,
    pub retry_backoff_max_ms: i64,
    pub socket_connection_setup_timeout_ms: i64,
    pub socket_connection_setup_timeout_max_ms: i64,
    pub connections_max_idle_ms: i64,
    pub metadata_max_age_ms: i64,
    /// metadata.recovery.strategy is `rebootstrap` (KIP-899) rather than `none`.
    pub rebootstrap: bool,
    pub metadata_recovery_rebootstrap_trigger_ms: i64,
}

impl ConnectionConfig {
    fn read(
        keys: &mut reader::Reader<'_>,
        client: &'static str,
        max_idle_ms: i64,
    ) -> Result<ConnectionConfig, ConfigError> {
        let security = keys.one_of_any_case(
            "security.protocol",
            "PLAINTEXT",
            &["SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT"],
        )?;
        if !security.eq_ignore_ascii_case("PLAINTEXT") {
            return Err(ConfigError::NotServed { key: "security.protocol", value: security });
        }
        let strategy = keys.one_of_any_case("metadata.recovery.strategy", "rebootstrap", &["REBOOTSTRAP", "NONE"])?;
        Ok(ConnectionConfig {
            bootstrap_servers: bootstrap_servers(keys, client)?,
            client_id: keys.string("client.id", ""),
            request_timeout_ms: keys.int("request.timeout.ms", 30_000, 0..=i32::MAX)?.into(),
            reconnect_backoff_ms: keys.long("reconnect.backoff.ms", 50, 0..=i64::MAX)?,
            reconnect_backoff_max_ms: keys.long("reconnect.backoff.max.ms", 1000, 0..=i64::MAX)?,
            retry_backoff_ms: keys.long("retry.backoff.ms", 100, 0..=i64::MAX)?,
            retry_backoff_max_ms: keys.long("retry.backoff.max.ms", 1000, 0..=i64::MAX)?,
            socket_connection_setup_timeout_ms: keys.long(
                "socket.connection.setup.timeout.ms",
                10_000,
                i64::MIN..=i64::MAX,
            )?,
            socket_connection_setup_timeout_max_ms: keys.long(
                "socket.connection.setup.timeout.max.ms",
                30_000,
                i64::MIN..=i64::MAX,
            )?,
            connections_max_idle_ms: keys.long("connections.max.idle.ms", max_idle_ms, i64::MIN..=i64::MAX)?,
            metadata_max_age_ms: keys.long("metadata.max.age.ms", 300_000, 0..=i64::MAX)?,
            rebootstrap: strategy.eq_ignore_ascii_case("rebootstrap"),
            metadata_recovery_rebootstrap_trigger_ms: keys.long(
                "metadata.recovery.rebootstrap.trigger.ms",
                300_000,
                0..=i64::MAX,
            )?,
        })
    }
}

/// There are no classes to load here: interceptors are given to the client.
fn no_classes(client: &'static str, list: &str) -> Result<(), ConfigError> {
    let Some(class) = list.split(',').map(str::trim).find(|class| !class.is_empty()) else { return Ok(()) };
    let missing = Exception::new("ClassNotFoundException", class.to_owned());
    let cause = Exception::new("KafkaException", format!("Class {class} cannot be found")).caused_by(missing);
    Err(ConfigError::construction(client, cause))
}

fn bootstrap_servers(keys: &mut reader::Reader<'_>, client: &'static str) -> Result<Vec<Address>, ConfigError> {
    let Some(list) = keys.required("bootstrap.servers") else {
        let text = "Missing required configuration \"bootstrap.servers\" which has no default value.";
        return Err(ConfigError::config(text.to_owned()));
    };
    let mut servers = Vec::new();
    for url in list.split(',').map(str::trim).filter(|url| !url.is_empty()) {
        let wrong = |what: &str| {
            let message = format!("Invalid {what} in bootstrap.servers: {url}");
            ConfigError::construction(client, Exception::new("ConfigException", message))
        };
        // host:port, [v6]:port or protocol://host:port, as Kafka's Utils.getHost reads it.
        let after_protocol = url.rsplit_once("://").map_or(url, |(_, rest)| rest);
        let (host, port) = after_protocol.rsplit_once(':').ok_or_else(|| wrong("url"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_host = host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-%._:".contains(&b)) && !host.is_empty();
        if !is_host || port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit()) {
            return Err(wrong("url"));
        }
        let port = port.parse().map_err(|_| wrong("port"))?;
        servers.push(Address { host: host.to_owned(), port });
    }
    if servers.is_empty() {
        let text = "Configuration 'bootstrap.servers' must not be empty. Valid values include: any non-empty value";
        return Err(ConfigError::config(text.to_owned()));
    }
    Ok(servers)
}
