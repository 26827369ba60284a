//! Records that wait to be sent: a queue of batches for each partition (Kafka's RecordAccumulator).
//!
//! In: records with their partition. Out: which nodes have something to be sent to, and the batches drained for one.
//! Batches live here by id until nobody needs them; queues and requests hold ids.

use std::collections::VecDeque;

use super::batch::{BatchId, ProducerBatch, Waiter};
use super::buffer::BufferPool;
use super::idempotence::Idempotence;
use super::partitioner::StickyPartitioner;
use crate::client::backoff::ExponentialBackoff;
use crate::client::config::ProducerConfig;
use crate::client::metadata::{Metadata, TopicMetadata};
use crate::node::{EventId, ProducerRecord, Rng, TopicPartition};
use crate::ordered::{BTreeMap, BTreeSet};
use crate::record::{Batch, Compression, CompressionRatio, NO_SEQUENCE, ProducerIdentity, one_record_size_upper_bound};

#[derive(Debug, Clone, Default)]
struct TopicQueues {
    sticky: StickyPartitioner,
    estimated_ratio: CompressionRatio,
    partitions: BTreeMap<i32, VecDeque<BatchId>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct NodeLatency {
    ready_ms: i64,
    drained_ms: i64,
}

#[derive(Debug, Clone)]
pub(super) struct Accumulator {
    batch_size: u64,
    compression: Compression,
    linger_ms: i64,
    delivery_timeout_ms: i64,
    adaptive: bool,
    availability_timeout_ms: i64,
    backoff: ExponentialBackoff,
    rng: Rng,
    pub memory: BufferPool,
    batches: BTreeMap<BatchId, ProducerBatch>,
    topics: BTreeMap<String, TopicQueues>,
    muted: BTreeSet<TopicPartition>,
    drain_index: BTreeMap<i32, usize>,
    latencies: BTreeMap<i32, NodeLatency>,
    next_batch: BatchId,
    pub closed: bool,
    pub flushing: bool,
}

/// What `append` did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Appended {
    In {
        batch: BatchId,
        partition: TopicPartition,
        is_new: bool,
    },
    /// That many bytes of buffer.memory are needed first.
    NeedsMemory(u64),
}

/// What `ready` found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ready {
    pub nodes: BTreeSet<i32>,
    /// When a batch that is not ready yet will be.
    pub next_check_ms: Option<i64>,
    pub unknown_leader_topics: BTreeSet<String>,
}

impl Accumulator {
    pub fn new(config: &ProducerConfig, rng: Rng) -> Accumulator {
        Accumulator {
            batch_size: u64::try_from(config.batch_size).unwrap_or(0),
            compression: config.compression,
            linger_ms: config.linger_ms,
            delivery_timeout_ms: config.delivery_timeout_ms,
            adaptive: config.adaptive_partitioning,
            availability_timeout_ms: config.partition_availability_timeout_ms,
            backoff: ExponentialBackoff::new(
                config.connection.retry_backoff_ms,
                config.connection.retry_backoff_max_ms,
            ),
            rng,
            memory: BufferPool::new(u64::try_from(config.buffer_memory).unwrap_or(0)),
            batches: BTreeMap::new(),
            topics: BTreeMap::new(),
            muted: BTreeSet::new(),
            drain_index: BTreeMap::new(),
            latencies: BTreeMap::new(),
            next_batch: 0,
            closed: false,
            flushing: false,
        }
    }

    pub fn batch(&self, id: BatchId) -> Option<&ProducerBatch> {
        self.batches.get(&id)
    }

    pub fn batch_mut(&mut self, id: BatchId) -> Option<&mut ProducerBatch> {
        self.batches.get_mut(&id)
    }

    fn queue(&mut self, partition: &TopicPartition) -> &mut VecDeque<BatchId> {
        let topic = self.topics.entry(partition.topic.clone()).or_default();
        topic.partitions.entry(partition.partition).or_default()
    }

