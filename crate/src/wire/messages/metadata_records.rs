//! The records of `__cluster_metadata` ([`crate::wire::encode_record`] puts type and version in front).

use crate::wire::Uuid;
use crate::wire::schema::message;

message! {
    /// A broker has registered.
    pub struct RegisterBrokerRecord: record 0, versions 0..=4, flexible 0.. {
        broker_id: i32,
        is_migrating_zk_broker: bool [2..],
        incarnation_id: Uuid,
        broker_epoch: i64,
        end_points: Vec<BrokerEndpoint>,
        features: Vec<BrokerFeature>,
        rack: Option<String>,
        fenced: bool = true,
        in_controlled_shutdown: bool [1..],
        log_dirs: Vec<Uuid> [3.., tag 0],
        cordoned_log_dirs: Option<Vec<Uuid>> [4.., tag 1],
    }

    /// Where the broker listens.
    pub struct BrokerEndpoint {
        name: String,
        host: String,
        port: u16,
        security_protocol: i16,
    }

    /// The levels of a feature that the broker can work with.
    pub struct BrokerFeature {
        name: String,
        min_supported_version: i16,
        max_supported_version: i16,
    }

    /// A broker has left for good.
    pub struct UnregisterBrokerRecord: record 1, versions 0..=0, flexible 0.. {
        broker_id: i32,
        broker_epoch: i64,
    }

    /// A topic exists.
    pub struct TopicRecord: record 2, versions 0..=0, flexible 0.. {
        name: String,
        topic_id: Uuid,
    }

    /// A partition exists, whole.
    pub struct PartitionRecord: record 3, versions 0..=2, flexible 0.. {
        partition_id: i32 = -1,
        topic_id: Uuid,
        replicas: Vec<i32>,
        isr: Vec<i32>,
        removing_replicas: Vec<i32>,
        adding_replicas: Vec<i32>,
        leader: i32 = -1,
        leader_recovery_state: i8 [tag 0],
        leader_epoch: i32 = -1,
        partition_epoch: i32 = -1,
        directories: Vec<Uuid> [1..],
        eligible_leader_replicas: Option<Vec<i32>> [2.., tag 1],
        last_known_elr: Option<Vec<i32>> [2.., tag 2],
    }

    /// A config was set, or removed if the value is null.
    pub struct ConfigRecord: record 4, versions 0..=0, flexible 0.. {
        resource_type: i8,
        resource_name: String,
        name: String,
        value: Option<String>,
    }

    /// What changed in a partition; fields that keep their default did not.
    pub struct PartitionChangeRecord: record 5, versions 0..=2, flexible 0.. {
        partition_id: i32 = -1,
        topic_id: Uuid,
        isr: Option<Vec<i32>> [tag 0],
        leader: i32 [tag 1] = -2,
        replicas: Option<Vec<i32>> [tag 2],
        removing_replicas: Option<Vec<i32>> [tag 3],
        adding_replicas: Option<Vec<i32>> [tag 4],
        leader_recovery_state: i8 [tag 5] = -1,
        directories: Option<Vec<Uuid>> [1.., tag 8],
        eligible_leader_replicas: Option<Vec<i32>> [2.., tag 6],
        last_known_elr: Option<Vec<i32>> [2.., tag 7],
    }

    /// A broker may no longer lead.
    pub struct FenceBrokerRecord: record 7, versions 0..=0, flexible 0.. {
        id: i32,
        epoch: i64,
    }

    /// A broker may lead again.
    pub struct UnfenceBrokerRecord: record 8, versions 0..=0, flexible 0.. {
        id: i32,
        epoch: i64,
    }

    /// A topic and its partitions are gone.
    pub struct RemoveTopicRecord: record 9, versions 0..=0, flexible 0.. {
        topic_id: Uuid,
    }

    /// A feature is in force at this level.
    pub struct FeatureLevelRecord: record 12, versions 0..=0, flexible 0.. {
        name: String,
        feature_level: i16,
    }

    /// The next block of producer ids begins here.
    pub struct ProducerIdsRecord: record 15, versions 0..=0, flexible 0.. {
        broker_id: i32,
        broker_epoch: i64 = -1,
        next_producer_id: i64,
    }

    /// What changed in a broker's registration.
    pub struct BrokerRegistrationChangeRecord: record 17, versions 0..=3, flexible 0.. {
        broker_id: i32,
        broker_epoch: i64,
        fenced: i8 [tag 0],
        in_controlled_shutdown: i8 [1.., tag 1],
        log_dirs: Vec<Uuid> [2.., tag 2],
        cordoned_log_dirs: Option<Vec<Uuid>> [3.., tag 3],
    }

    /// Keeps the log moving while nothing happens.
    pub struct NoOpRecord: record 20, versions 0..=0, flexible 0.. {}

    /// What follows counts only once the transaction ends (KIP-868).
    pub struct BeginTransactionRecord: record 23, versions 0..=0, flexible 0.. {
        name: Option<String> [tag 0],
    }

    /// The transaction's records count.
    pub struct EndTransactionRecord: record 24, versions 0..=0, flexible 0.. {}

    /// The transaction's records never happened.
    pub struct AbortTransactionRecord: record 25, versions 0..=0, flexible 0.. {
        reason: Option<String> [tag 0],
    }

    /// A controller has registered.
    pub struct RegisterControllerRecord: record 27, versions 0..=0, flexible 0.. {
        controller_id: i32,
        incarnation_id: Uuid,
        zk_migration_ready: bool,
        end_points: Vec<ControllerEndpoint>,
        features: Vec<ControllerFeature>,
    }

    /// Where the controller listens.
    pub struct ControllerEndpoint {
        name: String,
        host: String,
        port: u16,
        security_protocol: i16,
    }

    /// The levels of a feature that the controller can work with.
    pub struct ControllerFeature {
        name: String,
        min_supported_version: i16,
        max_supported_version: i16,
    }

    /// Forget the eligible leader replicas of a topic, or of all.
    pub struct ClearElrRecord: record 28, versions 0..=0, flexible 0.. {
        topic_name: String,
    }
}
