//! What is written beside the lanes: what a program heard, what a log did, what befell a process.

use super::{Story, Telling};
use crate::node::{CallId, Command, Effect, EffectKind, Input, Note, Reply};
use crate::sim::{Event, Fault, FrameAction, What, WriteId};

/// What a mark says. The numbers are those of the page's engine, where `a` and `b` are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkKind {
    SendCalled = 0,
    Ok = 1,
    Failed = 2,
    WaitingForMetadata = 3,
    BatchExpired = 4,
    BatchRetried = 5,
    Rebootstrapped = 6,
    Disconnected = 7,
    ConnectionFailed = 8,
    Polled = 9,
    Flushed = 10,
    Closed = 11,
    Appended = 20,
    DuplicateBatch = 21,
    Refused = 22,
    HighWatermark = 23,
    LogLoaded = 24,
    TopicCreated = 25,
    BecameLeader = 26,
    Serving = 27,
    ConnectionRefused = 28,
    ProducerIdAssigned = 29,
    Dying = 40,
    Killed = 41,
    Started = 42,
    Continued = 43,
    Held = 50,
    CutBefore = 51,
    CutAfter = 52,
    SentAgain = 53,
}

impl MarkKind {
    /// Whether a reader who steps by moments stops here: what happens rarely and changes the story.
    pub(super) const fn is_moment(self) -> bool {
        use MarkKind::{
            BatchExpired, Closed, ConnectionRefused, Continued, CutAfter, CutBefore, DuplicateBatch, Dying, Failed,
            Flushed, Held, Killed, LogLoaded, Polled, Rebootstrapped, Refused, SentAgain, Serving, Started,
            WaitingForMetadata,
        };
        matches!(
            self,
            BatchExpired
                | Closed
                | ConnectionRefused
                | Continued
                | CutAfter
                | CutBefore
                | DuplicateBatch
                | Dying
                | Failed
                | Flushed
                | Held
                | Killed
                | LogLoaded
                | Polled
                | Rebootstrapped
                | Refused
                | SentAgain
                | Serving
                | Started
                | WaitingForMetadata
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub event: u64,
    pub at: i64,
    pub lane: usize,
    pub kind: MarkKind,
    /// −1 where nothing is told.
    pub a: i64,
    pub b: i64,
    /// Folded unless asked for.
    pub background: bool,
}

/// Whether a server says among these that it serves.
pub(super) fn serves(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect.kind, EffectKind::Note(Note::Serving { .. })))
}

