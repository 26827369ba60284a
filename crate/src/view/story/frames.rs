//! The arrows of the diagram: Kafka's frames, and how connections came and went.

use std::collections::BinaryHeap;

use bytes::Bytes;

use super::{Story, Telling};
use crate::disk::Slice;
use crate::node::{CloseReason, ConnId, EffectKind, Input, OpenedBy};
use crate::ordered::BTreeMap;
use crate::sim::{Cause, Event, Frame, Outcome, ProcessId, What};
use crate::wire::{self, ApiKey, messages::fetch::FetchResponse};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    Request = 0,
    Response = 1,
    Syn = 2,
    Fin = 3,
    Rst = 4,
}

/// Where a row's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameSource {
    /// Written by `write`, or by the network's own hand because of it; its bytes are those of `bytes`.
    Written { write: Cause, bytes: Cause },
    /// A segment of TCP's own, without a payload.
    Control,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRow {
    pub source: FrameSource,
    /// The event that sent it.
    pub event: u64,
    /// The event at which it arrived or was lost; the run's end if it is still on its way then.
    pub ended: Option<u64>,
    pub conn: u64,
    pub from: usize,
    pub to: usize,
    pub sent: i64,
    pub end: i64,
    /// As in the page's engine: still under way when the run ends, delivered, lost.
    pub outcome: u8,
    pub kind: FrameKind,
    pub api_key: i16,
    pub api_version: i16,
    pub correlation_id: i32,
    pub size: u64,
    /// First and last record of the program that it carries, or −1.
    pub records: (i64, i64),
    pub background: bool,
}

impl FrameRow {
    /// What wrote it; nothing for a segment of TCP's own.
    pub fn write(&self) -> Option<Cause> {
        match self.source {
            FrameSource::Written { write, .. } => Some(write),
            FrameSource::Control => None,
        }
    }
}

const UNDER_WAY: u8 = 0;
const DELIVERED: u8 = 1;
const LOST: u8 = 2;

pub(super) fn tell(telling: &Telling<'_>, story: &mut Story) {
    let mut carries: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
    for (record, story) in (0..).zip(&story.records) {
        for frame in &story.carried_by {
            carries.entry(*frame).and_modify(|range| range.1 = record).or_insert((record, record));
        }
    }
    let frames = telling.frames.all().iter().enumerate();
    let row = |(index, frame): (usize, &Frame)| {
        let original = frame.copy_of.and_then(|write| telling.frames.all().iter().position(|one| one.write == write));
        telling.row(frame, story.end, carries.get(&original.unwrap_or(index)).copied())
    };
    let mut rows: Vec<FrameRow> = frames.filter_map(row).collect();
    rows.extend(telling.control_rows());
    // By a heap, whose code is a fifth of a sort's.
    let keys = rows.iter().enumerate().map(|(index, row)| (row.sent, row.event, row.end, index));
    let order = keys.collect::<BinaryHeap<_>>().into_sorted_vec();
    story.frames = order.into_iter().filter_map(|(.., index)| rows.get(index).copied()).collect();
}