    /// Adds a record to the last batch of its partition, or to a new one. Without a partition the sticky one of
    /// `known` is taken. `memory_granted` says that the caller has waited for memory and it was taken for it.
    pub fn append(
        &mut self,
        record: &ProducerRecord,
        partition: Option<i32>,
        known: &TopicMetadata,
        waiter: Waiter,
        memory_granted: Option<u64>,
        now_ms: i64,
    ) -> Appended {
        let mut buffer = memory_granted;
        loop {
            let topic = self.topics.entry(record.topic.clone()).or_default();
            let chosen = partition.unwrap_or_else(|| topic.sticky.peek(known, &mut self.rng));
            let at = TopicPartition { topic: record.topic.clone(), partition: chosen };
            if self.has_switched(partition, &at, known) {
                continue;
            }
            let last = self.queue(&at).back().copied();
            if let Some(batch) = last.and_then(|id| self.batches.get_mut(&id)) {
                let before = batch.size_in_bytes();
                if batch.try_append(record, waiter, now_ms) {
                    let (id, added) = (batch.id, batch.size_in_bytes() - before);
                    self.memory.deallocate(buffer.unwrap_or(0));
                    self.count(partition, &at, added, known);
                    return Appended::In { batch: id, partition: at, is_new: false };
                }
            }
            let headers = record.headers.iter().map(|(key, value)| (key.as_bytes(), value.as_deref()));
            let one = one_record_size_upper_bound(record.key.as_deref(), record.value.as_deref(), headers) as u64;
            let size = self.batch_size.max(one);
            if buffer.is_none() {
                if !self.memory.allocate(size) {
                    return Appended::NeedsMemory(size);
                }
                buffer = Some(size);
            }
            // The batch that just turned out to be full may have been the sticky partition's last.
            if self.has_switched(partition, &at, known) {
                continue;
            }
            let id = self.new_batch(at.clone(), size, now_ms, waiter.sent_by);
            let mut added = 0;
            if let Some(batch) = self.batches.get_mut(&id) {
                batch.allocated = buffer.unwrap_or(0);
                batch.try_append(record, waiter, now_ms);
                added = batch.size_in_bytes();
            }
            self.queue(&at).push_back(id);
            self.count(partition, &at, added, known);
            return Appended::In { batch: id, partition: at, is_new: true };
        }
    }

    fn new_batch(&mut self, at: TopicPartition, size: u64, now_ms: i64, event: EventId) -> BatchId {
        let id = self.next_batch;
        self.next_batch += 1;
        let limit = usize::try_from(size).unwrap_or(usize::MAX);
        let ratio = self.topics.get(&at.topic).map_or(CompressionRatio::ONE, |topic| topic.estimated_ratio);
        self.batches.insert(id, ProducerBatch::new(id, at, limit, (self.compression, ratio), now_ms, event));
        id
    }

    fn all_batches_full(&mut self, at: &TopicPartition) -> bool {
        let last = self.queue(at).back().copied();
        last.and_then(|id| self.batches.get(&id)).is_none_or(ProducerBatch::is_full)
    }

    fn has_switched(&mut self, partition: Option<i32>, at: &TopicPartition, known: &TopicMetadata) -> bool {
        partition.is_none() && self.all_batches_full(at) && self.produced(at, 0, true, known)
    }

    fn count(&mut self, partition: Option<i32>, at: &TopicPartition, bytes: u64, known: &TopicMetadata) {
        if partition.is_none() {
            let enable_switch = self.all_batches_full(at);
            self.produced(at, bytes, enable_switch, known);
        }
    }

    fn produced(&mut self, at: &TopicPartition, bytes: u64, enable_switch: bool, known: &TopicMetadata) -> bool {
        let batch_size = self.batch_size;
        let topic = self.topics.entry(at.topic.clone()).or_default();
        topic.sticky.produced(bytes, batch_size, enable_switch, known, &mut self.rng)
    }

    /// Which nodes have a partition with a batch that should go now. `memory_waiters`: somebody waits for memory.
    pub fn ready(&mut self, metadata: &Metadata, memory_waiters: bool, now_ms: i64) -> Ready {
        let mut ready = Ready::default();
        let everything = memory_waiters || self.closed || self.flushing;
        for (topic, queues) in &mut self.topics {
            let partition_count = metadata.topics().get(topic).map_or(0, |known| known.partitions.len());
            let mut loads = (self.adaptive && queues.partitions.len() >= partition_count).then(Vec::new);
            for (index, queue) in &queues.partitions {
                let partition = TopicPartition { topic: topic.clone(), partition: *index };
                let leader = metadata.leader(&partition);
                let front = queue.front().and_then(|id| self.batches.get_mut(id));
                if let (Some(loads), Some(leader)) = (&mut loads, leader) {
                    let latency = self.latencies.get(&leader);
                    let stuck = self.availability_timeout_ms > 0
                        && front.is_some()
                        && latency.is_some_and(|l| l.ready_ms - l.drained_ms > self.availability_timeout_ms);
                    if !stuck {
                        loads.push((*index, queue.len() as u64));
                    }
                }
                let Some(batch) = front else { continue };
                let Some(leader) = leader else {
                    ready.unknown_leader_topics.insert(topic.clone());
                    continue;
                };
                batch.update_leader_epoch(metadata.partition(&partition).and_then(|known| known.leader_epoch));
                if ready.nodes.contains(&leader) || self.muted.contains(&partition) {
                    continue;
                }
                let backing_off = batch.is_backing_off(now_ms);
                let wait_ms = if backing_off { batch.retry_backoff_ms } else { self.linger_ms };
                let due_ms = batch.last_attempt_ms().saturating_add(wait_ms);
                let full = queue.len() > 1 || batch.is_full();
                if !backing_off && (full || everything || due_ms <= now_ms) {
                    ready.nodes.insert(leader);
                } else {
                    ready.next_check_ms = Some(ready.next_check_ms.map_or(due_ms, |other| other.min(due_ms)));
                }
            }
            queues.sticky.update_load(loads.as_deref(), queues.partitions.len());
        }
        ready
    }

