//! The fate of every record that a program sent: which events decide what is known of it.

use super::{Story, Telling};
use crate::node::{CallId, Command, EffectKind, EventId, Input, Note, Reply};
use crate::ordered::BTreeMap;
use crate::sim::{Outcome, ProcessId, What};

/// A record's story: the ordinals of the events that made each thing true.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordStory {
    /// Index of the lane that sent it.
    pub lane: usize,
    pub call: CallId,
    /// Index into the shown partitions, once its batch has one.
    pub partition: Option<usize>,
    pub sent: u64,
    /// The callback said ok: when, and at which offset (−1 with acks=0).
    pub ok: Option<(u64, i64)>,
    /// The callback said failed: when, and what (index into the story's strings).
    pub failed: Option<(u64, usize)>,
    /// A log has it: since when, and at which offset.
    pub landed: Option<(u64, i64)>,
    /// The last frame that carried it was lost.
    pub lost: Option<u64>,
    /// Every frame that carried it, by index into the world's frames.
    pub carried_by: Vec<usize>,
}

/// What a reader can know of a record at a position. The numbers are those of the page's engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordState {
    Pending = 0,
    OkOnTheWay = 1,
    InLog = 2,
    OkInLog = 3,
    Lost = 4,
    Failed = 5,
    FailedButInLog = 6,
}

impl RecordStory {
    /// Its state when `ordinal` events have happened; `None` before it was sent.
    pub fn state(&self, ordinal: u64) -> Option<RecordState> {
        let happened = |event: u64| event < ordinal;
        if !happened(self.sent) {
            return None;
        }
        let in_log = self.landed.is_some_and(|(event, _)| happened(event));
        let ok = self.ok.is_some_and(|(event, _)| happened(event));
        let failed = self.failed.is_some_and(|(event, _)| happened(event));
        let lost = self.landed.is_none() && self.lost.is_some_and(happened);
        Some(match (ok, failed, in_log) {
            (_, true, true) => RecordState::FailedButInLog,
            (_, true, false) => RecordState::Failed,
            (true, _, true) => RecordState::OkInLog,
            (true, _, false) if lost => RecordState::Lost,
            (true, _, false) => RecordState::OkOnTheWay,
            (false, _, true) => RecordState::InLog,
            (false, _, false) => RecordState::Pending,
        })
    }

    /// Its offset when `ordinal` events have happened; −1 while it is in no log.
    pub fn offset(&self, ordinal: u64) -> i64 {
        self.landed.filter(|(event, _)| *event < ordinal).map_or(-1, |(_, offset)| offset)
    }
}

/// A batch of a client: its partition and, in order, its records.
#[derive(Default)]
struct BatchStory {
    partition: Option<usize>,
    records: Vec<usize>,
}

