//! CreateTopics in the controller (`ReplicationControlManager.createTopics`): names, configs, assignments, records.
//! What becomes of topics later is in `topic_changes`.

use crate::broker::config::{ServerConfig, TopicConfigs};
use crate::node::Rng;
use crate::ordered::{BTreeMap, BTreeSet};
use crate::wire::messages::create_topics::{
    CreatableTopic, CreatableTopicConfigs, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse,
};
use crate::wire::messages::metadata_records::{PartitionRecord, TopicRecord};
use crate::wire::{ErrorCode, Uuid};

use super::MetadataRecord;
use super::configs::{ConfigControl, Resource};
use super::image::{BrokerRegistration, MetadataImage, TOPIC_RESOURCE};
use super::placement::{ReplicaPlacer, UsableBroker};
use super::quorum::METADATA_TOPIC;

/// `org.apache.kafka.common.internals.Topic.MAX_NAME_LENGTH`.
const TOPIC_NAME_LENGTH_MAX: usize = 249;
pub(super) const ALL_FENCED: &str = "All brokers are currently fenced or in controlled shutdown.";
/// A request for more partitions than this is refused as a whole (`MAX_PARTITIONS_PER_BATCH`).
const PARTITIONS_PER_REQUEST_MAX: i64 = 10_000;

/// A topic that was refused: code and Kafka's text.
pub(super) type Refusal = (ErrorCode, String);

/// Whether a topic may have this name; otherwise Kafka's text (`Topic.validate`).
pub fn check_topic_name(name: &str) -> Result<(), String> {
    let invalid = |why: String| Err(format!("Topic name is invalid: {why}"));
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() {
        invalid("the empty string is not allowed".to_string())
    } else if name == "." || name == ".." {
        invalid(format!("'{name}' is not allowed"))
    } else if name.len() > TOPIC_NAME_LENGTH_MAX {
        invalid(format!("the length of '{name}' is longer than the max allowed length {TOPIC_NAME_LENGTH_MAX}"))
    } else if !name.chars().all(legal) {
        invalid(format!("'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"))
    } else {
        Ok(())
    }
}

/// Everything that a change of topics looks at.
pub struct TopicControl<'a> {
    pub image: &'a MetadataImage,
    pub config: &'a ServerConfig,
    pub rng: &'a mut Rng,
}

