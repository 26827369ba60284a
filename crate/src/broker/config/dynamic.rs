//! What may be changed while a broker runs, and to what (`DynamicBrokerConfig`, KIP-226).

use super::broker::{BrokerConfigs, base_name};
use super::key::{BROKER_KEYS, Key, QUOTA_KEYS, Type};
use super::value::{self, ConfigError, invalid};
use crate::ordered::BTreeMap;

/// Pools of threads: they grow to twice their size at most, and shrink to half of it, at a time.
const THREAD_POOLS: [&str; 9] = [
    "background.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.reader.threads",
];

/// Checks all that would be set for one broker, or as the cluster's default: Kafka's rules in its order, with its texts.
pub fn check_broker_change(
    proposed: &BTreeMap<String, String>,
    is_per_broker: bool,
    current: BrokerConfigs<'_>,
) -> Result<(), ConfigError> {
    let known = |name: &str| QUOTA_KEYS.find(name).or_else(|| BROKER_KEYS.find(name));
    let refuse = |why: &str, bad: &dyn Fn(&str) -> bool| {
        let names: Vec<&str> = proposed.keys().map(String::as_str).filter(|name| bad(name)).collect();
        match names.as_slice() {
            [] => Ok(()),
            _ => Err(ConfigError::Conflict(format!("{why}: [{}]", names.join(", ")))),
        }
    };
    refuse("Cannot update these configs dynamically", &|name| known(name).is_some_and(|key| !key.is_dynamic()))?;
    refuse("These security configs can be dynamically updated only per-listener using the listener prefix", &|name| {
        known(name).is_some_and(|key| key.is_per_listener())
    })?;
    for (name, value) in proposed {
        if let Some(key) = known(base_name(name).unwrap_or(name)).filter(Key::is_dynamic) {
            let parsed = value::check(&key, value)?;
            // There are no plugins: only the class that stands for what is built in exists.
            if key.kind == Type::Class && key.default != Some(parsed.as_str()) {
                return Err(invalid(key.name, parsed.as_str(), format!("Class {parsed} could not be found.")));
            }
        }
    }
    if !is_per_broker {
        refuse("Cannot update these configs at default cluster level, broker id must be specified", &|name| {
            known(base_name(name).unwrap_or(name)).is_some_and(|key| key.is_per_broker())
        })?;
    }
    let changed = match is_per_broker {
        true => BrokerConfigs { node: Some(proposed), ..current },
        false => BrokerConfigs { cluster: Some(proposed), ..current },
    };
    check_requirements(changed)?;
    check_reconfiguration(current, changed).map_err(|error| {
        // Kafka takes the text for a key, and the exception behind it for that key's value.
        ConfigError::Conflict(format!(
            "Invalid value org.apache.kafka.common.config.ConfigException: {error} for configuration Invalid dynamic \
             configuration"
        ))
    })
}

/// `KafkaConfig.validateValues`, as far as it looks at what can be changed.
fn check_requirements(changed: BrokerConfigs<'_>) -> Result<(), ConfigError> {
    let number = |name: &str| changed.value(name).map(|_| changed.number(name));
    let failed = |why: String| Err(ConfigError::Conflict(format!("requirement failed: {why}")));
    if number("log.roll.ms").is_some_and(|ms| ms < 1) {
        return failed("log.roll.ms must be greater than or equal to 1".to_string());
    }
    if number("log.roll.jitter.ms").is_some_and(|ms| ms < 0) {
        return failed("log.roll.jitter.ms must be greater than or equal to 0".to_string());
    }
    if number("log.retention.ms") == Some(0) {
        return failed("log.retention.ms must be unlimited (-1) or, greater than or equal to 1".to_string());
    }
    let cordoned = value::list(changed.value("cordoned.log.dirs").unwrap_or_default());
    let missing: Vec<&str> = cordoned.into_iter().filter(|dir| *dir != changed.server.log_dir && *dir != "*").collect();
    if !missing.is_empty() {
        return failed(format!(
            "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : {}",
            missing.join(", ")
        ));
    }
    Ok(())
}

/// What the parts of a broker say to new values before they take them.
fn check_reconfiguration(current: BrokerConfigs<'_>, changed: BrokerConfigs<'_>) -> Result<(), ConfigError> {
    let conflict = |text: String| Err(ConfigError::Conflict(text));
    for name in THREAD_POOLS {
        let (old, new) = (current.number(name), changed.number(name));
        let failed = format!("Dynamic thread count update validation failed for {name}={new}");
        if new < old / 2 {
            return conflict(format!("{failed}, value should be at least half the current value {old}"));
        }
        if new > old * 2 {
            return conflict(format!("{failed}, value should not be greater than double the current value {old}"));
        }
    }
    let (old, new) = (current.number("log.cleaner.threads"), changed.number("log.cleaner.threads"));
    if new < 1 {
        return conflict("Log cleaner threads should be at least 1".to_string());
    }
    if new < old / 2 {
        return conflict(format!("Log cleaner threads cannot be reduced to less than half the current value {old}"));
    }
    if new > old * 2 {
        return conflict(format!(
            "Log cleaner threads cannot be increased to more than double the current value {old}"
        ));
    }
    check_local_retention(changed, "log.local.retention.ms", "log.retention.ms")?;
    check_local_retention(changed, "log.local.retention.bytes", "log.retention.bytes")
}

fn check_local_retention(changed: BrokerConfigs<'_>, local: &str, total: &str) -> Result<(), ConfigError> {
    let (kept, all) = (changed.number(local), changed.value(total).map_or(-1, |_| changed.number(total)));
    if all == -1 || kept == -2 {
        return Ok(());
    }
    if kept == -1 {
        return Err(invalid(local, "-1", format!("Value must not be -1 as {total} value is set as {all}.")));
    }
    if kept > all {
        let why = format!("Value must not be more than {total} property value: {all}");
        return Err(invalid(local, kept.to_string(), why));
    }
    Ok(())
}
