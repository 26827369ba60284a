//! What a client knows of the cluster: nodes, topics, leaders with their epochs; and when it wants to know more
//! (org.apache.kafka.clients.Metadata with ProducerMetadata and ConsumerMetadata).
//!
//! In: Metadata responses, failures, topics that somebody wants. Out: the next request and its time. It sends nothing
//! itself; `network` does.

use super::backoff::ExponentialBackoff;
use super::config::ConnectionConfig;
use crate::node::{Address, EventId, Exception, Rng, TopicPartition};
use crate::ordered::{BTreeMap, BTreeSet};
use crate::wire::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic};
use crate::wire::{ErrorCode, Uuid};

/// Long before anything: Kafka counts from 1970 where our monotonic clocks begin at zero.
const NEVER_MS: i64 = i64::MIN / 4;

/// The leader of a partition as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartitionMetadata {
    pub leader: Option<i32>,
    pub leader_epoch: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TopicMetadata {
    /// Zero where the broker gives none.
    pub id: Uuid,
    pub partitions: BTreeMap<i32, PartitionMetadata>,
}

impl TopicMetadata {
    pub fn unknown() -> TopicMetadata {
        TopicMetadata { id: Uuid::ZERO, partitions: BTreeMap::new() }
    }
}

/// Whether a request asks only for topics that are new, and which generation of wishes it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Update {
    request_version: u32,
    partial: bool,
}

/// The leader that a Produce or Fetch response names when it refuses (KIP-951).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewLeader {
    pub partition: TopicPartition,
    pub leader: i32,
    pub leader_epoch: i32,
}

#[derive(Debug, Clone)]
pub(super) struct Metadata {
    backoff: ExponentialBackoff,
    rng: Rng,
    max_age_ms: i64,
    /// metadata.max.idle.ms of a producer: topics unused that long are forgotten.
    idle_ms: Option<i64>,
    allow_auto_topic_creation: bool,
    bootstrap: Vec<Address>,

    update_version: u32,
    request_version: u32,
    last_refresh_ms: i64,
    last_successful_refresh_ms: i64,
    attempts: u32,
    equivalent_responses: u32,
    need_full: bool,
    need_partial: bool,
    /// Drawn when the state changes rather than at each look, so that a look changes nothing.
    attempts_backoff_ms: i64,
    equivalent_backoff_ms: i64,

    /// Bootstrap servers are −1, −2, … in their order.
    nodes: BTreeMap<i32, Address>,
    topics: BTreeMap<String, TopicMetadata>,
    errors: BTreeMap<String, ErrorCode>,
    last_seen_leader_epochs: BTreeMap<TopicPartition, i32>,
    /// The topics in use, and until when.
    wanted: BTreeMap<String, i64>,
    new_topics: BTreeSet<String>,
    /// The event of the last change, for whoever waited for it.
    pub changed_by: EventId,
}

impl Metadata {
    /// `idle_ms` is a producer's metadata.max.idle.ms; a consumer keeps what it has assigned.
    pub fn new(config: &ConnectionConfig, idle_ms: Option<i64>, allow_auto_topic_creation: bool, rng: Rng) -> Metadata {
        let mut metadata = Metadata {
            backoff: ExponentialBackoff::new(config.retry_backoff_ms, config.retry_backoff_max_ms),
            rng,
            max_age_ms: config.metadata_max_age_ms,
            idle_ms,
            allow_auto_topic_creation,
            bootstrap: config.bootstrap_servers.clone(),
            update_version: 0,
            request_version: 0,
            last_refresh_ms: NEVER_MS,
            last_successful_refresh_ms: NEVER_MS,
            attempts: 0,
            equivalent_responses: 0,
            need_full: false,
            need_partial: false,
            attempts_backoff_ms: 0,
            equivalent_backoff_ms: 0,
            nodes: BTreeMap::new(),
            topics: BTreeMap::new(),
            errors: BTreeMap::new(),
            last_seen_leader_epochs: BTreeMap::new(),
            wanted: BTreeMap::new(),
            new_topics: BTreeSet::new(),
            changed_by: EventId::default(),
        };
        metadata.rebootstrap();
        metadata
    }

    /// Forgets nodes and topics and begins again at bootstrap.servers. The known leader epochs stay.
    pub fn rebootstrap(&mut self) {
        self.need_full = true;
        self.update_version += 1;
        self.nodes = (1..).map(|n: i32| -n).zip(self.bootstrap.iter().cloned()).collect();
        self.topics.clear();
        self.errors.clear();
    }

    pub fn nodes(&self) -> &BTreeMap<i32, Address> {
        &self.nodes
    }

    pub fn topics(&self) -> &BTreeMap<String, TopicMetadata> {
        &self.topics
    }

    /// Grows with every response and every rebootstrap.
    pub fn update_version(&self) -> u32 {
        self.update_version
    }

    /// How many partitions the topic has, if it is known.
    pub fn partition_count(&self, topic: &str) -> Option<i32> {
        let count = self.topics.get(topic)?.partitions.len();
        (count > 0).then(|| i32::try_from(count).unwrap_or(i32::MAX))
    }

