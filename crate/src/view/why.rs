//! Why a record's fate is what it is: the walk along causes, told in the links that a reader can follow.

use super::story::{FrameRow, RecordStory, Story, since};
use crate::node::{Command, EffectKind, EventId, Input, Instant, Note, Reply};
use crate::ordered::BTreeSet;
use crate::sim::{Event, Events, Fault, FrameAction, LostWhy, What, WriteId, causes};

/// What happened at a link. The names are those of the page's engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhyKind {
    SendCalled,
    Ok,
    Failed,
    Written,
    FrameSent,
    FrameDelivered,
    FrameLost,
    /// The network lost it with its connection.
    FrameCut,
    Appended,
    Dying,
    Killed,
    Held,
    Cut,
    SentAgain,
    Timeout,
    WaitingForMetadata,
}

impl WhyKind {
    pub const fn name(self) -> &'static str {
        match self {
            WhyKind::SendCalled => "send-called",
            WhyKind::Ok => "ok",
            WhyKind::Failed => "failed",
            WhyKind::Written => "written",
            WhyKind::FrameSent => "frame-sent",
            WhyKind::FrameDelivered => "frame-delivered",
            WhyKind::FrameLost => "frame-lost",
            WhyKind::FrameCut => "frame-cut",
            WhyKind::Appended => "appended",
            WhyKind::Dying => "dying",
            WhyKind::Killed => "killed",
            WhyKind::Held => "held",
            WhyKind::Cut => "cut",
            WhyKind::SentAgain => "sent-again",
            WhyKind::Timeout => "timeout",
            WhyKind::WaitingForMetadata => "waiting-for-metadata",
        }
    }
}

/// One link: the effect first, its causes after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhyLink {
    pub event: u64,
    pub at: i64,
    pub lane: Option<usize>,
    pub kind: WhyKind,
    /// As for the mark of the same name; −1 where nothing is told.
    pub a: i64,
    pub b: i64,
    /// Index into the story's frames.
    pub frame: Option<usize>,
}

/// How many causes that say nothing of the record are followed in a row before a path is given up.
const SILENT_MAX: u32 = 8;

struct Walk<'a, E> {
    events: &'a E,
    story: &'a Story,
    record: &'a RecordStory,
    index: usize,
    begun: Instant,
    seen: BTreeSet<EventId>,
    links: Vec<WhyLink>,
}

/// The chain for a record, as far as it is known when `ordinal` events have happened; `id_of` is the event of an ordinal.
pub(super) fn of_record(
    events: &impl Events,
    story: &Story,
    record: &RecordStory,
    index: usize,
    begun: Instant,
    ordinal: u64,
    id_of: impl Fn(u64) -> Option<EventId>,
) -> Vec<WhyLink> {
    let known = |event: Option<u64>| event.filter(|event| *event < ordinal);
    let failed = known(record.failed.map(|(event, _)| event));
    let ok = known(record.ok.map(|(event, _)| event));
    let landed = known(record.landed.map(|(event, _)| event));
    let lost = known(record.lost).filter(|_| record.landed.is_none());
    let mut walk = Walk { events, story, record, index, begun, seen: BTreeSet::new(), links: Vec::new() };
    for start in [lost, landed, failed, ok].into_iter().flatten().filter_map(id_of) {
        walk.from(start, 0);
    }
    walk.links
}

