//! The sender's half of the producer: asks for a producer id, drains batches into Produce requests, expires them (Kafka's
//! Sender and the InitProducerId part of TransactionManager).

use super::batch::BatchId;
use super::idempotence::State;
use super::settle::Verdict;
use super::{Producer, Request};
use crate::client::exceptions;
use crate::client::network::{Sent, UnsupportedVersion};
use crate::client::outbox::Outbox;
use crate::disk::Slice;
use crate::node::{Exception, Note};
use crate::ordered::BTreeMap;
use crate::wire::ErrorCode;
use crate::wire::messages::init_producer_id::InitProducerIdRequest;
use crate::wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};

/// From this version on topics go by id (KIP-516).
const PRODUCE_TOPIC_IDS: i16 = 13;
/// The last stable version: 6 is not advertised by Kafka 4.3.
const INIT_PRODUCER_ID_LATEST: i16 = 5;

impl Producer {
    /// One round of the sender. True if something was sent or settled.
    pub(super) fn run_sender(&mut self, outbox: &mut Outbox<'_>) -> bool {
        self.sender_look_ms = None;
        if let Some(idempotence) = &mut self.idempotence {
            idempotence.resolve();
            if let State::Fatal(exception) = &idempotence.state {
                let exception = exception.clone();
                return self.abort_batches(&exception, outbox);
            }
            idempotence.bump_if_required(&mut self.accumulator);
            match idempotence.state {
                State::NeedsId { not_before_ms } => return self.ask_producer_id(not_before_ms, outbox),
                // Kafka's sender does nothing else while it waits for the id.
                State::Asked => return false,
                State::Ready | State::Fatal(_) => {}
            }
        }
        self.send_producer_data(outbox)
    }

    fn ask_producer_id(&mut self, not_before_ms: i64, outbox: &mut Outbox<'_>) -> bool {
        let now_ms = outbox.now_ms();
        if now_ms < not_before_ms {
            self.sender_look_ms = Some(not_before_ms);
            return false;
        }
        let retry_at_ms = now_ms.saturating_add(self.config.connection.retry_backoff_ms.max(1));
        let node = self.network.least_loaded_node(now_ms);
        let Some(node) = node.filter(|node| self.network.ready(*node, outbox)) else {
            if node.is_none_or(|node| self.network.is_unavailable(node, now_ms)) {
                self.set_needs_id(retry_at_ms);
                self.network.metadata.request_update();
            }
            self.sender_look_ms = Some(retry_at_ms);
            return false;
        };
        let earlier = [self.network.metadata.changed_by];
        let sent = Sent { latest: INIT_PRODUCER_ID_LATEST, earlier: &earlier, ..Sent::to(node) };
        let build = |_| InitProducerIdRequest {
            transactional_id: None,
            transaction_timeout_ms: i32::MAX,
            ..Default::default()
        };
        match self.network.send(sent, Request::InitProducerId, build, outbox) {
            Ok(()) => self.set_state(State::Asked),
            Err(UnsupportedVersion) => {
                self.set_state(State::Fatal(exceptions::exception(ErrorCode::UNSUPPORTED_VERSION)));
            }
        }
        true
    }

    pub(super) fn set_state(&mut self, state: State) {
        if let Some(idempotence) = &mut self.idempotence {
            idempotence.state = state;
        }
    }

    pub(super) fn set_needs_id(&mut self, not_before_ms: i64) {
        self.set_state(State::NeedsId { not_before_ms });
    }

    fn send_producer_data(&mut self, outbox: &mut Outbox<'_>) -> bool {
        let now_ms = outbox.now_ms();
        let memory_waiters = self.waits_for_memory();
        let ready = self.accumulator.ready(&self.network.metadata, memory_waiters, now_ms);
        let mut look_ms = ready.next_check_ms;
        if !ready.unknown_leader_topics.is_empty() {
            for topic in &ready.unknown_leader_topics {
                self.network.metadata.add(topic, now_ms);
            }
            self.network.metadata.request_update();
        }
        let mut acted = false;
        for node in ready.nodes {
            let can_drain = self.network.ready(node, outbox);
            self.accumulator.note_node(node, now_ms, can_drain);
            if !can_drain {
                look_ms = earliest(look_ms, self.network.poll_at_ms(node, now_ms));
                continue;
            }
            let max_size = u64::try_from(self.config.max_request_size).unwrap_or(0);
            let metadata = &self.network.metadata;
            let batches = self.accumulator.drain(metadata, node, max_size, self.idempotence.as_mut(), now_ms);
            if !batches.is_empty() {
                self.drained.push((node, batches));
            }
        }
        for (_, batches) in &self.drained {
            for batch in batches.iter().filter_map(|id| self.accumulator.batch(*id)) {
                self.in_flight.entry(batch.partition.clone()).or_default().push(batch.id);
            }
        }
        if self.guarantees_order() {
            for (_, batches) in &self.drained {
                for id in batches {
                    if let Some(partition) = self.accumulator.batch(*id).map(|batch| batch.partition.clone()) {
                        self.accumulator.mute(partition);
                    }
                }
            }
        }
        acted |= self.expire(now_ms, outbox);
        for (node, batches) in std::mem::take(&mut self.drained) {
            self.send_produce_request(node, batches, outbox);
            acted = true;
        }
        self.sender_look_ms = earliest(look_ms, self.next_expiry_ms());
        acted
    }