impl TopicControl<'_> {
    /// The answer, and the records to write first.
    pub fn create(&mut self, request: &CreateTopicsRequest) -> (CreateTopicsResponse, Vec<MetadataRecord>) {
        let mut records = Vec::new();
        let too_many = self.too_many_partitions(request);
        let twice = names_given_twice(request);
        let mut topics: Vec<CreatableTopicResult> = Vec::new();
        for topic in &request.topics {
            if twice.contains(topic.name.as_str()) || topic.name == METADATA_TOPIC {
                continue;
            }
            let created = match &too_many {
                Some(refusal) => Err(refusal.clone()),
                None => self.create_topic(topic),
            };
            topics.push(match created {
                Ok((result, more)) => {
                    records.extend(more);
                    result
                }
                Err((error, message)) => refused(&topic.name, error, message),
            });
        }
        let invalid = |name: &str, text: &str| refused(name, ErrorCode::INVALID_REQUEST, text.to_string());
        topics.extend(twice.iter().map(|name| invalid(name, "Duplicate topic name.")));
        let asks_for_metadata = request.topics.iter().any(|topic| topic.name == METADATA_TOPIC);
        if asks_for_metadata && !twice.contains(METADATA_TOPIC) {
            let text = "Creation of internal topic __cluster_metadata is prohibited.";
            topics.push(invalid(METADATA_TOPIC, text));
        }
        if request.validate_only {
            records.clear();
        }
        (CreateTopicsResponse { topics, ..Default::default() }, records)
    }

    fn too_many_partitions(&self, request: &CreateTopicsRequest) -> Option<Refusal> {
        let partitions = |topic: &CreatableTopic| match topic.num_partitions {
            _ if !topic.assignments.is_empty() => topic.assignments.len() as i64,
            -1 => i64::from(self.config.num_partitions),
            count => i64::from(count.max(0)),
        };
        let total: i64 = request.topics.iter().map(partitions).sum();
        let text = "Excessively large number of partitions per request.";
        (total > PARTITIONS_PER_REQUEST_MAX).then(|| (ErrorCode::POLICY_VIOLATION, text.to_string()))
    }

    fn create_topic(&mut self, topic: &CreatableTopic) -> Result<(CreatableTopicResult, Vec<MetadataRecord>), Refusal> {
        let name = topic.name.as_str();
        check_topic_name(name).map_err(|text| (ErrorCode::INVALID_TOPIC_EXCEPTION, text))?;
        if self.image.topic_ids.contains_key(name) {
            return Err((ErrorCode::TOPIC_ALREADY_EXISTS, format!("Topic '{name}' already exists.")));
        }
        self.check_collision(name)?;
        let (configs, config_records) = self.checked_configs(topic)?;
        let assignments = self.assignments(topic)?;
        let topic_id = self.random_topic_id();
        let replication_factor = assignments.first().map_or(-1, |replicas| replicas.len() as i16);
        let result = CreatableTopicResult {
            name: name.to_string(),
            topic_id,
            num_partitions: assignments.len() as i32,
            replication_factor,
            configs: Some(self.described_configs(&configs)),
            ..Default::default()
        };
        let mut records: Vec<MetadataRecord> =
            vec![TopicRecord { name: name.to_string(), topic_id, ..Default::default() }.into()];
        records.extend(config_records);
        for (partition_id, replicas) in (0..).zip(assignments) {
            records.push(self.partition_record(topic_id, partition_id, replicas).into());
        }
        Ok((result, records))
    }

    /// Names that differ only in `.` and `_` would share metric names.
    fn check_collision(&self, name: &str) -> Result<(), Refusal> {
        match self.image.topic_colliding_with(name) {
            Some(existing) => Err((
                ErrorCode::INVALID_TOPIC_EXCEPTION,
                format!("Topic '{name}' collides with existing topic: {existing}"),
            )),
            None => Ok(()),
        }
    }

    /// The replicas of each partition, the leader first.
    fn assignments(&mut self, topic: &CreatableTopic) -> Result<Vec<Vec<i32>>, Refusal> {
        if !topic.assignments.is_empty() {
            return self.manual_assignments(topic);
        }
        if topic.replication_factor < -1 || topic.replication_factor == 0 {
            return Err((
                ErrorCode::INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.".to_string(),
            ));
        }
        if topic.num_partitions < -1 || topic.num_partitions == 0 {
            return Err((
                ErrorCode::INVALID_PARTITIONS,
                "Number of partitions was set to an invalid non-positive value.".to_string(),
            ));
        }
        let partitions = if topic.num_partitions == -1 { self.config.num_partitions } else { topic.num_partitions };
        let factor = match topic.replication_factor {
            -1 => self.config.default_replication_factor,
            factor => factor,
        };
        let unable = |why: String| {
            (
                ErrorCode::INVALID_REPLICATION_FACTOR,
                format!("Unable to replicate the partition {factor} time(s): {why}"),
            )
        };
        let assignments = self.place(partitions, factor).map_err(unable)?;
        if assignments.iter().any(|replicas| !replicas.iter().any(|replica| self.is_active(*replica))) {
            return Err(unable(ALL_FENCED.to_string()));
        }
        Ok(assignments)
    }

    /// Brokers for the replicas of so many new partitions.
    pub(super) fn place(&mut self, partitions: i32, factor: i16) -> Result<Vec<Vec<i32>>, String> {
        let brokers = self.image.brokers.values();
        let usable = |broker: &BrokerRegistration| UsableBroker {
            id: broker.broker_id,
            rack: broker.rack.clone(),
            fenced: broker.fenced,
        };
        let usable: Vec<UsableBroker> = brokers.map(usable).collect();
        let mut placer = ReplicaPlacer::new(&usable, self.rng);
        (0..partitions).map(|_| placer.place(factor, self.rng)).collect()
    }

    fn manual_assignments(&self, topic: &CreatableTopic) -> Result<Vec<Vec<i32>>, Refusal> {
        let request = |text: &str| Err((ErrorCode::INVALID_REQUEST, text.to_string()));
        let assignment = |text: String| Err((ErrorCode::INVALID_REPLICA_ASSIGNMENT, text));
        if topic.replication_factor != -1 {
            return request("A manual partition assignment was specified, but replication factor was not set to -1.");
        }
        if topic.num_partitions != -1 {
            return request("A manual partition assignment was specified, but numPartitions was not set to -1.");
        }
        let mut partitions: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        let mut factor = None;
        for given in &topic.assignments {
            let index = given.partition_index;
            if partitions.contains_key(&index) {
                return assignment(format!("Found multiple manual partition assignments for partition {index}"));
            }
            self.check_manual_replicas(&given.broker_ids, factor)?;
            factor = Some(given.broker_ids.len());
            if !given.broker_ids.iter().any(|replica| self.is_active(*replica)) {
                return assignment(format!(
                    "All brokers specified in the manual partition assignment for partition {index} are fenced or in \
                     controlled shutdown."
                ));
            }
            partitions.insert(index, given.broker_ids.clone());
        }
        if !(0..).zip(partitions.keys()).all(|(expected, index)| expected == *index) {
            return assignment("partitions should be a consecutive 0-based integer sequence".to_string());
        }
        Ok(partitions.into_values().collect())
    }

    pub(super) fn check_manual_replicas(&self, replicas: &[i32], factor: Option<usize>) -> Result<(), Refusal> {
        let assignment = |text: String| Err((ErrorCode::INVALID_REPLICA_ASSIGNMENT, text));
        if replicas.is_empty() {
            return assignment("The manual partition assignment includes an empty replica list.".to_string());
        }
        let mut sorted = replicas.to_vec();
        sorted.sort_unstable();
        for (place, replica) in sorted.iter().enumerate() {
            if !self.image.brokers.contains_key(replica) {
                return assignment(format!(
                    "The manual partition assignment includes broker {replica}, but no such broker is registered."
                ));
            }
            if sorted.get(place + 1) == Some(replica) {
                return assignment(format!(
                    "The manual partition assignment includes the broker {replica} more than once."
                ));
            }
        }
        match factor {
            Some(factor) if factor != replicas.len() => assignment(format!(
                "The manual partition assignment includes a partition with {} replica(s), but this is not consistent \
                 with previous partitions, which have {factor} replica(s).",
                replicas.len()
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn is_active(&self, broker_id: i32) -> bool {
        self.image.brokers.get(&broker_id).is_some_and(|broker| broker.is_active())
    }

    pub(super) fn partition_record(&self, topic_id: Uuid, partition_id: i32, replicas: Vec<i32>) -> PartitionRecord {
        let isr: Vec<i32> = replicas.iter().copied().filter(|replica| self.is_active(*replica)).collect();
        let directory = |replica: &i32| {
            let broker = self.image.brokers.get(replica);
            broker.and_then(|broker| broker.log_dirs.first().copied()).unwrap_or_default()
        };
        PartitionRecord {
            partition_id,
            topic_id,
            directories: replicas.iter().map(directory).collect(),
            leader: isr.first().copied().unwrap_or(-1),
            isr,
            replicas,
            leader_epoch: 0,
            partition_epoch: 0,
            ..Default::default()
        }
    }

    fn described_configs(&self, own: &BTreeMap<String, String>) -> Vec<CreatableTopicConfigs> {
        let layers = TopicConfigs { topic: Some(own), broker: self.image.broker_configs(self.config) };
        let described = layers.all().map(|(name, value, source)| CreatableTopicConfigs {
            name: name.to_string(),
            value: Some(value),
            config_source: source as i8,
            ..Default::default()
        });
        described.collect()
    }

    /// The topic's own values, and the records that write them down.
    fn checked_configs(
        &self,
        topic: &CreatableTopic,
    ) -> Result<(BTreeMap<String, String>, Vec<MetadataRecord>), Refusal> {
        let nulls = topic.configs.iter().filter(|config| config.value.is_none());
        let nulls: Vec<&str> = nulls.map(|config| config.name.as_str()).collect();
        if !nulls.is_empty() {
            let text = format!("Null value not supported for topic configs: {}", nulls.join(","));
            return Err((ErrorCode::INVALID_CONFIG, text));
        }
        let own = topic.configs.iter().filter_map(|config| Some((config.name.clone(), config.value.clone()?)));
        let own: BTreeMap<String, String> = own.collect();
        let control = ConfigControl { image: self.image, server: self.config };
        let resource = Resource { kind: TOPIC_RESOURCE, name: &topic.name };
        let changes = own.iter().map(|(name, value)| (name.clone(), Some(value.clone())));
        let records = control
            .checked(resource, changes.collect(), true)
            .map_err(|(error, text)| (error, text.unwrap_or_default()))?;
        Ok((own, records))
    }

    fn random_topic_id(&mut self) -> Uuid {
        loop {
            if let Some(id) = Uuid::from_random(self.rng.bytes16()) {
                return id;
            }
        }
    }
}

fn names_given_twice(request: &CreateTopicsRequest) -> BTreeSet<&str> {
    let mut seen = BTreeSet::new();
    request.topics.iter().map(|topic| topic.name.as_str()).filter(|name| !seen.insert(*name)).collect()
}

fn refused(name: &str, error: ErrorCode, message: String) -> CreatableTopicResult {
    CreatableTopicResult {
        name: name.to_string(),
        error_code: error.0,
        error_message: Some(message),
        ..Default::default()
    }
}
