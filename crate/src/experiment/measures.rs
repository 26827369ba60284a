//! What a run measured, in every place alike: each send and its fate, what was drained, when nodes died and served.
//!
//! Filled by [`super::Programs`]; read by fact expressions. Instants are spans since t = 0.

use std::sync::Arc;

use super::expression::{AnswerField, BatchField, Ids, Texts};
use crate::node::{Duration, FetchedBatch, RawAnswer};
use crate::ordered::BTreeMap;
use crate::record::{Batch, Record};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Measures {
    /// By id: sends are numbered from 0 in the order of their calls.
    pub sends: Vec<Sent>,
    /// What a `drain` read, in log order; `None` until one has come to its end.
    pub drained: Option<Drained>,
    /// Ids of the sends whose records a `poll` returned, in that order.
    pub polled: Vec<i64>,
    /// When a node's process first died.
    pub dead_at: BTreeMap<i32, Duration>,
    /// When it first served again after that.
    pub serving_at: BTreeMap<i32, Duration>,
    /// When a fault of the file, by its index, began; for a frame's, when it met the frame.
    pub fault_at: BTreeMap<usize, Duration>,
    /// When a client's program ended.
    pub ended: BTreeMap<String, Duration>,
    pub counters: BTreeMap<String, i64>,
    /// Answers to raw requests, by the name under which the program keeps them.
    pub answers: BTreeMap<String, Vec<RawAnswer>>,
    /// The toy database: each table's rows, key and value.
    pub tables: BTreeMap<String, Vec<(String, String)>>,
    /// What programs, callbacks and interceptors printed, in the order of their prints.
    pub printed: Vec<Arc<str>>,
    /// Programs that could not go on: whose, and why. No fact holds over such a run.
    pub failures: Vec<Failure>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    // Shared, because a keyframe copies every one of them.
    pub client: Arc<str>,
    pub topic: Arc<str>,
    pub value: Arc<str>,
    pub sent_at: Duration,
    /// When `send()` gave its caller the program back.
    pub returned_at: Option<Duration>,
    /// It did so by throwing.
    pub threw: bool,
    pub outcome: Option<Outcome>,
}

impl Sent {
    pub(super) fn told(&self) -> Option<&Acked> {
        self.outcome.as_ref()?.result.as_ref().ok()
    }

    pub(super) fn thrown(&self) -> Option<&Thrown> {
        self.outcome.as_ref()?.result.as_ref().err()
    }

    /// How long `send()` kept its caller.
    pub(super) fn blocked(&self) -> Option<Duration> {
        Some(Duration(self.returned_at?.0.saturating_sub(self.sent_at.0)))
    }

    /// From the call of `send()` to its callback.
    pub(super) fn waited(&self) -> Option<Duration> {
        Some(Duration(self.outcome.as_ref()?.at.0.saturating_sub(self.sent_at.0)))
    }
}

/// What the callback said, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub at: Duration,
    pub result: Result<Acked, Thrown>,
}

/// The numbers of a RecordMetadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acked {
    pub partition: i32,
    /// −1 with acks=0.
    pub offset: i64,
    /// Milliseconds since the epoch.
    pub timestamp: i64,
}

/// An exception as the program saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thrown {
    pub class: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drained {
    /// Ids of the sends whose records were read.
    pub ids: Vec<i64>,
    /// Records that no program sent.
    pub strangers: u64,
    /// The batches as fetched: the bytes of the log.
    pub batches: Vec<FetchedBatch>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub client: String,
    /// From 0; `None` during the warm-up.
    pub line: Option<u32>,
    pub what: String,
}

impl Measures {
    pub(super) fn ids(&self, ids: Ids) -> Option<Vec<i64>> {
        Some(match ids {
            Ids::Sent => self.sends_where(|_| true),
            Ids::Ok => self.sends_where(|sent| sent.told().is_some()),
            Ids::Failed => self.sends_where(|sent| sent.thrown().is_some()),
            Ids::Thrown => self.sends_where(|sent| sent.threw),
            Ids::OffsetMinusOne => self.sends_where(|sent| sent.told().is_some_and(|told| told.offset == -1)),
            Ids::Polled => self.polled.clone(),
            Ids::Log => self.drained.as_ref()?.ids.clone(),
            Ids::Landed => {
                let mut seen = crate::ordered::BTreeSet::new();
                self.drained.as_ref()?.ids.iter().copied().filter(|id| seen.insert(*id)).collect()
            }
            Ids::LandedTwice => {
                let mut seen = crate::ordered::BTreeSet::new();
                self.drained.as_ref()?.ids.iter().copied().filter(|id| !seen.insert(*id)).collect()
            }
            Ids::Lost => {
                let landed = self.landed_set()?;
                self.ids(Ids::Ok)?.into_iter().filter(|id| !landed.contains(id)).collect()
            }
            Ids::FailedButLanded => {
                let landed = self.landed_set()?;
                self.ids(Ids::Failed)?.into_iter().filter(|id| landed.contains(id)).collect()
            }
        })
    }

