//! The server as a [`Node`]: routes inputs to broker and controller, and carries what they say to each other.

use std::sync::Arc;

use bytes::Bytes;

use crate::controller::{
    BrokerRegistration, Committed, Controller, ControllerChannel, ControllerRequest, FLUSH_TOKEN_BIT, MetadataImage,
};
use crate::disk::Disk;
use crate::log::Log;
use crate::node::{
    Address, At, Command, Duration, Effect, EffectKind, ExitReason, FlushToken, Input, Instant, ListenerId, Node,
    OpenedBy, Outbox, Rng,
};
use crate::ordered::{BTreeMap, BTreeSet};
use crate::wire::api::ListenerKind;
use crate::wire::schema::Message;
use crate::wire::{ApiKey, Uuid, decode};

use super::connections::{Connections, NEXT_TURN, RequestId};
use super::context::Context;
use super::deletion::Deletions;
use super::fetch_sessions::FetchSessions;
use super::init_producer_id::ProducerIds;
use super::lifecycle::{ControllerCall, LifeStage, Lifecycle};
use super::partition::{Partition, PartitionKey};
use super::partitions::{Checkpoint, PartitionFlush};
use super::purgatory::Purgatory;
use super::startup::{Identity, Loading, identify, random_uuid};
use super::{PartitionEnds, ServerConfig, ServerState};

/// The broker's half of a server: everything but the disk and the controller.
#[derive(Clone)]
pub(super) struct Broker {
    pub config: Arc<ServerConfig>,
    pub rng: Rng,
    pub identity: Identity,
    pub lifecycle: Lifecycle,
    pub channel: ControllerChannel,
    /// Requests to the controller by correlation id.
    pub calls: BTreeMap<i32, ControllerCall>,
    /// The committed metadata.
    pub image: MetadataImage,
    pub created_topics: Vec<Uuid>,
    pub loading: Loading,
    /// Loaded at the start, not yet claimed by a partition of the metadata. By directory.
    pub loaded_logs: BTreeMap<String, Log>,
    pub partitions: BTreeMap<PartitionKey, Partition>,
    pub deletions: Deletions,
    pub purgatory: Purgatory,
    pub connections: Connections,
    pub fetch_sessions: FetchSessions,
    pub producer_ids: ProducerIds,
    /// Of the one logger; what is set while the broker runs ends with it.
    #[cfg(feature = "administration")]
    pub log_level: String,
    /// Topics that are being created because somebody asked for them.
    pub auto_creating: BTreeSet<String>,
    /// Where the listeners are bound, by number.
    pub bound: BTreeMap<ListenerId, Address>,
    pub flushes: BTreeMap<FlushToken, PartitionFlush>,
    pub next_flush: u64,
    /// What the checkpoint files hold.
    pub high_watermarks: Checkpoint,
    pub recovery_points: Checkpoint,
    pub log_starts: Checkpoint,
    /// When the files are behind: the next time to write them.
    pub high_watermark_checkpoint_due: Option<Instant>,
    pub log_checkpoint_due: Option<Instant>,
    /// A write has failed; the node cannot go on.
    pub storage_failed: Option<String>,
}

#[derive(Clone)]
enum Stage {
    New,
    Running(Box<Running>),
    /// After `Exit`: nothing is handled any more.
    Ended,
}

#[derive(Clone)]
struct Running {
    broker: Broker,
    controller: Controller,
}

/// One Kafka server over its disk. A restart is a new `Server` over the kept disk ([`Server::into_disk`]).
#[derive(Clone)]
pub struct Server<D: Disk> {
    config: Arc<ServerConfig>,
    disk: D,
    rng: Rng,
    stage: Stage,
}

impl<D: Disk> Server<D> {
    /// `seed` decides the ids that Kafka draws at random (cluster, directory, incarnation, topics). Two lives of one
    /// node need two seeds.
    pub fn new(config: ServerConfig, disk: D, seed: u64) -> Server<D> {
        Server { config: Arc::new(config), disk, rng: Rng::new(seed), stage: Stage::New }
    }

    /// What is left when the process is gone.
    pub fn into_disk(self) -> D {
        self.disk
    }

    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// For power cuts and faults between two lives; a running server's disk is its own.
    pub fn disk_mut(&mut self) -> &mut D {
        &mut self.disk
    }

    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// What a reader may see.
    pub fn state(&self) -> ServerState {
        match &self.stage {
            Stage::Running(running) => ServerState::of(&self.disk, &running.broker, Some(&running.controller)),
            Stage::New | Stage::Ended => ServerState::down(self.config.node_id),
        }
    }

