//! The active controller: takes requests, makes records, and answers once they are committed
//! (`org.apache.kafka.controller.QuorumController`).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::broker::config::ServerConfig;
use crate::disk::Disk;
use crate::node::{Duration, EventId, FlushToken, Instant, Outbox, Rng};
use crate::wire::messages::alter_partition::{
    AlterPartitionData, AlterPartitionRequest, AlterPartitionResponse, AlteredPartition, AlteredTopic,
};
use crate::wire::messages::broker_lifecycle::{
    AllocateProducerIdsRequest, AllocateProducerIdsResponse, BrokerHeartbeatRequest, BrokerHeartbeatResponse,
    BrokerRegistrationRequest, BrokerRegistrationResponse,
};
use crate::wire::messages::metadata_records::{
    BeginTransactionRecord, BrokerRegistrationChangeRecord, ConfigRecord, EndTransactionRecord, FeatureLevelRecord,
    NoOpRecord, ProducerIdsRecord,
};
use crate::wire::{ErrorCode, Uuid};

use super::brokers::{self, BrokerControlState, BrokerSessions};
use super::channel::{ControllerRequest, ControllerResponse, InFlight};
#[cfg(feature = "administration")]
use super::configs::ConfigControl;
use super::elections::PartitionChange;
use super::features::FINALIZED_AT_FORMAT;
use super::image::{BROKER_RESOURCE, MetadataImage, PartitionRegistration, TopicImage};
use super::quorum::{QuorumError, QuorumLog};
use super::topics::TopicControl;
use super::{MetadataRecord, RecoveryState};

/// How many producer ids a broker gets at once (`ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE`).
const PRODUCER_ID_BLOCK_SIZE: i64 = 1000;

/// What a request leads to: its answer, and the records that must be committed first.
struct Decision {
    response: ControllerResponse,
    records: Vec<MetadataRecord>,
}

/// An answer that waits for the log to be committed up to an offset.
#[derive(Debug, Clone)]
struct Waiting {
    end_offset: i64,
    answer: InFlight<ControllerResponse>,
}

/// What a commit sets free, in order: first the records, then the answers.
#[derive(Debug, Default)]
pub struct Committed {
    pub records: Vec<(i64, Arc<MetadataRecord>)>,
    pub answers: Vec<InFlight<ControllerResponse>>,
}

#[derive(Debug, Clone)]
pub struct Controller {
    cluster_id: String,
    pub(super) config: Arc<ServerConfig>,
    rng: Rng,
    log: QuorumLog,
    /// The metadata as far as it is written, committed or not.
    pub(super) image: MetadataImage,
    /// Written and not committed.
    uncommitted: VecDeque<(i64, Arc<MetadataRecord>)>,
    waiting: VecDeque<Waiting>,
    sessions: BrokerSessions,
    /// When the next NoOp record is due; `None` switches them off.
    next_no_op: Option<Instant>,
    no_op_interval: Duration,
}

impl Controller {
    /// Opens the metadata log, takes the lead of its quorum of one, and writes what a new cluster begins with. The
    /// whole content of the log is not committed before the first flush, which this asks for.
    pub fn start(
        disk: &mut dyn Disk,
        config: Arc<ServerConfig>,
        cluster_id: String,
        rng: Rng,
        outbox: &mut Outbox<'_>,
    ) -> Result<Controller, QuorumError> {
        let now = outbox.at().now;
        let session_timeout = millis(&config, "broker.session.timeout.ms");
        let no_op_interval = millis(&config, "metadata.max.idle.interval.ms");
        let log = QuorumLog::open(disk, config.node_id, now.wall_ms)?;
        let mut controller = Controller {
            cluster_id,
            rng,
            log,
            image: MetadataImage::default(),
            uncommitted: VecDeque::new(),
            waiting: VecDeque::new(),
            sessions: BrokerSessions::new(session_timeout),
            next_no_op: (no_op_interval > Duration::ZERO).then(|| now.mono + no_op_interval),
            no_op_interval,
            config,
        };
        for (offset, record) in controller.log.read_all(disk)? {
            controller.image.replay(offset, &record);
            controller.uncommitted.push_back((offset, Arc::new(record)));
        }
        controller.log.become_leader(disk, now.wall_ms)?;
        if controller.image.features.is_empty() {
            controller.append(disk, bootstrap_records(&controller.config), now.wall_ms)?;
        }
        // A lone node's broker died with its controller: its old session is nobody's. Kafka's controller cannot know
        // that and lets it run out.
        controller.sessions.activate(&controller.image, now.mono, Some(controller.config.node_id));
        controller.log.request_flush(outbox);
        Ok(controller)
    }

