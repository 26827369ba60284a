//! The state of the connection to each node: when it may be tried, and how long it may take
//! (org.apache.kafka.clients.ClusterConnectionStates).

use std::collections::VecDeque;

use super::backoff::ExponentialBackoff;
use super::network::Purpose;
use crate::node::{Address, ConnId, ConnectToken, EventId, Rng};
use crate::wire::frame::FrameSplitter;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Disconnected,
    Connecting(ConnectToken),
    /// Connected; ApiVersions is asked.
    CheckingApiVersions(ConnId),
    Ready(ConnId),
}

/// A request that was sent and whose answer, or with acks=0 whose writing, is awaited.
#[derive(Debug, Clone)]
pub(super) struct InFlight {
    pub correlation_id: i32,
    pub version: i16,
    pub sent_ms: i64,
    pub timeout_ms: i64,
    /// The connection's byte after the request.
    pub ends_at: u64,
    pub written: bool,
    pub expects_response: bool,
    pub purpose: Purpose,
    /// The event in which it was sent.
    pub sent_by: EventId,
}

#[derive(Debug, Clone)]
pub(super) struct Connection {
    pub state: State,
    pub address: Address,
    pub last_attempt_ms: i64,
    failed_attempts: u32,
    failed_connect_attempts: u32,
    pub reconnect_backoff_ms: i64,
    pub setup_timeout_ms: i64,
    pub throttled_until_ms: i64,
    pub last_used_ms: i64,
    pub in_flight: VecDeque<InFlight>,
    pub received: FrameSplitter,
    pub bytes_sent: u64,
    /// API key, lowest and highest version that the node serves.
    pub versions: Vec<(i16, i16, i16)>,
    /// The event of the last change of state, for what waited for it.
    pub changed_by: EventId,
}

/// The back-offs of all connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backoffs {
    pub reconnect: ExponentialBackoff,
    pub setup: ExponentialBackoff,
}

impl Connection {
    pub fn new(address: Address, now_ms: i64, backoffs: &Backoffs, rng: &mut Rng) -> Connection {
        Connection {
            state: State::Disconnected,
            address,
            last_attempt_ms: now_ms,
            failed_attempts: 0,
            failed_connect_attempts: 0,
            reconnect_backoff_ms: backoffs.reconnect.ms(0, rng),
            setup_timeout_ms: backoffs.setup.ms(0, rng),
            throttled_until_ms: 0,
            last_used_ms: now_ms,
            in_flight: VecDeque::new(),
            received: FrameSplitter::new(i32::MAX),
            bytes_sent: 0,
            versions: Vec::new(),
            changed_by: EventId::default(),
        }
    }

    pub fn conn(&self) -> Option<ConnId> {
        match self.state {
            State::CheckingApiVersions(conn) | State::Ready(conn) => Some(conn),
            State::Disconnected | State::Connecting(_) => None,
        }
    }

    pub fn is_disconnected(&self) -> bool {
        self.state == State::Disconnected
    }

    pub fn is_preparing(&self) -> bool {
        matches!(self.state, State::Connecting(_) | State::CheckingApiVersions(_))
    }

    pub fn can_connect(&self, now_ms: i64) -> bool {
        self.is_disconnected() && now_ms - self.last_attempt_ms >= self.reconnect_backoff_ms
    }

    pub fn is_ready(&self, now_ms: i64) -> bool {
        matches!(self.state, State::Ready(_)) && self.throttled_until_ms <= now_ms
    }

    /// One request must be written before the next may follow, and only so many may be unanswered
    /// (InFlightRequests.canSendMore).
    pub fn can_send_more(&self, max_in_flight: usize) -> bool {
        self.in_flight.back().is_none_or(|last| last.written && self.in_flight.len() < max_in_flight)
    }

    pub fn connecting(&mut self, token: ConnectToken, now_ms: i64) {
        self.state = State::Connecting(token);
        self.last_attempt_ms = now_ms;
    }

    pub fn checking_api_versions(&mut self, conn: ConnId, backoffs: &Backoffs, rng: &mut Rng) {
        self.state = State::CheckingApiVersions(conn);
        self.received = FrameSplitter::new(i32::MAX);
        self.bytes_sent = 0;
        self.reset_setup_timeout(backoffs, rng);
    }

    pub fn ready(&mut self, conn: ConnId, backoffs: &Backoffs, rng: &mut Rng) {
        self.state = State::Ready(conn);
        self.failed_attempts = 0;
        self.reconnect_backoff_ms = backoffs.reconnect.ms(0, rng);
        self.reset_setup_timeout(backoffs, rng);
    }

    pub fn disconnected(&mut self, now_ms: i64, backoffs: &Backoffs, rng: &mut Rng) {
        self.last_attempt_ms = now_ms;
        self.reconnect_backoff_ms = backoffs.reconnect.ms(self.failed_attempts, rng);
        self.failed_attempts = self.failed_attempts.saturating_add(1);
        if matches!(self.state, State::Connecting(_)) {
            self.failed_connect_attempts = self.failed_connect_attempts.saturating_add(1);
            self.setup_timeout_ms = backoffs.setup.ms(self.failed_connect_attempts, rng);
        } else {
            self.reset_setup_timeout(backoffs, rng);
        }
        self.state = State::Disconnected;
        self.versions.clear();
    }

    pub fn attempts(&self) -> u32 {
        self.failed_attempts
    }

    fn reset_setup_timeout(&mut self, backoffs: &Backoffs, rng: &mut Rng) {
        self.failed_connect_attempts = 0;
        self.setup_timeout_ms = backoffs.setup.ms(0, rng);
    }

    /// When this connection needs a look, whatever happens on it.
    pub fn next_timeout_ms(&self, max_idle_ms: i64) -> Option<i64> {
        match self.state {
            State::Disconnected => None,
            State::Connecting(_) => Some(self.last_attempt_ms.saturating_add(self.setup_timeout_ms).saturating_add(1)),
            State::CheckingApiVersions(_) | State::Ready(_) => {
                let requests = self.in_flight.iter().map(|r| r.sent_ms.saturating_add(r.timeout_ms).saturating_add(1));
                let idle = (max_idle_ms >= 0).then(|| self.last_used_ms.saturating_add(max_idle_ms).saturating_add(1));
                requests.chain(idle).min()
            }
        }
    }
}