    /// Remembers whether a node could take what is ready for it (partitioner.availability.timeout.ms).
    pub fn note_node(&mut self, node: i32, now_ms: i64, can_drain: bool) {
        if self.availability_timeout_ms > 0 {
            let latency = self.latencies.entry(node).or_insert(NodeLatency { ready_ms: now_ms, drained_ms: now_ms });
            latency.ready_ms = now_ms;
            if can_drain {
                latency.drained_ms = now_ms;
            }
        }
    }

    /// Takes at most one batch of each of the node's partitions, round-robin, up to `max_size` bytes. Sequences are
    /// given here.
    pub fn drain(
        &mut self,
        metadata: &Metadata,
        node: i32,
        max_size: u64,
        mut idempotence: Option<&mut Idempotence>,
        now_ms: i64,
    ) -> Vec<BatchId> {
        let of_node: Vec<TopicPartition> = metadata
            .topics()
            .iter()
            .flat_map(|(topic, known)| {
                known.partitions.iter().map(move |(index, partition)| (topic, *index, partition))
            })
            .filter(|(_, _, partition)| partition.leader == Some(node))
            .map(|(topic, index, _)| TopicPartition { topic: topic.clone(), partition: index })
            .collect();
        let start = self.drain_index.get(&node).copied().unwrap_or(0).checked_rem(of_node.len()).unwrap_or(0);
        let mut drained = Vec::new();
        let mut size = 0;
        for step in 0..of_node.len() {
            let at = (start + step) % of_node.len();
            self.drain_index.insert(node, at);
            let Some(partition) = of_node.get(at) else { break };
            if self.muted.contains(partition) {
                continue;
            }
            let queue =
                self.topics.get_mut(&partition.topic).and_then(|topic| topic.partitions.get_mut(&partition.partition));
            let Some(queue) = queue else { continue };
            let Some(batch) = queue.front().and_then(|id| self.batches.get_mut(id)) else { continue };
            batch.update_leader_epoch(metadata.partition(partition).and_then(|known| known.leader_epoch));
            if batch.is_backing_off(now_ms) {
                continue;
            }
            if size + batch.size_in_bytes() > max_size && !drained.is_empty() {
                break;
            }
            if let Some(idempotence) = &mut idempotence {
                if idempotence.stops_drain(batch) {
                    break;
                }
                if !batch.has_sequence() {
                    batch.set_producer(idempotence.assign(batch));
                    idempotence.add_in_flight(batch);
                }
            }
            queue.pop_front();
            let first_time = !batch.is_closed();
            size += batch.close().len() as u64;
            drained.push(batch.id);
            // What it was packed to tells how the next ones will be (CompressionRatioEstimator).
            if first_time && let Some(topic) = self.topics.get_mut(&partition.topic) {
                topic.estimated_ratio = topic.estimated_ratio.updated(batch.compression_ratio);
            }
        }
        drained
    }

    /// Puts a batch back for another attempt: in front, or with idempotence in the order of sequences.
    pub fn reenqueue(&mut self, id: BatchId, in_sequence: bool, now_ms: i64, event: EventId) {
        let Some(batch) = self.batches.get_mut(&id) else { return };
        let backoff_ms = self.backoff.ms(batch.attempts, &mut self.rng);
        batch.reenqueued(now_ms, backoff_ms, event);
        let partition = batch.partition.clone();
        self.insert(id, &partition, in_sequence);
    }

    fn insert(&mut self, id: BatchId, partition: &TopicPartition, in_sequence: bool) {
        let sequence = |id: &BatchId| self.batches.get(id).map_or(NO_SEQUENCE, |b| b.producer.base_sequence);
        let mut at = 0;
        if in_sequence {
            let topic = self.topics.get(&partition.topic);
            let queue = topic.and_then(|topic| topic.partitions.get(&partition.partition));
            let own = sequence(&id);
            let before = |other: &&BatchId| (0..own).contains(&sequence(other));
            at = queue.map_or(0, |queue| queue.iter().take_while(before).count());
        }
        self.queue(partition).insert(at, id);
    }