    /// Takes one request. What it leads to comes out of [`Controller::flushed`], or at once if nothing has to be
    /// written.
    pub fn handle(
        &mut self,
        disk: &mut dyn Disk,
        request: InFlight<ControllerRequest>,
        outbox: &mut Outbox<'_>,
    ) -> Result<Committed, QuorumError> {
        let now = outbox.at().now;
        let InFlight { correlation_id, cause, message } = request;
        let decision = match &*message {
            ControllerRequest::BrokerRegistration(request) => self.register_broker(request, now.mono),
            ControllerRequest::BrokerHeartbeat(request) => self.heartbeat(request, now.mono),
            ControllerRequest::CreateTopics(request) => {
                let (response, records) = self.topics().create(request);
                Decision { response: ControllerResponse::CreateTopics(response), records }
            }
            ControllerRequest::DeleteTopics { request, version } => {
                let (response, records) = self.topics().delete(request, *version);
                Decision { response: ControllerResponse::DeleteTopics(response), records }
            }
            ControllerRequest::CreatePartitions(request) => {
                let (response, records) = self.topics().create_partitions(request);
                Decision { response: ControllerResponse::CreatePartitions(response), records }
            }
            #[cfg(feature = "administration")]
            ControllerRequest::AlterConfigs(request) => {
                let (responses, records) = self.configs().replace(request);
                Decision { response: ControllerResponse::AlterConfigs(responses), records }
            }
            #[cfg(feature = "administration")]
            ControllerRequest::IncrementalAlterConfigs(request) => {
                let (responses, records) = self.configs().alter(request);
                Decision { response: ControllerResponse::AlterConfigs(responses), records }
            }
            ControllerRequest::AllocateProducerIds(request) => self.allocate_producer_ids(request),
            ControllerRequest::AlterPartition(request) => self.alter_partition(request),
            #[cfg(feature = "administration")]
            ControllerRequest::Administration(request) => {
                let (response, records) = self.administer(request, now.wall_ms);
                Decision { response: ControllerResponse::Administration(response), records }
            }
        };
        self.append(disk, decision.records, now.wall_ms)?;
        let answer = InFlight { correlation_id, cause, message: Arc::new(decision.response) };
        self.waiting.push_back(Waiting { end_offset: self.log.end_offset(), answer });
        self.log.request_flush(outbox);
        Ok(self.take_committed())
    }

