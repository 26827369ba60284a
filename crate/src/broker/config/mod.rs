//! A server's configuration: Kafka's `server.properties`, parsed and checked once at the start, and what is laid over it
//! while the server runs. Here are the keys and their rules; `broker` and `topic` say which of several values counts,
//! `dynamic` what may be changed, `group` and `client_metrics` the rules of those resources.

use crate::node::{Address, Duration};
use crate::ordered::BTreeMap;

mod broker;
mod client_metrics;
mod decimal;
mod dynamic;
mod group;
mod key;
mod topic;
mod value;

pub use broker::{BrokerConfigs, ConfigSource, Synonym};
pub use client_metrics::check_client_metrics;
pub use dynamic::check_broker_change;
pub use group::{check_group_configs, group_value};
pub use key::{BROKER_KEYS, CLIENT_METRICS_KEYS, GROUP_KEYS, Key, QUOTA_KEYS, TOPIC_KEYS, Table, Type};
pub use topic::{TopicConfig, TopicConfigs, broker_name_of, check_topic_configs};
pub use value::{ConfigError, list, shown};

/// `process.roles`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessRoles {
    pub broker: bool,
    pub controller: bool,
}

/// One entry of `listeners` or `advertised.listeners`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// In upper case, e.g. `PLAINTEXT`.
    pub name: String,
    pub address: Address,
}

#[derive(Debug, Clone)]
pub struct ServerConfig {
    pub node_id: i32,
    pub process_roles: ProcessRoles,
    /// Written when an empty directory is formatted; drawn from the seed if absent. Kafka gets it from
    /// `kafka-storage format --cluster-id`.
    pub cluster_id: Option<String>,
    /// Where clients connect: `listeners` without the controller's.
    pub listeners: Vec<Listener>,
    /// Those of `controller.listener.names`, which voters reach each other by.
    pub controller_listeners: Vec<Listener>,
    /// `advertised.listeners`; where absent, what the shell bound counts.
    pub advertised_listeners: Vec<Listener>,
    pub inter_broker_listener_name: String,
    /// The first of `log.dirs`, relative to nothing: the shell roots the disk there.
    pub log_dir: String,
    pub heartbeat_interval: Duration,
    pub connections_max_idle: Duration,
    pub socket_request_max_bytes: i32,
    pub fetch_max_bytes: i32,
    pub auto_create_topics: bool,
    pub num_partitions: i32,
    pub default_replication_factor: i16,
    /// Checked keys as they were given.
    given: BTreeMap<&'static str, String>,
}

