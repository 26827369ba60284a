//! Looking up offsets: positions to reset, and end offsets for callers (Kafka's OffsetFetcher).

use super::subscription::{FetchState, LATEST_TIMESTAMP, Position};
use super::{Consumer, Request};
use crate::client::config::IsolationLevel;
use crate::client::drive;
use crate::client::network::{Completion, Outcome, Sent};
use crate::client::outbox::Outbox;
use crate::node::{CallId, EventId, Exception, Note, Reply, TopicPartition};
use crate::ordered::{BTreeMap, BTreeSet};
use crate::wire;
use crate::wire::ErrorCode;
use crate::wire::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};

/// A caller's question for end offsets.
#[derive(Debug, Clone)]
pub(super) struct EndOffsetsCall {
    pub call: CallId,
    pub partitions: Vec<TopicPartition>,
    pub found: BTreeMap<TopicPartition, i64>,
    pub asked: BTreeSet<TopicPartition>,
    pub since_ms: i64,
    pub not_before_ms: i64,
    pub called_by: EventId,
}

/// What a lookup was for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::client) enum Lookup {
    Reset,
    EndOffsets(CallId),
}

impl Consumer {
    /// Asks for the positions of partitions that wait for a reset. True if something was sent.
    pub(super) fn reset_positions(&mut self, outbox: &mut Outbox<'_>) -> bool {
        let due = self.subscription.resets_due(outbox.now_ms());
        self.look_at(self.subscription.next_reset_ms(outbox.now_ms()));
        self.look_up(due, Lookup::Reset, outbox)
    }

    pub(super) fn ask_end_offsets(&mut self, outbox: &mut Outbox<'_>) -> bool {
        let now_ms = outbox.now_ms();
        let mut acted = false;
        for at in 0..self.end_offsets.len() {
            let Some(query) = self.end_offsets.get(at) else { continue };
            if query.not_before_ms > now_ms {
                self.look_at(Some(query.not_before_ms));
                continue;
            }
            let open = |p: &&TopicPartition| !query.found.contains_key(p) && !query.asked.contains(p);
            let open = query.partitions.iter().filter(open).map(|p| (p.clone(), LATEST_TIMESTAMP)).collect();
            let lookup = Lookup::EndOffsets(query.call);
            acted |= self.look_up(open, lookup, outbox);
        }
        acted
    }

    fn look_up(&mut self, wanted: Vec<(TopicPartition, i64)>, lookup: Lookup, outbox: &mut Outbox<'_>) -> bool {
        let mut by_node: BTreeMap<i32, Vec<(TopicPartition, i64)>> = BTreeMap::new();
        for (partition, timestamp) in wanted {
            match self.network.metadata.leader(&partition) {
                Some(node) => by_node.entry(node).or_default().push((partition, timestamp)),
                None => self.network.metadata.request_update(),
            }
        }
        let mut acted = false;
        for (node, partitions) in by_node {
            if self.network.ready(node, outbox) {
                acted |= self.send_lookup(node, partitions, lookup.clone(), outbox);
            } else {
                self.look_at(self.network.poll_at_ms(node, outbox.now_ms()));
            }
        }
        acted
    }

    fn send_lookup(
        &mut self,
        node: i32,
        partitions: Vec<(TopicPartition, i64)>,
        lookup: Lookup,
        outbox: &mut Outbox<'_>,
    ) -> bool {
        let mut earlier = vec![self.network.metadata.changed_by];
        let mut topics: BTreeMap<String, Vec<ListOffsetsPartition>> = BTreeMap::new();
        for (partition, timestamp) in &partitions {
            earlier.extend(self.subscription.get(partition).map(|assigned| assigned.set_by));
            let leader_epoch = self.network.metadata.partition(partition).and_then(|known| known.leader_epoch);
            topics.entry(partition.topic.clone()).or_default().push(ListOffsetsPartition {
                partition_index: partition.partition,
                current_leader_epoch: leader_epoch.unwrap_or(-1),
                timestamp: *timestamp,
                ..Default::default()
            });
        }
        let committed = self.config.isolation_level == IsolationLevel::ReadCommitted;
        let timeout_ms = i32::try_from(self.config.connection.request_timeout_ms).unwrap_or(i32::MAX);
        let build = |_| ListOffsetsRequest {
            replica_id: -1,
            isolation_level: i8::from(committed),
            topics: topics
                .into_iter()
                .map(|(name, partitions)| ListOffsetsTopic { name, partitions, ..Default::default() })
                .collect(),
            timeout_ms,
            ..Default::default()
        };
        let request = Request::ListOffsets { lookup: lookup.clone(), partitions: partitions.clone() };
        let sent = Sent { earlier: &earlier, ..Sent::to(node) };
        let is_sent = self.network.send(sent, request, build, outbox).is_ok();
        for (partition, timestamp) in partitions {
            match &lookup {
                Lookup::Reset => {
                    let not_before_ms = outbox.now_ms().saturating_add(self.config.connection.request_timeout_ms);
                    let state = FetchState::AwaitReset { timestamp, not_before_ms, asked: is_sent };
                    let set_by = self.subscription.get(&partition).map(|assigned| assigned.set_by);
                    self.subscription.set(&partition, state, set_by.unwrap_or_default());
                }
                Lookup::EndOffsets(call) => {
                    for query in self.end_offsets.iter_mut().filter(|query| query.call == *call) {
                        query.asked.insert(partition.clone());
                    }
                }
            }
        }
        is_sent
    }

