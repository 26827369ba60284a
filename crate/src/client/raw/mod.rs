//! A client without a client's care: one connection to the first bootstrap server, one request at a time, the bytes as
//! they are told. No versions are negotiated, nothing is retried, and a refusal is an answer like any other.
//!
//! In: ProduceRaw, PartitionsFor (so that an experiment can begin when its topics are there), Close. Out: Produce
//! frames, right and wrong ones, and what the node made of each.

mod request;

use std::collections::VecDeque;

use bytes::Bytes;

use super::config::AdminConfig;
use super::outbox::Outbox;
use crate::disk::Slice;
use crate::node::{
    Address, CallId, Command, ConnId, ConnectToken, EffectKind, EventId, Exception, Input, Note, OpenedBy, RawAnswer,
    RawProduce, Reply,
};
use crate::wire::frame::FrameSplitter;
use crate::wire::messages::api_versions::ApiVersionsRequest;
use crate::wire::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use crate::wire::messages::produce::ProduceResponse;
use crate::wire::schema::Message;
use crate::wire::{ApiKey, RequestHeader, decode_response, encode_request};

/// Before a node that was not there, or a topic that it did not know yet, is asked again.
const RETRY_MS: i64 = 100;
/// Old enough for every broker of the last years, new enough to be told not to create topics.
const METADATA_VERSION: i16 = 4;

#[derive(Debug, Clone)]
enum Asked {
    Partitions(String),
    Produce(RawProduce),
}

#[derive(Debug, Clone)]
struct Call {
    call: CallId,
    what: Asked,
    called_by: EventId,
    deadline_ms: i64,
    /// The correlation id whose answer ends it, once it is asked.
    awaits: Option<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Down,
    Connecting(ConnectToken),
    Up(ConnId),
}

#[derive(Debug, Clone)]
pub(super) struct Raw {
    client_id: String,
    address: Option<Address>,
    request_timeout_ms: i64,
    state: State,
    received: FrameSplitter,
    /// The first is being served.
    calls: VecDeque<Call>,
    next_correlation_id: i32,
    next_token: u64,
    not_before_ms: i64,
    closed: bool,
}

impl Raw {
    pub fn new(client_id: String, config: AdminConfig) -> Raw {
        Raw {
            client_id,
            address: config.connection.bootstrap_servers.into_iter().next(),
            request_timeout_ms: config.connection.request_timeout_ms,
            state: State::Down,
            received: FrameSplitter::new(i32::MAX),
            calls: VecDeque::new(),
            next_correlation_id: 0,
            next_token: 0,
            not_before_ms: 0,
            closed: false,
        }
    }

    pub fn handle(&mut self, input: Input, outbox: &mut Outbox<'_>) {
        match input {
            Input::Command(call, command) => self.command(call, command, outbox),
            Input::Opened { conn, by: OpenedBy::Connect(token), .. } if self.state == State::Connecting(token) => {
                self.state = State::Up(conn);
                self.received = FrameSplitter::new(i32::MAX);
            }
            Input::ConnectFailed { token, .. } if self.state == State::Connecting(token) => {
                self.state = State::Down;
                self.not_before_ms = outbox.now_ms().saturating_add(RETRY_MS);
            }
            Input::Bytes { conn, bytes } if self.state == State::Up(conn) => self.receive(bytes, outbox),
            Input::Closed { conn, .. } if self.state == State::Up(conn) => {
                outbox.note(&[], Note::Disconnected { conn });
                self.down(RawAnswer::Closed, outbox);
            }
            _ => {}
        }
        self.go_on(outbox);
    }

    pub fn next_timeout_ms(&self) -> Option<i64> {
        let first = self.calls.front()?;
        let waits = self.state == State::Down || (first.awaits.is_none() && matches!(self.state, State::Up(_)));
        Some(if waits { self.not_before_ms.min(first.deadline_ms) } else { first.deadline_ms })
    }