    /// With one request in flight a partition is muted until its batch is settled, so order survives retries.
    pub(super) fn guarantees_order(&self) -> bool {
        self.config.max_in_flight == 1
    }

    fn next_expiry_ms(&self) -> Option<i64> {
        let in_flight = self.in_flight.values().filter_map(|ids| self.accumulator.batch(*ids.first()?));
        let in_flight = in_flight.map(|batch| batch.created_ms.saturating_add(self.config.delivery_timeout_ms)).min();
        earliest(in_flight, self.accumulator.next_expiry_ms())
    }

    /// Fails batches that are older than delivery.timeout.ms, queued or in flight.
    fn expire(&mut self, now_ms: i64, outbox: &mut Outbox<'_>) -> bool {
        let delivery_timeout_ms = self.config.delivery_timeout_ms;
        let mut sent = Vec::new();
        for ids in self.in_flight.values_mut() {
            // The first of a partition is the oldest, unless retries have reversed them.
            while let Some(batch) = ids.first().and_then(|id| self.accumulator.batch(*id)) {
                if !batch.has_reached_delivery_timeout(delivery_timeout_ms, now_ms) {
                    break;
                }
                sent.push(ids.remove(0));
            }
        }
        self.in_flight.retain(|_, ids| !ids.is_empty());
        let queued = self.accumulator.take_expired(now_ms);
        let acted = !queued.is_empty() || !sent.is_empty();
        for (id, is_queued) in queued.into_iter().map(|id| (id, true)).chain(sent.into_iter().map(|id| (id, false))) {
            let Some(batch) = self.accumulator.batch(id) else { continue };
            let age_ms = now_ms - batch.created_ms;
            let records = batch.record_count();
            let partition = &batch.partition;
            let message = format!(
                "Expiring {records} record(s) for {}-{}:{age_ms} ms has passed since batch creation. The request has \
                 not been sent, or no server response has been received yet.",
                partition.topic, partition.partition
            );
            let in_retry = batch.in_retry();
            outbox.note(&[batch.created_by, batch.moved_by], Note::BatchExpired { batch: id, records, age_ms });
            let expired = Exception::new("TimeoutException", message);
            self.fail_batch(id, &expired, |_| expired.clone(), false, outbox);
            if let (true, Some(idempotence), Some(batch)) =
                (in_retry, &mut self.idempotence, self.accumulator.batch(id))
            {
                idempotence.mark_unresolved(batch);
            }
            // An answer may still come for a batch that was sent; it keeps its memory until then.
            if is_queued {
                self.accumulator.remove(id);
            }
        }
        acted
    }

    fn send_produce_request(&mut self, node: i32, ids: Vec<BatchId>, outbox: &mut Outbox<'_>) {
        let mut by_topic: BTreeMap<String, Vec<PartitionProduceData>> = BTreeMap::new();
        let mut earlier = vec![self.network.metadata.changed_by];
        for id in &ids {
            let Some(batch) = self.accumulator.batch_mut(*id) else { continue };
            // Expired between being drained and being sent.
            if batch.done {
                continue;
            }
            batch.in_flight = true;
            earlier.extend([batch.created_by, batch.moved_by]);
            earlier.extend(batch.waiters.last().map(|waiter| waiter.sent_by));
            let records = Some(Slice::Bytes(batch.close()));
            let data = PartitionProduceData { index: batch.partition.partition, records, ..Default::default() };
            by_topic.entry(batch.partition.topic.clone()).or_default().push(data);
        }
        if by_topic.is_empty() {
            return;
        }
        let metadata = &self.network.metadata;
        let topic_data: Vec<TopicProduceData> = by_topic
            .into_iter()
            .map(|(name, partition_data)| TopicProduceData {
                topic_id: metadata.topic_id(&name),
                name,
                partition_data,
                ..Default::default()
            })
            .collect();
        // A broker that gives no topic ids is spoken to by name.
        let has_ids = topic_data.iter().all(|topic| !topic.topic_id.is_zero());
        let latest = if has_ids { i16::MAX } else { PRODUCE_TOPIC_IDS - 1 };
        let (acks, timeout_ms) = (self.config.acks, self.config.connection.request_timeout_ms);
        let build = |_| ProduceRequest {
            transactional_id: None,
            acks,
            timeout_ms: i32::try_from(timeout_ms).unwrap_or(i32::MAX),
            topic_data,
            ..Default::default()
        };
        let sent = Sent { expects_response: acks != 0, latest, earlier: &earlier, batches: &ids, ..Sent::to(node) };
        let request = Request::Produce(ids.clone());
        if self.network.send(sent, request, build, outbox).is_err() {
            for id in ids {
                self.settle(id, Verdict::of(ErrorCode::UNSUPPORTED_VERSION, None), outbox.event(), outbox);
            }
        }
    }
}

fn earliest(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}