    pub(super) fn offsets_answered(
        &mut self,
        lookup: Lookup,
        partitions: Vec<(TopicPartition, i64)>,
        done: Completion,
        outbox: &mut Outbox<'_>,
    ) {
        let mut answers: BTreeMap<TopicPartition, (ErrorCode, i64, i32)> = BTreeMap::new();
        if let Outcome::Response(frame) = &done.outcome {
            match wire::decode_response::<ListOffsetsResponse>(frame, done.version) {
                Ok((_, response)) => {
                    self.network.throttle(done.node, response.throttle_time_ms, outbox.now_ms());
                    for topic in response.topics {
                        for answer in topic.partitions {
                            let at = TopicPartition { topic: topic.name.clone(), partition: answer.partition_index };
                            let error = ErrorCode(answer.error_code);
                            answers.insert(at, (error, answer.offset, answer.leader_epoch));
                        }
                    }
                }
                Err(_) => drive::give_up(self, done.node, outbox),
            }
        }
        for (partition, timestamp) in partitions {
            let answer = answers.get(&partition).copied();
            if let Some((ErrorCode::TOPIC_AUTHORIZATION_FAILED, ..)) = answer {
                let message = format!("Not authorized to access topics: [{}]", partition.topic);
                self.lookup_failed(&lookup, Exception::new("TopicAuthorizationException", message), outbox);
            }
            match answer {
                Some((ErrorCode::NONE, offset, epoch)) if offset >= 0 => {
                    let epoch = (epoch >= 0).then_some(epoch);
                    self.offset_found(&lookup, partition, timestamp, offset, epoch, done.sent_by, outbox);
                }
                _ => self.look_up_again(&lookup, &partition, timestamp, outbox),
            }
        }
        self.finish_end_offsets(done.sent_by, outbox);
    }

    fn lookup_failed(&mut self, lookup: &Lookup, exception: Exception, outbox: &mut Outbox<'_>) {
        match lookup {
            Lookup::Reset => self.failure = Some(exception),
            Lookup::EndOffsets(call) => {
                self.end_offsets.retain(|query| query.call != *call);
                outbox.reply(&[], *call, Reply::Failed(exception));
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one answer, field by field")]
    fn offset_found(
        &mut self,
        lookup: &Lookup,
        partition: TopicPartition,
        timestamp: i64,
        offset: i64,
        offset_epoch: Option<i32>,
        sent_by: EventId,
        outbox: &mut Outbox<'_>,
    ) {
        match lookup {
            Lookup::Reset => {
                // A seek in the meantime has made the answer useless.
                let waits = self.subscription.get(&partition).is_some_and(
                    |assigned| matches!(assigned.state, FetchState::AwaitReset { timestamp: t, .. } if t == timestamp),
                );
                if waits {
                    let position = Position { offset, offset_epoch };
                    self.subscription.set(&partition, FetchState::Fetching(position), outbox.event());
                    outbox.note(&[sent_by], Note::PositionSet { partition, offset });
                }
            }
            Lookup::EndOffsets(call) => {
                for query in self.end_offsets.iter_mut().filter(|query| query.call == *call) {
                    query.found.insert(partition.clone(), offset);
                }
            }
        }
    }

    fn look_up_again(&mut self, lookup: &Lookup, partition: &TopicPartition, timestamp: i64, outbox: &mut Outbox<'_>) {
        let not_before_ms = outbox.now_ms().saturating_add(self.config.connection.retry_backoff_ms);
        self.network.metadata.request_update();
        match lookup {
            Lookup::Reset => {
                let state = FetchState::AwaitReset { timestamp, not_before_ms, asked: false };
                let waits = self.subscription.get(partition).map(|assigned| assigned.state);
                if matches!(waits, Some(FetchState::AwaitReset { timestamp: t, .. }) if t == timestamp) {
                    self.subscription.set(partition, state, outbox.event());
                }
            }
            Lookup::EndOffsets(call) => {
                for query in self.end_offsets.iter_mut().filter(|query| query.call == *call) {
                    query.asked.remove(partition);
                    query.not_before_ms = not_before_ms;
                }
            }
        }
    }

    /// Answers callers whose offsets are all there, and those whose time is over.
    pub(super) fn finish_end_offsets(&mut self, sent_by: EventId, outbox: &mut Outbox<'_>) -> bool {
        let now_ms = outbox.now_ms();
        let timeout_ms = self.config.default_api_timeout_ms;
        let before = self.end_offsets.len();
        self.end_offsets.retain(|query| {
            let earlier = [query.called_by, sent_by];
            let found = query.partitions.iter().map(|p| Some((p.clone(), *query.found.get(p)?)));
            if let Some(offsets) = found.collect::<Option<Vec<_>>>() {
                outbox.reply(&earlier, query.call, Reply::Offsets(offsets));
                return false;
            }
            let elapsed_ms = now_ms - query.since_ms;
            if elapsed_ms >= timeout_ms {
                let message = format!("Failed to get offsets by times in {elapsed_ms}ms");
                let timeout = Exception::new("TimeoutException", message);
                outbox.reply(&[query.called_by], query.call, Reply::Failed(timeout));
                return false;
            }
            true
        });
        self.end_offsets.len() < before
    }
}