    pub fn topic_id(&self, topic: &str) -> Uuid {
        self.topics.get(topic).map_or(Uuid::ZERO, |t| t.id)
    }

    pub fn topic_name(&self, id: Uuid) -> Option<&str> {
        self.topics.iter().find(|(_, topic)| topic.id == id && !id.is_zero()).map(|(name, _)| name.as_str())
    }

    pub fn partition(&self, partition: &TopicPartition) -> Option<PartitionMetadata> {
        self.topics.get(&partition.topic)?.partitions.get(&partition.partition).copied()
    }

    /// The leader, if it is known and its address too.
    pub fn leader(&self, partition: &TopicPartition) -> Option<i32> {
        self.partition(partition)?.leader.filter(|leader| self.nodes.contains_key(leader))
    }

    /// The error that the last response gave for this topic.
    pub fn error(&self, topic: &str) -> Option<ErrorCode> {
        self.errors.get(topic).copied()
    }

    /// What Kafka throws at a caller that waits for this topic: errors that waiting does not cure.
    pub fn exception(&self, topic: &str) -> Option<Exception> {
        match self.error(topic)? {
            ErrorCode::TOPIC_AUTHORIZATION_FAILED => Some(Exception::new(
                "TopicAuthorizationException",
                format!("Not authorized to access topics: [{topic}]"),
            )),
            ErrorCode::INVALID_TOPIC_EXCEPTION => {
                Some(Exception::new("InvalidTopicException", format!("Invalid topics: [{topic}]")))
            }
            _ => None,
        }
    }

    /// Notes that a topic is in use; a new one asks for an update at once.
    pub fn add(&mut self, topic: &str, now_ms: i64) {
        let until = self.idle_ms.map_or(i64::MAX, |idle| now_ms.saturating_add(idle));
        if self.wanted.insert(topic.to_owned(), until).is_none() {
            self.new_topics.insert(topic.to_owned());
            self.request_update_for_new_topics();
        }
    }

    /// Replaces the topics in use (a consumer's assignment).
    pub fn retain(&mut self, topics: &BTreeSet<String>) {
        self.wanted.retain(|topic, _| topics.contains(topic));
        self.new_topics.retain(|topic| topics.contains(topic));
    }

    pub fn request_update(&mut self) {
        self.need_full = true;
    }

    /// Asks for an update that answers for `topic`. Gives the version to be exceeded.
    pub fn request_update_for_topic(&mut self, topic: &str) -> u32 {
        if self.new_topics.contains(topic) {
            self.request_update_for_new_topics();
        } else {
            self.request_update();
        }
        self.update_version
    }

    fn request_update_for_new_topics(&mut self) {
        // Overrides the back-off of the last refresh.
        self.last_refresh_ms = NEVER_MS;
        // A consumer always asks for all of its topics.
        if self.idle_ms.is_some() {
            self.need_partial = true;
        } else {
            self.need_full = true;
        }
        self.equivalent_responses = 0;
        self.equivalent_backoff_ms = 0;
        self.request_version += 1;
    }

    /// When the next update is due: never before the back-off has passed.
    pub fn next_update_ms(&self) -> i64 {
        let expires = if self.need_full || self.need_partial {
            NEVER_MS
        } else {
            self.last_successful_refresh_ms.saturating_add(self.max_age_ms)
        };
        let backoff = self.attempts_backoff_ms.max(self.equivalent_backoff_ms);
        expires.max(self.last_refresh_ms.saturating_add(backoff))
    }

    pub fn is_due(&self, now_ms: i64) -> bool {
        self.next_update_ms() <= now_ms
    }

    fn draw_backoffs(&mut self) {
        self.attempts_backoff_ms = self.backoff.ms(self.attempts.saturating_sub(1), &mut self.rng);
        self.equivalent_backoff_ms = match self.equivalent_responses {
            0 => 0,
            n => self.backoff.ms(n - 1, &mut self.rng),
        };
    }

    pub fn next_request(&self, now_ms: i64) -> (MetadataRequest, Update) {
        let partial = !self.need_full
            && self.idle_ms.is_some()
            && self.last_successful_refresh_ms.saturating_add(self.max_age_ms) > now_ms;
        let topic = |name: &String| MetadataRequestTopic { name: Some(name.clone()), ..Default::default() };
        let topics =
            if partial { self.new_topics.iter().map(topic).collect() } else { self.wanted.keys().map(topic).collect() };
        let request = MetadataRequest {
            topics: Some(topics),
            allow_auto_topic_creation: self.allow_auto_topic_creation,
            ..Default::default()
        };
        (request, Update { request_version: self.request_version, partial })
    }

    /// A request failed or told nothing: the next one waits for the back-off.
    pub fn failed_update(&mut self, now_ms: i64) {
        self.last_refresh_ms = now_ms;
        self.attempts += 1;
        self.equivalent_responses = 0;
        self.draw_backoffs();
    }

