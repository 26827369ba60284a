//! A Produce request written field by field, wrong ones too, and what becomes of it. For readers who want to see each
//! check of a broker; Kafka's own producer never sends most of these.

use serde::{Deserialize, Serialize};

use super::TopicPartition;

/// One batch for one partition. What `fields` do not say is as a producer would write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RawProduce {
    pub partition: TopicPartition,
    pub fields: Vec<(RawField, i64)>,
}

impl RawProduce {
    /// What the request says of a field; the last mention counts.
    pub fn get(&self, field: RawField) -> Option<i64> {
        self.fields.iter().rev().find(|(given, _)| *given == field).map(|(_, value)| *value)
    }
}

/// What a [`RawProduce`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum RawAnswer {
    Answered {
        error_code: i16,
        /// −1 with most errors.
        base_offset: i64,
        /// How many records the broker blamed one by one.
        record_errors: u32,
    },
    /// The node closed the connection instead.
    Closed,
    /// No answer came: acks=0 wants none, or the node keeps silent for `request.timeout.ms`.
    Silent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RawField {
    Version,
    Acks,
    Partition,
    Pid,
    Epoch,
    Sequence,
    Count,
    BaseOffset,
    LengthPlus,
    LeaderEpoch,
    Magic,
    Crc,
    Attributes,
    LastOffsetDelta,
    RecordsCount,
    MaxTimestamp,
    Timestamp,
    AheadMs,
    Key,
    Size,
    Records,
}

/// The words of [`RawField::Records`], by value.
pub mod records {
    pub const BATCH: i64 = 0;
    pub const NULL: i64 = 1;
    pub const NONE: i64 = 2;
    pub const TWICE: i64 = 3;
    pub const CUT: i64 = 4;
    pub const RUBBISH_BEHIND: i64 = 5;
}

/// The largest batch that can be asked for: above every limit that brokers have by default.
const SIZE_MAX: i64 = 4 * 1024 * 1024;
const COUNT_MAX: i64 = 10_000;

/// What a field is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawDomain {
    /// From the first to the second, both included.
    Number(i64, i64),
    /// One of these; its place is the value.
    Words(&'static [&'static str]),
}

const INT8: RawDomain = RawDomain::Number(i8::MIN as i64, i8::MAX as i64);
const INT16: RawDomain = RawDomain::Number(i16::MIN as i64, i16::MAX as i64);
const INT32: RawDomain = RawDomain::Number(i32::MIN as i64, i32::MAX as i64);
const INT64: RawDomain = RawDomain::Number(i64::MIN, i64::MAX);

impl RawField {
    /// As a program spells them, with what they may be.
    pub const ALL: [(&'static str, RawField, RawDomain); 21] = [
        ("version", RawField::Version, RawDomain::Number(0, i16::MAX as i64)),
        ("acks", RawField::Acks, INT16),
        ("partition", RawField::Partition, INT32),
        ("pid", RawField::Pid, INT64),
        ("epoch", RawField::Epoch, INT16),
        ("sequence", RawField::Sequence, INT32),
        ("count", RawField::Count, RawDomain::Number(0, COUNT_MAX)),
        ("base_offset", RawField::BaseOffset, INT64),
        ("length_plus", RawField::LengthPlus, INT16),
        ("leader_epoch", RawField::LeaderEpoch, INT32),
        ("magic", RawField::Magic, INT8),
        ("crc", RawField::Crc, RawDomain::Words(&["right", "wrong"])),
        ("attributes", RawField::Attributes, INT16),
        ("last_offset_delta", RawField::LastOffsetDelta, INT32),
        ("records_count", RawField::RecordsCount, INT32),
        ("max_timestamp", RawField::MaxTimestamp, INT64),
        ("timestamp", RawField::Timestamp, INT64),
        ("ahead_ms", RawField::AheadMs, INT64),
        ("key", RawField::Key, RawDomain::Words(&["some", "none"])),
        ("size", RawField::Size, RawDomain::Number(0, SIZE_MAX)),
        ("records", RawField::Records, RawDomain::Words(&["batch", "null", "none", "twice", "cut", "rubbish_behind"])),
    ];

    /// Its spelling and what it may be.
    pub fn spelling(self) -> (&'static str, RawDomain) {
        let found = RawField::ALL.iter().find(|(_, field, _)| *field == self);
        found.map_or(("", INT64), |(name, _, domain)| (name, *domain))
    }
}
