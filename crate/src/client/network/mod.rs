//! Connections, requests in flight, and the metadata updates between them (org.apache.kafka.clients.NetworkClient).
//!
//! In: what the shell tells of connections, and a client's [`Request`]s. Out: frames, and a [`Completion`] for every
//! request, in Kafka's order of events. The metadata lives here because connections decide when it can be asked for,
//! and when it is given up: once every known node is unreachable the client rebootstraps (KIP-899).

mod updates;

use bytes::Bytes;

use crate::client::backoff::ExponentialBackoff;
use crate::client::config::ConnectionConfig;
use crate::client::connections::{Backoffs, Connection, InFlight, State};
use crate::client::consumer::Lookup;
use crate::client::metadata::{Metadata, Update};
use crate::client::outbox::Outbox;
use crate::client::producer::BatchId;
use crate::disk::Slice;
use crate::node::{CallId, ConnId, ConnectToken, EffectKind, EventId, Input, Note, OpenedBy, Rng, TopicPartition};
use crate::ordered::BTreeMap;
use crate::wire::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use crate::wire::messages::metadata::MetadataResponse;
use crate::wire::{self, ApiKey, ErrorCode, Message, RequestHeader};

const SOFTWARE_NAME: &str = "steplog";

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The frame of the response, header included.
    Response(Bytes),
    /// No response is expected, and the send buffer has taken the request.
    Written,
    Disconnected,
    TimedOut,
}

#[derive(Debug, Clone)]
pub(super) struct Completion {
    pub request: Request,
    pub node: i32,
    pub version: i16,
    pub outcome: Outcome,
    /// The event in which the request was sent.
    pub sent_by: EventId,
}

/// The node serves no version of this API that we speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnsupportedVersion;

/// What a client asked: all clients' requests in one type, so that there is one network for all of them.
#[derive(Debug, Clone)]
pub(super) enum Request {
    Produce(Vec<BatchId>),
    InitProducerId,
    Fetch,
    ListOffsets { lookup: Lookup, partitions: Vec<(TopicPartition, i64)> },
    Admin(CallId),
}

#[derive(Debug, Clone)]
pub(super) enum Purpose {
    ApiVersions,
    Metadata(Update),
    Of(Request),
}

#[derive(Debug, Clone)]
pub(super) struct Network {
    pub metadata: Metadata,
    client_id: String,
    backoffs: Backoffs,
    request_timeout_ms: i64,
    reconnect_backoff_ms: i64,
    max_idle_ms: i64,
    rebootstraps: bool,
    rebootstrap_trigger_ms: i64,
    max_in_flight: usize,
    rng: Rng,
    connections: BTreeMap<i32, Connection>,
    by_conn: BTreeMap<ConnId, i32>,
    by_token: BTreeMap<ConnectToken, i32>,
    next_token: u64,
    next_correlation_id: i32,
    update_in_flight: bool,
    /// Since when metadata is wanted in vain.
    update_attempt_since_ms: Option<i64>,
    /// When to look again after an update found no node.
    look_again_ms: Option<i64>,
    /// A connection has just closed. Others may close in the same instant, and Kafka's selector tells of all of them
    /// before the next metadata update is tried.
    defers_update: bool,
    changed_by: EventId,
}

impl Network {
    pub fn new(
        client_id: String,
        config: &ConnectionConfig,
        max_in_flight: i32,
        metadata: Metadata,
        rng: Rng,
    ) -> Network {
        Network {
            metadata,
            client_id,
            backoffs: Backoffs {
                reconnect: ExponentialBackoff::new(config.reconnect_backoff_ms, config.reconnect_backoff_max_ms),
                setup: ExponentialBackoff::new(
                    config.socket_connection_setup_timeout_ms,
                    config.socket_connection_setup_timeout_max_ms,
                ),
            },
            request_timeout_ms: config.request_timeout_ms,
            reconnect_backoff_ms: config.reconnect_backoff_ms,
            max_idle_ms: config.connections_max_idle_ms,
            rebootstraps: config.rebootstrap,
            rebootstrap_trigger_ms: config.metadata_recovery_rebootstrap_trigger_ms,
            max_in_flight: usize::try_from(max_in_flight).unwrap_or(1),
            rng,
            connections: BTreeMap::new(),
            by_conn: BTreeMap::new(),
            by_token: BTreeMap::new(),
            next_token: 0,
            next_correlation_id: 0,
            update_in_flight: false,
            update_attempt_since_ms: None,
            look_again_ms: None,
            defers_update: false,
            changed_by: EventId::default(),
        }
    }

    pub fn has_in_flight(&self) -> bool {
        self.connections.values().any(|c| !c.in_flight.is_empty())
    }