    /// Takes a response in.
    pub fn update(&mut self, update: Update, response: MetadataResponse, now_ms: i64, event: EventId) {
        self.need_partial = update.request_version < self.request_version;
        self.last_refresh_ms = now_ms;
        self.attempts = 0;
        self.update_version += 1;
        self.changed_by = event;
        if !update.partial {
            self.need_full = false;
            self.last_successful_refresh_ms = now_ms;
        }
        self.equivalent_responses += 1;

        let brokers = response.brokers.into_iter().filter_map(|broker| {
            let port = u16::try_from(broker.port).ok()?;
            Some((broker.node_id, Address { host: broker.host, port }))
        });
        let mut topics = BTreeMap::new();
        let mut answered = BTreeSet::new();
        self.errors.clear();
        for topic in response.topics {
            let Some(name) = topic.name.clone() else { continue };
            answered.insert(name.clone());
            if !self.is_retained(&name, now_ms) {
                continue;
            }
            let error = ErrorCode(topic.error_code);
            if error.is_error() {
                self.errors.insert(name.clone(), error);
                self.need_full |= error.invalidates_metadata();
                continue;
            }
            let known = self.take_topic(&name, topic);
            topics.insert(name, known);
        }
        if update.partial {
            // What the response does not mention stays.
            for (name, topic) in std::mem::take(&mut self.topics) {
                if !answered.contains(&name) && self.is_retained(&name, now_ms) {
                    topics.insert(name, topic);
                }
            }
            self.nodes.extend(brokers);
        } else {
            self.nodes = brokers.collect();
        }
        self.topics = topics;
        let wanted = &self.wanted;
        self.last_seen_leader_epochs.retain(|partition, _| wanted.contains_key(&partition.topic));
        self.new_topics.retain(|topic| !answered.contains(topic));
        self.draw_backoffs();
    }

    fn is_retained(&mut self, topic: &str, now_ms: i64) -> bool {
        match self.wanted.get(topic) {
            None => false,
            Some(_) if self.new_topics.contains(topic) => true,
            Some(until) if *until <= now_ms => {
                self.wanted.remove(topic);
                false
            }
            Some(_) => true,
        }
    }

    fn take_topic(&mut self, name: &str, topic: MetadataResponseTopic) -> TopicMetadata {
        let old = self.topics.get(name);
        let is_new_topic = !topic.topic_id.is_zero() && old.is_none_or(|old| old.id != topic.topic_id);
        let mut partitions = BTreeMap::new();
        for partition in topic.partitions {
            let index = partition.partition_index;
            let told = PartitionMetadata {
                leader: (partition.leader_id >= 0).then_some(partition.leader_id),
                leader_epoch: (partition.leader_epoch >= 0).then_some(partition.leader_epoch),
            };
            self.need_full |= ErrorCode(partition.error_code).invalidates_metadata();
            let key = TopicPartition { topic: name.to_owned(), partition: index };
            let seen = self.last_seen_leader_epochs.get(&key).copied();
            let kept = match (told.leader_epoch, seen) {
                (None, _) => {
                    self.last_seen_leader_epochs.remove(&key);
                    self.equivalent_responses = 0;
                    told
                }
                // A broker that lags behind does not bring back an older leader.
                (Some(epoch), Some(seen)) if epoch < seen && !is_new_topic => {
                    let Some(old) = self.topics.get(name).and_then(|topic| topic.partitions.get(&index)) else {
                        continue;
                    };
                    *old
                }
                (Some(epoch), seen) => {
                    if seen != Some(epoch) {
                        self.equivalent_responses = 0;
                    }
                    self.last_seen_leader_epochs.insert(key, epoch);
                    told
                }
            };
            partitions.insert(index, kept);
        }
        TopicMetadata { id: topic.topic_id, partitions }
    }

    /// Takes over leaders that a response to another request named.
    pub fn update_leadership(&mut self, leaders: Vec<NewLeader>, nodes: Vec<(i32, Address)>, event: EventId) {
        for new in leaders {
            let current = self.last_seen_leader_epochs.get(&new.partition).copied();
            let has_address = self.nodes.contains_key(&new.leader) || nodes.iter().any(|(id, _)| *id == new.leader);
            if new.leader < 0 || new.leader_epoch < 0 || !has_address || current.is_some_and(|e| new.leader_epoch <= e)
            {
                continue;
            }
            let partitions = self.topics.get_mut(&new.partition.topic).map(|topic| &mut topic.partitions);
            let Some(partition) = partitions.and_then(|all| all.get_mut(&new.partition.partition)) else { continue };
            *partition = PartitionMetadata { leader: Some(new.leader), leader_epoch: Some(new.leader_epoch) };
            self.last_seen_leader_epochs.insert(new.partition, new.leader_epoch);
            self.changed_by = event;
            for (id, address) in nodes.iter().filter(|(id, _)| *id == new.leader) {
                self.nodes.insert(*id, address.clone());
            }
        }
    }
}