    fn command(&mut self, call: CallId, command: Command, outbox: &mut Outbox<'_>) {
        let what = match command {
            Command::Close { .. } | Command::Shutdown => {
                if let State::Up(conn) = self.state {
                    outbox.emit(&[], EffectKind::Close(conn));
                }
                (self.state, self.closed) = (State::Down, true);
                self.calls.clear();
                return outbox.reply(&[], call, Reply::Done);
            }
            Command::PartitionsFor { topic } if !self.closed => Asked::Partitions(topic),
            Command::ProduceRaw(produce) if !self.closed => Asked::Produce(produce),
            _ => {
                let message = if self.closed { "The client is closed" } else { "Not a command for a raw client" };
                let exception = Exception::new("IllegalStateException", message.to_owned());
                return outbox.reply(&[], call, Reply::Failed(exception));
            }
        };
        let deadline_ms = outbox.now_ms().saturating_add(self.request_timeout_ms);
        self.calls.push_back(Call { call, what, called_by: outbox.event(), deadline_ms, awaits: None });
    }

    /// Connects, asks what comes next, ends what takes too long.
    fn go_on(&mut self, outbox: &mut Outbox<'_>) {
        let now_ms = outbox.now_ms();
        if self.calls.front().is_some_and(|first| first.deadline_ms <= now_ms) {
            self.too_late(outbox);
        }
        if self.calls.is_empty() || self.not_before_ms > now_ms {
            return;
        }
        match (self.state, &self.address) {
            (State::Down, Some(address)) => {
                let (token, address) = (ConnectToken(self.next_token), address.clone());
                self.next_token += 1;
                self.state = State::Connecting(token);
                outbox.emit(&[], EffectKind::Connect { token, address });
            }
            (State::Up(conn), _) => self.ask(conn, outbox),
            _ => {}
        }
    }

    fn ask(&mut self, conn: ConnId, outbox: &mut Outbox<'_>) {
        let wall_ms = outbox.at.now.wall_ms;
        let Some(first) = self.calls.front().filter(|first| first.awaits.is_none()) else { return };
        let earlier = [first.called_by];
        match first.what.clone() {
            Asked::Partitions(topic) => {
                let topic = MetadataRequestTopic { name: Some(topic), ..Default::default() };
                let topics = Some(vec![topic]);
                let body = MetadataRequest { topics, allow_auto_topic_creation: false, ..Default::default() };
                self.send_message(conn, METADATA_VERSION, &body, &earlier, outbox);
            }
            Asked::Produce(produce) => {
                let id = self.new_correlation_id();
                let frame = request::frame(&produce, &self.client_id, id, wall_ms);
                let version = request::version(&produce);
                self.send(conn, (ApiKey::PRODUCE, version, id), vec![Slice::Bytes(frame)], &earlier, outbox);
                // With acks=0 an error shows only in what becomes of the connection.
                if request::acks(&produce) == 0 {
                    self.send_message(conn, 0, &ApiVersionsRequest::default(), &earlier, outbox);
                }
            }
        }
        let awaits = self.next_correlation_id - 1;
        if let Some(first) = self.calls.front_mut() {
            first.awaits = Some(awaits);
        }
    }

    fn new_correlation_id(&mut self) -> i32 {
        let id = self.next_correlation_id;
        self.next_correlation_id += 1;
        id
    }

    fn send_message<M: Message>(
        &mut self,
        conn: ConnId,
        version: i16,
        body: &M,
        earlier: &[EventId],
        outbox: &mut Outbox<'_>,
    ) {
        let correlation_id = self.new_correlation_id();
        let key = M::SCHEMA.kind.key();
        let header = RequestHeader {
            request_api_key: key,
            request_api_version: version,
            correlation_id,
            client_id: Some(self.client_id.clone()),
            ..Default::default()
        };
        // The bodies are ours and fit their versions.
        let chunks = encode_request(&header, body).unwrap_or_default();
        self.send(conn, (ApiKey(key), version, correlation_id), chunks, earlier, outbox);
    }

