//! One configuration value: whether its key allows it, with the texts of `org.apache.kafka.common.config.ConfigDef`.

use std::cmp::Ordering;
use std::fmt;

use super::decimal::Decimal;
use super::key::{Key, Type};

/// Why a configuration is refused. Its text is Kafka's `ConfigException` message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// A key without a default is not given.
    Missing {
        key: &'static str,
    },
    Invalid {
        key: String,
        value: String,
        why: String,
    },
    /// No such key. Kafka only warns; a typing error is worth more than that.
    Unknown {
        key: String,
        nearest: &'static str,
    },
    /// A rule over several keys, or one that has its own text; the text is Kafka's.
    Conflict(String),
    /// Kafka can do it, this server not yet.
    NotYet(String),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Missing { key } => {
                write!(f, "Missing required configuration \"{key}\" which has no default value.")
            }
            ConfigError::Invalid { key, value, why } => {
                write!(f, "Invalid value {value} for configuration {key}: {why}")
            }
            ConfigError::Unknown { key, nearest } => {
                write!(f, "Unknown configuration {key}. The nearest valid key is {nearest}.")
            }
            ConfigError::Conflict(text) => f.write_str(text),
            ConfigError::NotYet(text) => write!(f, "Not supported yet: {text}"),
        }
    }
}

impl std::error::Error for ConfigError {}

pub(super) fn invalid(key: &str, value: impl Into<String>, why: impl Into<String>) -> ConfigError {
    ConfigError::Invalid { key: key.to_string(), value: value.into(), why: why.into() }
}

/// Checks one value against its key, as `ConfigDef.parseType` and its validators do. Gives the value as Kafka shows it.
pub fn check(key: &Key, value: &str) -> Result<String, ConfigError> {
    let parsed = canonical(key.kind, value).map_err(|why| invalid(key.name, value, why))?;
    check_valid(key, &parsed)?;
    Ok(parsed)
}

/// The value as DescribeConfigs shows it: parsed and printed again.
pub fn shown(kind: Type, value: &str) -> String {
    canonical(kind, value).unwrap_or_else(|_| value.to_string())
}

/// The value as `ConfigDef.convertToString` of the parsed one shows it, or why it cannot be parsed.
fn canonical(kind: Type, value: &str) -> Result<String, &'static str> {
    let value = value.trim();
    let parsed = match kind {
        Type::Boolean if value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false") => {
            return Ok(value.to_ascii_lowercase());
        }
        Type::Boolean => return Err("Expected value to be either true or false"),
        Type::Int => value.parse::<i32>().map(i64::from).map_err(|_| "Not a number of type INT"),
        Type::Short => value.parse::<i16>().map(i64::from).map_err(|_| "Not a number of type SHORT"),
        Type::Long => value.parse::<i64>().map_err(|_| "Not a number of type LONG"),
        Type::Double if value == "NaN" => return Ok(value.to_string()),
        Type::Double => {
            return Decimal::parse(value).map(|number| number.to_java()).ok_or("Not a number of type DOUBLE");
        }
        Type::List => return Ok(list(value).join(",")),
        Type::Class | Type::Password | Type::String => return Ok(value.to_string()),
    };
    parsed.map(|number| number.to_string())
}

fn check_valid(key: &Key, parsed: &str) -> Result<(), ConfigError> {
    let why = match key.valid.split(':').next().unwrap_or_default() {
        "-" => return Ok(()),
        "in" | "in!" | "IN" | "list" | "list!" if key.kind == Type::List => return check_list(key, parsed),
        "in" | "IN" => return check_choice(key, parsed),
        "nonempty" => parsed.is_empty().then(|| "String must be non-empty".to_string()),
        "throttled" => return check_throttled_replicas(key.name, parsed),
        "reset" => check_offset_reset(parsed),
        rule => out_of_range(rule, parsed),
    };
    why.map_or(Ok(()), |why| Err(invalid(key.name, parsed, why)))
}

/// Numbers: `>=1`, `1..9`, `-1|1..9`.
fn out_of_range(rule: &str, parsed: &str) -> Option<String> {
    let number = Decimal::parse(parsed)?;
    let is = |ordering, bound| Decimal::parse(bound).is_some_and(|bound| number.compare(&bound) == ordering);
    if let Some(low) = rule.strip_prefix(">=") {
        return is(Ordering::Less, low).then(|| format!("Value must be at least {low}"));
    }
    let (or_minus_one, range) = rule.strip_prefix("-1|").map_or((false, rule), |range| (true, range));
    let (low, high) = range.split_once("..")?;
    let (too_low, too_high) = (is(Ordering::Less, low), is(Ordering::Greater, high));
    match (too_low || too_high, or_minus_one) {
        (false, _) => None,
        (true, true) if parsed == "-1" => None,
        (true, true) => Some(format!("Value must be between {low} and {high} or equal to -1")),
        (true, false) if too_low => Some(format!("Value must be at least {low}")),
        (true, false) => Some(format!("Value must be no more than {high}")),
    }
}

