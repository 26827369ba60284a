//! Tables of configuration keys, as `org.apache.kafka.common.config.ConfigDef` declares them.
//!
//! A table is a text of one line a key, for the page pays for every byte: name, type, default, valid values, flags.
//! A default of `-` is none or null, `""` the empty text. Valid values: `-` any; `>=1`, `1..9`, `-1|1..9` numbers;
//! `in:a,b` and, whatever the case, `IN:a,b` one of these (of a list, every element); `list` any elements but empty
//! ones; `nonempty` any text but the empty one; `throttled` a list of replicas; `reset` an offset reset strategy. A `!`
//! behind `in` or `list` means that the list must not be empty. Flags: `a` acted on here, `d` changed while the broker
//! runs, `n` of one broker only, `l` of one listener only, `i` internal.

/// A value's type, by the numbers of `DescribeConfigsResponse.ConfigType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Boolean = 1,
    String = 2,
    Int = 3,
    Short = 4,
    Long = 5,
    Double = 6,
    List = 7,
    Class = 8,
    Password = 9,
}

impl Type {
    fn of(name: &str) -> Type {
        match name {
            "boolean" => Type::Boolean,
            "int" => Type::Int,
            "short" => Type::Short,
            "long" => Type::Long,
            "double" => Type::Double,
            "list" => Type::List,
            "class" => Type::Class,
            "password" => Type::Password,
            _ => Type::String,
        }
    }

    /// Whether a value is never shown.
    pub fn is_sensitive(self) -> bool {
        self == Type::Password
    }
}

/// One line of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub name: &'static str,
    pub kind: Type,
    /// `None` if there is no default or the default is null.
    pub default: Option<&'static str>,
    pub(super) valid: &'static str,
    flags: &'static str,
}

impl Key {
    fn of(line: &'static str) -> Key {
        let mut columns = line.split(' ');
        let mut next = || columns.next().unwrap_or_default();
        let (name, kind, default) = (next(), Type::of(next()), next());
        let default = match default {
            "-" => None,
            "\"\"" => Some(""),
            text => Some(text),
        };
        Key { name, kind, default, valid: next(), flags: next() }
    }

    /// Whether setting it changes anything here.
    pub fn is_acted_on(&self) -> bool {
        self.flags.contains('a')
    }

    /// Whether it can be changed while the broker runs (KIP-226).
    pub fn is_dynamic(&self) -> bool {
        self.flags.contains('d')
    }

    /// Whether it can be changed for one broker, not for the whole cluster.
    pub fn is_per_broker(&self) -> bool {
        self.flags.contains('n')
    }

    /// Whether it can be changed with a listener's prefix only.
    pub fn is_per_listener(&self) -> bool {
        self.flags.contains('l')
    }

    /// Whether it is shown only where somebody has set it.
    pub fn is_internal(&self) -> bool {
        self.flags.contains('i')
    }
}

/// Keys and what they may be set to.
#[derive(Debug, Clone, Copy)]
pub struct Table(&'static str);

/// Every broker and controller key of `kafka.server.KafkaConfig`, sorted by name.
pub const BROKER_KEYS: Table = Table(include_str!("broker_keys.txt"));
/// Every topic key of `org.apache.kafka.storage.internals.log.LogConfig`, sorted by name.
pub const TOPIC_KEYS: Table = Table(include_str!("topic_keys.txt"));
/// Every group key of `org.apache.kafka.coordinator.group.GroupConfig`, in the order in which Kafka checks them. One
/// without a default has that of the broker key `group.` + name.
pub const GROUP_KEYS: Table = Table(include_str!("group_keys.txt"));
/// `org.apache.kafka.server.metrics.ClientMetricsConfigs`.
pub const CLIENT_METRICS_KEYS: Table =
    Table("interval.ms int 300000 -\nmatch list \"\" list\nmetrics list \"\" list\n");
/// Broker keys that can be set only while it runs (`QuotaConfig.brokerQuotaConfigs`).
pub const QUOTA_KEYS: Table = Table(
    "follower.replication.throttled.rate long 9223372036854775807 >=0 d\n\
     leader.replication.throttled.rate long 9223372036854775807 >=0 d\n\
     replica.alter.log.dirs.io.max.bytes.per.second long 9223372036854775807 >=0 d\n",
);

impl Table {
    pub fn keys(self) -> impl Iterator<Item = Key> {
        self.0.lines().map(Key::of)
    }

    pub fn find(self, name: &str) -> Option<Key> {
        let of_name = |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' '));
        self.0.lines().find(of_name).map(Key::of)
    }

    /// The name that is nearest to `name` by edit distance; the first of equals.
    pub fn nearest(self, name: &str) -> Option<&'static str> {
        self.keys().map(|key| key.name).min_by_key(|key| edit_distance(key, name))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_column_by_column() {
        let key = BROKER_KEYS.find("log.cleanup.policy").expect("known");
        assert_eq!((key.kind, key.default, key.valid), (Type::List, Some("delete"), "in:compact,delete"));
        assert!(key.is_dynamic() && key.is_acted_on() && !key.is_per_broker() && !key.is_internal());
        assert_eq!(BROKER_KEYS.find("log.dirs").and_then(|key| key.default), None);
        assert_eq!(BROKER_KEYS.find("config.providers").and_then(|key| key.default), Some(""));
        assert_eq!(BROKER_KEYS.find("log.cleanup"), None);
    }

    #[test]
    fn every_line_of_every_table_is_whole() {
        for table in [BROKER_KEYS, TOPIC_KEYS, GROUP_KEYS, CLIENT_METRICS_KEYS, QUOTA_KEYS] {
            for line in table.0.lines() {
                assert!((4..=5).contains(&line.split(' ').count()), "{line}");
            }
        }
    }
}
