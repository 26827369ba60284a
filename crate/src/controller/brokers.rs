//! Registration, heartbeats and fencing of brokers (`ClusterControlManager`, `BrokerHeartbeatManager`).

use crate::node::{Duration, Instant};
use crate::ordered::{BTreeMap, BTreeSet};
use crate::wire::messages::broker_lifecycle::{BrokerHeartbeatRequest, BrokerRegistrationRequest};
use crate::wire::messages::metadata_records::{BrokerEndpoint, BrokerFeature, RegisterBrokerRecord};
use crate::wire::{ErrorCode, Uuid};

use super::image::MetadataImage;

/// What the controller knows of a broker that no record holds: when it was last heard of.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Session {
    last_contact: Instant,
    fenced: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokerControlState {
    Fenced,
    Unfenced,
    ControlledShutdown,
    ShutdownNow,
}

/// The sessions of registered brokers.
#[derive(Debug, Clone)]
pub struct BrokerSessions {
    session_timeout: Duration,
    sessions: BTreeMap<i32, Session>,
}

impl BrokerSessions {
    pub fn new(session_timeout: Duration) -> BrokerSessions {
        BrokerSessions { session_timeout, sessions: BTreeMap::new() }
    }

    /// A controller that has just become active has heard of nobody: unfenced brokers get a whole session to speak up.
    /// `alone` names the broker of a quorum of one, whose process died with the controller's: nobody waits for it.
    pub fn activate(&mut self, image: &MetadataImage, now: Instant, alone: Option<i32>) {
        self.sessions = image
            .brokers
            .values()
            .filter(|broker| Some(broker.broker_id) != alone)
            .map(|broker| (broker.broker_id, Session { last_contact: now, fenced: broker.fenced }))
            .collect();
    }

    pub fn has_valid_session(&self, broker_id: i32, now: Instant) -> bool {
        self.sessions
            .get(&broker_id)
            .is_some_and(|session| !session.fenced && now.since(session.last_contact) < self.session_timeout)
    }

    pub fn touch(&mut self, broker_id: i32, fenced: bool, now: Instant) {
        self.sessions.insert(broker_id, Session { last_contact: now, fenced });
    }

    /// An unfenced broker whose session is over; one at a time, as Kafka fences them.
    pub fn next_expired(&self, now: Instant) -> Option<i32> {
        let expired = |session: &Session| !session.fenced && now.since(session.last_contact) >= self.session_timeout;
        self.sessions.iter().filter(|(_, session)| expired(session)).map(|(id, _)| *id).next()
    }

    /// When the next session could be over.
    pub fn next_deadline(&self) -> Option<Instant> {
        let unfenced = self.sessions.values().filter(|session| !session.fenced);
        unfenced.map(|session| session.last_contact + self.session_timeout).min()
    }
}

/// Kafka's answer to a registration that may not be.
pub fn check_registration(
    request: &BrokerRegistrationRequest,
    cluster_id: &str,
    image: &MetadataImage,
    sessions: &BrokerSessions,
    now: Instant,
) -> Result<(), ErrorCode> {
    if request.cluster_id != cluster_id {
        return Err(ErrorCode::INCONSISTENT_CLUSTER_ID);
    }
    if let Some(existing) = image.brokers.get(&request.broker_id)
        && existing.incarnation_id != request.incarnation_id
        && sessions.has_valid_session(request.broker_id, now)
    {
        return Err(ErrorCode::DUPLICATE_BROKER_REGISTRATION);
    }
    if request.is_migrating_zk_broker {
        return Err(ErrorCode::BROKER_ID_NOT_REGISTERED);
    }
    let log_dirs: BTreeSet<Uuid> = request.log_dirs.iter().copied().collect();
    let duplicate = log_dirs.len() < request.log_dirs.len();
    if log_dirs.is_empty() || log_dirs.iter().any(|dir| dir.is_zero()) || duplicate {
        return Err(ErrorCode::INVALID_REGISTRATION);
    }
    let supports = |name: &str, level: i16| {
        let feature = request.features.iter().find(|feature| feature.name == name);
        feature.is_some_and(|f| f.min_supported_version <= level && level <= f.max_supported_version)
    };
    if let Some((_, _)) = image.features.iter().find(|(name, level)| !supports(name, **level)) {
        return Err(ErrorCode::UNSUPPORTED_VERSION);
    }
    Ok(())
}