    fn landed_set(&self) -> Option<crate::ordered::BTreeSet<i64>> {
        Some(self.drained.as_ref()?.ids.iter().copied().collect())
    }

    fn sends_where(&self, fits: impl Fn(&Sent) -> bool) -> Vec<i64> {
        (0_i64..).zip(&self.sends).filter(|(_, sent)| fits(sent)).map(|(id, _)| id).collect()
    }

    pub(super) fn texts(&self, texts: Texts) -> Option<Vec<String>> {
        match texts {
            Texts::Printed => Some(self.printed.iter().map(|text| text.to_string()).collect()),
            Texts::LandedKeys => self.drained_records(|record| record.key),
            Texts::LandedValues => self.drained_records(|record| record.value),
        }
    }

    /// What every drained record says.
    fn drained_records(&self, what: for<'r> fn(&Record<'r>) -> Option<&'r [u8]>) -> Option<Vec<String>> {
        let mut texts = Vec::new();
        for batch in &self.drained.as_ref()?.batches {
            let batch = Batch::new(&batch.bytes).ok()?;
            // The consumer that read it has unpacked it before.
            let unpacked = batch.unpacked_records(i32::MAX as usize).ok()?;
            for record in batch.records_in(&unpacked) {
                let bytes = what(&record.ok()?);
                texts.push(bytes.map_or_else(|| "null".to_string(), |b| String::from_utf8_lossy(b).into_owned()));
            }
        }
        Some(texts)
    }

    pub(super) fn told(&self, id: i64) -> Option<&Acked> {
        self.sends.get(usize::try_from(id).ok()?)?.told()
    }

    /// `Class: message` of a send that failed.
    pub fn exception_of(&self, id: i64) -> Option<String> {
        let thrown = self.sends.get(usize::try_from(id).ok()?)?.thrown()?;
        Some(format!("{}: {}", thrown.class, thrown.message))
    }

    pub(super) fn is_by(&self, id: i64, client: &str) -> bool {
        usize::try_from(id).ok().and_then(|id| self.sends.get(id)).is_some_and(|sent| sent.client.as_ref() == client)
    }

    /// One field of each answer that is kept under this name.
    pub(super) fn answers(&self, name: &str, field: AnswerField) -> Option<Vec<i64>> {
        let of = |answer: &RawAnswer| match (field, *answer) {
            (AnswerField::ErrorCode, RawAnswer::Answered { error_code, .. }) => Some(error_code.into()),
            (AnswerField::BaseOffset, RawAnswer::Answered { base_offset, .. }) => Some(base_offset),
            (AnswerField::RecordErrors, RawAnswer::Answered { record_errors, .. }) => Some(record_errors.into()),
            (AnswerField::Closed, answer) => Some((answer == RawAnswer::Closed).into()),
            _ => None,
        };
        Some(self.answers.get(name)?.iter().filter_map(of).collect())
    }

    /// One field of every drained batch, or of those of one topic.
    pub(super) fn batches(&self, field: BatchField, topic: Option<&str>) -> Option<Vec<i64>> {
        self.batches_of(topic)?.map(|batch| batch_field(batch, field)).collect()
    }

    /// The codec of each, by its name.
    pub(super) fn codecs(&self, topic: Option<&str>) -> Option<Vec<String>> {
        let name = |batch: &FetchedBatch| Some(Batch::new(&batch.bytes).ok()?.compression_type().name().to_owned());
        self.batches_of(topic)?.map(name).collect()
    }

    fn batches_of(&self, topic: Option<&str>) -> Option<impl Iterator<Item = &FetchedBatch>> {
        let batches = self.drained.as_ref()?.batches.iter();
        Some(batches.filter(move |batch| topic.is_none_or(|topic| batch.partition.topic == topic)))
    }
}

/// What two batches of the same records differ in between two runs: CRC, both timestamps, producer id.
const DIFFERS_BY_RUN: [std::ops::Range<usize>; 3] = [17..21, 27..43, 43..51];

/// `None` for bytes that are no batch.
fn batch_field(fetched: &FetchedBatch, field: BatchField) -> Option<i64> {
    let batch = Batch::new(&fetched.bytes).ok()?;
    Some(match field {
        BatchField::Size => i64::try_from(batch.size_in_bytes()).ok()?,
        BatchField::BaseOffset => batch.base_offset(),
        BatchField::LastOffset => batch.last_offset(),
        BatchField::Count => batch.record_count().into(),
        BatchField::BaseSequence => batch.base_sequence().into(),
        BatchField::LastSequence => batch.last_sequence().into(),
        BatchField::ProducerId => batch.producer_id(),
        BatchField::ProducerEpoch => batch.producer_epoch().into(),
        BatchField::LeaderEpoch => batch.partition_leader_epoch().into(),
        BatchField::Attributes => batch.attributes().into(),
        BatchField::Magic => batch.magic().into(),
        BatchField::Partition => fetched.partition.partition.into(),
        BatchField::Digest => {
            let mut rest = fetched.bytes.to_vec();
            for range in DIFFERS_BY_RUN {
                rest.get_mut(range)?.fill(0);
            }
            crate::checksum::crc32c(&rest).into()
        }
    })
}
