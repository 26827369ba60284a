//! When metadata is asked for, of whom, and when it is given up (NetworkClient.DefaultMetadataUpdater).

use super::{Network, Purpose, Sent, UnsupportedVersion};
use crate::client::connections::{Connection, State};
use crate::client::metadata::Update;
use crate::client::outbox::Outbox;
use crate::node::{EventId, Note};
use crate::wire::ErrorCode;
use crate::wire::messages::metadata::{MetadataRequest, MetadataResponse};

/// The node to send to next, and whether any connection at all is ready.
struct LeastLoaded {
    node: Option<i32>,
    any_ready: bool,
}

impl Network {
    pub(super) fn is_update_due(&self, now_ms: i64) -> bool {
        !self.update_in_flight && self.metadata.is_due(now_ms)
    }

    pub(super) fn metadata_answered(
        &mut self,
        update: Update,
        response: MetadataResponse,
        sent_by: EventId,
        outbox: &mut Outbox<'_>,
    ) {
        let now_ms = outbox.now_ms();
        if self.rebootstraps && ErrorCode(response.error_code) == ErrorCode::REBOOTSTRAP_REQUIRED {
            // Forces it at the next look.
            self.update_attempt_since_ms = Some(i64::MIN / 4);
        } else if response.brokers.is_empty() {
            self.metadata.failed_update(now_ms);
        } else {
            self.metadata.update(update, response, now_ms, outbox.event());
            self.update_attempt_since_ms = None;
            let brokers = self.metadata.nodes().keys().copied().collect();
            let topics = self.metadata.topics().keys().cloned().collect();
            outbox.note(&[sent_by], Note::MetadataUpdated { brokers, topics });
        }
    }

    pub(super) fn rebootstrap(&mut self, outbox: &mut Outbox<'_>) {
        self.metadata.rebootstrap();
        self.metadata.changed_by = outbox.event();
        self.update_attempt_since_ms = Some(outbox.now_ms());
        outbox.note(&[self.changed_by], Note::Rebootstrapped);
    }

    /// Sends a metadata request if one is due, connecting for it if need be (DefaultMetadataUpdater.maybeUpdate).
    pub(super) fn maybe_update_metadata(&mut self, outbox: &mut Outbox<'_>) -> bool {
        let now_ms = outbox.now_ms();
        self.look_again_ms = None;
        if !self.is_update_due(now_ms) {
            return false;
        }
        self.update_attempt_since_ms.get_or_insert(now_ms);
        let mut acted = false;
        let mut least_loaded = self.least_loaded(now_ms);
        // Nobody to ask and no connection left: what we know of the cluster is worth nothing.
        if self.rebootstraps && least_loaded.node.is_none() && !least_loaded.any_ready {
            self.rebootstrap(outbox);
            acted = true;
            least_loaded = self.least_loaded(now_ms);
        }
        let again = Some(now_ms.saturating_add(self.reconnect_backoff_ms.max(1)));
        let Some(node) = least_loaded.node else {
            self.look_again_ms = again;
            return acted;
        };
        if self.can_send(node, now_ms) {
            return self.send_metadata_request(node, outbox) || acted;
        }
        let connecting =
            |node: &i32| self.connections.get(node).is_some_and(|c| matches!(c.state, State::Connecting(_)));
        if !self.metadata.nodes().keys().any(connecting) && self.can_connect(node, now_ms) {
            self.connect(node, outbox);
            acted = true;
        }
        self.look_again_ms = again;
        acted
    }

    fn send_metadata_request(&mut self, node: i32, outbox: &mut Outbox<'_>) -> bool {
        let (body, update) = self.metadata.next_request(outbox.now_ms());
        let earlier = [self.metadata.changed_by, self.changed_by];
        let sent = Sent { earlier: &earlier, ..Sent::to(node) };
        let result = self
            .version_for::<MetadataRequest>(node)
            .and_then(|version| self.send_frame(sent, Purpose::Metadata(update), version, &body, outbox));
        match result {
            Ok(()) => self.update_in_flight = true,
            Err(UnsupportedVersion) => self.metadata.failed_update(outbox.now_ms()),
        }
        result.is_ok()
    }

    /// A node for a request that any node can answer.
    pub fn least_loaded_node(&mut self, now_ms: i64) -> Option<i32> {
        self.least_loaded(now_ms).node
    }

    fn least_loaded(&mut self, now_ms: i64) -> LeastLoaded {
        let nodes: Vec<i32> = self.metadata.nodes().keys().copied().collect();
        let offset = self.rng.below(nodes.len() as u64) as usize;
        let mut any_ready = false;
        let mut least = None;
        let mut connecting = None;
        let mut connectable: Option<(i64, i32)> = None;
        for node in nodes.iter().cycle().skip(offset).take(nodes.len()).copied() {
            let connection = self.connections.get(&node);
            any_ready |= connection.is_some_and(|c| c.is_ready(now_ms));
            if self.can_send(node, now_ms) {
                let load = connection.map_or(0, |c| c.in_flight.len());
                if load == 0 {
                    return LeastLoaded { node: Some(node), any_ready: true };
                }
                if least.is_none_or(|(other, _)| load < other) {
                    least = Some((load, node));
                }
            } else if connection.is_some_and(Connection::is_preparing) {
                connecting = Some(node);
            } else if self.can_connect(node, now_ms) {
                let tried = connection.map_or(i64::MIN, |c| c.last_attempt_ms);
                if connectable.is_none_or(|(other, _)| tried < other) {
                    connectable = Some((tried, node));
                }
            }
        }
        let node = least.map(|(_, node)| node).or(connecting).or(connectable.map(|(_, node)| node));
        LeastLoaded { node, any_ready }
    }
}
