//! The cluster's metadata as the log's records make it. Broker and controller each replay into an image of their own;
//! nothing keeps a table beside it (`org.apache.kafka.image.MetadataImage`).

use std::sync::Arc;

use crate::broker::config::{BrokerConfigs, ServerConfig, TopicConfigs};
use crate::node::Address;
use crate::ordered::{BTreeMap, BTreeSet};
use crate::wire::Uuid;
#[cfg(feature = "administration")]
use crate::wire::messages::administration::metadata_records::ClientQuotaRecord;
use crate::wire::messages::metadata_records::{
    BrokerRegistrationChangeRecord, ConfigRecord, PartitionChangeRecord, PartitionRecord, RegisterBrokerRecord,
};

use super::MetadataRecord;
use super::features::ELIGIBLE_LEADER_REPLICAS_VERSION;

/// `PartitionChangeRecord.leader`: the leader stays (−2), or there is none (−1).
pub const LEADER_UNCHANGED: i32 = -2;
pub const NO_LEADER: i32 = -1;

/// `ConfigResource.Type`.
pub const TOPIC_RESOURCE: i8 = 2;
pub const BROKER_RESOURCE: i8 = 4;
pub const BROKER_LOGGER_RESOURCE: i8 = 8;
pub const CLIENT_METRICS_RESOURCE: i8 = 16;
pub const GROUP_RESOURCE: i8 = 32;

/// Whether an elected leader may have lost what was acked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryState {
    Recovered,
    /// Elected uncleanly and not yet confirmed by the leader.
    Recovering,
}

