//! Takes keys one by one, with their types, ranges and defaults, and says at the end which keys nobody took.

use std::ops::RangeInclusive;

use super::ConfigError;
use super::no_effect::{Check, NoEffect};
use crate::ordered::BTreeMap;

/// A key of a client's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownKey {
    pub name: &'static str,
    pub default: Option<String>,
    /// False: Kafka's client would use it, this one accepts it and does nothing.
    pub acts: bool,
}

pub(super) struct Reader<'a> {
    given: &'a BTreeMap<String, String>,
    known: Vec<KnownKey>,
}

impl<'a> Reader<'a> {
    pub fn new(given: &'a BTreeMap<String, String>) -> Reader<'a> {
        Reader { given, known: Vec::new() }
    }

    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    fn take(&mut self, name: &'static str, default: Option<String>) -> Option<&'a str> {
        self.known.push(KnownKey { name, default, acts: true });
        self.given.get(name).map(String::as_str)
    }

    pub fn required(&mut self, name: &'static str) -> Option<&'a str> {
        self.take(name, None)
    }

    pub fn optional(&mut self, name: &'static str) -> Option<String> {
        self.take(name, None).map(|value| value.trim().to_owned())
    }

    pub fn string(&mut self, name: &'static str, default: &str) -> String {
        self.take(name, Some(default.to_owned())).unwrap_or(default).trim().to_owned()
    }

    pub fn one_of(&mut self, name: &'static str, default: &str, allowed: &[&str]) -> Result<String, ConfigError> {
        let value = self.string(name, default);
        one_of(name, &value, allowed).map(|()| value)
    }

    pub fn one_of_any_case(
        &mut self,
        name: &'static str,
        default: &str,
        allowed: &[&str],
    ) -> Result<String, ConfigError> {
        let value = self.string(name, default);
        one_of_any_case(name, &value, allowed).map(|()| value)
    }

    pub fn boolean(&mut self, name: &'static str, default: bool) -> Result<bool, ConfigError> {
        match self.take(name, Some(default.to_string())) {
            None => Ok(default),
            Some(value) => boolean(name, value),
        }
    }

    pub fn int(&mut self, name: &'static str, default: i32, range: RangeInclusive<i32>) -> Result<i32, ConfigError> {
        match self.take(name, Some(default.to_string())) {
            None => Ok(default),
            Some(value) => int(name, value, range),
        }
    }

    /// A number that Kafka checks by more than a range.
    pub fn checked_int(&mut self, name: &'static str, default: i32, check: Check) -> Result<i32, ConfigError> {
        let Some(value) = self.take(name, Some(default.to_string())) else { return Ok(default) };
        check.of(name, value)?;
        int(name, value, i32::MIN..=i32::MAX)
    }

    pub fn long(&mut self, name: &'static str, default: i64, range: RangeInclusive<i64>) -> Result<i64, ConfigError> {
        match self.take(name, Some(default.to_string())) {
            None => Ok(default),
            Some(value) => long(name, value, range),
        }
    }

    /// Checks the keys that have no effect here and refuses the unknown ones. Gives the keys without effect that were
    /// set, and all known keys.
    pub fn finish(mut self, without_effect: &[&[NoEffect]]) -> Result<(Vec<&'static str>, Vec<KnownKey>), ConfigError> {
        let mut set = Vec::new();
        for key in without_effect.iter().copied().flatten() {
            self.known.push(KnownKey { name: key.name, default: key.default.map(str::to_owned), acts: false });
            if let Some(value) = self.given.get(key.name) {
                key.check.of(key.name, value)?;
                set.push(key.name);
            }
        }
        for key in self.given.keys() {
            if !self.known.iter().any(|known| known.name == key) {
                let nearest = self.known.iter().min_by_key(|known| edits(known.name, key)).map(|known| known.name);
                return Err(ConfigError::UnknownKey { key: key.clone(), nearest });
            }
        }
        Ok((set, self.known))
    }
}

impl Check {
    fn of(self, name: &'static str, value: &str) -> Result<(), ConfigError> {
        match self {
            Check::Any => Ok(()),
            Check::Boolean => boolean(name, value).map(|_| ()),
            Check::Int(min, max) => int(name, value, min..=max).map(|_| ()),
            Check::Long(min, max) => long(name, value, min..=max).map(|_| ()),
            Check::NotEmpty if value.trim().is_empty() => {
                Err(ConfigError::invalid(name, value.trim(), "String must be non-empty"))
            }
            Check::NotEmpty => Ok(()),
            Check::OneOf(allowed) => one_of(name, value.trim(), allowed),
            Check::OneOfAnyCase(allowed) => one_of_any_case(name, value.trim(), allowed),
            // Records are bytes here: any of Kafka's own serializers is as good as another.
            Check::Serde if value.trim().starts_with("org.apache.kafka.common.serialization.") => Ok(()),
            Check::Serde | Check::NoClass => {
                let why = format!("Class {} could not be found.", value.trim());
                Err(ConfigError::invalid(name, value.trim(), &why))
            }
            Check::GzipLevel => {
                let level = int(name, value, i32::MIN..=i32::MAX)?;
                if level == -1 || (1..=9).contains(&level) {
                    return Ok(());
                }
                Err(ConfigError::invalid(name, value.trim(), "Value must be between 1 and 9 or equal to -1"))
            }
        }
    }
}

fn one_of(name: &str, value: &str, allowed: &[&str]) -> Result<(), ConfigError> {
    if allowed.contains(&value) {
        return Ok(());
    }
    Err(ConfigError::invalid(name, value, &format!("String must be one of: {}", allowed.join(", "))))
}

fn one_of_any_case(name: &str, value: &str, allowed: &[&str]) -> Result<(), ConfigError> {
    if allowed.iter().any(|a| a.eq_ignore_ascii_case(value)) {
        return Ok(());
    }
    let why = format!("String must be one of (case insensitive): {}", allowed.join(", "));
    Err(ConfigError::invalid(name, value, &why))
}

fn boolean(name: &str, value: &str) -> Result<bool, ConfigError> {
    match value.trim() {
        v if v.eq_ignore_ascii_case("true") => Ok(true),
        v if v.eq_ignore_ascii_case("false") => Ok(false),
        v => Err(ConfigError::invalid(name, v, "Expected value to be either true or false")),
    }
}

fn int(name: &str, value: &str, range: RangeInclusive<i32>) -> Result<i32, ConfigError> {
    let number: i32 =
        value.trim().parse().map_err(|_| ConfigError::invalid(name, value, "Not a number of type INT"))?;
    within(name, value, number.into(), i64::from(*range.start())..=i64::from(*range.end())).map(|()| number)
}

fn long(name: &str, value: &str, range: RangeInclusive<i64>) -> Result<i64, ConfigError> {
    let number = value.trim().parse().map_err(|_| ConfigError::invalid(name, value, "Not a number of type LONG"))?;
    within(name, value, number, range).map(|()| number)
}

fn within(name: &str, value: &str, number: i64, range: RangeInclusive<i64>) -> Result<(), ConfigError> {
    if number < *range.start() {
        return Err(ConfigError::invalid(name, value, &format!("Value must be at least {}", range.start())));
    }
    if number > *range.end() {
        return Err(ConfigError::invalid(name, value, &format!("Value must be no more than {}", range.end())));
    }
    Ok(())
}

/// Levenshtein's distance.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(b.bytes()) {
            let up = *cell;
            *cell = (diagonal + usize::from(x != y)).min(left + 1).min(up + 1);
            diagonal = up;
            left = *cell;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(a.len())
}
