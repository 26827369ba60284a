//! One configuration key and its value: types, ranges and the texts of `org.apache.kafka.common.config.ConfigDef`.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Boolean,
    Class,
    Double,
    Int,
    List,
    Long,
    Password,
    Short,
    String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Valid {
    Any,
    AtLeast(i64),
    Between(i64, i64),
    /// `compression.gzip.level`: a level, or −1 for the library's default.
    BetweenOrMinusOne(i64, i64),
    /// `log.cleaner.*.ratio` and the like: from 0 to one half.
    HalfAtMost,
    NonEmpty,
    OneOf(&'static [&'static str]),
    OneOfNoCase(&'static [&'static str]),
}

/// A row of a table of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub name: &'static str,
    pub kind: Type,
    /// `None` if there is no default or the default is null.
    pub default: Option<&'static str>,
    pub valid: Valid,
    /// Whether setting it changes anything here.
    pub acted_on: bool,
}

/// Finds a row of a table sorted by name.
pub(crate) fn find(table: &'static [Key], name: &str) -> Option<&'static Key> {
    table.binary_search_by(|key| key.name.cmp(name)).ok().and_then(|at| table.get(at))
}

/// The name in the table that is nearest to `name` by edit distance; the first of equals.
pub(crate) fn nearest(table: &'static [Key], name: &str) -> Option<&'static str> {
    table.iter().min_by_key(|key| edit_distance(key.name, name)).map(|key| key.name)
}

fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        for (r, cell) in right.iter().zip(row.iter_mut().skip(1)) {
            let here = (*cell + 1).min(before + 1).min(diagonal + usize::from(l != *r));
            diagonal = std::mem::replace(cell, here);
            before = here;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

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
    /// A rule over several keys; the text is Kafka's.
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

/// Checks one value against its key, as `ConfigDef.parseType` and its validators do.
pub(crate) fn check(key: &Key, value: &str) -> Result<(), ConfigError> {
    let trimmed = value.trim();
    check_type(key.kind, trimmed).and_then(|()| check_valid(key, trimmed)).map_err(|why| ConfigError::Invalid {
        key: key.name.to_string(),
        value: trimmed.to_string(),
        why,
    })
}

fn check_type(kind: Type, value: &str) -> Result<(), String> {
    let numeric = |ok: bool, name: &str| if ok { Ok(()) } else { Err(format!("Not a number of type {name}")) };
    match kind {
        Type::Boolean if value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false") => Ok(()),
        Type::Boolean => Err("Expected value to be either true or false".to_string()),
        Type::Int => numeric(value.parse::<i32>().is_ok(), "INT"),
        Type::Short => numeric(value.parse::<i16>().is_ok(), "SHORT"),
        Type::Long => numeric(value.parse::<i64>().is_ok(), "LONG"),
        Type::Double => numeric(decimal_millionths(value).is_some(), "DOUBLE"),
        Type::Class | Type::List | Type::Password | Type::String => Ok(()),
    }
}

fn check_valid(key: &Key, value: &str) -> Result<(), String> {
    // Bounds are whole numbers except one half, so millionths compare exactly without floats.
    let number = if key.kind == Type::Double {
        decimal_millionths(value).unwrap_or(0)
    } else {
        i128::from(value.parse::<i64>().unwrap_or(0)) * MILLION
    };
    let at_least = |low: i64| {
        if number < i128::from(low) * MILLION { Err(format!("Value must be at least {low}")) } else { Ok(()) }
    };
    let no_more = |high: i64| {
        if number > i128::from(high) * MILLION { Err(format!("Value must be no more than {high}")) } else { Ok(()) }
    };
    match key.valid {
        Valid::Any => Ok(()),
        Valid::AtLeast(low) => at_least(low),
        Valid::Between(low, high) => at_least(low).and_then(|()| no_more(high)),
        Valid::BetweenOrMinusOne(_, _) if number == -MILLION => Ok(()),
        Valid::BetweenOrMinusOne(low, high) => at_least(low)
            .and_then(|()| no_more(high))
            .map_err(|_| format!("Value must be between {low} and {high} or equal to -1")),
        Valid::HalfAtMost if number * 2 > MILLION => Err("Value must be no more than 0.5".to_string()),
        Valid::HalfAtMost => at_least(0),
        Valid::NonEmpty if value.is_empty() => Err("String must be non-empty".to_string()),
        Valid::NonEmpty => Ok(()),
        Valid::OneOf(names) => elements(key.kind, value)
            .iter()
            .all(|element| names.contains(element))
            .then_some(())
            .ok_or_else(|| format!("String must be one of: {}", names.join(", "))),
        Valid::OneOfNoCase(names) => elements(key.kind, value)
            .iter()
            .all(|element| names.iter().any(|name| name.eq_ignore_ascii_case(element)))
            .then_some(())
            .ok_or_else(|| format!("String must be one of (case insensitive): {}", names.join(", "))),
    }
}

/// The parts of a list; a string is its own only part.
fn elements(kind: Type, value: &str) -> Vec<&str> {
    match kind {
        Type::List => list(value),
        _ => vec![value],
    }
}

/// A comma-separated list, without the blanks around its parts. Empty text is the empty list.
pub(crate) fn list(value: &str) -> Vec<&str> {
    if value.trim().is_empty() { Vec::new() } else { value.split(',').map(str::trim).collect() }
}

const MILLION: i128 = 1_000_000;

/// A decimal number in millionths: `0.5` is 500000. Exponents are not accepted.
fn decimal_millionths(value: &str) -> Option<i128> {
    let (negative, digits) = match value.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, value),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || whole.len() > 18 || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let padded: String = fraction.chars().chain(std::iter::repeat('0')).take(6).collect();
    let number = whole.parse::<i128>().unwrap_or(0) * MILLION + padded.parse::<i128>().ok()?;
    Some(if negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUM_PARTITIONS: Key =
        Key { name: "num.partitions", kind: Type::Int, default: Some("1"), valid: Valid::AtLeast(1), acted_on: true };

    #[test]
    fn a_value_out_of_range_or_of_the_wrong_type_gets_kafkas_text() {
        let text = |value: &str| check(&NUM_PARTITIONS, value).map_err(|error| error.to_string());
        assert_eq!(text("3"), Ok(()));
        assert_eq!(text("0"), Err("Invalid value 0 for configuration num.partitions: Value must be at least 1".into()));
        assert_eq!(
            text("three"),
            Err("Invalid value three for configuration num.partitions: Not a number of type INT".into())
        );
    }

    #[test]
    fn decimals_compare_without_floats() {
        let ratio = Key { kind: Type::Double, valid: Valid::Between(0, 1), ..NUM_PARTITIONS };
        assert!(check(&ratio, "0.5").is_ok());
        assert!(check(&ratio, "1").is_ok());
        assert!(check(&ratio, "1.000001").is_err());
        assert!(check(&ratio, "-0.1").is_err());
        assert!(check(&ratio, "half").is_err());
    }
}
