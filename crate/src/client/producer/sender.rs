//! The sender's half of the producer: drains batches into Produce requests and settles their fate (Kafka's Sender and
//! the InitProducerId part of TransactionManager).

use std::collections::BTreeMap;

use super::batch::BatchId;
use super::idempotence::{ProducerIdAndEpoch, State};
use super::{Producer, Request};
use crate::client::exceptions;
use crate::client::metadata::NewLeader;
use crate::client::network::{Completion, Outcome, Sent, UnsupportedVersion};
use crate::client::outbox::Outbox;
use crate::disk::Slice;
use crate::node::{Address, EventId, Exception, Note, RecordMetadata, Reply, TopicPartition};
use crate::wire;
use crate::wire::ErrorCode;
use crate::wire::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use crate::wire::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceData,
};

/// From this version on topics go by id (KIP-516).
const PRODUCE_TOPIC_IDS: i16 = 13;
/// The last stable version: 6 is not advertised by Kafka 4.3.
const INIT_PRODUCER_ID_LATEST: i16 = 5;

/// What a batch's attempt came to.
struct Verdict {
    error: ErrorCode,
    message: Option<String>,
    base_offset: i64,
    log_append_time_ms: i64,
    log_start_offset: i64,
    /// By index in the batch.
    record_errors: BTreeMap<i32, Option<String>>,
}