    /// What this node knows of one partition; `None` if it does not run or has not heard of it.
    pub fn partition_ends(&self, topic: &str, partition: i32) -> Option<PartitionEnds> {
        match &self.stage {
            Stage::Running(running) => PartitionEnds::of(&running.broker, topic, partition),
            Stage::New | Stage::Ended => None,
        }
    }

    fn start(&mut self, cx: &mut Outbox<'_>) -> Result<Box<Running>, ExitReason> {
        let mut rng = self.rng.fork("broker");
        let identity =
            identify(&mut self.disk, &self.config, &mut rng).map_err(super::startup::StartError::exit_reason)?;
        let controller = Controller::start(
            &mut self.disk,
            Arc::clone(&self.config),
            identity.cluster_id.clone(),
            self.rng.fork("controller"),
            cx,
        )
        .map_err(|error| ExitReason::StorageFailed(error.to_string()))?;
        let lifecycle = Lifecycle::new(random_uuid(&mut rng), identity.previous_broker_epoch);
        let connections = Connections::new(self.config.socket_request_max_bytes, self.config.connections_max_idle);
        let slots = self.config.value("max.incremental.fetch.session.cache.slots").and_then(|value| value.parse().ok());
        let fetch_sessions = FetchSessions::new(slots.unwrap_or(0), rng.fork("fetch sessions"));
        let broker = Broker {
            config: Arc::clone(&self.config),
            rng,
            identity,
            lifecycle,
            channel: ControllerChannel::default(),
            calls: BTreeMap::new(),
            image: MetadataImage::default(),
            created_topics: Vec::new(),
            loading: Loading::default(),
            loaded_logs: BTreeMap::new(),
            partitions: BTreeMap::new(),
            deletions: Deletions::default(),
            purgatory: Purgatory::default(),
            connections,
            fetch_sessions,
            producer_ids: ProducerIds::default(),
            #[cfg(feature = "administration")]
            log_level: super::alter_configs::DEFAULT_LOG_LEVEL.to_string(),
            auto_creating: BTreeSet::new(),
            bound: BTreeMap::new(),
            flushes: BTreeMap::new(),
            next_flush: 0,
            high_watermarks: Checkpoint::new(),
            recovery_points: Checkpoint::new(),
            log_starts: Checkpoint::new(),
            high_watermark_checkpoint_due: None,
            log_checkpoint_due: None,
            storage_failed: None,
        };
        Ok(Box::new(Running { broker, controller }))
    }
}

impl<D: Disk> Node for Server<D> {
    fn handle(&mut self, at: At, input: Input, out: &mut Vec<Effect>) {
        let mut outbox = Outbox::new(at, out);
        let ended = match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::New => match input {
                Input::Started => match self.start(&mut outbox) {
                    Ok(running) => {
                        self.stage = Stage::Running(running);
                        None
                    }
                    Err(why) => Some(why),
                },
                _ => {
                    self.stage = Stage::New;
                    None
                }
            },
            Stage::Running(mut running) => {
                let mut cx = Context { disk: &mut self.disk, out: Outbox::new(at, out) };
                match running.handle(&mut cx, input) {
                    Ok(()) if running.broker.lifecycle.stage == LifeStage::Stopping => {
                        let Running { mut broker, controller } = *running;
                        match broker.stop(&mut cx, Some(controller)) {
                            Ok(()) => Some(ExitReason::Shutdown),
                            Err(text) => Some(ExitReason::StorageFailed(text)),
                        }
                    }
                    Ok(()) => {
                        self.stage = Stage::Running(running);
                        None
                    }
                    Err(why) => Some(why),
                }
            }
            Stage::Ended => None,
        };
        if let Some(why) = ended {
            let code = if why == ExitReason::Shutdown { 0 } else { 1 };
            Outbox::new(at, out).emit(EffectKind::Exit { code, why });
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let Stage::Running(running) = &self.stage else { return None };
        let broker = &running.broker;
        let timers = [
            running.controller.next_timeout(),
            broker.lifecycle.next_heartbeat,
            broker.purgatory.next_timeout(),
            broker.deletions.next_timeout(),
            broker.connections.next_timeout(),
            broker.high_watermark_checkpoint_due,
            broker.log_checkpoint_due,
        ];
        timers.into_iter().flatten().min()
    }
}