    /// Cuts a batch that is too large for the broker into batches of batch.size (or its halves, if it was cut before)
    /// and queues them. Gives the ids of the new batches.
    pub fn split(&mut self, id: BatchId, mut idempotence: Option<&mut Idempotence>, event: EventId) -> Vec<BatchId> {
        let Some(big) = self.batches.get_mut(&id) else { return Vec::new() };
        let target =
            if big.is_split { (big.max_record_size as u64).max(big.size_in_bytes() / 2) } else { self.batch_size };
        let (partition, created_ms, producer) = (big.partition.clone(), big.created_ms, big.producer);
        let waiters = std::mem::take(&mut big.waiters);
        let bytes = big.close();
        big.done = true;
        let ratio = big.compression_ratio.at_least_one();
        if let Some(topic) = self.topics.get_mut(&partition.topic) {
            topic.estimated_ratio = ratio;
        }
        let mut parts: Vec<BatchId> = Vec::new();
        let batch = Batch::new(bytes);
        let batch = batch.as_ref().ok();
        let unpacked = batch.and_then(|batch| batch.unpacked_records(usize::MAX).ok());
        let records = batch.zip(unpacked.as_deref()).map(|(batch, unpacked)| batch.records_in(unpacked));
        for (record, waiter) in records.into_iter().flatten().zip(waiters) {
            // We built these bytes ourselves.
            let Ok(record) = record else { break };
            let record = ProducerRecord {
                topic: partition.topic.clone(),
                partition: Some(partition.partition),
                timestamp: Some(record.timestamp),
                key: record.key.map(bytes::Bytes::copy_from_slice),
                value: record.value.map(bytes::Bytes::copy_from_slice),
                headers: super::owned_headers(&record),
            };
            let last = parts.last().and_then(|id| self.batches.get_mut(id));
            if last.is_some_and(|last| last.try_append(&record, waiter, created_ms)) {
                continue;
            }
            let headers = record.headers.iter().map(|(key, value)| (key.as_bytes(), value.as_deref()));
            let one = one_record_size_upper_bound(record.key.as_deref(), record.value.as_deref(), headers) as u64;
            let part = self.new_batch(partition.clone(), target.max(one), created_ms, event);
            if let Some(batch) = self.batches.get_mut(&part) {
                batch.is_split = true;
                batch.try_append(&record, waiter, created_ms);
            }
            parts.push(part);
        }
        let mut sequence = producer.base_sequence;
        for part in &parts {
            let Some(batch) = self.batches.get_mut(part) else { continue };
            batch.take_no_more();
            if sequence != NO_SEQUENCE {
                batch.set_producer(ProducerIdentity { base_sequence: sequence, ..producer });
                sequence = crate::record::add_to_sequence(sequence, batch.waiters.len() as i32);
            }
        }
        for part in parts.iter().rev() {
            if let (Some(idempotence), Some(batch)) = (&mut idempotence, self.batches.get(part)) {
                idempotence.add_in_flight(batch);
            }
            self.insert(*part, &partition, idempotence.is_some());
        }
        parts
    }

    /// Takes batches whose delivery.timeout.ms is over out of their queues.
    pub fn take_expired(&mut self, now_ms: i64) -> Vec<BatchId> {
        let mut expired = Vec::new();
        for queue in self.topics.values_mut().flat_map(|topic| topic.partitions.values_mut()) {
            while let Some(batch) = queue.front().and_then(|id| self.batches.get_mut(id)) {
                if !batch.has_reached_delivery_timeout(self.delivery_timeout_ms, now_ms) {
                    break;
                }
                batch.take_no_more();
                expired.extend(queue.pop_front());
            }
        }
        expired
    }

    /// When the first queued batch expires.
    pub fn next_expiry_ms(&self) -> Option<i64> {
        let queues = self.topics.values().flat_map(|topic| topic.partitions.values());
        let fronts = queues.filter_map(|queue| self.batches.get(queue.front()?));
        fronts.map(|batch| batch.created_ms.saturating_add(self.delivery_timeout_ms)).min()
    }

    pub fn has_undrained(&self) -> bool {
        self.topics.values().flat_map(|topic| topic.partitions.values()).any(|queue| !queue.is_empty())
    }

    /// Batches whose callbacks have not fired.
    pub fn incomplete(&self) -> Vec<BatchId> {
        self.batches.values().filter(|batch| !batch.done).map(|batch| batch.id).collect()
    }

    /// Takes a batch out of its queue, if it is in one.
    pub fn unqueue(&mut self, id: BatchId) {
        let partition = self.batches.get(&id).map(|batch| batch.partition.clone());
        if let Some(partition) = partition {
            self.queue(&partition).retain(|other| *other != id);
        }
    }

    /// Forgets a batch and gives its memory back.
    pub fn remove(&mut self, id: BatchId) {
        if let Some(batch) = self.batches.remove(&id) {
            self.memory.deallocate(batch.allocated);
        }
    }

    pub fn mute(&mut self, partition: TopicPartition) {
        self.muted.insert(partition);
    }

    pub fn unmute(&mut self, partition: &TopicPartition) {
        self.muted.remove(partition);
    }
}
