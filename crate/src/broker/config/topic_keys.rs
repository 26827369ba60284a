//! Every topic key that Kafka 4.3.0 knows, and the broker key that gives its default
//! (`org.apache.kafka.storage.internals.log.LogConfig`, `TopicConfigSynonym`s in `ServerTopicConfigSynonyms`).

use super::value::{Key, Type::*, Valid::*};

#[rustfmt::skip]
pub(super) const TOPIC_KEYS: &[Key] = &[
    Key { name: "cleanup.policy", kind: List, default: Some("delete"), valid: OneOf(&["compact", "delete"]), acted_on: true },
    Key { name: "compression.gzip.level", kind: Int, default: Some("-1"), valid: BetweenOrMinusOne(1, 9), acted_on: true },
    Key { name: "compression.lz4.level", kind: Int, default: Some("9"), valid: Between(1, 17), acted_on: false },
    Key { name: "compression.type", kind: String, default: Some("producer"), valid: OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]), acted_on: true },
    Key { name: "compression.zstd.level", kind: Int, default: Some("3"), valid: Between(-131072, 22), acted_on: true },
    Key { name: "delete.retention.ms", kind: Long, default: Some("86400000"), valid: AtLeast(0), acted_on: false },
    Key { name: "file.delete.delay.ms", kind: Long, default: Some("60000"), valid: AtLeast(0), acted_on: false },
    Key { name: "flush.messages", kind: Long, default: Some("9223372036854775807"), valid: AtLeast(1), acted_on: false },
    Key { name: "flush.ms", kind: Long, default: Some("9223372036854775807"), valid: AtLeast(0), acted_on: false },
    Key { name: "follower.replication.throttled.replicas", kind: List, default: Some(""), valid: Any, acted_on: false },
    Key { name: "index.interval.bytes", kind: Int, default: Some("4096"), valid: AtLeast(0), acted_on: true },
    Key { name: "internal.segment.bytes", kind: Int, default: None, valid: Any, acted_on: true },
    Key { name: "leader.replication.throttled.replicas", kind: List, default: Some(""), valid: Any, acted_on: false },
    Key { name: "local.retention.bytes", kind: Long, default: Some("-2"), valid: AtLeast(-2), acted_on: false },
    Key { name: "local.retention.ms", kind: Long, default: Some("-2"), valid: AtLeast(-2), acted_on: false },
    Key { name: "max.compaction.lag.ms", kind: Long, default: Some("9223372036854775807"), valid: AtLeast(1), acted_on: false },
    Key { name: "max.message.bytes", kind: Int, default: Some("1048588"), valid: AtLeast(0), acted_on: true },
    Key { name: "message.timestamp.after.max.ms", kind: Long, default: Some("3600000"), valid: AtLeast(0), acted_on: true },
    Key { name: "message.timestamp.before.max.ms", kind: Long, default: Some("9223372036854775807"), valid: AtLeast(0), acted_on: true },
    Key { name: "message.timestamp.type", kind: String, default: Some("CreateTime"), valid: OneOf(&["CreateTime", "LogAppendTime"]), acted_on: true },
    Key { name: "min.cleanable.dirty.ratio", kind: Double, default: Some("0.5"), valid: Between(0, 1), acted_on: false },
    Key { name: "min.compaction.lag.ms", kind: Long, default: Some("0"), valid: AtLeast(0), acted_on: false },
    Key { name: "min.insync.replicas", kind: Int, default: Some("1"), valid: AtLeast(1), acted_on: true },
    Key { name: "preallocate", kind: Boolean, default: Some("false"), valid: Any, acted_on: false },
    Key { name: "remote.log.copy.disable", kind: Boolean, default: Some("false"), valid: Any, acted_on: false },
    Key { name: "remote.log.delete.on.disable", kind: Boolean, default: Some("false"), valid: Any, acted_on: false },
    Key { name: "remote.storage.enable", kind: Boolean, default: Some("false"), valid: Any, acted_on: false },
    Key { name: "retention.bytes", kind: Long, default: Some("-1"), valid: Any, acted_on: false },
    Key { name: "retention.ms", kind: Long, default: Some("604800000"), valid: AtLeast(-1), acted_on: false },
    Key { name: "segment.bytes", kind: Int, default: Some("1073741824"), valid: AtLeast(1048576), acted_on: true },
    Key { name: "segment.index.bytes", kind: Int, default: Some("10485760"), valid: AtLeast(4), acted_on: true },
    Key { name: "segment.jitter.ms", kind: Long, default: Some("0"), valid: AtLeast(0), acted_on: true },
    Key { name: "segment.ms", kind: Long, default: Some("604800000"), valid: AtLeast(1), acted_on: true },
    Key { name: "unclean.leader.election.enable", kind: Boolean, default: Some("false"), valid: Any, acted_on: true },
];
