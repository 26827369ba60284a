//! From the metadata image to partitions: which this broker holds, leads, or no longer has
//! (`BrokerMetadataPublisher`, `ReplicaManager.applyDelta`), and their background work.

use std::sync::Arc;

use crate::controller::{Change, ControllerRequest, MetadataRecord, RecoveryState, TOPIC_RESOURCE};
use crate::disk::DiskError;
use crate::log::{Log, LogConfig, LogError, PartitionMetadata, log_directory_name, write_offset_checkpoint};
use crate::node::{ConnId, EffectKind, FlushToken, Note};
use crate::ordered::{BTreeMap, BTreeSet};
use crate::record::TimestampType;
use crate::wire::Uuid;
use crate::wire::messages::alter_partition::{
    AlterPartitionData, AlterPartitionRequest, AlterPartitionTopic, BrokerState,
};

use super::Broker;
use super::config::TopicConfig;
use super::context::Context;
use super::lifecycle::ControllerCall;
use super::partition::{Partition, PartitionKey};
use super::purgatory::{Delayed, DelayedId};

pub(super) const HIGH_WATERMARK_CHECKPOINT: &str = "replication-offset-checkpoint";
pub(super) const RECOVERY_POINT_CHECKPOINT: &str = "recovery-point-offset-checkpoint";
pub(super) const LOG_START_CHECKPOINT: &str = "log-start-offset-checkpoint";

/// Offsets by topic and partition, as checkpoints hold them.
pub(super) type Checkpoint = BTreeMap<(String, i32), i64>;

/// An fsync of a partition's files.
#[derive(Debug, Clone)]
pub(super) struct PartitionFlush {
    key: PartitionKey,
    up_to: i64,
}

impl Broker {
    /// Applies committed records to the image, then acts on what changed.
    pub(super) fn apply_committed(
        &mut self,
        cx: &mut Context<'_>,
        records: Vec<(i64, Arc<MetadataRecord>)>,
    ) -> Result<(), LogError> {
        if records.is_empty() {
            return Ok(());
        }
        let mut changed: BTreeSet<PartitionKey> = BTreeSet::new();
        for (offset, record) in &records {
            match self.image.replay(*offset, record) {
                Change::TopicCreated(id) => {
                    self.created_topics.push(id);
                }
                Change::Partition(id, index) => {
                    changed.insert((id, index));
                }
                Change::TopicRemoved { topic_id, .. } => {
                    changed.extend(
                        self.partitions.range((topic_id, i32::MIN)..=(topic_id, i32::MAX)).map(|(key, _)| *key),
                    );
                }
                Change::Config(resource, name) => self.reconfigure(resource, &name),
                Change::Broker(_) | Change::Nothing => {}
            }
        }
        cx.out.note(Note::MetadataCommitted { offset: self.image.end_offset });
        for id in std::mem::take(&mut self.created_topics) {
            if let Some(topic) = self.image.topic_by_id(id)
                && self.lifecycle.is_publishing()
            {
                let partitions = topic.partitions.len() as i32;
                cx.out.note(Note::TopicCreated { topic: topic.name.clone(), partitions });
            }
        }
        // Before this life is registered, the log still tells of the one before.
        if !self.lifecycle.is_publishing() {
            return Ok(());
        }
        self.publish(cx, &changed)
    }

    /// Brings partitions to what the image says of them.
    pub(super) fn publish(&mut self, cx: &mut Context<'_>, changed: &BTreeSet<PartitionKey>) -> Result<(), LogError> {
        let mut recovered: BTreeMap<Uuid, Vec<AlterPartitionData>> = BTreeMap::new();
        // A new topic may have the name of one that goes: the old directory makes room first.
        let (there, gone): (Vec<PartitionKey>, Vec<PartitionKey>) =
            changed.iter().copied().partition(|(id, _)| self.image.topic_by_id(*id).is_some());
        for key in gone {
            self.remove_partition(cx, key)?;
        }
        for key in there {
            self.publish_partition(cx, key, &mut recovered)?;
            self.purgatory.touch(key);
        }
        if !recovered.is_empty() {
            let topics = recovered.into_iter().map(|(topic_id, partitions)| AlterPartitionTopic {
                topic_id,
                partitions,
                ..Default::default()
            });
            let body = AlterPartitionRequest {
                broker_id: self.config.node_id,
                broker_epoch: self.lifecycle.broker_epoch,
                topics: topics.collect(),
                ..Default::default()
            };
            let cause = cx.event();
            self.call_controller(ControllerRequest::AlterPartition(body), ControllerCall::AlterPartition, cause);
        }
        Ok(())
    }