impl Verdict {
    fn of(error: ErrorCode, message: Option<String>) -> Verdict {
        Verdict {
            error,
            message,
            base_offset: -1,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: BTreeMap::new(),
        }
    }
}

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

    fn set_state(&mut self, state: State) {
        if let Some(idempotence) = &mut self.idempotence {
            idempotence.state = state;
        }
    }

    fn set_needs_id(&mut self, not_before_ms: i64) {
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
    fn guarantees_order(&self) -> bool {
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
            let expired = Exception { class: "TimeoutException", message };
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

    /// Takes in what became of a request.
    pub(super) fn complete(&mut self, done: Completion<Request>, outbox: &mut Outbox<'_>) {
        match (done.purpose, done.outcome) {
            (Request::Produce(ids), outcome) => {
                self.produce_answered(done.node, done.version, ids, outcome, done.sent_by, outbox);
            }
            (Request::InitProducerId, Outcome::Response(frame)) => {
                match wire::decode_response::<InitProducerIdResponse>(&frame, done.version) {
                    Ok((_, response)) => self.producer_id_answered(response, done.sent_by, outbox),
                    Err(_) => {
                        self.set_needs_id(outbox.now_ms().saturating_add(self.config.connection.retry_backoff_ms));
                        self.give_up(done.node, outbox);
                    }
                }
            }
            (Request::InitProducerId, _) => {
                self.set_needs_id(outbox.now_ms().saturating_add(self.config.connection.retry_backoff_ms));
            }
        }
    }

    fn producer_id_answered(&mut self, response: InitProducerIdResponse, sent_by: EventId, outbox: &mut Outbox<'_>) {
        let now_ms = outbox.now_ms();
        let error = ErrorCode(response.error_code);
        let Some(idempotence) = &mut self.idempotence else { return };
        match error {
            ErrorCode::NONE => {
                let (producer_id, epoch) = (response.producer_id, response.producer_epoch);
                idempotence.set_id(ProducerIdAndEpoch { producer_id, epoch });
                outbox.note(&[sent_by], Note::ProducerIdAssigned { producer_id, producer_epoch: epoch });
            }
            error if error.is_retriable() => {
                self.set_needs_id(now_ms.saturating_add(self.config.connection.retry_backoff_ms));
            }
            ErrorCode::CLUSTER_AUTHORIZATION_FAILED | ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED => {
                // What waits is lost, the next record tries again.
                let exception = exceptions::exception(error);
                self.set_needs_id(now_ms.saturating_add(self.config.connection.retry_backoff_ms));
                self.abort_batches(&exception, outbox);
            }
            error => {
                let reason = exceptions::exception(error).message;
                let message = format!("Unexpected error in InitProducerIdResponse; {reason}");
                self.set_state(State::Fatal(Exception { class: "KafkaException", message }));
            }
        }
    }

    fn produce_answered(
        &mut self,
        node: i32,
        version: i16,
        ids: Vec<BatchId>,
        outcome: Outcome,
        sent_by: EventId,
        outbox: &mut Outbox<'_>,
    ) {
        let verdict_for_all = match outcome {
            Outcome::TimedOut => {
                let message = format!("Disconnected from node {node} due to timeout");
                (ErrorCode::REQUEST_TIMED_OUT, Some(message))
            }
            Outcome::Disconnected => (ErrorCode::NETWORK_EXCEPTION, Some(format!("Disconnected from node {node}"))),
            Outcome::Written => (ErrorCode::NONE, None),
            Outcome::Response(frame) => match wire::decode_response::<ProduceResponse>(&frame, version) {
                Ok((_, response)) => return self.produce_response(node, ids, response, sent_by, outbox),
                Err(_) => {
                    self.give_up(node, outbox);
                    (ErrorCode::NETWORK_EXCEPTION, Some(format!("Disconnected from node {node}")))
                }
            },
        };
        for id in ids {
            self.settle(id, Verdict::of(verdict_for_all.0, verdict_for_all.1.clone()), sent_by, outbox);
        }
    }

    fn produce_response(
        &mut self,
        node: i32,
        ids: Vec<BatchId>,
        response: ProduceResponse,
        sent_by: EventId,
        outbox: &mut Outbox<'_>,
    ) {
        self.network.throttle(node, response.throttle_time_ms, outbox.now_ms());
        let mut new_leaders = Vec::new();
        for topic in response.responses {
            let name = match topic.topic_id.is_zero() {
                true => topic.name,
                false => self.network.metadata.topic_name(topic.topic_id).unwrap_or_default().to_owned(),
            };
            for partition in topic.partition_responses {
                let at = TopicPartition { topic: name.clone(), partition: partition.index };
                let batch = |id: &&BatchId| self.accumulator.batch(**id).is_some_and(|batch| batch.partition == at);
                let Some(id) = ids.iter().find(batch).copied() else { continue };
                let error = ErrorCode(partition.error_code);
                let leader = &partition.current_leader;
                if matches!(error, ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::FENCED_LEADER_EPOCH) {
                    new_leaders.push(NewLeader {
                        partition: at,
                        leader: leader.leader_id,
                        leader_epoch: leader.leader_epoch,
                    });
                }
                self.settle(id, verdict(partition), sent_by, outbox);
            }
        }
        let nodes = response.node_endpoints.into_iter().filter_map(|node| {
            let port = u16::try_from(node.port).ok()?;
            Some((node.node_id, Address { host: node.host, port }))
        });
        let nodes = nodes.collect();
        self.network.metadata.update_leadership(new_leaders, nodes, outbox.event());
    }

    /// Decides on a batch: done, another attempt, split, or failed (Sender.completeBatch).
    fn settle(&mut self, id: BatchId, verdict: Verdict, sent_by: EventId, outbox: &mut Outbox<'_>) {
        let now_ms = outbox.now_ms();
        let Some(batch) = self.accumulator.batch_mut(id) else { return };
        batch.in_flight = false;
        let error = verdict.error;
        let partition = batch.partition.clone();
        if batch.done {
            // It expired while its request was out: only its memory is still held.
            self.accumulator.remove(id);
        } else if error == ErrorCode::MESSAGE_TOO_LARGE && batch.waiters.len() > 1 {
            self.split(id, outbox);
        } else if !error.is_error()
            || error == ErrorCode::DUPLICATE_SEQUENCE_NUMBER && !self.can_retry(id, &verdict, now_ms)
        {
            self.succeed(id, &verdict, sent_by, outbox);
        } else if self.can_retry(id, &verdict, now_ms) {
            let in_sequence = self.idempotence.is_some();
            self.accumulator.reenqueue(id, in_sequence, now_ms, outbox.event());
            self.remove_in_flight(id, &partition);
            if let Some(batch) = self.accumulator.batch(id) {
                let note = Note::BatchRetried { batch: id, attempt: batch.attempts, error_code: error.0 };
                outbox.note(&[sent_by, batch.created_by], note);
            }
        } else {
            self.refuse(id, &verdict, outbox);
        }
        if error.invalidates_metadata() {
            self.network.metadata.request_update();
        }
        if self.guarantees_order() {
            self.accumulator.unmute(&partition);
        }
    }

    fn can_retry(&mut self, id: BatchId, verdict: &Verdict, now_ms: i64) -> bool {
        let Some(batch) = self.accumulator.batch(id) else { return false };
        let retries = u32::try_from(self.config.retries).unwrap_or(0);
        !batch.has_reached_delivery_timeout(self.config.delivery_timeout_ms, now_ms)
            && batch.attempts < retries
            && match &mut self.idempotence {
                None => verdict.error.is_retriable(),
                Some(idempotence) => idempotence.can_retry(batch, verdict.error, verdict.log_start_offset),
            }
    }

    fn remove_in_flight(&mut self, id: BatchId, partition: &TopicPartition) {
        if let Some(ids) = self.in_flight.get_mut(partition) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.in_flight.remove(partition);
            }
        }
    }

    fn split(&mut self, id: BatchId, outbox: &mut Outbox<'_>) {
        let Some(batch) = self.accumulator.batch(id) else { return };
        let partition = batch.partition.clone();
        let cause = batch.created_by;
        if let Some(idempotence) = &mut self.idempotence {
            idempotence.remove_in_flight(batch);
        }
        let parts = self.accumulator.split(id, self.idempotence.as_mut(), outbox.event());
        for part in &parts {
            outbox.note(&[cause], Note::BatchCreated { batch: *part, partition: partition.clone() });
            for waiter in self.accumulator.batch(*part).map(|batch| batch.waiters.clone()).unwrap_or_default() {
                outbox.note(&[waiter.sent_by], Note::RecordBatched { call: waiter.call, batch: *part });
            }
        }
        for flush in &mut self.flushes {
            if flush.batches.remove(&id) {
                flush.batches.extend(&parts);
            }
        }
        self.remove_in_flight(id, &partition);
        self.accumulator.remove(id);
    }

    fn succeed(&mut self, id: BatchId, verdict: &Verdict, sent_by: EventId, outbox: &mut Outbox<'_>) {
        let Some(batch) = self.accumulator.batch(id) else { return };
        if let Some(idempotence) = &mut self.idempotence {
            idempotence.completed(batch, verdict.base_offset);
        }
        let partition = batch.partition.clone();
        let note = Note::BatchCompleted { batch: id, base_offset: verdict.base_offset };
        outbox.note(&[sent_by, batch.created_by], note);
        for (index, waiter) in (0..).zip(&batch.waiters) {
            let metadata = RecordMetadata {
                partition: partition.clone(),
                offset: if verdict.base_offset < 0 { -1 } else { verdict.base_offset.saturating_add(index) },
                timestamp: match verdict.log_append_time_ms {
                    -1 => waiter.timestamp,
                    time => time,
                },
            };
            outbox.reply(&[waiter.sent_by, sent_by], waiter.call, Reply::Acked(metadata));
        }
        self.finish(id, &partition, outbox);
        self.accumulator.remove(id);
    }

    /// The broker has refused the batch, or no more attempts are left.
    fn refuse(&mut self, id: BatchId, verdict: &Verdict, outbox: &mut Outbox<'_>) {
        let Some(batch) = self.accumulator.batch(id) else { return };
        let partition = batch.partition.clone();
        let adjust = i64::from(batch.attempts) < i64::from(self.config.retries);
        let error = verdict.error;
        outbox.note(&[batch.created_by, batch.moved_by], Note::BatchFailed { batch: id, error_code: error.0 });
        let top = match error {
            ErrorCode::TOPIC_AUTHORIZATION_FAILED => Exception {
                class: "TopicAuthorizationException",
                message: format!("Not authorized to access topics: [{}]", partition.topic),
            },
            ErrorCode::CLUSTER_AUTHORIZATION_FAILED => Exception {
                class: "ClusterAuthorizationException",
                message: "The producer is not authorized to do idempotent sends".to_owned(),
            },
            _ => exceptions::exception_with(error, verdict.message.as_deref()),
        };
        let of_record = |index: i32| {
            let Some(own) = verdict.record_errors.get(&index) else {
                return match verdict.record_errors.is_empty() {
                    true => top.clone(),
                    // The odd wording is Kafka's.
                    false => Exception {
                        class: "KafkaException",
                        message: "Failed to append record because it was part of a batch which had one more more \
                                  invalid records"
                            .to_owned(),
                    },
                };
            };
            let text = own.as_deref().or(verdict.message.as_deref());
            match verdict.record_errors.len() {
                1 => exceptions::exception_with(error, text),
                _ => exceptions::exception_with(
                    ErrorCode::INVALID_RECORD,
                    text.or(Some(&exceptions::exception(error).message)),
                ),
            }
        };
        self.fail_batch(id, &top, of_record, adjust, outbox);
        self.accumulator.remove(id);
    }

    /// Fires the callbacks with exceptions. The batch stays known until `Accumulator::remove`.
    fn fail_batch(
        &mut self,
        id: BatchId,
        top: &Exception,
        of_record: impl Fn(i32) -> Exception,
        adjust_sequences: bool,
        outbox: &mut Outbox<'_>,
    ) {
        let Some(batch) = self.accumulator.batch_mut(id) else { return };
        batch.done = true;
        let partition = batch.partition.clone();
        let (created_by, moved_by) = (batch.created_by, batch.moved_by);
        for (index, waiter) in (0..).zip(&batch.waiters) {
            outbox.reply(&[waiter.sent_by, created_by, moved_by], waiter.call, Reply::Failed(of_record(index)));
        }
        if let (Some(idempotence), Some(batch)) = (&mut self.idempotence, self.accumulator.batch(id)) {
            idempotence.failed(batch, top, adjust_sequences);
        }
        self.finish(id, &partition, outbox);
    }

    /// The batch's callbacks have fired.
    fn finish(&mut self, id: BatchId, partition: &TopicPartition, outbox: &mut Outbox<'_>) {
        if let Some(batch) = self.accumulator.batch_mut(id) {
            batch.done = true;
        }
        self.remove_in_flight(id, partition);
        for flush in &mut self.flushes {
            flush.batches.remove(&id);
        }
        self.finish_flushes(outbox);
    }

    /// Fails everything whose fate is unknown. True if there was something.
    pub(super) fn abort_batches(&mut self, reason: &Exception, outbox: &mut Outbox<'_>) -> bool {
        let ids = self.accumulator.incomplete();
        for id in &ids {
            self.accumulator.unqueue(*id);
            let in_flight = self.accumulator.batch(*id).is_some_and(|batch| batch.in_flight);
            self.fail_batch(*id, reason, |_| reason.clone(), false, outbox);
            if !in_flight {
                self.accumulator.remove(*id);
            }
        }
        !ids.is_empty()
    }
}

fn verdict(partition: PartitionProduceResponse) -> Verdict {
    let record_errors = partition.record_errors.into_iter();
    Verdict {
        error: ErrorCode(partition.error_code),
        message: partition.error_message,
        base_offset: partition.base_offset,
        log_append_time_ms: partition.log_append_time_ms,
        log_start_offset: partition.log_start_offset,
        record_errors: record_errors.map(|error| (error.batch_index, error.batch_index_error_message)).collect(),
    }
}

fn earliest(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}