impl ServerConfig {
    /// Parses the keys of a `server.properties`. Kafka's names, defaults, ranges and texts.
    pub fn from_properties(properties: &BTreeMap<String, String>) -> Result<ServerConfig, ConfigError> {
        let mut given = BTreeMap::new();
        for (name, value) in properties {
            let key = BROKER_KEYS.find(name).ok_or_else(|| ConfigError::Unknown {
                key: name.clone(),
                nearest: BROKER_KEYS.nearest(name).unwrap_or_default(),
            })?;
            value::check(&key, value)?;
            given.insert(key.name, value.trim().to_string());
        }
        let values = Values { given: &given };
        let process_roles = parse_roles(&values)?;
        let node_id: i32 = values.required("node.id")?.parse().unwrap_or_default();
        if values.given.contains_key("broker.id") && values.int("broker.id") != node_id {
            return Err(ConfigError::Conflict("You must set `node.id` to the same value as `broker.id`.".to_string()));
        }
        let controller_names = upper_case_list(values.required("controller.listener.names")?);
        let all = parse_listeners("listeners", values.text("listeners").unwrap_or_default())?;
        if process_roles.controller && !all.iter().any(|listener| controller_names.contains(&listener.name)) {
            return Err(ConfigError::Conflict(
                "controller.listener.names must contain at least one value appearing in the 'listeners' configuration \
                 when running the KRaft controller role"
                    .to_string(),
            ));
        }
        let (controller_listeners, listeners): (Vec<Listener>, Vec<Listener>) =
            all.into_iter().partition(|listener| controller_names.contains(&listener.name));
        let advertised_listeners =
            parse_listeners("advertised.listeners", values.text("advertised.listeners").unwrap_or_default())?;
        if let Some(stray) = advertised_listeners.iter().find(|listener| controller_names.contains(&listener.name)) {
            return Err(ConfigError::Conflict(format!(
                "The advertised.listeners config must not contain KRaft controller listeners from \
                 controller.listener.names when process.roles contains the broker role because Kafka clients that send \
                 requests via advertised listeners do not send requests to KRaft controllers -- they only send \
                 requests to KRaft brokers. ({})",
                stray.name
            )));
        }
        let inter_broker_listener_name =
            values.text("inter.broker.listener.name").unwrap_or("PLAINTEXT").to_ascii_uppercase();
        if !listeners.iter().any(|listener| listener.name == inter_broker_listener_name) {
            return Err(ConfigError::Conflict(format!(
                "inter.broker.listener.name must be a listener name defined in advertised.listeners. The valid options \
                 based on currently configured listeners are {}",
                listeners.iter().map(|listener| listener.name.as_str()).collect::<Vec<_>>().join(",")
            )));
        }
        let log_dirs = value::list(values.text("log.dirs").or(values.text("log.dir")).unwrap_or_default());
        let log_dir = match log_dirs.as_slice() {
            [] => {
                return Err(ConfigError::Conflict(
                    "At least one log directory must be defined via log.dirs or log.dir.".into(),
                ));
            }
            [one] => (*one).to_string(),
            _ => return Err(ConfigError::NotYet("more than one directory in log.dirs".into())),
        };
        let mut config = ServerConfig {
            node_id,
            process_roles,
            cluster_id: None,
            listeners,
            controller_listeners,
            advertised_listeners,
            inter_broker_listener_name,
            log_dir,
            heartbeat_interval: values.millis("broker.heartbeat.interval.ms"),
            connections_max_idle: values.millis("connections.max.idle.ms"),
            socket_request_max_bytes: values.int("socket.request.max.bytes"),
            fetch_max_bytes: values.int("fetch.max.bytes"),
            auto_create_topics: values.boolean("auto.create.topics.enable"),
            num_partitions: values.int("num.partitions"),
            default_replication_factor: values.number("default.replication.factor") as i16,
            given,
        };
        // Its former name goes with it.
        config.given.insert("broker.id", node_id.to_string());
        Ok(config)
    }

    /// The properties of a node that is a whole cluster by itself: what `steplog broker` starts from, and what a
    /// caller's own keys are laid over.
    pub fn standalone_properties(node_id: i32, listener: &Address) -> BTreeMap<String, String> {
        let Address { host, port } = listener;
        let one = || "1".to_string();
        [
            ("node.id", node_id.to_string()),
            ("process.roles", "broker,controller".to_string()),
            ("listeners", format!("PLAINTEXT://{host}:{port},CONTROLLER://{host}:0")),
            ("controller.listener.names", "CONTROLLER".to_string()),
            ("controller.quorum.voters", format!("{node_id}@{host}:0")),
            // As in the server.properties that Kafka comes with: internal topics of one replica.
            ("offsets.topic.replication.factor", one()),
            ("share.coordinator.state.topic.replication.factor", one()),
            ("share.coordinator.state.topic.min.isr", one()),
            ("transaction.state.log.replication.factor", one()),
            ("transaction.state.log.min.isr", one()),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_string(), value))
        .collect()
    }

    /// Given keys that Kafka knows and that change nothing here, sorted. A shell tells the user.
    pub fn without_effect(&self) -> Vec<&'static str> {
        let changes_nothing = |name: &&&'static str| BROKER_KEYS.find(name).is_some_and(|key| !key.is_acted_on());
        self.given.keys().filter(changes_nothing).copied().collect()
    }

    /// The value of a key, given or default; `None` if it is null.
    pub fn value(&self, name: &str) -> Option<&str> {
        Values { given: &self.given }.text(name)
    }

    /// The value of a key that was given rather than left at its default.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str)
    }
}

/// Typed reading of checked values; a value that passed its check parses.
struct Values<'a> {
    given: &'a BTreeMap<&'static str, String>,
}