    fn publish_partition(
        &mut self,
        cx: &mut Context<'_>,
        key: PartitionKey,
        recovered: &mut BTreeMap<Uuid, Vec<AlterPartitionData>>,
    ) -> Result<(), LogError> {
        let node_id = self.config.node_id;
        let (topic_id, index) = key;
        let Some(topic) = self.image.topic_by_id(topic_id) else { return Ok(()) };
        let Some(registration) = topic.partitions.get(&index).filter(|p| p.replicas.contains(&node_id)) else {
            return Ok(());
        };
        let (name, registration) = (topic.name.clone(), registration.clone());
        if !self.partitions.contains_key(&key) {
            let partition = self.open_partition(cx, &name, key, registration.clone())?;
            self.partitions.insert(key, partition);
        }
        let config = self.topic_config(&name);
        let Some(partition) = self.partitions.get_mut(&key) else { return Ok(()) };
        partition.registration = registration;
        let new_reign = partition.reign != Some(partition.leader_epoch());
        partition.config = config;
        if !partition.is_leader() {
            partition.reign = None;
            return Ok(());
        }
        if new_reign {
            partition.reign = Some(partition.leader_epoch());
            partition.become_leader(cx.disk)?;
            cx.out.note(Note::BecameLeader {
                partition: partition.name(),
                leader_epoch: partition.leader_epoch(),
                in_sync_replicas: partition.registration.isr.clone(),
            });
        }
        if partition.raise_high_watermark() {
            cx.out.note(Note::HighWatermark { partition: partition.name(), offset: partition.high_watermark() });
        }
        if new_reign && partition.registration.recovery == RecoveryState::Recovering {
            recovered.entry(topic_id).or_default().push(AlterPartitionData {
                partition_index: index,
                leader_epoch: partition.leader_epoch(),
                new_isr_with_epochs: partition
                    .registration
                    .isr
                    .iter()
                    .map(|member| BrokerState { broker_id: *member, ..Default::default() })
                    .collect(),
                leader_recovery_state: 0,
                partition_epoch: partition.registration.partition_epoch,
                ..Default::default()
            });
        }
        Ok(())
    }

    /// The log that was loaded at the start, or a new one.
    fn open_partition(
        &mut self,
        cx: &mut Context<'_>,
        topic: &str,
        key: PartitionKey,
        registration: crate::controller::PartitionRegistration,
    ) -> Result<Partition, LogError> {
        let config = self.topic_config(topic);
        let directory = log_directory_name(topic, key.1);
        let loaded = self.loaded_logs.remove(&directory);
        let log = match loaded {
            Some(mut log) => {
                log.update_config(self.log_config(&config));
                log
            }
            None => {
                let now_ms = cx.wall_ms();
                let log = Log::create(cx.disk, &directory, self.log_config(&config), now_ms)?;
                PartitionMetadata { topic_id: key.0.to_string() }.write(cx.disk, &directory)?;
                log
            }
        };
        let high_watermark = self.high_watermarks.get(&(topic.to_string(), key.1)).copied().unwrap_or(0);
        Ok(Partition::new(topic.to_string(), key.1, log, config, registration, self.config.node_id, high_watermark))
    }

    pub(super) fn topic_config(&self, topic: &str) -> TopicConfig {
        self.image.topic_configs(topic, &self.config).resolve()
    }

    pub(super) fn log_config(&self, topic: &TopicConfig) -> LogConfig {
        let unsigned = |value: i64| u64::try_from(value).unwrap_or(0);
        let expiration = self
            .image
            .broker_configs(&self.config)
            .value("producer.id.expiration.ms")
            .and_then(|value| value.parse().ok());
        LogConfig {
            segment_bytes: unsigned(topic.segment_bytes.into()),
            segment_ms: topic.segment_ms,
            segment_index_bytes: unsigned(topic.segment_index_bytes.into()),
            index_interval_bytes: unsigned(topic.index_interval_bytes.into()),
            max_message_bytes: unsigned(topic.max_message_bytes.into()),
            message_timestamp_type: if topic.log_append_time {
                TimestampType::LogAppendTime
            } else {
                TimestampType::CreateTime
            },
            message_timestamp_before_max_ms: topic.timestamp_before_max_ms,
            message_timestamp_after_max_ms: topic.timestamp_after_max_ms,
            compression: topic.compression,
            compact: topic.compact,
            producer_id_expiration_ms: expiration.unwrap_or(LogConfig::default().producer_id_expiration_ms),
        }
    }

    fn reconfigure(&mut self, resource: i8, name: &str) {
        let concerned: Vec<PartitionKey> = match resource {
            TOPIC_RESOURCE => {
                let id = self.image.topic_ids.get(name).copied().unwrap_or_default();
                self.partitions.range((id, i32::MIN)..=(id, i32::MAX)).map(|(key, _)| *key).collect()
            }
            _ => self.partitions.keys().copied().collect(),
        };
        for key in concerned {
            let Some(topic) = self.partitions.get(&key).map(|partition| partition.topic.clone()) else { continue };
            let config = self.topic_config(&topic);
            let log_config = self.log_config(&config);
            if let Some(partition) = self.partitions.get_mut(&key) {
                partition.config = config;
                partition.log.update_config(log_config);
            }
        }
    }