    /// Whether a request could go to the node now. Nothing goes while a metadata update is due.
    fn is_ready(&self, node: i32, now_ms: i64) -> bool {
        !self.is_update_due(now_ms) && self.can_send(node, now_ms)
    }

    fn can_send(&self, node: i32, now_ms: i64) -> bool {
        self.connections.get(&node).is_some_and(|c| c.is_ready(now_ms) && c.can_send_more(self.max_in_flight))
    }

    /// The last attempt to connect failed and the back-off has not passed.
    pub fn is_unavailable(&self, node: i32, now_ms: i64) -> bool {
        self.connections.get(&node).is_some_and(|c| c.is_disconnected() && !c.can_connect(now_ms))
    }

    /// Whether a request can go to the node; if not, connects when that may be tried.
    pub fn ready(&mut self, node: i32, outbox: &mut Outbox<'_>) -> bool {
        let now_ms = outbox.now_ms();
        if self.is_ready(node, now_ms) {
            return true;
        }
        if self.can_connect(node, now_ms) {
            self.connect(node, outbox);
        }
        false
    }

    /// When a node that is not ready should be looked at again (ClusterConnectionStates.pollDelayMs).
    pub fn poll_at_ms(&self, node: i32, now_ms: i64) -> Option<i64> {
        let connection = self.connections.get(&node)?;
        if connection.conn().is_some() && connection.throttled_until_ms > now_ms {
            return Some(connection.throttled_until_ms);
        }
        connection.is_disconnected().then(|| connection.last_attempt_ms.saturating_add(connection.reconnect_backoff_ms))
    }

    fn can_connect(&self, node: i32, now_ms: i64) -> bool {
        self.connections.get(&node).is_none_or(|c| c.can_connect(now_ms))
    }

    fn connect(&mut self, node: i32, outbox: &mut Outbox<'_>) {
        let Some(address) = self.metadata.nodes().get(&node).cloned() else { return };
        let now_ms = outbox.now_ms();
        let (backoffs, rng) = (self.backoffs, &mut self.rng);
        let connection = self
            .connections
            .entry(node)
            .and_modify(|known| {
                if known.address.host != address.host {
                    *known = Connection::new(address.clone(), now_ms, &backoffs, rng);
                }
            })
            .or_insert_with(|| Connection::new(address.clone(), now_ms, &backoffs, &mut self.rng));
        connection.address = address.clone();
        let token = ConnectToken(self.next_token);
        self.next_token += 1;
        connection.connecting(token, now_ms);
        let earlier = [connection.changed_by, self.metadata.changed_by, self.changed_by];
        connection.changed_by = outbox.event();
        self.by_token.insert(token, node);
        outbox.emit(&earlier, EffectKind::Connect { token, address });
    }

    /// The highest version of an API that both sides speak.
    fn version_for<M: Message>(&self, node: i32) -> Result<i16, UnsupportedVersion> {
        let connection = self.connections.get(&node).ok_or(UnsupportedVersion)?;
        let key = M::SCHEMA.kind.key();
        let (_, lowest, highest) =
            connection.versions.iter().find(|(api, _, _)| *api == key).ok_or(UnsupportedVersion)?;
        let version = M::SCHEMA.last_version.min(*highest);
        if version < M::SCHEMA.first_version.max(*lowest) { Err(UnsupportedVersion) } else { Ok(version) }
    }

    /// Sends a request to a node that is [`ready`](Self::ready). `build` makes the body for the version in use;
    /// `earlier` are the events that the request waited for.
    pub fn send<M: Message>(
        &mut self,
        sent: Sent<'_>,
        request: Request,
        build: impl FnOnce(i16) -> M,
        outbox: &mut Outbox<'_>,
    ) -> Result<(), UnsupportedVersion> {
        let version = self.version_for::<M>(sent.node)?.min(sent.latest);
        let body = build(version);
        self.send_frame(sent, Purpose::Of(request), version, &body, outbox)
    }

