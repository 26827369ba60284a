//! One partition as its leader sees it: the log, the ISR, the high watermark (`kafka.cluster.Partition`).

use bytes::Bytes;

use crate::controller::PartitionRegistration;
use crate::disk::{Disk, DiskError};
use crate::log::{AppendError, Appended, Log};
use crate::node::TopicPartition;
use crate::ordered::BTreeSet;
use crate::record::Batch;
use crate::wire::{ErrorCode, Uuid};

use super::config::TopicConfig;
use super::purgatory::DelayedId;

/// Names a partition: topic id and index. The name of a topic can be used again, its id cannot.
pub(super) type PartitionKey = (Uuid, i32);

#[derive(Debug, Clone)]
pub(super) struct Partition {
    pub topic: String,
    pub index: i32,
    pub log: Log,
    pub config: TopicConfig,
    /// As the last replayed record has it.
    pub registration: PartitionRegistration,
    /// The leader epoch in which this broker has taken the lead.
    pub reign: Option<i32>,
    node_id: i32,
    high_watermark: i64,
    /// The operations that wait for something to happen here.
    pub waiting: BTreeSet<DelayedId>,
}

/// Why an append came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProduceError {
    NotLeader,
    NotEnoughReplicas,
    Log(AppendError),
}

impl Partition {
    pub fn new(
        topic: String,
        index: i32,
        log: Log,
        config: TopicConfig,
        registration: PartitionRegistration,
        node_id: i32,
        high_watermark: i64,
    ) -> Partition {
        let high_watermark = high_watermark.clamp(log.log_start_offset(), log.log_end_offset());
        Partition {
            topic,
            index,
            log,
            config,
            registration,
            reign: None,
            node_id,
            high_watermark,
            waiting: BTreeSet::new(),
        }
    }

    pub fn name(&self) -> TopicPartition {
        TopicPartition { topic: self.topic.clone(), partition: self.index }
    }

    pub fn is_leader(&self) -> bool {
        self.registration.leader == self.node_id
    }

    pub fn leader_epoch(&self) -> i32 {
        self.registration.leader_epoch
    }

    pub fn high_watermark(&self) -> i64 {
        self.high_watermark
    }

    /// The first offset that a read_committed consumer may not see.
    pub fn last_stable_offset(&self) -> i64 {
        let undecided = self.log.producers().first_undecided_offset();
        undecided.map_or(self.high_watermark, |offset| offset.min(self.high_watermark))
    }

    /// `min.insync.replicas`, at most the number of replicas (KIP-966).
    pub fn effective_min_isr(&self) -> usize {
        let min_isr = usize::try_from(self.config.min_insync_replicas).unwrap_or(1);
        min_isr.min(self.registration.replicas.len())
    }

    pub fn has_enough_replicas(&self) -> bool {
        self.registration.isr.len() >= self.effective_min_isr()
    }

    /// Checks of steps 10 and 11, then the log's own.
    pub fn append(
        &mut self,
        disk: &mut dyn Disk,
        batch: &Batch<Bytes>,
        acks: i16,
        now_ms: i64,
    ) -> Result<Appended, ProduceError> {
        if !self.is_leader() {
            return Err(ProduceError::NotLeader);
        }
        if acks == -1 && !self.has_enough_replicas() {
            return Err(ProduceError::NotEnoughReplicas);
        }
        let epoch = self.leader_epoch();
        self.log.append_as_leader(disk, batch, epoch, now_ms).map_err(ProduceError::Log)
    }

    /// Raises the high watermark as far as the ISR allows; tells whether it moved. It stands still while the ISR is
    /// below its minimum (KIP-966), and while anyone else in the ISR has not said how far it is.
    pub fn raise_high_watermark(&mut self) -> bool {
        let alone = self.registration.isr == [self.node_id];
        let end = self.log.log_end_offset();
        if !self.is_leader() || !alone || !self.has_enough_replicas() || end <= self.high_watermark {
            return false;
        }
        self.high_watermark = end;
        true
    }

    /// A new reign begins at the log's end, even before anything is written.
    pub fn become_leader(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        let epoch = self.leader_epoch();
        self.log.assign_leader_epoch(disk, epoch)
    }

    /// A request's idea of the leader epoch against ours; then whether we lead at all.
    pub fn check_leadership(&self, current_leader_epoch: i32) -> Result<(), ErrorCode> {
        let epoch = self.leader_epoch();
        if current_leader_epoch >= 0 && current_leader_epoch < epoch {
            Err(ErrorCode::FENCED_LEADER_EPOCH)
        } else if current_leader_epoch > epoch {
            Err(ErrorCode::UNKNOWN_LEADER_EPOCH)
        } else if !self.is_leader() {
            Err(ErrorCode::NOT_LEADER_OR_FOLLOWER)
        } else {
            Ok(())
        }
    }
}