    pub(super) fn topics(&mut self) -> TopicControl<'_> {
        TopicControl { image: &self.image, config: &self.config, rng: &mut self.rng }
    }

    #[cfg(feature = "administration")]
    fn configs(&self) -> ConfigControl<'_> {
        ConfigControl { image: &self.image, server: &self.config }
    }

    /// A flush of the metadata log has come to its end.
    pub fn flushed(&mut self, token: FlushToken, outbox: &mut Outbox<'_>) -> Committed {
        if !self.log.flushed(token) {
            return Committed::default();
        }
        self.log.request_flush(outbox);
        self.take_committed()
    }

    /// Fences brokers that have been silent for too long, and keeps the log moving.
    pub fn tick(&mut self, disk: &mut dyn Disk, outbox: &mut Outbox<'_>) -> Result<(), QuorumError> {
        let now = outbox.at().now;
        let mut records = Vec::new();
        if let Some(broker_id) = self.sessions.next_expired(now.mono) {
            self.fence(broker_id, &mut records);
            self.sessions.touch(broker_id, true, now.mono);
        }
        if let Some(due) = self.next_no_op
            && due <= now.mono
        {
            records.push(NoOpRecord::default().into());
            self.next_no_op = Some(now.mono + self.no_op_interval);
        }
        self.append(disk, records, now.wall_ms)?;
        self.log.request_flush(outbox);
        Ok(())
    }

    pub fn next_timeout(&self) -> Option<Instant> {
        self.sessions.next_deadline().into_iter().chain(self.next_no_op).min()
    }

    pub fn end_offset(&self) -> i64 {
        self.log.end_offset()
    }

    pub fn leader_epoch(&self) -> i32 {
        self.log.epoch()
    }

    pub fn high_watermark(&self) -> i64 {
        self.log.high_watermark()
    }

    /// The events that the next commit waits for beside its flush.
    pub fn waiting_causes(&self) -> impl Iterator<Item = EventId> + '_ {
        self.waiting.iter().map(|waiting| waiting.answer.cause)
    }

    /// Closes the log in order.
    pub fn shut_down(self, disk: &mut dyn Disk) -> Result<(), QuorumError> {
        self.log.close(disk)
    }

    fn append(&mut self, disk: &mut dyn Disk, records: Vec<MetadataRecord>, now_ms: i64) -> Result<(), QuorumError> {
        if records.is_empty() {
            return Ok(());
        }
        let base_offset = self.log.append(disk, &records, now_ms)?;
        for (offset, record) in (base_offset..).zip(records) {
            self.image.replay(offset, &record);
            self.uncommitted.push_back((offset, Arc::new(record)));
        }
        Ok(())
    }

    fn take_committed(&mut self) -> Committed {
        let high_watermark = self.log.high_watermark();
        let records = self.uncommitted.partition_point(|(offset, _)| *offset < high_watermark);
        let answers = self.waiting.partition_point(|waiting| waiting.end_offset <= high_watermark);
        Committed {
            records: (0..records).filter_map(|_| self.uncommitted.pop_front()).collect(),
            answers: (0..answers).filter_map(|_| self.waiting.pop_front()).map(|waiting| waiting.answer).collect(),
        }
    }

    fn register_broker(&mut self, request: &BrokerRegistrationRequest, now: Instant) -> Decision {
        let answer = |error: ErrorCode, broker_epoch: i64| {
            ControllerResponse::BrokerRegistration(BrokerRegistrationResponse {
                error_code: error.0,
                broker_epoch,
                ..Default::default()
            })
        };
        if let Err(error) = brokers::check_registration(request, &self.cluster_id, &self.image, &self.sessions, now) {
            return Decision { response: answer(error, -1), records: Vec::new() };
        }
        let broker_id = request.broker_id;
        let existing = self.image.brokers.get(&broker_id);
        let same_incarnation = existing.is_some_and(|broker| broker.incarnation_id == request.incarnation_id);
        let mut records = Vec::new();
        let mut record = brokers::registration_record(request, self.log.end_offset());
        match existing {
            Some(existing) if same_incarnation => {
                record.fenced = existing.fenced;
                record.in_controlled_shutdown = existing.in_controlled_shutdown;
                record.broker_epoch = existing.broker_epoch;
            }
            _ => {
                // The file of a clean shutdown proves that nothing was lost; without it the broker leaves every ISR.
                let clean = existing.is_some_and(|broker| broker.broker_epoch == request.previous_broker_epoch);
                self.remove_incarnation(broker_id, clean, &mut records);
            }
        }
        let broker_epoch = record.broker_epoch;
        self.sessions.touch(broker_id, record.fenced, now);
        records.push(record.into());
        Decision { response: answer(ErrorCode::NONE, broker_epoch), records }
    }

    fn heartbeat(&mut self, request: &BrokerHeartbeatRequest, now: Instant) -> Decision {
        let broker_id = request.broker_id;
        let mut response = BrokerHeartbeatResponse::default();
        let mut records = Vec::new();
        match self.image.brokers.get(&broker_id) {
            Some(broker) if broker.broker_epoch == request.broker_epoch => {
                let registered_at = broker.registered_at;
                let current = match (broker.fenced, broker.in_controlled_shutdown) {
                    (true, _) => BrokerControlState::Fenced,
                    (false, true) => BrokerControlState::ControlledShutdown,
                    (false, false) => BrokerControlState::Unfenced,
                };
                let next = brokers::next_state(current, request, registered_at, self.leads_something(broker_id));
                if next != current {
                    self.change_state(broker_id, next, &mut records);
                }
                response.is_caught_up = request.current_metadata_offset >= registered_at;
                response.is_fenced = matches!(next, BrokerControlState::Fenced | BrokerControlState::ShutdownNow);
                response.should_shut_down = next == BrokerControlState::ShutdownNow;
                self.sessions.touch(broker_id, response.is_fenced, now);
            }
            _ => response.error_code = ErrorCode::STALE_BROKER_EPOCH.0,
        }
        Decision { response: ControllerResponse::BrokerHeartbeat(response), records }
    }

    fn change_state(&self, broker_id: i32, next: BrokerControlState, records: &mut Vec<MetadataRecord>) {
        match next {
            BrokerControlState::Fenced | BrokerControlState::ShutdownNow => self.fence(broker_id, records),
            BrokerControlState::Unfenced => {
                records.push(self.registration_change(broker_id, -1, 0));
                let leaderless = |partition: &PartitionRegistration| partition.leader == -1;
                self.change_partitions(leaderless, Reason::Unfenced(broker_id), records);
            }
            BrokerControlState::ControlledShutdown => {
                records.push(self.registration_change(broker_id, 0, 1));
                let in_isr = |partition: &PartitionRegistration| partition.isr.contains(&broker_id);
                self.change_partitions(in_isr, Reason::Leaving(broker_id), records);
            }
        }
    }

    fn fence(&self, broker_id: i32, records: &mut Vec<MetadataRecord>) {
        let in_isr = |partition: &PartitionRegistration| partition.isr.contains(&broker_id);
        self.change_partitions(in_isr, Reason::Leaving(broker_id), records);
        records.push(self.registration_change(broker_id, 1, 0));
    }

    /// `ReplicationControlManager.handleBrokerShutdown`, for the incarnation before a new one.
    fn remove_incarnation(&self, broker_id: i32, clean: bool, records: &mut Vec<MetadataRecord>) {
        let in_isr = |partition: &PartitionRegistration| partition.isr.contains(&broker_id);
        if clean || !self.image.is_elr_enabled() {
            self.change_partitions(in_isr, Reason::Leaving(broker_id), records);
            return;
        }
        let reason = Reason::UncleanShutdown(broker_id);
        let eligible = |partition: &PartitionRegistration| in_isr(partition) || partition.elr.contains(&broker_id);
        self.change_partitions(eligible, reason, records);
    }

    fn registration_change(&self, broker_id: i32, fenced: i8, in_controlled_shutdown: i8) -> MetadataRecord {
        let broker_epoch = self.image.brokers.get(&broker_id).map_or(-1, |broker| broker.broker_epoch);
        BrokerRegistrationChangeRecord { broker_id, broker_epoch, fenced, in_controlled_shutdown, ..Default::default() }
            .into()
    }

    fn leads_something(&self, broker_id: i32) -> bool {
        self.image.topics.values().any(|topic| topic.partitions.values().any(|p| p.leader == broker_id))
    }

    /// Whether the broker may lead partitions.
    pub(super) fn is_active(&self, broker_id: i32) -> bool {
        self.image.brokers.get(&broker_id).is_some_and(|broker| broker.is_active())
    }

    /// The rules that hold for a partition, with its ISR as it is.
    pub(super) fn partition_change<'a>(
        &self,
        topic: &TopicImage,
        partition_id: i32,
        partition: &'a PartitionRegistration,
    ) -> PartitionChange<'a> {
        let config = self.image.topic_configs(&topic.name, &self.config).resolve();
        let min_isr = usize::try_from(config.min_insync_replicas).unwrap_or(1);
        PartitionChange {
            topic_id: topic.id,
            partition_id,
            partition,
            target_isr: partition.isr.clone(),
            recovered: false,
            min_isr: min_isr.min(partition.replicas.len()),
            elr_enabled: self.image.is_elr_enabled(),
            unclean_allowed: config.unclean_leader_election,
            preferred_first: false,
            unclean_shutdown: None,
        }
    }

    /// `ReplicationControlManager.generateLeaderAndIsrUpdates` over the partitions that `concerned` names.
    pub(super) fn change_partitions(
        &self,
        concerned: impl Fn(&PartitionRegistration) -> bool,
        reason: Reason,
        records: &mut Vec<MetadataRecord>,
    ) {
        let acceptable = |id: i32| match reason {
            Reason::Unfenced(broker) if broker == id => true,
            Reason::Leaving(broker) | Reason::UncleanShutdown(broker) if broker == id => false,
            _ => self.is_active(id),
        };
        for topic in self.image.topics.values() {
            for (partition_id, partition) in topic.partitions.iter().filter(|(_, partition)| concerned(partition)) {
                let mut target_isr = partition.isr.clone();
                if let Reason::Leaving(broker) | Reason::UncleanShutdown(broker) = reason {
                    target_isr.retain(|replica| *replica != broker);
                }
                let unclean_shutdown = match reason {
                    Reason::UncleanShutdown(broker) => Some(broker),
                    _ => None,
                };
                let change = PartitionChange {
                    target_isr,
                    unclean_shutdown,
                    ..self.partition_change(topic, *partition_id, partition)
                };
                records.extend(change.build(acceptable).map(MetadataRecord::from));
            }
        }
    }

    fn allocate_producer_ids(&mut self, request: &AllocateProducerIdsRequest) -> Decision {
        let mut response = AllocateProducerIdsResponse::default();
        let mut records = Vec::new();
        let broker = self.image.brokers.get(&request.broker_id);
        if broker.is_none_or(|broker| broker.broker_epoch != request.broker_epoch) {
            response.error_code = ErrorCode::STALE_BROKER_EPOCH.0;
        } else {
            let start = self.image.next_producer_id;
            response.producer_id_start = start;
            response.producer_id_len = PRODUCER_ID_BLOCK_SIZE as i32;
            records.push(
                ProducerIdsRecord {
                    broker_id: request.broker_id,
                    broker_epoch: request.broker_epoch,
                    next_producer_id: start.saturating_add(PRODUCER_ID_BLOCK_SIZE),
                    ..Default::default()
                }
                .into(),
            );
        }
        Decision { response: ControllerResponse::AllocateProducerIds(response), records }
    }

    fn alter_partition(&mut self, request: &AlterPartitionRequest) -> Decision {
        let mut response = AlterPartitionResponse::default();
        let mut records = Vec::new();
        let broker = self.image.brokers.get(&request.broker_id);
        if broker.is_none_or(|broker| broker.broker_epoch != request.broker_epoch) {
            response.error_code = ErrorCode::STALE_BROKER_EPOCH.0;
        } else {
            for topic in &request.topics {
                let partitions = topic.partitions.iter();
                let altered = partitions
                    .map(|data| self.alter_one_partition(request.broker_id, topic.topic_id, data, &mut records));
                response.topics.push(AlteredTopic {
                    topic_id: topic.topic_id,
                    partitions: altered.collect(),
                    ..Default::default()
                });
            }
        }
        Decision { response: ControllerResponse::AlterPartition(response), records }
    }

    /// `ReplicationControlManager.validateAlterPartitionData`, then the change.
    fn alter_one_partition(
        &self,
        broker_id: i32,
        topic_id: Uuid,
        data: &AlterPartitionData,
        records: &mut Vec<MetadataRecord>,
    ) -> AlteredPartition {
        let refused = |error: ErrorCode| AlteredPartition {
            partition_index: data.partition_index,
            error_code: error.0,
            ..Default::default()
        };
        let Some(topic) = self.image.topic_by_id(topic_id) else {
            return refused(ErrorCode::UNKNOWN_TOPIC_ID);
        };
        let Some(partition) = topic.partitions.get(&data.partition_index) else {
            return refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        };
        let new_isr: Vec<i32> = data.new_isr_with_epochs.iter().map(|member| member.broker_id).collect();
        if data.leader_epoch > partition.leader_epoch || data.partition_epoch > partition.partition_epoch {
            return refused(ErrorCode::NOT_CONTROLLER);
        }
        if data.leader_epoch < partition.leader_epoch {
            return refused(ErrorCode::FENCED_LEADER_EPOCH);
        }
        if partition.leader != broker_id {
            return refused(ErrorCode::INVALID_REQUEST);
        }
        if data.partition_epoch < partition.partition_epoch {
            return refused(ErrorCode::INVALID_UPDATE_VERSION);
        }
        let recovering = RecoveryState::of(data.leader_recovery_state) == RecoveryState::Recovering;
        let valid = new_isr.contains(&partition.leader)
            && new_isr.iter().all(|member| partition.replicas.contains(member))
            && !(recovering && (new_isr.len() > 1 || partition.recovery == RecoveryState::Recovered));
        if !valid {
            return refused(ErrorCode::INVALID_REQUEST);
        }
        let ineligible = |member: &i32| self.image.brokers.get(member).is_none_or(|broker| !broker.is_active());
        if new_isr.iter().any(ineligible) {
            return refused(ErrorCode::INELIGIBLE_REPLICA);
        }
        let change = PartitionChange {
            target_isr: new_isr.clone(),
            recovered: !recovering,
            ..self.partition_change(topic, data.partition_index, partition)
        };
        let record = change.build(|id| self.is_active(id));
        let changed = i32::from(record.is_some());
        records.extend(record.map(MetadataRecord::from));
        AlteredPartition {
            partition_index: data.partition_index,
            leader_id: partition.leader,
            leader_epoch: partition.leader_epoch,
            isr: new_isr,
            leader_recovery_state: data.leader_recovery_state,
            partition_epoch: partition.partition_epoch + changed,
            ..Default::default()
        }
    }
}