impl<'a> Values<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        match self.given.get(name) {
            Some(value) => Some(value.as_str()),
            None => BROKER_KEYS.find(name).and_then(|key| key.default),
        }
    }

    fn required(&self, name: &'static str) -> Result<&'a str, ConfigError> {
        self.text(name).ok_or(ConfigError::Missing { key: name })
    }

    fn number(&self, name: &str) -> i64 {
        self.text(name).and_then(|value| value.parse().ok()).unwrap_or_default()
    }

    fn int(&self, name: &str) -> i32 {
        self.text(name).and_then(|value| value.parse().ok()).unwrap_or_default()
    }

    fn boolean(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    fn millis(&self, name: &str) -> Duration {
        Duration::from_ms(u64::try_from(self.number(name)).unwrap_or(u64::MAX / 1000))
    }
}

fn parse_roles(values: &Values<'_>) -> Result<ProcessRoles, ConfigError> {
    let roles = value::list(values.required("process.roles")?);
    let roles = ProcessRoles { broker: roles.contains(&"broker"), controller: roles.contains(&"controller") };
    match roles {
        ProcessRoles { broker: true, controller: true } => Ok(roles),
        ProcessRoles { broker: false, controller: false } => Err(ConfigError::Missing { key: "process.roles" }),
        _ => Err(ConfigError::NotYet(
            "process.roles must be broker,controller: brokers and controllers of their own come with replication"
                .into(),
        )),
    }
}

fn upper_case_list(value: &str) -> Vec<String> {
    value::list(value).iter().map(|name| name.to_ascii_uppercase()).collect()
}

/// `NAME://host:port,…`. An empty host means every interface.
fn parse_listeners(key: &str, value: &str) -> Result<Vec<Listener>, ConfigError> {
    let mut listeners: Vec<Listener> = Vec::new();
    for entry in value::list(value) {
        let invalid =
            |why: &str| ConfigError::Invalid { key: key.to_string(), value: entry.to_string(), why: why.to_string() };
        let (name, rest) = entry.split_once("://").ok_or_else(|| invalid("a listener is written NAME://host:port"))?;
        let (host, port) = rest.rsplit_once(':').ok_or_else(|| invalid("a listener is written NAME://host:port"))?;
        let port: u16 = port.parse().map_err(|_| invalid("the port must be a number from 0 to 65535"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = if host.is_empty() { "0.0.0.0" } else { host };
        let name = name.to_ascii_uppercase();
        if listeners.iter().any(|listener| listener.name == name) {
            return Err(invalid("Each listener must have a different name"));
        }
        if port != 0 && listeners.iter().any(|listener| listener.address.port == port && listener.address.host == host)
        {
            return Err(invalid("Each listener must have a different port"));
        }
        listeners.push(Listener { name, address: Address { host: host.to_string(), port } });
    }
    Ok(listeners)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standalone(more: &[(&str, &str)]) -> Result<ServerConfig, ConfigError> {
        let address = Address { host: "127.0.0.1".to_string(), port: 9092 };
        let mut properties = ServerConfig::standalone_properties(1, &address);
        properties.extend(more.iter().map(|(key, value)| (key.to_string(), value.to_string())));
        ServerConfig::from_properties(&properties)
    }

    #[test]
    fn a_standalone_node_needs_no_keys_of_its_own() {
        let config = standalone(&[]).expect("valid");
        assert_eq!(config.node_id, 1);
        assert_eq!(config.num_partitions, 1);
        assert!(config.auto_create_topics);
        assert_eq!(config.heartbeat_interval, Duration::from_ms(2000));
        assert_eq!(config.listeners.len(), 1, "the controller's listener is not one for clients");
        assert_eq!(config.log_dir, "/tmp/kafka-logs");
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_valid_one() {
        let error = standalone(&[("num.partition", "3")]).expect_err("misspelt");
        assert_eq!(error, ConfigError::Unknown { key: "num.partition".into(), nearest: "num.partitions" });
    }

    #[test]
    fn a_known_key_without_effect_is_reported() {
        let config = standalone(&[("num.io.threads", "4"), ("num.partitions", "4")]).expect("valid");
        assert_eq!(config.without_effect(), ["num.io.threads"]);
    }

    #[test]
    fn what_has_no_default_must_be_given() {
        let error = ServerConfig::from_properties(&BTreeMap::new()).expect_err("empty");
        assert_eq!(error.to_string(), "Missing required configuration \"process.roles\" which has no default value.");
    }

    #[test]
    fn a_lone_role_is_not_supported_yet_and_says_so() {
        let error = standalone(&[("process.roles", "broker")]).expect_err("one role");
        assert!(matches!(error, ConfigError::NotYet(_)));
    }
}