pub(super) fn tell(telling: &Telling<'_>, story: &mut Story) {
    let mut marks = Vec::new();
    // What a call asked for, by (lane, call): its answer `Done` does not say.
    let mut asked = crate::ordered::BTreeMap::new();
    for event in telling.events {
        if let What::Fault(Fault::Frame { write, action }) = &event.what {
            marks.extend(telling.frame_fault(event, *write, *action));
        }
        let Some(lane) = event.process().and_then(|process| telling.lane(process)) else { continue };
        let at = telling.at(event);
        let mut mark = |kind: MarkKind, a: i64, b: i64, background: bool| {
            marks.push(Mark { event: event.id.ordinal, at, lane, kind, a, b, background });
        };
        match &event.what {
            What::Fault(Fault::Die { .. } | Fault::Stop(_)) => mark(MarkKind::Dying, -1, -1, false),
            What::Fault(Fault::Kill(_)) => mark(MarkKind::Killed, -1, -1, false),
            What::Fault(Fault::Continue(_)) => mark(MarkKind::Continued, -1, -1, false),
            What::Fault(Fault::Start { .. }) => mark(MarkKind::Started, -1, -1, false),
            What::Handled { input, effects, .. } => {
                if let Input::Command(call, command) = input {
                    match command {
                        Command::Send(_) => mark(MarkKind::SendCalled, telling.record(story, event), -1, true),
                        Command::Flush => _ = asked.insert((lane, *call), MarkKind::Flushed),
                        Command::Close { .. } => _ = asked.insert((lane, *call), MarkKind::Closed),
                        _ => {}
                    }
                }
                for effect in effects {
                    match &effect.kind {
                        EffectKind::Note(Note::WaitingForMetadata { call, .. }) => {
                            mark(MarkKind::WaitingForMetadata, record_of(story, lane, *call), -1, false);
                        }
                        EffectKind::Note(note) => note_mark(telling, note, &mut mark),
                        EffectKind::Reply(call, reply) => {
                            let record = record_of(story, lane, *call);
                            match reply {
                                Reply::Acked(metadata) => mark(MarkKind::Ok, record, metadata.offset, false),
                                Reply::Failed(_) | Reply::Threw(_) if record >= 0 => {
                                    let failed = story.records.get(record as usize).and_then(|one| one.failed);
                                    mark(MarkKind::Failed, record, failed.map_or(-1, |(_, text)| text as i64), false);
                                }
                                Reply::Polled { records, .. } => {
                                    let first = records.first().map_or(-1, |record| record.offset);
                                    mark(MarkKind::Polled, records.len() as i64, first, records.is_empty());
                                }
                                Reply::Done => {
                                    if let Some(kind) = asked.remove(&(lane, *call)) {
                                        mark(kind, -1, -1, false);
                                    }
                                }
                                _ => {}
                            }
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    story.marks = marks;
}

impl Telling<'_> {
    /// What befalls a message stands beside who sent it. It tells for how long.
    fn frame_fault(&self, event: &Event, write: WriteId, action: FrameAction) -> Option<Mark> {
        let frame = self.frames.all().iter().find(|frame| WriteId::of(frame.write) == Some(write))?;
        let kind = match action {
            FrameAction::Hold(_) => MarkKind::Held,
            FrameAction::CutBefore(_) => MarkKind::CutBefore,
            FrameAction::CutAfter(_) => MarkKind::CutAfter,
            FrameAction::SendAgain => MarkKind::SentAgain,
        };
        let a = action.span().as_ms() as i64;
        let lane = self.lane(frame.from)?;
        Some(Mark { event: event.id.ordinal, at: self.at(event), lane, kind, a, b: -1, background: false })
    }

    /// The record that this event's send() is about.
    fn record(&self, story: &Story, event: &Event) -> i64 {
        story.records.binary_search_by_key(&event.id.ordinal, |record| record.sent).map_or(-1, |index| index as i64)
    }
}

/// The record that a lane's call sent, or −1.
fn record_of(story: &Story, lane: usize, call: CallId) -> i64 {
    let at = story.records.iter().rposition(|record| record.lane == lane && record.call == call);
    at.map_or(-1, |record| record as i64)
}

/// Notes about what is not shown (other topics, single high watermarks) are left to the inspector.
fn note_mark(telling: &Telling<'_>, note: &Note, mark: &mut impl FnMut(MarkKind, i64, i64, bool)) {
    let shown = |of: &crate::node::TopicPartition| telling.partition(&of.topic, of.partition).is_some();
    match note {
        Note::BatchExpired { records, age_ms, .. } => {
            mark(MarkKind::BatchExpired, i64::from(*records), *age_ms, false);
        }
        Note::BatchRetried { attempt, error_code, .. } => {
            mark(MarkKind::BatchRetried, i64::from(*attempt), i64::from(*error_code), false);
        }
        Note::Rebootstrapped => mark(MarkKind::Rebootstrapped, -1, -1, false),
        Note::Disconnected { .. } => mark(MarkKind::Disconnected, -1, -1, true),
        Note::ConnectionFailed { node_id, .. } => mark(MarkKind::ConnectionFailed, i64::from(*node_id), -1, true),
        Note::Appended { partition, base_offset, last_offset, .. } if shown(partition) => {
            mark(MarkKind::Appended, *base_offset, *last_offset, false);
        }
        Note::DuplicateBatch { partition, base_offset } if shown(partition) => {
            mark(MarkKind::DuplicateBatch, *base_offset, -1, false);
        }
        Note::Refused { partition, error_code } if shown(partition) => {
            mark(MarkKind::Refused, i64::from(*error_code), -1, false);
        }
        Note::HighWatermark { partition, offset } if shown(partition) => {
            mark(MarkKind::HighWatermark, *offset, -1, true);
        }
        Note::LogLoaded { partition, log_end, truncated, .. } if shown(partition) => {
            mark(MarkKind::LogLoaded, *log_end, *truncated as i64, false);
        }
        Note::TopicCreated { topic, partitions } if telling.partition(topic, 0).is_some() => {
            mark(MarkKind::TopicCreated, i64::from(*partitions), -1, true);
        }
        Note::BecameLeader { partition, leader_epoch, .. } if shown(partition) => {
            mark(MarkKind::BecameLeader, i64::from(*leader_epoch), -1, true);
        }
        Note::Serving { .. } => mark(MarkKind::Serving, -1, -1, false),
        Note::ConnectionRefused { .. } => mark(MarkKind::ConnectionRefused, -1, -1, false),
        Note::ProducerIdAssigned { producer_id, .. } => mark(MarkKind::ProducerIdAssigned, *producer_id, -1, true),
        _ => {}
    }
}
