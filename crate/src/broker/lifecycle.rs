//! The life of a broker: registering, heartbeats, unfencing, controlled shutdown (`BrokerLifecycleManager`), and what
//! it asks of the controller.

use crate::controller::{ControllerRequest, ControllerResponse, InFlight, SUPPORTED_FEATURES};
use crate::node::EffectKind;
use crate::node::{CallId, EventId, Instant, ListenerId, Note};
use crate::wire::messages::broker_lifecycle::{
    BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerRegistrationRequest, BrokerRegistrationResponse, Feature,
    Listener as RegisteredListener,
};
use crate::wire::{ErrorCode, Uuid};

use super::Broker;
#[cfg(feature = "administration")]
use super::alter_configs::AlterConfigsCall;
use super::connections::RequestId;
use super::context::Context;

/// What the broker is waiting to hear about.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ControllerCall {
    Registration,
    Heartbeat,
    /// For a client, as it came.
    Forwarded(RequestId),
    /// For a client; the broker's part of the answer waits here.
    #[cfg(feature = "administration")]
    AlterConfigs(AlterConfigsCall),
    AutoCreate {
        topic: String,
    },
    ProducerIds,
    AlterPartition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LifeStage {
    /// Logs are being loaded, the metadata is not complete.
    Starting,
    Registering,
    /// Registered and fenced.
    Registered,
    /// Unfenced, with open listeners.
    Serving,
    /// Leadership is being given away.
    ControlledShutdown,
    /// Everything is to be closed now.
    Stopping,
}

#[derive(Debug, Clone)]
pub(super) struct Lifecycle {
    pub stage: LifeStage,
    /// −1 until registered.
    pub broker_epoch: i64,
    pub incarnation_id: Uuid,
    /// Of the life before, if it ended in order; −1 otherwise.
    pub previous_broker_epoch: i64,
    pub next_heartbeat: Option<Instant>,
    heartbeat_in_flight: bool,
    /// Who asked for the shutdown.
    pub shutdown: Option<CallId>,
}

impl Lifecycle {
    pub fn new(incarnation_id: Uuid, previous_broker_epoch: i64) -> Lifecycle {
        Lifecycle {
            stage: LifeStage::Starting,
            broker_epoch: -1,
            incarnation_id,
            previous_broker_epoch,
            next_heartbeat: None,
            heartbeat_in_flight: false,
            shutdown: None,
        }
    }

    /// Whether the metadata is acted upon. Before, it tells of the life before.
    pub fn is_publishing(&self) -> bool {
        self.stage >= LifeStage::Registered
    }
}

impl Broker {
    pub(super) fn call_controller(&mut self, request: ControllerRequest, call: ControllerCall, cause: EventId) {
        let correlation_id = self.channel.send(request, cause);
        self.calls.insert(correlation_id, call);
    }

    pub(super) fn register(&mut self, cx: &mut Context<'_>) {
        let advertised = if self.config.advertised_listeners.is_empty() {
            &self.config.listeners
        } else {
            &self.config.advertised_listeners
        };
        let listeners = advertised.iter().map(|listener| RegisteredListener {
            name: listener.name.clone(),
            host: listener.address.host.clone(),
            port: listener.address.port,
            ..Default::default()
        });
        let features = SUPPORTED_FEATURES.iter().map(|feature| Feature {
            name: feature.name.to_string(),
            min_supported_version: feature.min,
            max_supported_version: feature.max,
            ..Default::default()
        });
        let body = BrokerRegistrationRequest {
            broker_id: self.config.node_id,
            cluster_id: self.identity.cluster_id.clone(),
            incarnation_id: self.lifecycle.incarnation_id,
            listeners: listeners.collect(),
            features: features.collect(),
            rack: self.config.value("broker.rack").map(str::to_string),
            log_dirs: vec![self.identity.directory_id],
            previous_broker_epoch: self.lifecycle.previous_broker_epoch,
            ..Default::default()
        };
        self.lifecycle.stage = LifeStage::Registering;
        let cause = cx.event();
        self.call_controller(ControllerRequest::BrokerRegistration(body), ControllerCall::Registration, cause);
    }

    pub(super) fn send_heartbeat(&mut self, cx: &mut Context<'_>) {
        if self.lifecycle.heartbeat_in_flight {
            return;
        }
        let body = BrokerHeartbeatRequest {
            broker_id: self.config.node_id,
            broker_epoch: self.lifecycle.broker_epoch,
            current_metadata_offset: self.image.end_offset - 1,
            want_fence: false,
            want_shut_down: self.lifecycle.stage == LifeStage::ControlledShutdown,
            ..Default::default()
        };
        self.lifecycle.heartbeat_in_flight = true;
        self.lifecycle.next_heartbeat = None;
        let cause = cx.event();
        self.call_controller(ControllerRequest::BrokerHeartbeat(body), ControllerCall::Heartbeat, cause);
    }