/// Why partitions are looked at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reason {
    Unfenced(i32),
    Leaving(i32),
    UncleanShutdown(i32),
}

/// What `kafka-storage format` of 4.3.0 leaves for the first controller to write: one transaction with the features
/// and, since ELR is on, a cluster-wide `min.insync.replicas` (KIP-966).
fn bootstrap_records(config: &ServerConfig) -> Vec<MetadataRecord> {
    let name = Some("Bootstrap records".to_string());
    let mut records: Vec<MetadataRecord> = vec![BeginTransactionRecord { name, ..Default::default() }.into()];
    records.extend(FINALIZED_AT_FORMAT.iter().map(|(feature, level)| {
        FeatureLevelRecord { name: (*feature).to_string(), feature_level: *level, ..Default::default() }.into()
    }));
    let min_isr = config.value("min.insync.replicas").unwrap_or("1").to_string();
    records.push(
        ConfigRecord {
            resource_type: BROKER_RESOURCE,
            name: "min.insync.replicas".to_string(),
            value: Some(min_isr),
            ..Default::default()
        }
        .into(),
    );
    records.push(EndTransactionRecord::default().into());
    records
}

fn millis(config: &ServerConfig, key: &str) -> Duration {
    Duration::from_ms(config.value(key).and_then(|value| value.parse().ok()).unwrap_or_default())
}