    fn send_frame<M: Message>(
        &mut self,
        sent: Sent<'_>,
        purpose: Purpose,
        version: i16,
        body: &M,
        outbox: &mut Outbox<'_>,
    ) -> Result<(), UnsupportedVersion> {
        let connection = self.connections.get_mut(&sent.node).ok_or(UnsupportedVersion)?;
        let conn = connection.conn().ok_or(UnsupportedVersion)?;
        let correlation_id = self.next_correlation_id;
        self.next_correlation_id = self.next_correlation_id.checked_add(1).unwrap_or(0);
        let api_key = M::SCHEMA.kind.key();
        let header = RequestHeader {
            request_api_key: api_key,
            request_api_version: version,
            correlation_id,
            client_id: Some(self.client_id.clone()),
            ..Default::default()
        };
        // The only failure left is a value that the version cannot carry; we build for the version.
        let chunks = wire::encode_request(&header, body).map_err(|_| UnsupportedVersion)?;
        connection.bytes_sent += chunks.iter().map(Slice::size_in_bytes).sum::<u64>();
        let now_ms = outbox.now_ms();
        connection.last_used_ms = now_ms;
        connection.in_flight.push_back(InFlight {
            correlation_id,
            version,
            sent_ms: now_ms,
            timeout_ms: self.request_timeout_ms,
            ends_at: connection.bytes_sent,
            written: false,
            expects_response: sent.expects_response,
            purpose,
            sent_by: outbox.event(),
        });
        let mut earlier = sent.earlier.to_vec();
        earlier.push(connection.changed_by);
        let batches = sent.batches.to_vec();
        outbox.note(&earlier, Note::RequestSent { conn, api_key, api_version: version, correlation_id, batches });
        outbox.emit(&earlier, EffectKind::Send { conn, chunks });
        Ok(())
    }

    /// Takes an input of the shell's. Completed requests are appended to `done`.
    pub fn handle(&mut self, input: Input, done: &mut Vec<Completion>, outbox: &mut Outbox<'_>) {
        match input {
            Input::Opened { conn, by: OpenedBy::Connect(token), .. } => self.opened(conn, token, outbox),
            Input::ConnectFailed { token, .. } => {
                if let Some(node) = self.by_token.remove(&token) {
                    self.connect_failed(node, done, outbox);
                }
            }
            Input::Written { conn, up_to } => self.written(conn, up_to, done, outbox),
            Input::Bytes { conn, bytes } => self.received(conn, bytes, done, outbox),
            Input::Closed { conn, .. } => {
                if let Some(node) = self.by_conn.remove(&conn) {
                    outbox.note(&[], Note::Disconnected { conn });
                    self.disconnected(node, false, done, outbox);
                    self.defers_update = true;
                }
            }
            _ => {}
        }
    }

    fn opened(&mut self, conn: ConnId, token: ConnectToken, outbox: &mut Outbox<'_>) {
        let node = self.by_token.remove(&token);
        let Some((node, connection)) = node.and_then(|node| Some((node, self.connections.get_mut(&node)?))) else {
            // Given up in the meantime.
            return outbox.emit(&[], EffectKind::Close(conn));
        };
        if connection.state != State::Connecting(token) {
            return outbox.emit(&[], EffectKind::Close(conn));
        }
        let connect_event = connection.changed_by;
        connection.checking_api_versions(conn, &self.backoffs, &mut self.rng);
        self.by_conn.insert(conn, node);
        self.ask_api_versions(node, ApiVersionsRequest::SCHEMA.last_version, connect_event, outbox);
        if let Some(connection) = self.connections.get_mut(&node) {
            connection.changed_by = outbox.event();
        }
    }

    fn ask_api_versions(&mut self, node: i32, version: i16, cause: EventId, outbox: &mut Outbox<'_>) {
        let body = ApiVersionsRequest {
            client_software_name: SOFTWARE_NAME.to_owned(),
            client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Default::default()
        };
        let sent = Sent { earlier: &[cause], ..Sent::to(node) };
        // A connection is there and the version is ours: nothing to fail.
        let _ = self.send_frame(sent, Purpose::ApiVersions, version, &body, outbox);
    }

    fn written(&mut self, conn: ConnId, up_to: u64, done: &mut Vec<Completion>, outbox: &mut Outbox<'_>) {
        let Some((node, connection)) = Self::of_conn(&self.by_conn, &mut self.connections, conn) else { return };
        connection.last_used_ms = outbox.now_ms();
        for request in connection.in_flight.iter_mut().filter(|request| request.ends_at <= up_to) {
            request.written = true;
        }
        while let Some(at) = connection.in_flight.iter().position(|r| r.written && !r.expects_response) {
            if let Some(request) = connection.in_flight.remove(at) {
                complete(node, request, Outcome::Written, done);
            }
        }
    }