    pub(super) fn take_controller_response(
        &mut self,
        cx: &mut Context<'_>,
        response: InFlight<ControllerResponse>,
    ) -> Result<(), crate::log::LogError> {
        let Some(call) = self.calls.remove(&response.correlation_id) else { return Ok(()) };
        let mut cx = cx.because([response.cause]);
        match (call, &*response.message) {
            (ControllerCall::Registration, ControllerResponse::BrokerRegistration(body)) => {
                self.registered(&mut cx, body)?;
            }
            (ControllerCall::Heartbeat, ControllerResponse::BrokerHeartbeat(body)) => {
                self.heartbeat_answered(&mut cx, body);
            }
            (ControllerCall::Forwarded(request), response) => self.forwarded(&mut cx, request, response),
            #[cfg(feature = "administration")]
            (ControllerCall::AlterConfigs(call), ControllerResponse::AlterConfigs(responses)) => {
                self.configs_altered(&mut cx, call, responses);
            }
            (ControllerCall::AutoCreate { topic }, ControllerResponse::CreateTopics(_)) => {
                self.auto_creating.remove(&topic);
            }
            (ControllerCall::ProducerIds, ControllerResponse::AllocateProducerIds(body)) => {
                self.producer_ids_allocated(body);
            }
            // Whatever it says, the records tell what the partition is now.
            (ControllerCall::AlterPartition, ControllerResponse::AlterPartition(_)) => {}
            // The channel answers a request with its own kind of response.
            _ => {}
        }
        Ok(())
    }

    fn registered(
        &mut self,
        cx: &mut Context<'_>,
        response: &BrokerRegistrationResponse,
    ) -> Result<(), crate::log::LogError> {
        if response.error_code != ErrorCode::NONE.0 {
            // An old session of this id is still alive: Kafka tries again until it has run out.
            self.lifecycle.stage = LifeStage::Registering;
            self.lifecycle.next_heartbeat = Some(cx.now() + self.config.heartbeat_interval);
            return Ok(());
        }
        self.lifecycle.broker_epoch = response.broker_epoch;
        self.lifecycle.stage = LifeStage::Registered;
        let node_id = self.config.node_id;
        let mine = self.image.topics.values().flat_map(|topic| {
            let partitions = topic.partitions.iter().filter(|(_, p)| p.replicas.contains(&node_id));
            partitions.map(|(index, _)| (topic.id, *index))
        });
        let mine = mine.collect();
        self.publish(cx, &mine)?;
        self.send_heartbeat(cx);
        Ok(())
    }

    fn heartbeat_answered(&mut self, cx: &mut Context<'_>, response: &BrokerHeartbeatResponse) {
        self.lifecycle.heartbeat_in_flight = false;
        if self.lifecycle.stage == LifeStage::ControlledShutdown {
            if response.error_code != ErrorCode::NONE.0 || response.should_shut_down {
                self.lifecycle.stage = LifeStage::Stopping;
            } else {
                // The records that move leaders away are committed by now: ask whether that was all.
                self.send_heartbeat(cx);
            }
            return;
        }
        self.lifecycle.next_heartbeat = Some(cx.now() + self.config.heartbeat_interval);
        if self.lifecycle.stage == LifeStage::Registered
            && response.error_code == ErrorCode::NONE.0
            && !response.is_fenced
        {
            self.start_serving(cx);
        }
    }

    fn start_serving(&mut self, cx: &mut Context<'_>) {
        self.lifecycle.stage = LifeStage::Serving;
        for (number, listener) in (0..).zip(&self.config.listeners) {
            cx.out.emit(EffectKind::Listen { listener: ListenerId(number), address: listener.address.clone() });
        }
        cx.out.note(Note::Serving { broker_epoch: self.lifecycle.broker_epoch });
    }

    /// SIGTERM.
    pub(super) fn begin_shutdown(&mut self, cx: &mut Context<'_>, call: CallId) {
        self.lifecycle.shutdown.get_or_insert(call);
        match self.lifecycle.stage {
            LifeStage::Starting | LifeStage::Registering | LifeStage::Registered => {
                self.lifecycle.stage = LifeStage::Stopping;
            }
            LifeStage::Serving => {
                self.lifecycle.stage = LifeStage::ControlledShutdown;
                self.send_heartbeat(cx);
            }
            LifeStage::ControlledShutdown | LifeStage::Stopping => {}
        }
    }
}
