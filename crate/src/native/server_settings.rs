//! A server's keys as the user gave them: a `server.properties`, `--set` over it, and below both what makes a lone
//! node run. Owns where each key came from, so that an error can say where to mend it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::properties;
use crate::broker::{ConfigError, ServerConfig};
use crate::node::Address;

/// Why there is no configuration. The text says where, and what would be right.
#[derive(Debug)]
pub enum SettingsError {
    Unreadable { file: PathBuf, error: std::io::Error },
    Malformed { file: PathBuf, error: properties::MalformedEscape },
    NotKeyValue { argument: String },
    Refused { origin: Option<Origin>, error: ConfigError },
}

impl std::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SettingsError::Unreadable { file, error } => write!(f, "cannot read {}: {error}", file.display()),
            SettingsError::Malformed { file, error } => write!(f, "{}: {error}", file.display()),
            SettingsError::NotKeyValue { argument } => {
                write!(f, "--set {argument}: expected KEY=VALUE, e.g. --set num.partitions=3")
            }
            SettingsError::Refused { origin: Some(origin), error } => write!(f, "{origin}: {error}"),
            SettingsError::Refused { origin: None, error } => error.fmt(f),
        }
    }
}

impl std::error::Error for SettingsError {}

/// Where a key was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    File { file: PathBuf, line: usize },
    Argument,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::File { file, line } => write!(f, "{}, line {line}", file.display()),
            Origin::Argument => f.write_str("--set"),
        }
    }
}

/// Reads the file, if there is one, lays the `KEY=VALUE` arguments over it, and checks everything.
pub fn load(file: Option<&Path>, arguments: &[String]) -> Result<ServerConfig, SettingsError> {
    let mut given: BTreeMap<String, (String, Origin)> = BTreeMap::new();
    if let Some(file) = file {
        let text = std::fs::read_to_string(file)
            .map_err(|error| SettingsError::Unreadable { file: file.to_owned(), error })?;
        let properties =
            properties::parse(&text).map_err(|error| SettingsError::Malformed { file: file.to_owned(), error })?;
        for property in properties {
            let origin = Origin::File { file: file.to_owned(), line: property.line };
            given.insert(property.key, (property.value, origin));
        }
    }
    for argument in arguments {
        let (key, value) = argument
            .split_once('=')
            .filter(|(key, _)| !key.trim().is_empty())
            .ok_or_else(|| SettingsError::NotKeyValue { argument: argument.clone() })?;
        given.insert(key.trim().to_owned(), (value.to_owned(), Origin::Argument));
    }
    let keys = with_defaults(&given);
    ServerConfig::from_properties(&keys).map_err(|error| {
        let origin = key_of(&error).and_then(|key| given.get(key)).map(|(_, origin)| origin.clone());
        SettingsError::Refused { origin, error }
    })
}

/// Kafka's quick start asks for a dozen lines before a lone node runs; here they have defaults, on loopback.
fn with_defaults(given: &BTreeMap<String, (String, Origin)>) -> BTreeMap<String, String> {
    let value = |key: &str| given.get(key).map(|(value, _)| value.trim());
    let node_id = value("node.id").and_then(|id| id.parse().ok()).unwrap_or(1);
    let default_listener = Address { host: "127.0.0.1".to_owned(), port: 9092 };
    let mut keys = ServerConfig::standalone_properties(node_id, &default_listener);
    if value("controller.quorum.bootstrap.servers").is_some() {
        keys.remove("controller.quorum.voters");
    }
    keys.extend(given.iter().map(|(key, (value, _))| (key.clone(), value.clone())));
    // Whoever only moves the clients' listener need not know that a controller has one too.
    if let Some(listeners) = keys.get_mut("listeners")
        && value("controller.listener.names").is_none()
        && !listeners.to_ascii_uppercase().contains("CONTROLLER://")
    {
        listeners.push_str(",CONTROLLER://127.0.0.1:0");
    }
    keys
}

fn key_of(error: &ConfigError) -> Option<&str> {
    match error {
        ConfigError::Invalid { key, .. } | ConfigError::Unknown { key, .. } => Some(key),
        ConfigError::Missing { .. } | ConfigError::Conflict(_) | ConfigError::NotYet(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(arguments: &[&str]) -> Result<ServerConfig, SettingsError> {
        load(None, &arguments.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn without_a_file_a_lone_node_listens_on_loopback() {
        let config = arguments(&[]).unwrap();
        assert_eq!(config.listeners[0].address, Address { host: "127.0.0.1".into(), port: 9092 });
    }

    #[test]
    fn the_clients_listener_can_be_moved_without_naming_the_controllers() {
        let config = arguments(&["listeners=PLAINTEXT://127.0.0.1:0", "node.id=7"]).unwrap();
        assert_eq!((config.node_id, config.listeners.len(), config.listeners[0].address.port), (7, 1, 0));
    }

    #[test]
    fn an_argument_wins_over_the_file_and_an_error_says_where_to_mend_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("server.properties");
        std::fs::write(&file, "# one\nnum.partitions=3\nnum.partition=4\n").unwrap();
        let error = load(Some(&file), &[]).unwrap_err().to_string();
        let expected = format!(
            "{}, line 3: Unknown configuration num.partition. The nearest valid key is num.partitions.",
            file.display()
        );
        assert_eq!(error, expected);
        std::fs::write(&file, "num.partitions=3\n").unwrap();
        assert_eq!(load(Some(&file), &["num.partitions=5".to_owned()]).unwrap().num_partitions, 5);
    }

    #[test]
    fn an_argument_without_an_equals_sign_is_explained() {
        let error = arguments(&["num.partitions"]).unwrap_err().to_string();
        assert_eq!(error, "--set num.partitions: expected KEY=VALUE, e.g. --set num.partitions=3");
    }
}
