//! What a reader may see of a server: a read-only projection, taken when it is drawn and never kept.

use crate::controller::{Controller, TopicImage};
use crate::disk::Disk;
use crate::log::Log;
use crate::record::{Batch, Batches};

use super::Broker;
use super::lifecycle::LifeStage;
use super::partition::Partition;

/// The whole server at one instant.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ServerState {
    pub node_id: i32,
    /// Registered, unfenced and listening.
    pub serving: bool,
    /// −1 until registered.
    pub broker_epoch: i64,
    /// End of the metadata log, and up to where it is committed.
    pub metadata_end_offset: i64,
    pub metadata_committed: i64,
    /// By name.
    pub topics: Vec<TopicState>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TopicState {
    pub name: String,
    pub topic_id: [u8; 16],
    /// By index.
    pub partitions: Vec<PartitionState>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PartitionState {
    pub partition: i32,
    /// −1 while there is none.
    pub leader: i32,
    pub leader_epoch: i32,
    pub replicas: Vec<i32>,
    pub in_sync_replicas: Vec<i32>,
    pub log_start_offset: i64,
    pub high_watermark: i64,
    pub log_end_offset: i64,
    /// Oldest first; the last one is active.
    pub segments: Vec<SegmentState>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SegmentState {
    pub base_offset: i64,
    pub size: u64,
    pub batches: Vec<BatchState>,
}

/// One batch of a segment, as its header says.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct BatchState {
    pub position: u64,
    pub size: u32,
    pub base_offset: i64,
    pub last_offset: i64,
    pub leader_epoch: i32,
    pub base_timestamp: i64,
    pub max_timestamp: i64,
    /// −1 without idempotence.
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
}

/// Where a partition begins and ends: cheap, for it is asked at every drawn frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionEnds {
    /// −1 while there is none.
    pub leader: i32,
    pub log_start_offset: i64,
    pub high_watermark: i64,
    pub log_end_offset: i64,
    /// Of the segment that is appended to; absent where the node has no log of it.
    pub active_segment: Option<i64>,
}

impl PartitionEnds {
    pub(super) fn of(broker: &Broker, topic: &str, partition: i32) -> Option<PartitionEnds> {
        let topic = broker.image.topic(topic)?;
        let leader = topic.partitions.get(&partition)?.leader;
        let held = broker.partitions.get(&(topic.id, partition));
        let log = held.map(|partition| &partition.log);
        Some(PartitionEnds {
            leader,
            log_start_offset: log.map_or(0, Log::log_start_offset),
            high_watermark: held.map_or(0, Partition::high_watermark),
            log_end_offset: log.map_or(0, Log::log_end_offset),
            active_segment: log.and_then(|log| log.segment_base_offsets().next_back()),
        })
    }
}

impl ServerState {
    /// A node that is not running.
    pub(super) fn down(node_id: i32) -> ServerState {
        ServerState {
            node_id,
            serving: false,
            broker_epoch: -1,
            metadata_end_offset: 0,
            metadata_committed: 0,
            topics: Vec::new(),
        }
    }

    pub(super) fn of(disk: &dyn Disk, broker: &Broker, controller: Option<&Controller>) -> ServerState {
        ServerState {
            node_id: broker.config.node_id,
            serving: broker.lifecycle.stage == LifeStage::Serving,
            broker_epoch: broker.lifecycle.broker_epoch,
            metadata_end_offset: controller.map_or(broker.image.end_offset, Controller::end_offset),
            metadata_committed: controller.map_or(broker.image.end_offset, Controller::high_watermark),
            topics: broker.image.topics_by_name().map(|topic| TopicState::of(disk, broker, topic)).collect(),
        }
    }
}

impl TopicState {
    fn of(disk: &dyn Disk, broker: &Broker, topic: &TopicImage) -> TopicState {
        let partitions = topic.partitions.iter().map(|(index, registration)| {
            let held = broker.partitions.get(&(topic.id, *index));
            let log = held.map(|partition| &partition.log);
            PartitionState {
                partition: *index,
                leader: registration.leader,
                leader_epoch: registration.leader_epoch,
                replicas: registration.replicas.clone(),
                in_sync_replicas: registration.isr.clone(),
                log_start_offset: log.map_or(0, Log::log_start_offset),
                high_watermark: held.map_or(0, Partition::high_watermark),
                log_end_offset: log.map_or(0, Log::log_end_offset),
                segments: log.map(|log| segments(disk, log)).unwrap_or_default(),
            }
        });
        TopicState { name: topic.name.clone(), topic_id: topic.id.0, partitions: partitions.collect() }
    }
}

/// The batches of each segment. What cannot be read is left out: this is for looking at, not for working with.
fn segments(disk: &dyn Disk, log: &Log) -> Vec<SegmentState> {
    let bases = log.segment_base_offsets();
    let segment = |base_offset: i64| {
        let from = base_offset.max(log.log_start_offset());
        let read = log.read(disk, from, u64::MAX, log.log_end_offset(), true).ok();
        let size = read.as_ref().map_or(0, |read| read.size);
        let records = read.and_then(|read| read.records?.to_bytes().ok()).unwrap_or_default();
        let mut position = 0;
        let batches = Batches::new(records).map_while(Result::ok).map(|batch| {
            let state = BatchState::of(&batch, position);
            position += batch.size_in_bytes();
            state
        });
        SegmentState { base_offset, batches: batches.collect(), size }
    };
    bases.map(segment).collect()
}

impl BatchState {
    fn of<T: AsRef<[u8]>>(batch: &Batch<T>, position: u64) -> BatchState {
        BatchState {
            position,
            size: u32::try_from(batch.size_in_bytes()).unwrap_or(u32::MAX),
            base_offset: batch.base_offset(),
            last_offset: batch.last_offset(),
            leader_epoch: batch.partition_leader_epoch(),
            base_timestamp: batch.base_timestamp(),
            max_timestamp: batch.max_timestamp(),
            producer_id: batch.producer_id(),
            producer_epoch: batch.producer_epoch(),
            base_sequence: batch.base_sequence(),
        }
    }
}