    /// Asks for an fsync of everything before `up_to`, as Kafka does in the background after a roll.
    pub(super) fn flush_up_to(&mut self, cx: &mut Context<'_>, key: PartitionKey, up_to: i64) {
        let Some(partition) = self.partitions.get(&key) else { return };
        for file in partition.log.files_to_flush(up_to) {
            let token = FlushToken(self.next_flush);
            self.next_flush += 1;
            self.flushes.insert(token, PartitionFlush { key, up_to });
            cx.out.emit(EffectKind::Flush { file, token });
        }
    }

    pub(super) fn partition_flushed(&mut self, token: FlushToken) {
        let Some(done) = self.flushes.remove(&token) else { return };
        let pending = self.flushes.values().any(|flush| flush.key == done.key && flush.up_to <= done.up_to);
        if !pending && let Some(partition) = self.partitions.get_mut(&done.key) {
            partition.log.mark_flushed(done.up_to);
        }
    }

    /// Looks at what waits for the partitions on which something happened.
    /// Tells whether there was anything to look at.
    pub(super) fn complete_delayed(&mut self, cx: &mut Context<'_>) -> bool {
        let mut looked = false;
        while let Some(key) = self.purgatory.next_touched() {
            looked = true;
            let Some(partition) = self.partitions.get_mut(&key) else { continue };
            for id in std::mem::take(&mut partition.waiting) {
                if self.look_again(cx, id)
                    && let Some(partition) = self.partitions.get_mut(&key)
                {
                    partition.waiting.insert(id);
                }
            }
        }
        looked
    }

    /// Ends an operation if what it waits for has come. Tells whether it goes on waiting.
    pub(super) fn look_again(&mut self, cx: &mut Context<'_>, id: DelayedId) -> bool {
        let Some(operation) = self.purgatory.take(id) else { return false };
        let (conn, deadline) = (operation.conn(), operation.deadline());
        let still_waiting = match operation {
            Delayed::Produce(produce) => self.try_complete_produce(cx, produce).map(Delayed::Produce),
            Delayed::Fetch(fetch) => self.try_complete_fetch(cx, fetch).map(Delayed::Fetch),
        };
        match still_waiting {
            None => {
                self.purgatory.end(id, conn, deadline);
                false
            }
            Some(operation) => {
                self.purgatory.put_back(id, operation);
                true
            }
        }
    }

    /// The partitions stop watching an operation that ended by itself: on an idle one nothing else would clear it away.
    pub(super) fn unwatch(&mut self, id: DelayedId, operation: &Delayed) {
        for key in operation.partitions() {
            if let Some(partition) = self.partitions.get_mut(&key) {
                partition.waiting.remove(&id);
            }
        }
    }

    /// The peer of a connection is gone, or will be.
    pub(super) fn forget_waiting(&mut self, conn: ConnId) {
        if let Some((id, operation)) = self.purgatory.take_of_connection(conn) {
            self.unwatch(id, &operation);
        }
    }

    /// Ends an operation whatever it waits for.
    pub(super) fn complete(&mut self, cx: &mut Context<'_>, operation: Delayed) {
        match operation {
            Delayed::Produce(produce) => self.expire_produce(cx, produce),
            Delayed::Fetch(fetch) => self.finish_fetch(cx, fetch),
        }
    }

    /// `replication-offset-checkpoint`, if something moved.
    pub(super) fn checkpoint_high_watermarks(&mut self, cx: &mut Context<'_>) -> Result<(), DiskError> {
        let offsets = self.checkpoint_of(Partition::high_watermark);
        if offsets != self.high_watermarks {
            write_offset_checkpoint(cx.disk, HIGH_WATERMARK_CHECKPOINT, &offsets)?;
            self.high_watermarks = offsets;
        }
        Ok(())
    }

    /// `recovery-point-offset-checkpoint` and `log-start-offset-checkpoint`, if something moved.
    pub(super) fn checkpoint_logs(&mut self, cx: &mut Context<'_>) -> Result<(), DiskError> {
        let points = self.checkpoint_of(|partition| partition.log.recovery_point());
        if points != self.recovery_points {
            write_offset_checkpoint(cx.disk, RECOVERY_POINT_CHECKPOINT, &points)?;
            self.recovery_points = points;
        }
        let starts = self.log_starts_to_keep();
        if starts != self.log_starts {
            write_offset_checkpoint(cx.disk, LOG_START_CHECKPOINT, &starts)?;
            self.log_starts = starts;
        }
        Ok(())
    }

    /// Kafka leaves out logs that begin where their first segment does.
    pub(super) fn log_starts_to_keep(&self) -> Checkpoint {
        let mut starts = self.checkpoint_of(|partition| {
            let start = partition.log.log_start_offset();
            if partition.log.segment_base_offsets().next() == Some(start) { -1 } else { start }
        });
        starts.retain(|_, start| *start >= 0);
        starts
    }

    fn checkpoint_of(&self, offset: impl Fn(&Partition) -> i64) -> Checkpoint {
        self.partitions
            .values()
            .map(|partition| ((partition.topic.clone(), partition.index), offset(partition)))
            .collect()
    }
}