    fn send(
        &self,
        conn: ConnId,
        (ApiKey(api_key), api_version, correlation_id): (ApiKey, i16, i32),
        chunks: Vec<Slice>,
        earlier: &[EventId],
        outbox: &mut Outbox<'_>,
    ) {
        let batches = Vec::new();
        outbox.note(earlier, Note::RequestSent { conn, api_key, api_version, correlation_id, batches });
        outbox.emit(earlier, EffectKind::Send { conn, chunks });
    }

    fn receive(&mut self, bytes: Bytes, outbox: &mut Outbox<'_>) {
        self.received.push(bytes);
        while let Ok(Some(frame)) = self.received.next_frame() {
            let id = frame.first_chunk().map(|id| i32::from_be_bytes(*id));
            let Some(first) = self.calls.front().filter(|first| first.awaits.is_some() && first.awaits == id) else {
                continue;
            };
            match &first.what {
                Asked::Partitions(_) => match partitions(&frame) {
                    Some(count) => self.finish(Reply::Partitions(count), outbox),
                    None => self.ask_again(outbox),
                },
                Asked::Produce(produce) if request::acks(produce) == 0 => {
                    self.finish(Reply::Produced(RawAnswer::Silent), outbox);
                }
                Asked::Produce(produce) => {
                    let answer = answer(&frame, request::version(produce)).unwrap_or(RawAnswer::Silent);
                    self.finish(Reply::Produced(answer), outbox);
                }
            }
        }
    }

    fn ask_again(&mut self, outbox: &mut Outbox<'_>) {
        self.not_before_ms = outbox.now_ms().saturating_add(RETRY_MS);
        if let Some(first) = self.calls.front_mut() {
            first.awaits = None;
        }
    }

    fn finish(&mut self, reply: Reply, outbox: &mut Outbox<'_>) {
        if let Some(first) = self.calls.pop_front() {
            outbox.reply(&[first.called_by], first.call, reply);
        }
        // Those behind it begin to wait only now.
        let deadline_ms = outbox.now_ms().saturating_add(self.request_timeout_ms);
        if let Some(next) = self.calls.front_mut() {
            next.deadline_ms = deadline_ms;
        }
    }

    /// The connection is no more: that is the answer to what was asked on it.
    fn down(&mut self, answer: RawAnswer, outbox: &mut Outbox<'_>) {
        self.state = State::Down;
        match self.calls.front() {
            Some(Call { what: Asked::Produce(_), awaits: Some(_), .. }) => {
                self.finish(Reply::Produced(answer), outbox);
            }
            Some(_) => self.ask_again(outbox),
            None => {}
        }
    }

    fn too_late(&mut self, outbox: &mut Outbox<'_>) {
        let asked = self.calls.front().is_some_and(|first| first.awaits.is_some());
        if let State::Up(conn) = self.state {
            outbox.emit(&[], EffectKind::Close(conn));
        }
        if asked {
            return self.down(RawAnswer::Silent, outbox);
        }
        self.state = State::Down;
        let message = format!("No node answered within {} ms.", self.request_timeout_ms);
        self.finish(Reply::Failed(Exception::new("TimeoutException", message)), outbox);
    }
}

/// How many partitions the topic has; `None` while it is not there.
fn partitions(frame: &Bytes) -> Option<i32> {
    let (_, response) = decode_response::<MetadataResponse>(frame, METADATA_VERSION).ok()?;
    let topic = response.topics.first().filter(|topic| topic.error_code == 0)?;
    i32::try_from(topic.partitions.len()).ok().filter(|count| *count > 0)
}

/// The first partition's answer.
fn answer(frame: &Bytes, version: i16) -> Option<RawAnswer> {
    let (_, response) = decode_response::<ProduceResponse>(frame, version).ok()?;
    let partition = response.responses.first()?.partition_responses.first()?;
    Some(RawAnswer::Answered {
        error_code: partition.error_code,
        base_offset: partition.base_offset,
        record_errors: u32::try_from(partition.record_errors.len()).unwrap_or(u32::MAX),
    })
}
