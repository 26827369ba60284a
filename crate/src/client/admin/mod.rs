//! The admin client: topics, configurations, and who is in the cluster (Kafka's KafkaAdminClient, as far as experiments
//! need it).
//!
//! In: an [`AdminCommand`], Close. Out: its request to whichever node can be reached (brokers pass on what the controller
//! must decide), or to the broker that it is about; again until there is an answer.

#[cfg(feature = "administration")]
mod configs;
mod requests;

use std::sync::Arc;

use super::config::AdminConfig;
use super::drive::Driven;
use super::metadata::Metadata;
use super::network::{Completion, Network, Outcome, Request, Sent};
use super::outbox::Outbox;
use crate::node::{AdminCommand, CallId, Command, EventId, Exception, Reply, Rng};

/// KafkaAdminClient lets many calls fly at once; ours are few.
const MAX_IN_FLIGHT: i32 = 100;

/// A call whose answer is awaited.
#[derive(Debug, Clone)]
struct Call {
    call: CallId,
    command: AdminCommand,
    deadline_ms: i64,
    not_before_ms: i64,
    asked: bool,
    called_by: EventId,
}

#[derive(Debug, Clone)]
pub(super) struct Admin {
    config: Arc<AdminConfig>,
    network: Network,
    calls: Vec<Call>,
    look_ms: Option<i64>,
    closed: bool,
}

impl Driven for Admin {
    fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn command(&mut self, call: CallId, command: Command, outbox: &mut Outbox<'_>) {
        let refused = |message: &str| Reply::Failed(Exception::new("IllegalStateException", message.to_owned()));
        match command {
            Command::Close { .. } | Command::Shutdown => {
                self.network.close(outbox);
                self.closed = true;
                outbox.reply(&[], call, Reply::Done);
            }
            _ if self.closed => {
                outbox.reply(&[], call, refused("Cannot accept new calls when AdminClient is closing."));
            }
            Command::Admin(command) => {
                let now_ms = outbox.now_ms();
                self.calls.push(Call {
                    call,
                    command,
                    deadline_ms: now_ms.saturating_add(self.config.default_api_timeout_ms),
                    not_before_ms: now_ms,
                    asked: false,
                    called_by: outbox.event(),
                });
            }
            _ => outbox.reply(&[], call, refused("Not a command for an admin client")),
        }
    }

    fn complete(&mut self, done: Completion, outbox: &mut Outbox<'_>) {
        self.completed(done, outbox);
    }

    fn advance(&mut self, outbox: &mut Outbox<'_>) -> bool {
        self.send(outbox)
    }
}

impl Admin {
    pub fn new(client_id: String, config: AdminConfig, rng: &Rng) -> Admin {
        let metadata = Metadata::new(&config.connection, None, false, rng.fork("metadata"));
        let network = Network::new(client_id, &config.connection, MAX_IN_FLIGHT, metadata, rng.fork("network"));
        Admin { config: Arc::new(config), network, calls: Vec::new(), look_ms: None, closed: false }
    }

    pub fn next_timeout_ms(&self) -> Option<i64> {
        if self.closed {
            return None;
        }
        let deadlines = self.calls.iter().map(|call| call.deadline_ms);
        deadlines.chain(self.look_ms).chain(self.network.next_timeout_ms()).min()
    }

    /// Sends what can be sent, and ends what takes too long.
    fn send(&mut self, outbox: &mut Outbox<'_>) -> bool {
        let now_ms = outbox.now_ms();
        self.look_ms = None;
        let before = self.calls.len();
        self.calls.retain(|call| {
            let late = now_ms >= call.deadline_ms;
            if late {
                let message = format!("Timed out waiting for a node assignment. Call: {}", call.command.name());
                let timeout = Exception::new("TimeoutException", message);
                outbox.reply(&[call.called_by], call.call, Reply::Failed(timeout));
            }
            !late
        });
        let mut acted = self.calls.len() < before;
        for at in 0..self.calls.len() {
            let Some(call) = self.calls.get(at).filter(|call| !call.asked).cloned() else { continue };
            if call.not_before_ms > now_ms {
                self.look_ms = self.look_ms.into_iter().chain([call.not_before_ms]).min();
                continue;
            }
            let node = requests::node_of(&call.command).or_else(|| self.network.least_loaded_node(now_ms));
            let Some(node) = node else { continue };
            if !self.network.ready(node, outbox) {
                self.look_ms = self.look_ms.into_iter().chain(self.network.poll_at_ms(node, now_ms)).min();
                continue;
            }
            let timeout_ms = i32::try_from(call.deadline_ms - now_ms).unwrap_or(i32::MAX);
            let earlier = [call.called_by];
            let sent = Sent { earlier: &earlier, ..Sent::to(node) };
            let is_sent = requests::send(&mut self.network, sent, call.call, &call.command, timeout_ms, outbox).is_ok();
            if !is_sent {
                // No other node of the cluster will know the API either.
                let message = format!("The node does not support {}", call.command.name());
                self.calls.remove(at);
                let failed = Reply::Failed(Exception::new("UnsupportedVersionException", message));
                outbox.reply(&earlier, call.call, failed);
                return true;
            }
            if let Some(call) = self.calls.get_mut(at) {
                call.asked = is_sent;
                call.not_before_ms = now_ms.saturating_add(self.config.connection.retry_backoff_ms);
            }
            acted |= is_sent;
        }
        acted
    }

    fn completed(&mut self, done: Completion, outbox: &mut Outbox<'_>) {
        let Request::Admin(asked) = done.request else { return };
        let Some(at) = self.calls.iter().position(|call| call.call == asked) else { return };
        let Some(call) = self.calls.get_mut(at) else { return };
        let reply = match &done.outcome {
            Outcome::Response(frame) => requests::reply(&call.command, frame, done.version),
            _ => None,
        };
        let earlier = [call.called_by, done.sent_by];
        let Some(reply) = reply else {
            // Nobody has answered, or not for good: once more.
            call.asked = false;
            call.not_before_ms = outbox.now_ms().saturating_add(self.config.connection.retry_backoff_ms);
            return;
        };
        self.calls.remove(at);
        outbox.reply(&earlier, asked, reply);
    }
}