/// `ConfigDef.ValidList`.
fn check_list(key: &Key, parsed: &str) -> Result<(), ConfigError> {
    let (rule, choices) = key.valid.split_once(':').unwrap_or((key.valid, ""));
    if parsed.is_empty() && rule.ends_with('!') {
        let valid = match choices {
            "" => "any non-empty value".to_string(),
            _ => format!("[{}]", choices.replace(',', ", ")),
        };
        return Err(ConfigError::Conflict(format!(
            "Configuration '{}' must not be empty. Valid values include: {valid}",
            key.name
        )));
    }
    for element in list(parsed) {
        if element.is_empty() {
            return Err(ConfigError::Conflict(format!("Configuration '{}' values must not be empty.", key.name)));
        }
        if !choices.is_empty() {
            check_choice(key, element)?;
        }
    }
    Ok(())
}

/// `ConfigDef.ValidString` and its case-insensitive sibling.
fn check_choice(key: &Key, value: &str) -> Result<(), ConfigError> {
    let (rule, choices) = key.valid.split_once(':').unwrap_or_default();
    let any_case = rule == "IN";
    let is = |choice: &str| if any_case { choice.eq_ignore_ascii_case(value) } else { choice == value };
    if choices.split(',').any(is) {
        return Ok(());
    }
    let case = if any_case { " (case insensitive)" } else { "" };
    Err(invalid(key.name, value, format!("String must be one of{case}: {}", choices.replace(',', ", "))))
}

/// `ThrottledReplicaListValidator`.
fn check_throttled_replicas(name: &str, parsed: &str) -> Result<(), ConfigError> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_replica = |entry: &str| {
        entry.is_empty() || entry.split_once(':').is_some_and(|(left, right)| is_number(left) && is_number(right))
    };
    let entries = list(parsed);
    if entries.iter().all(|entry| is_replica(entry)) || entries.concat() == "*" {
        return Ok(());
    }
    let why = format!(
        "{name} must be the literal '*' or a list of replicas in the following format: \
         [partitionId]:[brokerId],[partitionId]:[brokerId],..."
    );
    Err(invalid(name, format!("[{}]", entries.join(", ")), why))
}

/// `ShareGroupAutoOffsetResetStrategy.Validator`.
fn check_offset_reset(parsed: &str) -> Option<String> {
    let known = parsed == "earliest" || parsed == "latest" || parsed.starts_with("by_duration:");
    (!known).then(|| {
        format!(
            "Invalid value `{parsed}` for configuration share.auto.offset.reset. The value must be either 'earliest', \
             'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
        )
    })
}

/// A comma-separated list, without the blanks around its parts. Empty text is the empty list.
pub fn list(value: &str) -> Vec<&str> {
    if value.trim().is_empty() { Vec::new() } else { value.split(',').map(str::trim).collect() }
}

#[cfg(test)]
mod tests {
    use super::super::key::BROKER_KEYS;
    use super::*;

    fn text(name: &str, value: &str) -> String {
        let key = BROKER_KEYS.find(name).expect("known");
        check(&key, value).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn a_value_out_of_range_or_of_the_wrong_type_gets_kafkas_text() {
        assert_eq!(text("num.partitions", " +3 "), "3");
        assert_eq!(
            text("num.partitions", "0"),
            "Invalid value 0 for configuration num.partitions: Value must be at least 1"
        );
        assert_eq!(
            text("num.partitions", "three"),
            "Invalid value three for configuration num.partitions: Not a number of type INT"
        );
        assert_eq!(
            text("remote.log.manager.task.retry.jitter", "1"),
            "Invalid value 1.0 for configuration remote.log.manager.task.retry.jitter: Value must be no more than 0.5"
        );
    }

    #[test]
    fn a_list_is_checked_element_by_element() {
        assert_eq!(text("log.cleanup.policy", "compact , delete"), "compact,delete");
        assert_eq!(
            text("log.cleanup.policy", "compact,,delete"),
            "Configuration 'log.cleanup.policy' values must not be empty."
        );
        assert_eq!(
            text("process.roles", ""),
            "Configuration 'process.roles' must not be empty. Valid values include: [broker, controller]"
        );
        assert_eq!(
            text("log.dirs", " "),
            "Configuration 'log.dirs' must not be empty. Valid values include: any non-empty value"
        );
    }
}