pub(super) fn tell(telling: &Telling<'_>, story: &mut Story) {
    let mut by_call: BTreeMap<(ProcessId, CallId), usize> = BTreeMap::new();
    let mut batches: BTreeMap<(ProcessId, u64), BatchStory> = BTreeMap::new();
    // Batches of a Produce request, by the frame that carries it.
    let mut carried: BTreeMap<usize, Vec<(ProcessId, u64)>> = BTreeMap::new();
    let mut open_calls: BTreeMap<(ProcessId, CallId), (usize, usize)> = BTreeMap::new();

    for event in telling.events {
        let ordinal = event.id.ordinal;
        let What::Handled { process, input, effects } = &event.what else { continue };
        let client = telling.lane(*process).and_then(|lane| Some((lane, story.lanes.get(lane)?.client?)));
        if let Input::Command(call, command) = input
            && let Some((lane, client)) = client
        {
            let calls = story.calls.entry(client).or_default();
            open_calls.insert((*process, *call), (client, calls.len()));
            calls.push((ordinal, None));
            if let Command::Send(_) = command {
                by_call.insert((*process, *call), story.records.len());
                story.records.push(RecordStory { lane, call: *call, sent: ordinal, ..RecordStory::default() });
            }
        }
        for effect in effects {
            match &effect.kind {
                EffectKind::Note(Note::BatchCreated { batch, partition }) => {
                    let shown = telling.partition(&partition.topic, partition.partition);
                    batches.entry((*process, *batch)).or_default().partition = shown;
                }
                EffectKind::Note(Note::RecordBatched { call, batch }) => {
                    if let Some(record) = by_call.get(&(*process, *call)) {
                        let batch = batches.entry((*process, *batch)).or_default();
                        batch.records.push(*record);
                    }
                }
                EffectKind::Note(Note::RequestSent { conn, correlation_id, batches: sent, .. }) if !sent.is_empty() => {
                    let frame = telling.frame_sent(event.id, *conn, *correlation_id);
                    let Some(frame) = frame else { continue };
                    carried.insert(frame, sent.iter().map(|batch| (*process, *batch)).collect());
                    for batch in sent.iter().filter_map(|batch| batches.get(&(*process, *batch))) {
                        for record in &batch.records {
                            let Some(record) = story.records.get_mut(*record) else { continue };
                            record.partition = batch.partition;
                            record.carried_by.push(frame);
                        }
                    }
                }
                EffectKind::Note(Note::Appended { partition, base_offset, .. }) => {
                    let shown = telling.partition(&partition.topic, partition.partition);
                    let from = std::iter::once(event.id).chain(effect.because.earlier.iter().copied());
                    let frames = from.filter_map(|event| telling.frame_read(event));
                    let Some(batch) = frames
                        .filter_map(|frame| carried.get(&frame))
                        .flatten()
                        .filter_map(|batch| batches.get(batch))
                        .find(|batch| batch.partition == shown && shown.is_some())
                    else {
                        continue;
                    };
                    for (offset, record) in (*base_offset..).zip(&batch.records) {
                        let Some(record) = story.records.get_mut(*record) else { continue };
                        record.landed.get_or_insert((ordinal, offset));
                    }
                }
                EffectKind::Reply(call, reply) => {
                    if let Some((client, index)) = open_calls.get(&(*process, *call)).copied()
                        && !matches!(reply, Reply::Acked(_) | Reply::Printed(_))
                        && let Some(call) = story.calls.get_mut(&client).and_then(|calls| calls.get_mut(index))
                    {
                        call.1.get_or_insert(ordinal);
                    }
                    let Some(record) = by_call.get(&(*process, *call)) else { continue };
                    let Some(record) = story.records.get_mut(*record) else { continue };
                    match reply {
                        Reply::Acked(metadata) => record.ok = Some((ordinal, metadata.offset)),
                        Reply::Failed(exception) | Reply::Threw(exception) => {
                            let text = format!("{}: {}", exception.class, exception.message);
                            let known = story.strings.iter().position(|other| *other == text);
                            let index = known.unwrap_or_else(|| {
                                story.strings.push(text);
                                story.strings.len() - 1
                            });
                            record.failed = Some((ordinal, index));
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }
    for record in &mut story.records {
        let last = record.carried_by.last().and_then(|frame| telling.frames.all().get(*frame));
        if let Some(Outcome::Lost { event, .. }) = last.map(|frame| frame.outcome) {
            record.lost = Some(event.ordinal);
        }
    }
}

impl Telling<'_> {
    /// The request that this event sent on the connection.
    fn frame_sent(&self, event: EventId, conn: crate::node::ConnId, correlation_id: i32) -> Option<usize> {
        let frames = self.frames.all();
        let from = frames.partition_point(|frame| frame.write.event < event);
        let sent = frames.get(from..)?.iter().take_while(|frame| frame.write.event == event);
        let fits = |header: &crate::sim::Header| header.correlation_id == correlation_id && header.answers.is_none();
        let at = sent.enumerate().find(|(_, frame)| frame.conns.0 == conn && frame.header.as_ref().is_some_and(fits));
        Some(from + at?.0)
    }

    /// The frame whose arrival this event is.
    fn frame_read(&self, event: EventId) -> Option<usize> {
        let index = self.events.binary_search_by_key(&event.ordinal, |event| event.id.ordinal).ok()?;
        let write = self.frames.of_event(self.events.get(index)?)?.write;
        self.frames.all().binary_search_by_key(&write, |frame| frame.write).ok()
    }
}
