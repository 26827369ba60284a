//! The rules of a client metrics subscription (`org.apache.kafka.server.metrics.ClientMetricsConfigs`, KIP-714).

use super::key::CLIENT_METRICS_KEYS;
use super::value;
use crate::ordered::BTreeMap;
use crate::wire::ErrorCode;

/// What a client can be matched by.
const MATCHED_BY: [&str; 6] = [
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
];

/// Checks what a subscription is to be configured with. Part of it Kafka takes for a wrong request rather than a wrong
/// value.
pub fn check_client_metrics(subscription: &str, configs: &BTreeMap<String, String>) -> Result<(), (ErrorCode, String)> {
    let request = |text: String| Err((ErrorCode::INVALID_REQUEST, text));
    let config = |text: String| Err((ErrorCode::INVALID_CONFIG, text));
    if subscription.is_empty() {
        return request("Subscription name can't be empty".to_string());
    }
    if let Some(name) = configs.keys().find(|name| CLIENT_METRICS_KEYS.find(name).is_none()) {
        return request(format!("Unknown client metrics configuration: {name}"));
    }
    for (name, value) in configs {
        if let Some(Err(error)) = CLIENT_METRICS_KEYS.find(name).map(|key| value::check(&key, value)) {
            return config(error.to_string());
        }
    }
    let interval = configs.get("interval.ms").and_then(|value| value.trim().parse::<i32>().ok());
    if let Some(interval) = interval.filter(|interval| !(100..=3_600_000).contains(interval)) {
        return request(format!(
            "Invalid value {interval} for interval.ms, interval must be between 100 and 3600000 (1 hour)"
        ));
    }
    for pattern in value::list(configs.get("match").map(String::as_str).unwrap_or_default()) {
        let is_legal = pattern.split_once('=').is_some_and(|(name, value)| {
            MATCHED_BY.contains(&name.trim()) && !value.is_empty() && !value.contains('=')
        });
        if !is_legal {
            return config(format!("Illegal client matching pattern: {pattern}"));
        }
    }
    Ok(())
}