impl Running {
    fn handle(&mut self, cx: &mut Context<'_>, input: Input) -> Result<(), ExitReason> {
        match input {
            Input::Started | Input::ConnectFailed { .. } => {}
            Input::Listening { listener, address } => {
                self.broker.bound.insert(listener, address);
            }
            Input::Opened { conn, by: OpenedBy::Listener(listener), .. } => {
                let (event, now) = (cx.event(), cx.now());
                self.broker.connections.open(conn, listener, event, now);
            }
            Input::Opened { by: OpenedBy::Connect(_), .. } => {}
            Input::Bytes { conn, bytes } => {
                let (event, now) = (cx.event(), cx.now());
                self.broker.connections.push(conn, bytes, event, now);
            }
            Input::Closed { conn, .. } => {
                self.broker.connections.remove(conn);
                self.broker.forget_waiting(conn);
            }
            Input::Written { conn, up_to } => self.broker.connections.written(conn, up_to, cx.now()),
            Input::Flushed { token, result } => {
                result.map_err(|error| ExitReason::StorageFailed(error.to_string()))?;
                self.flushed(cx, token)?;
            }
            Input::Slice(NEXT_TURN) => self.broker.connections.begin_turn(),
            Input::Slice(_) => {
                self.broker.continue_loading(cx).map_err(super::startup::StartError::exit_reason)?;
            }
            Input::Tick => self.tick(cx)?,
            Input::Command(call, Command::Shutdown) => self.broker.begin_shutdown(cx, call),
            // The other commands are a client's.
            Input::Command(..) => {}
        }
        self.pump(cx)
    }

    fn flushed(&mut self, cx: &mut Context<'_>, token: FlushToken) -> Result<(), ExitReason> {
        if token.0 & FLUSH_TOKEN_BIT == 0 {
            self.broker.partition_flushed(token);
            return Ok(());
        }
        let committed = self.controller.flushed(token, &mut cx.out);
        self.take_committed(cx, committed)?;
        if self.broker.lifecycle.stage == LifeStage::Starting && !self.broker.image.features.is_empty() {
            self.broker.begin_loading(cx).map_err(super::startup::StartError::exit_reason)?;
        }
        Ok(())
    }

    fn take_committed(&mut self, cx: &mut Context<'_>, committed: Committed) -> Result<(), ExitReason> {
        let Committed { records, answers } = committed;
        let causes: Vec<_> = answers.iter().map(|answer| answer.cause).collect();
        self.broker
            .apply_committed(&mut cx.because(causes), records)
            .map_err(|error| ExitReason::StorageFailed(error.to_string()))?;
        for answer in answers {
            self.broker.channel.answer(answer);
        }
        Ok(())
    }

    /// Carries messages between broker and controller, serves connections and looks at what waits, until nothing moves.
    fn pump(&mut self, cx: &mut Context<'_>) -> Result<(), ExitReason> {
        let storage_failed = |text: String| ExitReason::StorageFailed(text);
        loop {
            if let Some(request) = self.broker.channel.next_request() {
                let mut cx = cx.because([request.cause]);
                let committed = self
                    .controller
                    .handle(&mut *cx.disk, request, &mut cx.out)
                    .map_err(|error| storage_failed(error.to_string()))?;
                self.take_committed(&mut cx, committed)?;
            } else if let Some(response) = self.broker.channel.next_response() {
                self.broker
                    .take_controller_response(cx, response)
                    .map_err(|error| storage_failed(error.to_string()))?;
            } else if let Some(conn) = self.broker.connections.next_ready() {
                self.broker.serve(cx, conn);
            } else if self.broker.complete_delayed(cx) {
            } else {
                break;
            }
        }
        self.broker.storage_failed.take().map_or(Ok(()), |text| Err(storage_failed(text)))
    }

    fn tick(&mut self, cx: &mut Context<'_>) -> Result<(), ExitReason> {
        let now = cx.now();
        self.controller
            .tick(&mut *cx.disk, &mut cx.out)
            .map_err(|error| ExitReason::StorageFailed(error.to_string()))?;
        if self.broker.lifecycle.next_heartbeat.is_some_and(|due| due <= now) {
            self.broker.lifecycle.next_heartbeat = None;
            if self.broker.lifecycle.stage == LifeStage::Registering {
                self.broker.register(cx);
            } else {
                self.broker.send_heartbeat(cx);
            }
        }
        while let Some((id, operation)) = self.broker.purgatory.take_expired(now) {
            self.broker.unwatch(id, &operation);
            self.broker.complete(cx, operation);
        }
        self.broker.close_idle(cx);
        let deleted = self.broker.delete_due(cx);
        deleted
            .and_then(|()| self.broker.write_due_checkpoints(cx))
            .map_err(|error| ExitReason::StorageFailed(error.to_string()))
    }
}

