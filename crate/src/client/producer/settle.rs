//! What becomes of batches: the answers to Produce and InitProducerId, retries, splits, and the callbacks (Sender's
//! completeBatch and failBatch).

use super::batch::BatchId;
use super::idempotence::{ProducerIdAndEpoch, State};
use super::{Producer, Request};
use crate::client::metadata::NewLeader;
use crate::client::network::{Completion, Outcome};
use crate::client::outbox::Outbox;
use crate::client::{drive, exceptions};
use crate::node::{Address, EventId, Exception, Note, RecordMetadata, Reply, TopicPartition};
use crate::ordered::BTreeMap;
use crate::wire;
use crate::wire::ErrorCode;
use crate::wire::messages::init_producer_id::InitProducerIdResponse;
use crate::wire::messages::produce::{PartitionProduceResponse, ProduceResponse};

/// What a batch's attempt came to.
pub(super) struct Verdict {
    error: ErrorCode,
    message: Option<String>,
    base_offset: i64,
    log_append_time_ms: i64,
    log_start_offset: i64,
    /// By index in the batch.
    record_errors: BTreeMap<i32, Option<String>>,
}

impl Verdict {
    pub(super) fn of(error: ErrorCode, message: Option<String>) -> Verdict {
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
    /// Takes in what became of a request.
    pub(super) fn completed(&mut self, done: Completion, outbox: &mut Outbox<'_>) {
        match (done.request, done.outcome) {
            (Request::Produce(ids), outcome) => {
                self.produce_answered(done.node, done.version, ids, outcome, done.sent_by, outbox);
            }
            (Request::InitProducerId, Outcome::Response(frame)) => {
                match wire::decode_response::<InitProducerIdResponse>(&frame, done.version) {
                    Ok((_, response)) => self.producer_id_answered(response, done.sent_by, outbox),
                    Err(_) => {
                        self.set_needs_id(outbox.now_ms().saturating_add(self.config.connection.retry_backoff_ms));
                        drive::give_up(self, done.node, outbox);
                    }
                }
            }
            (Request::InitProducerId, _) => {
                self.set_needs_id(outbox.now_ms().saturating_add(self.config.connection.retry_backoff_ms));
            }
            (Request::Fetch | Request::ListOffsets { .. } | Request::Admin(_), _) => {}
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
                self.set_state(State::Fatal(Exception::new("KafkaException", message)));
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
                    drive::give_up(self, node, outbox);
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
    pub(super) fn settle(&mut self, id: BatchId, verdict: Verdict, sent_by: EventId, outbox: &mut Outbox<'_>) {
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
                flush.batches.extend(parts.iter().copied());
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
            self.plugins.on_acknowledgement(&metadata, None, waiter.call, outbox);
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
            ErrorCode::TOPIC_AUTHORIZATION_FAILED => Exception::new(
                "TopicAuthorizationException",
                format!("Not authorized to access topics: [{}]", partition.topic),
            ),
            ErrorCode::CLUSTER_AUTHORIZATION_FAILED => Exception::new(
                "ClusterAuthorizationException",
                "The producer is not authorized to do idempotent sends".to_owned(),
            ),
            _ => exceptions::exception_with(error, verdict.message.as_deref()),
        };
        let of_record = |index: i32| {
            let Some(own) = verdict.record_errors.get(&index) else {
                return match verdict.record_errors.is_empty() {
                    true => top.clone(),
                    // The odd wording is Kafka's.
                    false => Exception::new(
                        "KafkaException",
                        "Failed to append record because it was part of a batch which had one more more \
                                  invalid records"
                            .to_owned(),
                    ),
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
    pub(super) fn fail_batch(
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
            let exception = of_record(index);
            self.plugins.on_acknowledgement(&without_offset(&partition), Some(&exception), waiter.call, outbox);
            outbox.reply(&[waiter.sent_by, created_by, moved_by], waiter.call, Reply::Failed(exception));
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

/// What is told of a record that was not sent.
pub(super) fn without_offset(partition: &TopicPartition) -> RecordMetadata {
    RecordMetadata { partition: partition.clone(), offset: -1, timestamp: -1 }
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