impl Telling<'_> {
    fn row(&self, frame: &Frame, run_end: i64, records: Option<(i64, i64)>) -> Option<FrameRow> {
        let (outcome, ended, end) = match frame.outcome {
            Outcome::Pending => (UNDER_WAY, None, run_end),
            Outcome::Delivered { event, at } => (DELIVERED, Some(event.ordinal), super::since(self.begun, at)),
            Outcome::Lost { event, at, .. } => (LOST, Some(event.ordinal), super::since(self.begun, at)),
        };
        let kind = match &frame.header {
            Some(header) if header.answers.is_some() => FrameKind::Response,
            _ => FrameKind::Request,
        };
        Some(FrameRow {
            source: FrameSource::Written { write: frame.write, bytes: frame.copy_of.unwrap_or(frame.write) },
            event: frame.write.event.ordinal,
            ended,
            conn: frame.conns.0.0 / 2,
            from: self.lane(frame.from)?,
            to: self.lane(frame.to)?,
            sent: super::since(self.begun, frame.sent_at),
            end,
            outcome,
            kind,
            api_key: frame.header.map_or(-1, |header| header.api_key),
            api_version: frame.header.map_or(-1, |header| header.api_version),
            correlation_id: frame.header.map_or(-1, |header| header.correlation_id),
            size: frame.size,
            records: records.unwrap_or((-1, -1)),
            background: outcome != LOST && self.is_background(frame),
        })
    }

    /// What the experiment's focus does not name, and fetches that bring nothing.
    fn is_background(&self, frame: &Frame) -> bool {
        let Some(header) = frame.header else { return false };
        let key = ApiKey(header.api_key);
        let named = self.experiment.focus.apis.iter().any(|api| api == key.name());
        if !named {
            return true;
        }
        let idle =
            |answer: &Frame| self.bytes(answer.write).is_some_and(|bytes| brings_nothing(&bytes, header.api_version));
        if key != ApiKey::FETCH {
            return false;
        }
        match header.answers {
            Some(_) => idle(frame),
            None => {
                let answers = |other: &&Frame| other.header.is_some_and(|header| header.answers == Some(frame.write));
                self.frames.all().iter().find(answers).is_some_and(idle)
            }
        }
    }

    /// What an effect sent, with its size prefix.
    pub(super) fn bytes(&self, write: Cause) -> Option<Bytes> {
        let index = self.events.binary_search_by_key(&write.event.ordinal, |event| event.id.ordinal).ok()?;
        sent_bytes(self.events.get(index)?, write)
    }

    /// Connection attempts, refusals, resets and orderly ends.
    fn control_rows(&self) -> Vec<FrameRow> {
        let by_id = |cause: Cause| {
            let index = self.events.binary_search_by_key(&cause.event.ordinal, |event| event.id.ordinal).ok()?;
            self.events.get(index).copied()
        };
        let mut rows = Vec::new();
        // Who is at which end, for segments that name only the connection.
        let mut ends: BTreeMap<ConnId, ProcessId> = BTreeMap::new();
        let mut refusers: BTreeMap<ProcessId, ProcessId> = BTreeMap::new();
        for event in self.events {
            let Some(cause) = event.cause.and_then(by_id) else { continue };
            let mut row = |from: ProcessId, to: ProcessId, conn: u64, kind: FrameKind, background: bool| {
                let (Some(from), Some(to)) = (self.lane(from), self.lane(to)) else { return };
                rows.push(FrameRow {
                    source: FrameSource::Control,
                    event: cause.id.ordinal,
                    ended: Some(event.id.ordinal),
                    conn,
                    from,
                    to,
                    sent: self.at(cause),
                    end: self.at(event),
                    outcome: DELIVERED,
                    kind,
                    api_key: -1,
                    api_version: -1,
                    correlation_id: -1,
                    size: 0,
                    records: (-1, -1),
                    background,
                });
            };
            match &event.what {
                What::Handled { process, input: Input::Opened { conn, by, .. }, .. } => {
                    ends.insert(*conn, *process);
                    if let (OpenedBy::Listener(_), Some(opener)) = (by, cause.process()) {
                        row(opener, *process, conn.0 / 2, FrameKind::Syn, true);
                    }
                }
                What::ConnectRefused { process, by } => {
                    refusers.insert(*by, *process);
                    row(*by, *process, u64::MAX >> 12, FrameKind::Syn, true);
                }
                What::Handled { process, input: Input::ConnectFailed { why: CloseReason::Refused, .. }, .. } => {
                    if let Some(refuser) = refusers.remove(process) {
                        row(refuser, *process, u64::MAX >> 12, FrameKind::Rst, true);
                    }
                }
                What::Handled { process, input: Input::Closed { conn, why }, .. } => {
                    let Some(peer) = ends.get(&ConnId(conn.0 ^ 1)).copied() else { continue };
                    let reset = *why == CloseReason::Reset;
                    row(peer, *process, conn.0 / 2, if reset { FrameKind::Rst } else { FrameKind::Fin }, !reset);
                }
                _ => {}
            }
        }
        rows
    }
}

/// Whether a Fetch response (with its size prefix) has neither records nor an error.
fn brings_nothing(response: &Bytes, version: i16) -> bool {
    let body = response.slice(4.min(response.len())..);
    let Ok((_, response)) = wire::decode_response::<FetchResponse>(&body, version) else { return false };
    let empty = |records: &Slice| match records {
        Slice::Bytes(bytes) => bytes.is_empty(),
        Slice::File(range) => range.len == 0,
    };
    let mut partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
    partitions.all(|partition| partition.error_code == 0 && partition.records.as_ref().is_none_or(empty))
}

/// The bytes that one effect of an event sent; what lies in files is not there.
pub(in crate::view) fn sent_bytes(event: &Event, write: Cause) -> Option<Bytes> {
    let effect = event.effects().get(write.effect? as usize)?;
    let EffectKind::Send { chunks, .. } = &effect.kind else { return None };
    let mut bytes = Vec::new();
    for chunk in chunks {
        let Slice::Bytes(chunk) = chunk else { return None };
        bytes.extend_from_slice(chunk);
    }
    Some(bytes.into())
}