    fn of_conn<'c>(
        by_conn: &BTreeMap<ConnId, i32>,
        connections: &'c mut BTreeMap<i32, Connection>,
        conn: ConnId,
    ) -> Option<(i32, &'c mut Connection)> {
        let node = *by_conn.get(&conn)?;
        Some((node, connections.get_mut(&node)?))
    }

    fn received(&mut self, conn: ConnId, bytes: Bytes, done: &mut Vec<Completion>, outbox: &mut Outbox<'_>) {
        let Some((_, connection)) = Self::of_conn(&self.by_conn, &mut self.connections, conn) else { return };
        connection.received.push(bytes);
        connection.last_used_ms = outbox.now_ms();
        // The connection may be given up by what one of its frames says.
        while let Some((node, connection)) = Self::of_conn(&self.by_conn, &mut self.connections, conn) {
            match connection.received.next_frame() {
                Ok(None) => return,
                Ok(Some(frame)) => match self.frame(node, frame, done, outbox) {
                    Some(()) => {}
                    // One that answers what nobody asked, or not as asked.
                    None => return self.give_up(node, false, done, outbox),
                },
                // Not a Kafka peer.
                Err(_) => return self.give_up(node, false, done, outbox),
            }
        }
    }

    /// `None` if the frame is not the answer to the oldest request.
    fn frame(&mut self, node: i32, frame: Bytes, done: &mut Vec<Completion>, outbox: &mut Outbox<'_>) -> Option<()> {
        let connection = self.connections.get_mut(&node)?;
        let correlation_id = i32::from_be_bytes(*frame.first_chunk()?);
        if connection.in_flight.front()?.correlation_id != correlation_id {
            return None;
        }
        let request = connection.in_flight.pop_front()?;
        match request.purpose {
            Purpose::ApiVersions => self.api_versions_answered(node, &frame, request.version, done, outbox),
            Purpose::Metadata(update) => {
                self.update_in_flight = false;
                match wire::decode_response::<MetadataResponse>(&frame, request.version) {
                    Ok((_, response)) => self.metadata_answered(update, response, request.sent_by, outbox),
                    Err(_) => {
                        self.metadata.failed_update(outbox.now_ms());
                        return None;
                    }
                }
                Some(())
            }
            Purpose::Of(_) => {
                complete(node, request, Outcome::Response(frame), done);
                Some(())
            }
        }
    }

    fn api_versions_answered(
        &mut self,
        node: i32,
        frame: &Bytes,
        asked: i16,
        done: &mut Vec<Completion>,
        outbox: &mut Outbox<'_>,
    ) -> Option<()> {
        // A broker that does not know our version answers in version 0 whatever was asked.
        let error = ErrorCode(i16::from_be_bytes(*frame.get(4..)?.first_chunk()?));
        let version = if error == ErrorCode::UNSUPPORTED_VERSION { 0 } else { asked };
        let (_, response) = wire::decode_response::<ApiVersionsResponse>(frame, version).ok()?;
        let connection = self.connections.get_mut(&node)?;
        let conn = connection.conn()?;
        if error == ErrorCode::UNSUPPORTED_VERSION && asked > 0 {
            let named = response.api_keys.iter().find(|api| api.api_key == ApiKey::API_VERSIONS.0);
            let version = named.map_or(0, |api| api.max_version.clamp(0, asked - 1));
            let cause = connection.changed_by;
            self.ask_api_versions(node, version, cause, outbox);
            return Some(());
        }
        if error.is_error() {
            self.give_up(node, false, done, outbox);
            return Some(());
        }
        connection.versions =
            response.api_keys.iter().map(|api| (api.api_key, api.min_version, api.max_version)).collect();
        connection.changed_by = outbox.event();
        connection.ready(conn, &self.backoffs, &mut self.rng);
        Some(())
    }

    fn connect_failed(&mut self, node: i32, done: &mut Vec<Completion>, outbox: &mut Outbox<'_>) {
        self.disconnected(node, false, done, outbox);
        if let Some(connection) = self.connections.get(&node) {
            outbox.note(&[], Note::ConnectionFailed { node_id: node, attempts: connection.attempts() });
        }
    }

    /// The connection is no more: its requests end, oldest first, and the metadata is asked for again
    /// (NetworkClient.processDisconnection).
    fn disconnected(&mut self, node: i32, timed_out: bool, done: &mut Vec<Completion>, outbox: &mut Outbox<'_>) {
        let now_ms = outbox.now_ms();
        let Some(connection) = self.connections.get_mut(&node) else { return };
        connection.disconnected(now_ms, &self.backoffs, &mut self.rng);
        connection.changed_by = outbox.event();
        self.changed_by = outbox.event();
        for request in std::mem::take(&mut connection.in_flight) {
            match request.purpose {
                Purpose::Metadata(_) => {
                    self.metadata.failed_update(now_ms);
                    self.update_in_flight = false;
                }
                Purpose::ApiVersions => {}
                Purpose::Of(_) => {
                    let outcome = if timed_out { Outcome::TimedOut } else { Outcome::Disconnected };
                    complete(node, request, outcome, done);
                }
            }
        }
        if self.is_update_due(now_ms) {
            self.metadata.failed_update(now_ms);
        }
        self.metadata.request_update();
    }

    /// Closes the connection ourselves.
    pub fn give_up(&mut self, node: i32, timed_out: bool, done: &mut Vec<Completion>, outbox: &mut Outbox<'_>) {
        let Some(connection) = self.connections.get(&node) else { return };
        let cause = connection.changed_by;
        match connection.state {
            State::Disconnected => return,
            State::Connecting(token) => {
                self.by_token.remove(&token);
            }
            State::CheckingApiVersions(conn) | State::Ready(conn) => {
                self.by_conn.remove(&conn);
                outbox.emit(&[cause], EffectKind::Close(conn));
                outbox.note(&[cause], Note::Disconnected { conn });
            }
        }
        self.disconnected(node, timed_out, done, outbox);
    }

    /// Lets time act: metadata updates, timed-out connections and requests, rebootstrap. True if something happened
    /// that callers should look at. `first`: for the first time in this call of `handle`; an update that found no node
    /// is not tried again at once.
    pub fn poll(&mut self, first: bool, done: &mut Vec<Completion>, outbox: &mut Outbox<'_>) -> bool {
        let now_ms = outbox.now_ms();
        let defers = std::mem::take(&mut self.defers_update);
        if defers {
            self.look_again_ms = Some(now_ms);
        }
        let looks = if first { !defers } else { self.look_again_ms.is_none() };
        let mut acted = looks && self.maybe_update_metadata(outbox);
        let before = done.len();
        let max_idle_ms = self.max_idle_ms;
        let late = self.connections.iter().filter(|(_, c)| c.next_timeout_ms(max_idle_ms).is_some_and(|t| t <= now_ms));
        for node in late.map(|(node, _)| *node).collect::<Vec<_>>() {
            self.give_up(node, true, done, outbox);
            acted = true;
        }
        let since = self.update_attempt_since_ms;
        if self.rebootstraps && since.is_some_and(|since| now_ms - since > self.rebootstrap_trigger_ms) {
            for node in self.metadata.nodes().keys().copied().collect::<Vec<_>>() {
                self.give_up(node, false, done, outbox);
            }
            self.rebootstrap(outbox);
            acted = true;
        }
        acted || done.len() > before
    }

    /// Honours a quota: nothing goes to the node until then (KIP-219).
    pub fn throttle(&mut self, node: i32, throttle_time_ms: i32, now_ms: i64) {
        if let Some(connection) = self.connections.get_mut(&node) {
            let until = now_ms.saturating_add(throttle_time_ms.into());
            if throttle_time_ms > 0 && until > connection.throttled_until_ms {
                connection.throttled_until_ms = until;
            }
        }
    }

    /// Closes every connection; requests in flight are forgotten.
    pub fn close(&mut self, outbox: &mut Outbox<'_>) {
        for (conn, _) in std::mem::take(&mut self.by_conn) {
            outbox.emit(&[], EffectKind::Close(conn));
        }
        self.by_token.clear();
        self.connections.clear();
    }

    pub fn next_timeout_ms(&self) -> Option<i64> {
        let connections = self.connections.values().filter_map(|c| c.next_timeout_ms(self.max_idle_ms));
        let update = match (self.update_in_flight, self.look_again_ms) {
            (true, _) => None,
            (false, Some(again)) => Some(again),
            (false, None) => Some(self.metadata.next_update_ms()),
        };
        let rebootstrap = self.update_attempt_since_ms.filter(|_| self.rebootstraps);
        let rebootstrap = rebootstrap.map(|since| since.saturating_add(self.rebootstrap_trigger_ms).saturating_add(1));
        connections.chain(update).chain(rebootstrap).min()
    }
}

/// Where a request goes, and why.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent<'a> {
    pub node: i32,
    /// False for acks=0: the request is complete once it is written.
    pub expects_response: bool,
    /// The highest version to use, if not all that we know.
    pub latest: i16,
    /// The events that it waited for.
    pub earlier: &'a [EventId],
    /// The batches in a Produce request.
    pub batches: &'a [u64],
}

impl Sent<'_> {
    pub fn to(node: i32) -> Sent<'static> {
        Sent { node, expects_response: true, latest: i16::MAX, earlier: &[], batches: &[] }
    }
}

fn complete(node: i32, request: InFlight, outcome: Outcome, done: &mut Vec<Completion>) {
    if let Purpose::Of(asked) = request.purpose {
        done.push(Completion { request: asked, node, version: request.version, outcome, sent_by: request.sent_by });
    }
}