impl<E: Events> Walk<'_, E> {
    fn from(&mut self, id: EventId, silent: u32) {
        if !self.seen.insert(id) {
            return;
        }
        let Some(event) = self.events.get(id) else { return };
        let before = self.links.len();
        self.tell(event);
        let told = self.links.get(before..).unwrap_or_default();
        if told.iter().any(|link| link.kind == WhyKind::SendCalled) {
            return;
        }
        let silent = if told.is_empty() { silent + 1 } else { 0 };
        if silent > SILENT_MAX {
            return;
        }
        let causes = causes(self.events, event, |effect| self.is_ours(effect));
        let is_fault = |event: &Event| matches!(event.what, What::Fault(_));
        for cause in causes {
            // What the experiment itself decrees has no further cause than that, and the warm-up explains nothing.
            let leads_on = self
                .events
                .get(cause)
                .is_some_and(|cause| cause.at >= self.begun && (!is_fault(event) || is_fault(cause)));
            if leads_on {
                self.from(cause, silent);
            }
        }
    }

    /// Whether an effect is about the record: its callback, or the batch that brought it into the log.
    fn is_ours(&self, effect: &EffectKind) -> bool {
        match effect {
            EffectKind::Reply(call, Reply::Acked(_) | Reply::Failed(_) | Reply::Threw(_)) => *call == self.record.call,
            EffectKind::Note(Note::Appended { base_offset, last_offset, .. }) => {
                self.record.landed.is_some_and(|(_, offset)| (*base_offset..=*last_offset).contains(&offset))
            }
            _ => false,
        }
    }

    fn tell(&mut self, event: &Event) {
        let (record, ordinal) = (self.index as i64, event.id.ordinal);
        let lane = event.process().and_then(|process| self.story.lanes.iter().position(|lane| lane.process == process));
        let sender = lane == Some(self.record.lane);
        if let Some((ok, offset)) = self.record.ok
            && ok == ordinal
        {
            self.link(event, lane, WhyKind::Ok, (record, offset), None);
        }
        if let Some((failed, text)) = self.record.failed
            && failed == ordinal
        {
            self.link(event, lane, WhyKind::Failed, (record, text as i64), None);
        }
        match &event.what {
            What::Lost { write, why, .. } => {
                let kind = if *why == LostWhy::Cut { WhyKind::FrameCut } else { WhyKind::FrameLost };
                self.link(event, lane, kind, (-1, -1), self.story.frame_written(*write));
            }
            What::Fault(Fault::Frame { write, action }) => {
                let kind = match action {
                    FrameAction::Hold(_) => WhyKind::Held,
                    FrameAction::CutBefore(_) | FrameAction::CutAfter(_) => WhyKind::Cut,
                    FrameAction::SendAgain => WhyKind::SentAgain,
                };
                let is_this = |frame: &FrameRow| frame.write().and_then(WriteId::of) == Some(*write);
                let frame = self.story.frames.iter().position(is_this);
                self.link(event, lane, kind, (action.span().as_ms() as i64, -1), frame);
            }
            What::Fault(Fault::Kill(_)) => self.link(event, lane, WhyKind::Killed, (-1, -1), None),
            What::Fault(Fault::Die { .. }) => self.link(event, lane, WhyKind::Dying, (-1, -1), None),
            What::Handled { input, effects, .. } => {
                match input {
                    Input::Written { .. } | Input::Bytes { .. } => {
                        let kind = match input {
                            Input::Written { .. } => WhyKind::Written,
                            _ => WhyKind::FrameDelivered,
                        };
                        let frame = event.cause.and_then(|write| self.story.frame_written(write));
                        if let Some(frame) = frame.filter(|frame| self.concerns(*frame)) {
                            self.link(event, lane, kind, (-1, -1), Some(frame));
                        }
                    }
                    _ => {}
                }
                for effect in effects {
                    match &effect.kind {
                        note @ EffectKind::Note(Note::Appended { base_offset, .. }) if self.is_ours(note) => {
                            self.link(event, lane, WhyKind::Appended, (*base_offset, -1), None);
                        }
                        EffectKind::Note(Note::BatchExpired { records, age_ms, .. }) if sender => {
                            self.link(event, lane, WhyKind::Timeout, (i64::from(*records), *age_ms), None);
                        }
                        EffectKind::Note(Note::WaitingForMetadata { call, .. }) if *call == self.record.call => {
                            self.link(event, lane, WhyKind::WaitingForMetadata, (record, -1), None);
                        }
                        _ => {}
                    }
                }
                self.sent(event, lane);
                if sender && matches!(input, Input::Command(call, Command::Send(_)) if *call == self.record.call) {
                    self.link(event, lane, WhyKind::SendCalled, (record, -1), None);
                }
            }
            _ => {}
        }
    }

    fn carries(&self, frame: &FrameRow) -> bool {
        let record = self.index as i64;
        frame.records.0 <= record && record <= frame.records.1
    }

    /// Whether a frame carries the record, or is the answer to one that does.
    fn concerns(&self, frame: usize) -> bool {
        let Some(frame) = self.story.frames.get(frame) else { return false };
        let asked = |other: &FrameRow| (other.conn, other.correlation_id) == (frame.conn, frame.correlation_id);
        self.carries(frame) || self.story.frames.iter().any(|other| asked(other) && self.carries(other))
    }

    /// The frame that this event sent with the record in it.
    fn sent(&mut self, event: &Event, lane: Option<usize>) {
        let carries = |frame: &FrameRow| frame.event == event.id.ordinal && self.carries(frame);
        let frame = self.story.frames.iter().position(carries);
        if frame.is_some() {
            self.link(event, lane, WhyKind::FrameSent, (-1, -1), frame);
        }
    }

    /// Where nobody handled the event (a loss), the link's lane is the one that the frame was bound for.
    fn link(&mut self, event: &Event, lane: Option<usize>, kind: WhyKind, (a, b): (i64, i64), frame: Option<usize>) {
        let at = since(self.begun, event.at);
        let lane = lane.or_else(|| Some(self.story.frames.get(frame?)?.to));
        self.links.push(WhyLink { event: event.id.ordinal, at, lane, kind, a, b, frame });
    }
}
