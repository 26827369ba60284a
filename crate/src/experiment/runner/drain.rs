//! `drain(topic)`: reads every partition from its beginning to the end offset it had at the start. What it reads is
//! what has landed, in all four places.

use super::running::State;
use super::{Order, Programs};
use crate::experiment::Drained;
use crate::node::{CallId, Command, ConsumerRecord, Duration, FetchedBatch, Instant, Reply, SeekTo, TopicPartition};
use crate::ordered::{BTreeMap, BTreeSet};
use crate::record::Batch;

/// As long as a poll of the reader waits.
const POLL_TIMEOUT: Duration = Duration::from_ms(500);

/// A reader that has not come forward for so long gives up: the cluster is not there.
const PATIENCE: Duration = Duration::from_ms(20_000);

#[derive(Debug, Clone)]
pub(super) struct Drain {
    /// As the program calls it.
    name: String,
    /// As the cluster does.
    topic: String,
    call: CallId,
    phase: Phase,
    partitions: Vec<TopicPartition>,
    /// How far each partition is to be read, until it is.
    missing: BTreeMap<TopicPartition, i64>,
    /// When something last came.
    came_at: Instant,
    read: Drained,
    records: Vec<ConsumerRecord>,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Partitions,
    Assign,
    /// Of so many partitions the position is set.
    Seek(usize),
    EndOffsets,
    Poll,
}

impl Drain {
    pub(super) fn new(name: &str, topic: String, call: CallId) -> Drain {
        let (partitions, missing, read) = (Vec::new(), BTreeMap::new(), Drained::default());
        Drain {
            name: name.to_string(),
            topic,
            call,
            phase: Phase::Partitions,
            partitions,
            missing,
            came_at: Instant::ZERO,
            read,
            records: Vec::new(),
        }
    }

    pub(super) fn waits_for(&self, call: CallId) -> bool {
        self.call == call
    }

    /// What the batches say about how far each partition has been read.
    fn passed(&mut self, batches: &[FetchedBatch]) {
        for batch in batches {
            let next = Batch::new(&batch.bytes).map(|batch| batch.next_offset());
            if next.is_ok_and(|next| self.missing.get(&batch.partition).is_some_and(|end| next >= *end)) {
                self.missing.remove(&batch.partition);
            }
        }
    }
}

impl Programs {
    pub(super) fn drain_on(
        &mut self,
        now: Instant,
        client: usize,
        mut drain: Drain,
        reply: &Reply,
        out: &mut Vec<Order>,
    ) -> State {
        let command = match (drain.phase, reply) {
            (_, Reply::Failed(exception)) => return self.give_up(client, exception.clone()),
            (Phase::Partitions, Reply::Partitions(count)) => {
                let of = |partition| TopicPartition { topic: drain.topic.clone(), partition };
                drain.partitions = (0..*count).map(of).collect();
                drain.phase = Phase::Assign;
                Command::Assign { partitions: drain.partitions.clone() }
            }
            (Phase::Assign, Reply::Done) => self.seek_next(&mut drain, 0),
            (Phase::Seek(done), Reply::Done) => self.seek_next(&mut drain, done + 1),
            (Phase::EndOffsets, Reply::Offsets(ends)) => {
                drain.missing = ends.iter().filter(|(_, end)| *end > 0).cloned().collect();
                drain.came_at = now;
                drain.phase = Phase::Poll;
                if drain.missing.is_empty() {
                    return self.drained(client, drain);
                }
                Command::Poll { timeout: POLL_TIMEOUT }
            }
            (Phase::Poll, Reply::Polled { records, batches }) => {
                // Beyond its end offset a partition is not read: what came there came later.
                let wanted: BTreeSet<TopicPartition> = drain.missing.keys().cloned().collect();
                for record in records
                    .iter()
                    .filter(|record| drain.missing.get(&record.partition).is_some_and(|end| record.offset < *end))
                {
                    match self.id_of(record) {
                        Some(id) => drain.read.ids.push(id),
                        None => drain.read.strangers += 1,
                    }
                    drain.records.push(record.clone());
                }
                let fresh = batches.iter().filter(|batch| wanted.contains(&batch.partition));
                drain.read.batches.extend(fresh.map(|batch| {
                    let partition = TopicPartition { topic: drain.name.clone(), ..batch.partition };
                    FetchedBatch { partition, bytes: batch.bytes.clone() }
                }));
                if !batches.is_empty() {
                    drain.came_at = now;
                }
                drain.passed(batches);
                if drain.missing.is_empty() {
                    return self.drained(client, drain);
                }
                if now.since(drain.came_at) >= PATIENCE {
                    let what = format!("drain({}): nothing came for {} s", drain.topic, PATIENCE.as_ms() / 1000);
                    self.fail(client, what);
                    return State::Ended;
                }
                Command::Poll { timeout: POLL_TIMEOUT }
            }
            // A reply of another kind answers nothing here.
            _ => return State::Draining(drain),
        };
        drain.call = self.order(client, command, out);
        State::Draining(drain)
    }

    fn seek_next(&self, drain: &mut Drain, done: usize) -> Command {
        match drain.partitions.get(done) {
            Some(partition) => {
                drain.phase = Phase::Seek(done);
                Command::Seek { partition: partition.clone(), to: SeekTo::Beginning }
            }
            None => {
                drain.phase = Phase::EndOffsets;
                Command::EndOffsets { partitions: drain.partitions.clone() }
            }
        }
    }

    fn drained(&mut self, client: usize, drain: Drain) -> State {
        self.returned(client, drain.records);
        let drained = self.measures.drained.get_or_insert_default();
        drained.ids.extend(drain.read.ids);
        drained.strangers += drain.read.strangers;
        drained.batches.extend(drain.read.batches);
        State::Ready
    }
}
