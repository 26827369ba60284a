//! AlterPartition (key 56).

use crate::wire::Uuid;
use crate::wire::schema::message;

message! {
    /// A leader asks the controller for another ISR, or reports that it has recovered from an unclean election.
    pub struct AlterPartitionRequest: request 56, versions 2..=3, flexible 0.. {
        broker_id: i32,
        broker_epoch: i64 = -1,
        topics: Vec<AlterPartitionTopic>,
    }

    /// The partitions of one topic to alter.
    pub struct AlterPartitionTopic {
        topic_id: Uuid [ignorable],
        partitions: Vec<AlterPartitionData>,
    }

    /// What one partition is to be, and the epochs in which the leader asks.
    pub struct AlterPartitionData {
        partition_index: i32,
        leader_epoch: i32,
        new_isr: Vec<i32> [..=2],
        new_isr_with_epochs: Vec<BrokerState> [3..],
        leader_recovery_state: i8,
        partition_epoch: i32,
    }

    /// A member of the new ISR; epoch -1 is not checked (KIP-903).
    pub struct BrokerState {
        broker_id: i32,
        broker_epoch: i64 = -1,
    }

    /// What the partitions are now.
    pub struct AlterPartitionResponse: response 56, versions 2..=3, flexible 0.. {
        throttle_time_ms: i32,
        error_code: i16,
        topics: Vec<AlteredTopic>,
    }

    /// The partitions of one topic that were asked for.
    pub struct AlteredTopic {
        topic_id: Uuid [ignorable],
        partitions: Vec<AlteredPartition>,
    }

    /// One partition as the controller has it.
    pub struct AlteredPartition {
        partition_index: i32,
        error_code: i16,
        leader_id: i32,
        leader_epoch: i32,
        isr: Vec<i32>,
        leader_recovery_state: i8,
        partition_epoch: i32,
    }
}
