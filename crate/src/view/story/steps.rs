//! Where a reader's steps stop.

use super::Story;
use crate::ordered::BTreeSet;
use crate::sim::{Event, What};

/// How far one step goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// To the next thing that happens; folded, to the next that is drawn.
    Event,
    /// To where a frame is sent, arrives or is lost.
    Frame,
    /// To where a program moves to another line.
    Line,
    /// To what is rare and changes the story.
    Moment,
}

/// Event ordinals, ascending; folded and unfolded where that differs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stops {
    events: [Vec<u64>; 2],
    frames: [Vec<u64>; 2],
    lines: Vec<u64>,
    moments: Vec<u64>,
}

pub(super) fn stops(story: &Story, events: &[&Event]) -> Stops {
    let frames = |fold: bool| -> BTreeSet<u64> {
        let shown = story.frames.iter().filter(|frame| !(fold && frame.background));
        shown.flat_map(|frame| std::iter::once(frame.event).chain(frame.ended)).collect()
    };
    let drawn: BTreeSet<u64> = {
        let marks = story.marks.iter().filter(|mark| !mark.background).map(|mark| mark.event);
        frames(true).into_iter().chain(marks).collect()
    };
    let moments: BTreeSet<u64> =
        story.marks.iter().filter(|mark| mark.kind.is_moment() && !mark.background).map(|mark| mark.event).collect();
    let lines = events.iter().filter(|event| matches!(event.what, What::Line { .. }));
    Stops {
        events: [events.iter().map(|event| event.id.ordinal).collect(), drawn.into_iter().collect()],
        frames: [frames(false).into_iter().collect(), frames(true).into_iter().collect()],
        lines: lines.map(|event| event.id.ordinal).collect(),
        moments: moments.into_iter().collect(),
    }
}

impl Stops {
    /// Standing after an event means that `ordinal` is one more than its own.
    pub(super) fn step(&self, kind: StepKind, forward: bool, ordinal: u64, fold: bool) -> Option<u64> {
        let fold = usize::from(fold);
        let stops = match kind {
            StepKind::Event => &self.events[fold],
            StepKind::Frame => &self.frames[fold],
            StepKind::Line => &self.lines,
            StepKind::Moment => &self.moments,
        };
        let next = stops.partition_point(|stop| *stop < ordinal);
        if forward {
            return stops.get(next).map(|stop| stop + 1);
        }
        // The last event that has happened is where we stand; the one before it is where a step back leads.
        let behind = stops.partition_point(|stop| *stop + 1 < ordinal);
        stops.get(behind.checked_sub(1)?).map(|stop| stop + 1)
    }
}
