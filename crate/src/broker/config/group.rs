//! A group's configuration: its own values over the broker's keys `group.*` (`org.apache.kafka.coordinator.group.GroupConfig`).

use super::broker::BrokerConfigs;
use super::key::{BROKER_KEYS, GROUP_KEYS, Key};
use super::value::{self, ConfigError};
use crate::ordered::BTreeMap;

/// The broker key that gives a group key its default, if there is one.
fn broker_name(name: &str) -> Option<&'static str> {
    let stripped = |key: &Key| key.name.strip_prefix("group.").is_some_and(|rest| rest == name);
    BROKER_KEYS.keys().find(stripped).map(|key| key.name)
}

/// The value in force, and the broker key that gives its default.
pub fn group_value(
    key: &Key,
    own: Option<&BTreeMap<String, String>>,
    broker: BrokerConfigs<'_>,
) -> (Option<String>, Option<&'static str>) {
    let broker_name = broker_name(key.name);
    let own = own.and_then(|own| own.get(key.name)).map(String::as_str);
    let value = own.or_else(|| broker_name.and_then(|name| broker.value(name))).or(key.default);
    (value.map(str::to_string), broker_name)
}

/// Checks what a group is to be configured with: names, values, and the bounds that the broker sets.
pub fn check_group_configs(own: &BTreeMap<String, String>, broker: BrokerConfigs<'_>) -> Result<(), ConfigError> {
    let conflict = |text: String| Err(ConfigError::Conflict(text));
    if let Some(name) = own.keys().find(|name| GROUP_KEYS.find(name).is_none()) {
        return conflict(format!("Unknown group config name: {name}"));
    }
    for (name, value) in own {
        if let Some(key) = GROUP_KEYS.find(name) {
            value::check(&key, value)?;
        }
    }
    let number = |key: &Key| -> i64 {
        group_value(key, Some(own), broker).0.and_then(|value| value.trim().parse().ok()).unwrap_or_default()
    };
    for key in GROUP_KEYS.keys() {
        // The broker's own interval between assignments may lie outside of what it allows groups.
        if key.name.ends_with("assignment.interval.ms") && !own.contains_key(key.name) {
            continue;
        }
        let (lowest, highest) = bounds_of(key.name);
        let bound = |name: &str| BROKER_KEYS.find(name).map(|_| broker.number(name));
        if bound(&lowest).is_some_and(|bound| number(&key) < bound) {
            return conflict(format!("{} must be greater than or equal to {lowest}", key.name));
        }
        if bound(&highest).is_some_and(|bound| number(&key) > bound) {
            return conflict(format!("{} must be less than or equal to {highest}", key.name));
        }
    }
    for kind in ["consumer", "share", "streams"] {
        let (session, heartbeat) = (format!("{kind}.session.timeout.ms"), format!("{kind}.heartbeat.interval.ms"));
        let of = |name: &str| GROUP_KEYS.find(name).map(|key| number(&key));
        if of(&session) <= of(&heartbeat) {
            return conflict(format!("{session} must be greater than {heartbeat}"));
        }
    }
    Ok(())
}

/// The broker keys that bound a group key: `group.KIND.min.REST` and `group.KIND.max.REST`, where there are such.
fn bounds_of(name: &str) -> (String, String) {
    let (kind, rest) = name.split_once('.').unwrap_or((name, ""));
    let rest = if rest == "num.standby.replicas" { "standby.replicas" } else { rest };
    (format!("group.{kind}.min.{rest}"), format!("group.{kind}.max.{rest}"))
}