/// The record of a registration: a new incarnation starts fenced and gets its record's offset as epoch.
pub fn registration_record(request: &BrokerRegistrationRequest, broker_epoch: i64) -> RegisterBrokerRecord {
    let end_points = request.listeners.iter().map(|listener| BrokerEndpoint {
        name: listener.name.clone(),
        host: listener.host.clone(),
        port: listener.port,
        security_protocol: listener.security_protocol,
        ..Default::default()
    });
    let features = request.features.iter().map(|feature| BrokerFeature {
        name: feature.name.clone(),
        min_supported_version: feature.min_supported_version,
        max_supported_version: feature.max_supported_version,
        ..Default::default()
    });
    RegisterBrokerRecord {
        broker_id: request.broker_id,
        incarnation_id: request.incarnation_id,
        broker_epoch,
        end_points: end_points.collect(),
        features: features.collect(),
        rack: request.rack.clone(),
        fenced: true,
        log_dirs: request.log_dirs.clone(),
        ..Default::default()
    }
}

/// The state a heartbeat leads to (`BrokerHeartbeatManager.calculateNextBrokerState`).
pub fn next_state(
    current: BrokerControlState,
    request: &BrokerHeartbeatRequest,
    registered_at: i64,
    leads_something: bool,
) -> BrokerControlState {
    use BrokerControlState::{ControlledShutdown, Fenced, ShutdownNow, Unfenced};
    let caught_up = request.current_metadata_offset >= registered_at;
    match current {
        Fenced if request.want_shut_down => ShutdownNow,
        Fenced if !request.want_fence && caught_up => Unfenced,
        Fenced => Fenced,
        Unfenced if request.want_fence && request.want_shut_down => ShutdownNow,
        Unfenced if request.want_fence => Fenced,
        Unfenced if request.want_shut_down && leads_something => ControlledShutdown,
        Unfenced if request.want_shut_down => ShutdownNow,
        Unfenced => Unfenced,
        ControlledShutdown if leads_something => ControlledShutdown,
        ControlledShutdown | ShutdownNow => ShutdownNow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BrokerControlState::*;

    fn heartbeat(offset: i64, want_fence: bool, want_shut_down: bool) -> BrokerHeartbeatRequest {
        BrokerHeartbeatRequest { current_metadata_offset: offset, want_fence, want_shut_down, ..Default::default() }
    }

    #[test]
    fn a_broker_is_unfenced_once_it_has_seen_its_own_registration() {
        assert_eq!(next_state(Fenced, &heartbeat(14, false, false), 15, false), Fenced);
        assert_eq!(next_state(Fenced, &heartbeat(15, true, false), 15, false), Fenced);
        assert_eq!(next_state(Fenced, &heartbeat(15, false, false), 15, false), Unfenced);
    }

    #[test]
    fn a_leader_that_wants_to_stop_first_gives_its_partitions_away() {
        assert_eq!(next_state(Unfenced, &heartbeat(20, false, true), 15, true), ControlledShutdown);
        assert_eq!(next_state(ControlledShutdown, &heartbeat(20, false, true), 15, true), ControlledShutdown);
        assert_eq!(next_state(ControlledShutdown, &heartbeat(21, false, true), 15, false), ShutdownNow);
        assert_eq!(next_state(Unfenced, &heartbeat(20, false, true), 15, false), ShutdownNow);
    }

    #[test]
    fn a_silent_broker_is_fenced_after_its_session() {
        let mut sessions = BrokerSessions::new(Duration::from_ms(9000));
        sessions.touch(2, false, Instant(0));
        assert_eq!(sessions.next_expired(Instant(8_999_999)), None);
        assert_eq!(sessions.next_expired(Instant(9_000_000)), Some(2));
        assert_eq!(sessions.next_deadline(), Some(Instant(9_000_000)));
    }
}