impl RecoveryState {
    pub fn of(value: i8) -> RecoveryState {
        if value == 1 { RecoveryState::Recovering } else { RecoveryState::Recovered }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerRegistration {
    pub broker_id: i32,
    pub broker_epoch: i64,
    /// The offset of its RegisterBroker record; the broker is caught up once it has replayed that.
    pub registered_at: i64,
    pub incarnation_id: Uuid,
    /// By listener name.
    pub listeners: BTreeMap<String, Address>,
    pub rack: Option<String>,
    pub fenced: bool,
    pub in_controlled_shutdown: bool,
    pub log_dirs: Vec<Uuid>,
}

impl BrokerRegistration {
    /// May lead partitions.
    pub fn is_active(&self) -> bool {
        !self.fenced && !self.in_controlled_shutdown
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionRegistration {
    pub replicas: Vec<i32>,
    pub isr: Vec<i32>,
    /// [`NO_LEADER`] while there is none.
    pub leader: i32,
    pub leader_epoch: i32,
    pub partition_epoch: i32,
    pub recovery: RecoveryState,
    /// KIP-966: who was in the ISR when it fell below its minimum, and who led last.
    pub elr: Vec<i32>,
    pub last_known_elr: Vec<i32>,
    pub directories: Vec<Uuid>,
}

impl PartitionRegistration {
    fn of(record: &PartitionRecord) -> PartitionRegistration {
        PartitionRegistration {
            replicas: record.replicas.clone(),
            isr: record.isr.clone(),
            leader: record.leader,
            leader_epoch: record.leader_epoch,
            partition_epoch: record.partition_epoch,
            recovery: RecoveryState::of(record.leader_recovery_state),
            elr: record.eligible_leader_replicas.clone().unwrap_or_default(),
            last_known_elr: record.last_known_elr.clone().unwrap_or_default(),
            directories: record.directories.clone(),
        }
    }

    /// `PartitionRegistration.merge`.
    fn change(&mut self, record: &PartitionChangeRecord) {
        if let Some(isr) = &record.isr {
            self.isr = isr.clone();
        }
        if let Some(replicas) = &record.replicas {
            self.replicas = replicas.clone();
        }
        if let Some(directories) = &record.directories {
            self.directories = directories.clone();
        }
        if let Some(elr) = &record.eligible_leader_replicas {
            self.elr = elr.clone();
        }
        if let Some(last_known) = &record.last_known_elr {
            self.last_known_elr = last_known.clone();
        }
        if record.leader_recovery_state >= 0 {
            self.recovery = RecoveryState::of(record.leader_recovery_state);
        }
        // A leader that is named is a new reign even when it is the same broker.
        if record.leader != LEADER_UNCHANGED {
            self.leader = record.leader;
            self.leader_epoch += 1;
        }
        self.partition_epoch += 1;
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicImage {
    pub name: String,
    pub id: Uuid,
    pub partitions: BTreeMap<i32, PartitionRegistration>,
}

/// What a record changed, for those who act on changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Nothing,
    Broker(i32),
    TopicCreated(Uuid),
    Partition(Uuid, i32),
    TopicRemoved {
        topic_id: Uuid,
        name: String,
    },
    /// Resource type and name.
    Config(i8, String),
}

/// Who a quota is for: type and name, no name for the default.
#[cfg(feature = "administration")]
pub type QuotaEntityKey = BTreeMap<String, Option<String>>;

#[derive(Debug, Clone, Default)]
pub struct MetadataImage {
    pub features: BTreeMap<String, i16>,
    pub brokers: BTreeMap<i32, BrokerRegistration>,
    /// Shared between snapshots of a world; a topic is copied when it changes.
    pub topics: BTreeMap<Uuid, Arc<TopicImage>>,
    pub topic_ids: BTreeMap<String, Uuid>,
    /// Names with `.` or `_`, by what they are once those count as one character (Kafka's `topicsWithCollisionChars`).
    collidable: BTreeMap<String, BTreeSet<String>>,
    /// By resource type and name; the empty broker name is the cluster-wide default.
    pub configs: BTreeMap<(i8, String), BTreeMap<String, String>>,
    /// By entity and key, the number's bits.
    #[cfg(feature = "administration")]
    pub client_quotas: BTreeMap<QuotaEntityKey, BTreeMap<String, u64>>,
    /// By user and mechanism, the iterations: all that anybody may know.
    #[cfg(feature = "administration")]
    pub scram: BTreeMap<(String, i8), i32>,
    pub next_producer_id: i64,
    /// One past the offset of the last replayed record.
    pub end_offset: i64,
}

impl MetadataImage {
    pub fn topic(&self, name: &str) -> Option<&TopicImage> {
        self.topics.get(self.topic_ids.get(name)?).map(Arc::as_ref)
    }

    pub fn topics_by_name(&self) -> impl Iterator<Item = &TopicImage> {
        self.topic_ids.values().filter_map(|id| self.topics.get(id).map(Arc::as_ref))
    }

    pub fn topic_by_id(&self, id: Uuid) -> Option<&TopicImage> {
        self.topics.get(&id).map(Arc::as_ref)
    }

    pub fn partition(&self, id: Uuid, partition: i32) -> Option<&PartitionRegistration> {
        self.topics.get(&id)?.partitions.get(&partition)
    }

    pub fn feature_level(&self, name: &str) -> i16 {
        self.features.get(name).copied().unwrap_or(0)
    }

    /// KIP-966.
    pub fn is_elr_enabled(&self) -> bool {
        self.feature_level(ELIGIBLE_LEADER_REPLICAS_VERSION) > 0
    }

    /// What is set for a resource; nothing is the same as no resource.
    pub fn configs_of(&self, resource_type: i8, resource: &str) -> Option<&BTreeMap<String, String>> {
        self.configs.get(&(resource_type, resource.to_string()))
    }

    /// The configuration of a node, given its file.
    pub fn broker_configs<'a>(&'a self, server: &'a ServerConfig) -> BrokerConfigs<'a> {
        BrokerConfigs {
            node: self.configs_of(BROKER_RESOURCE, &server.node_id.to_string()),
            cluster: self.configs_of(BROKER_RESOURCE, ""),
            server,
        }
    }

    /// The configuration of a topic on a node.
    pub fn topic_configs<'a>(&'a self, topic: &str, server: &'a ServerConfig) -> TopicConfigs<'a> {
        TopicConfigs { topic: self.configs_of(TOPIC_RESOURCE, topic), broker: self.broker_configs(server) }
    }

    /// Applies one record of the log.
    pub fn replay(&mut self, offset: i64, record: &MetadataRecord) -> Change {
        self.end_offset = offset + 1;
        match record {
            MetadataRecord::RegisterBroker(record) => self.register_broker(offset, record),
            MetadataRecord::UnregisterBroker(record) => {
                self.brokers.remove(&record.broker_id);
                Change::Broker(record.broker_id)
            }
            MetadataRecord::FenceBroker(record) => self.set_fenced(record.id, true),
            MetadataRecord::UnfenceBroker(record) => self.set_fenced(record.id, false),
            MetadataRecord::BrokerRegistrationChange(record) => self.change_broker(record),
            MetadataRecord::Topic(record) => {
                let topic = TopicImage { name: record.name.clone(), id: record.topic_id, partitions: BTreeMap::new() };
                self.topic_ids.insert(record.name.clone(), record.topic_id);
                if let Some(unified) = unified_name(&record.name) {
                    self.collidable.entry(unified).or_default().insert(record.name.clone());
                }
                self.topics.insert(record.topic_id, Arc::new(topic));
                Change::TopicCreated(record.topic_id)
            }
            MetadataRecord::Partition(record) => {
                if let Some(topic) = self.topics.get_mut(&record.topic_id) {
                    let registration = PartitionRegistration::of(record);
                    Arc::make_mut(topic).partitions.insert(record.partition_id, registration);
                }
                Change::Partition(record.topic_id, record.partition_id)
            }
            MetadataRecord::PartitionChange(record) => {
                if let Some(topic) = self.topics.get_mut(&record.topic_id)
                    && let Some(partition) = Arc::make_mut(topic).partitions.get_mut(&record.partition_id)
                {
                    partition.change(record);
                }
                Change::Partition(record.topic_id, record.partition_id)
            }
            MetadataRecord::RemoveTopic(record) => self.remove_topic(record.topic_id),
            MetadataRecord::Config(record) => self.set_config(record),
            MetadataRecord::FeatureLevel(record) => {
                // Level 0 means that the feature is off, and is not listed.
                if record.feature_level == 0 {
                    self.features.remove(&record.name);
                } else {
                    self.features.insert(record.name.clone(), record.feature_level);
                }
                Change::Nothing
            }
            MetadataRecord::ProducerIds(record) => {
                self.next_producer_id = record.next_producer_id;
                Change::Nothing
            }
            #[cfg(feature = "administration")]
            MetadataRecord::ClientQuota(record) => self.set_quota(record),
            #[cfg(feature = "administration")]
            MetadataRecord::UserScramCredential(record) => {
                self.scram.insert((record.name.clone(), record.mechanism), record.iterations);
                Change::Nothing
            }
            #[cfg(feature = "administration")]
            MetadataRecord::RemoveUserScramCredential(record) => {
                self.scram.remove(&(record.name.clone(), record.mechanism));
                Change::Nothing
            }
            MetadataRecord::ClearElr(record) => {
                self.clear_elr(&record.topic_name);
                Change::Nothing
            }
            MetadataRecord::NoOp(_)
            | MetadataRecord::BeginTransaction(_)
            | MetadataRecord::EndTransaction(_)
            | MetadataRecord::AbortTransaction(_)
            | MetadataRecord::RegisterController(_) => Change::Nothing,
        }
    }

    fn register_broker(&mut self, offset: i64, record: &RegisterBrokerRecord) -> Change {
        let address = |host: &str, port: u16| Address { host: host.to_string(), port };
        let registration = BrokerRegistration {
            broker_id: record.broker_id,
            broker_epoch: record.broker_epoch,
            registered_at: offset,
            incarnation_id: record.incarnation_id,
            listeners: record
                .end_points
                .iter()
                .map(|end_point| (end_point.name.clone(), address(&end_point.host, end_point.port)))
                .collect(),
            rack: record.rack.clone(),
            fenced: record.fenced,
            in_controlled_shutdown: record.in_controlled_shutdown,
            log_dirs: record.log_dirs.clone(),
        };
        self.brokers.insert(record.broker_id, registration);
        Change::Broker(record.broker_id)
    }

    fn change_broker(&mut self, record: &BrokerRegistrationChangeRecord) -> Change {
        if let Some(broker) = self.brokers.get_mut(&record.broker_id) {
            match record.fenced {
                1 => broker.fenced = true,
                -1 => broker.fenced = false,
                _ => {}
            }
            if record.in_controlled_shutdown == 1 {
                broker.in_controlled_shutdown = true;
            }
        }
        Change::Broker(record.broker_id)
    }

    fn set_fenced(&mut self, broker_id: i32, fenced: bool) -> Change {
        if let Some(broker) = self.brokers.get_mut(&broker_id) {
            broker.fenced = fenced;
        }
        Change::Broker(broker_id)
    }

    fn set_config(&mut self, record: &ConfigRecord) -> Change {
        let resource = (record.resource_type, record.resource_name.clone());
        match &record.value {
            Some(value) => {
                self.configs.entry(resource.clone()).or_default().insert(record.name.clone(), value.clone());
            }
            None => {
                if let Some(configs) = self.configs.get_mut(&resource) {
                    configs.remove(&record.name);
                    if configs.is_empty() {
                        self.configs.remove(&resource);
                    }
                }
            }
        }
        Change::Config(resource.0, resource.1)
    }

    #[cfg(feature = "administration")]
    fn set_quota(&mut self, record: &ClientQuotaRecord) -> Change {
        let parts = record.entity.iter().map(|part| (part.entity_type.clone(), part.entity_name.clone()));
        let entity: QuotaEntityKey = parts.collect();
        let quotas = self.client_quotas.entry(entity.clone()).or_default();
        if record.remove {
            quotas.remove(&record.key);
        } else {
            quotas.insert(record.key.clone(), record.value.to_bits());
        }
        if quotas.is_empty() {
            self.client_quotas.remove(&entity);
        }
        Change::Nothing
    }

    fn remove_topic(&mut self, topic_id: Uuid) -> Change {
        let name = self.topics.remove(&topic_id).map(|topic| topic.name.clone()).unwrap_or_default();
        self.topic_ids.remove(&name);
        if let Some(unified) = unified_name(&name)
            && let Some(names) = self.collidable.get_mut(&unified)
        {
            names.remove(&name);
        }
        self.configs.remove(&(TOPIC_RESOURCE, name.clone()));
        Change::TopicRemoved { topic_id, name }
    }

    /// A topic whose name differs from this one only in `.` and `_`: the two would share metric names.
    pub fn topic_colliding_with(&self, name: &str) -> Option<&str> {
        self.collidable.get(&unified_name(name)?)?.first().map(String::as_str)
    }

    /// Of one topic, or of all if the name is empty.
    fn clear_elr(&mut self, topic_name: &str) {
        for topic in self.topics.values_mut().filter(|topic| topic_name.is_empty() || topic.name == topic_name) {
            for partition in Arc::make_mut(topic).partitions.values_mut() {
                if !partition.elr.is_empty() || !partition.last_known_elr.is_empty() {
                    partition.elr.clear();
                    partition.last_known_elr.clear();
                    partition.partition_epoch += 1;
                }
            }
        }
    }
}

fn unified_name(name: &str) -> Option<String> {
    name.contains(['.', '_']).then(|| name.replace('.', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::messages::metadata_records::{RemoveTopicRecord, TopicRecord};

    fn image_with_a_topic() -> MetadataImage {
        let mut image = MetadataImage::default();
        let id = Uuid([7; 16]);
        image.replay(0, &TopicRecord { name: "orders".into(), topic_id: id, ..Default::default() }.into());
        let partition = PartitionRecord {
            partition_id: 0,
            topic_id: id,
            replicas: vec![1],
            isr: vec![1],
            leader: 1,
            leader_epoch: 0,
            partition_epoch: 0,
            ..Default::default()
        };
        image.replay(1, &partition.into());
        image
    }

    #[test]
    fn a_change_that_names_a_leader_starts_a_new_epoch_even_for_the_same_leader() {
        let mut image = image_with_a_topic();
        let id = Uuid([7; 16]);
        let change = PartitionChangeRecord { partition_id: 0, topic_id: id, leader: 1, ..Default::default() };
        image.replay(2, &change.into());
        let change = PartitionChangeRecord { partition_id: 0, topic_id: id, ..Default::default() };
        image.replay(3, &change.into());
        let partition = image.partition(id, 0).expect("created");
        assert_eq!((partition.leader_epoch, partition.partition_epoch), (1, 2));
        assert_eq!(image.end_offset, 4);
    }

    #[test]
    fn a_removed_topic_leaves_neither_its_name_nor_its_configs() {
        let mut image = image_with_a_topic();
        let config = ConfigRecord {
            resource_type: TOPIC_RESOURCE,
            resource_name: "orders".into(),
            name: "retention.ms".into(),
            value: Some("1".into()),
            ..Default::default()
        };
        image.replay(2, &config.into());
        let change = image.replay(3, &RemoveTopicRecord { topic_id: Uuid([7; 16]), ..Default::default() }.into());
        assert_eq!(change, Change::TopicRemoved { topic_id: Uuid([7; 16]), name: "orders".into() });
        assert!(image.topic("orders").is_none());
        assert!(image.configs.is_empty());
    }

    #[test]
    fn a_record_survives_its_bytes() {
        let record: MetadataRecord =
            TopicRecord { name: "a".into(), topic_id: Uuid([1; 16]), ..Default::default() }.into();
        let bytes = record.encode().expect("valid");
        assert_eq!(MetadataRecord::decode(&bytes), Ok(record));
        // Frame version 1, type 2, version 0, as in Kafka's metadata log.
        assert_eq!(&bytes[..3], [1, 2, 0]);
    }
}