impl Broker {
    /// Hands a request to its chapter; false if its bytes are not what they should be, or nobody serves it.
    pub(super) fn dispatch(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        key: ApiKey,
        client_id: &str,
        frame: &Bytes,
        body_at: usize,
    ) -> bool {
        let version = request.api_version;
        let served = key.api().and_then(|api| api.served(ListenerKind::Broker));
        let Some(served) = served else { return false };
        if !served.contains(&version) {
            if key == ApiKey::API_VERSIONS {
                self.refuse_api_versions(cx, request);
                return true;
            }
            return false;
        }
        let body = Body { frame, at: body_at, version };
        let served = match key {
            ApiKey::API_VERSIONS => body.read().map(|body| self.handle_api_versions(cx, request, &body)),
            ApiKey::METADATA => body.read().map(|body| self.handle_metadata(cx, request, &body)),
            ApiKey::PRODUCE => body.read().map(|body| self.handle_produce(cx, request, client_id, &body)),
            ApiKey::FETCH => body.read().map(|body| self.handle_fetch(cx, request, body)),
            ApiKey::LIST_OFFSETS => body.read().map(|body| self.handle_list_offsets(cx, request, &body)),
            ApiKey::INIT_PRODUCER_ID => body.read().map(|body| self.handle_init_producer_id(cx, request, &body)),
            ApiKey::CREATE_TOPICS => {
                body.read().map(|body| self.forward(request, ControllerRequest::CreateTopics(body)))
            }
            ApiKey::DELETE_TOPICS => body
                .read()
                .map(|body| self.forward(request, ControllerRequest::DeleteTopics { request: body, version })),
            ApiKey::CREATE_PARTITIONS => {
                body.read().map(|body| self.forward(request, ControllerRequest::CreatePartitions(body)))
            }
            ApiKey::FIND_COORDINATOR => body.read().map(|body| self.handle_find_coordinator(cx, request, &body)),
            ApiKey::OFFSET_FOR_LEADER_EPOCH => {
                body.read().map(|body| self.handle_offset_for_leader_epoch(cx, request, &body))
            }
            #[cfg(feature = "administration")]
            _ => self.dispatch_administration(cx, request, key, &body),
            #[cfg(not(feature = "administration"))]
            _ => None,
        };
        served.is_some()
    }

    /// Where clients of one of our listeners reach a broker: its listener of the same name. What this node has bound
    /// itself counts more than what it registered, for port 0 is known only then.
    pub(super) fn endpoint(&self, broker: &BrokerRegistration, listener: ListenerId) -> Option<Address> {
        let name = self.config.listeners.get(usize::try_from(listener.0).ok()?).map(|listener| &listener.name)?;
        let registered = broker.listeners.get(name)?;
        if broker.broker_id == self.config.node_id && registered.port == 0 {
            return Some(self.bound.get(&listener).unwrap_or(registered).clone());
        }
        Some(registered.clone())
    }

    /// Something was appended: the checkpoint files are behind.
    pub(super) fn checkpoints_are_behind(&mut self, now: Instant) {
        if self.high_watermark_checkpoint_due.is_some() && self.log_checkpoint_due.is_some() {
            return;
        }
        let interval = |key: &str| {
            Duration::from_ms(self.config.value(key).and_then(|value| value.parse().ok()).unwrap_or_default())
        };
        let high_watermarks = now + interval("replica.high.watermark.checkpoint.interval.ms");
        let logs = now + interval("log.flush.offset.checkpoint.interval.ms");
        self.high_watermark_checkpoint_due.get_or_insert(high_watermarks);
        self.log_checkpoint_due.get_or_insert(logs);
    }

    fn write_due_checkpoints(&mut self, cx: &mut Context<'_>) -> Result<(), crate::disk::DiskError> {
        let now = cx.now();
        if self.high_watermark_checkpoint_due.is_some_and(|due| due <= now) {
            self.high_watermark_checkpoint_due = None;
            self.checkpoint_high_watermarks(cx)?;
        }
        if self.log_checkpoint_due.is_some_and(|due| due <= now) {
            self.log_checkpoint_due = None;
            self.checkpoint_logs(cx)?;
        }
        Ok(())
    }
}

/// The undecoded body of a request.
pub(super) struct Body<'a> {
    frame: &'a Bytes,
    at: usize,
    pub version: i16,
}

impl Body<'_> {
    pub fn read<M: Message>(&self) -> Option<M> {
        decode(self.frame, self.at, self.version).ok()
    }
}
