//! One position in a run of an experiment, and what is there.
//!
//! The whole run is computed once, when it is opened; what the page draws at a position is then a selection of the
//! story's rows. What a node holds (log end, high watermark) is asked of the world at that position, which the timeline
//! brings back.

use std::sync::Arc;

use super::story::{RecordStory, StepKind, Story, since};
use super::{Inspected, WhyLink, inspect, why};
use crate::broker::PartitionEnds;
use crate::disk::read_file;
use crate::experiment::{BadConfig, Cold, Experiment, Lab, Place, Report};
use crate::log::{LOG_SUFFIX, log_directory_name, segment_file};
use crate::node::Instant;
use crate::sim::{Astray, Event, Events, Fault, FrameAction, ProcessId, Replayable, Store, Timeline, What, WriteId};

/// Why an experiment cannot be opened, or a position not be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unplayable {
    Config(BadConfig),
    Cold(Cold),
    /// A defect of the engine.
    Astray(Astray),
}

impl std::fmt::Display for Unplayable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unplayable::Config(error) => error.fmt(f),
            Unplayable::Cold(error) => error.fmt(f),
            Unplayable::Astray(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Unplayable {}

impl From<Astray> for Unplayable {
    fn from(astray: Astray) -> Unplayable {
        Unplayable::Astray(astray)
    }
}

/// One course of the run.
pub struct BranchShown {
    /// Which one it left; none for the first.
    pub parent: Option<u32>,
    /// What the reader did that began it.
    pub acted: Option<Acted>,
    /// How it ends.
    pub ends: Option<Report>,
}

/// Something that the reader did to a frame.
pub struct Acted {
    pub at: i64,
    pub ordinal: u64,
    pub write: WriteId,
    pub action: FrameAction,
    pub frame: super::FrameRow,
}

pub struct Viewer {
    timeline: Timeline<Lab>,
    /// By branch.
    stories: Vec<Story>,
    begun: Instant,
}

impl Viewer {
    /// Runs the experiment to its end and stands at its opening instant. `seed` replaces the experiment's own.
    pub fn open(experiment: Experiment, seed: Option<u64>) -> Result<Viewer, Unplayable> {
        let mut lab = Lab::new(Arc::new(experiment), seed).map_err(Unplayable::Config)?;
        let mut warm_up = Store::default();
        lab.warm_up(&mut warm_up).map_err(Unplayable::Cold)?;
        let (begun, seed) = (lab.begun().unwrap_or(lab.now()), lab.seed());
        let (name, opening) = (lab.experiment().name.clone(), lab.experiment().opening.at);
        let mut timeline = Timeline::new(seed, &name, lab, warm_up);
        while timeline.compute(u64::MAX) {}
        let story = Story::tell(timeline.frontier(), begun, &timeline.lineage(0));
        timeline.seek(begun + opening)?;
        Ok(Viewer { timeline, stories: vec![story], begun })
    }

    pub fn experiment(&self) -> &Experiment {
        self.lab().experiment()
    }

    /// Of the branch that is looked at.
    pub fn story(&self) -> &Story {
        &self.stories[self.branch() as usize]
    }

    pub fn branch(&self) -> u32 {
        self.timeline.position().branch
    }

    /// The run as it stands at the position.
    pub fn lab(&self) -> &Lab {
        self.timeline.state()
    }

    /// Microseconds since t = 0.
    pub fn at(&self) -> i64 {
        since(self.begun, self.timeline.position().at)
    }

    /// How many events have happened.
    pub fn ordinal(&self) -> u64 {
        self.timeline.position().ordinal
    }

    /// Whether the last event has happened.
    pub fn at_end(&self) -> bool {
        self.ordinal() >= self.timeline.computed(self.branch())
    }

    /// Stands after the last event at or before `at`.
    pub fn seek(&mut self, at: i64) -> Result<(), Astray> {
        let at = at.clamp(0, self.story().end);
        self.timeline.seek(Instant(self.begun.0 + at.unsigned_abs())).map(|_| ())
    }

    /// Stands just after this event.
    pub fn seek_event(&mut self, event: u64) -> Result<(), Astray> {
        self.timeline.seek_ordinal(event + 1).map(|_| ())
    }

    /// Moves to the next or previous stop; stays where there is none.
    pub fn step(&mut self, kind: StepKind, forward: bool, fold: bool) -> Result<(), Astray> {
        match self.story().step(kind, forward, self.ordinal(), fold) {
            Some(ordinal) => self.timeline.seek_ordinal(ordinal).map(|_| ()),
            None => Ok(()),
        }
    }

    // --- what the reader does ---

    /// Does something to a frame: here, if it is under way, else just after it was sent. The run goes on from there on a
    /// branch of its own, and the old one stays. Tells the frame's index on the new one; `None`, and nothing is done, for
    /// what no node sent.
    pub fn act(&mut self, frame: usize, action: FrameAction) -> Result<Option<usize>, Astray> {
        let row = self.story().frames.get(frame);
        let Some(write) = row.and_then(|row| row.write()).and_then(WriteId::of) else { return Ok(None) };
        if !self.lab().world().is_under_way(write) {
            self.timeline.seek_ordinal(write.ordinal + 1)?;
        }
        self.act_here(write, action)
    }

    /// Does it again as a journal tells: when `ordinal` events had happened.
    pub fn act_at(&mut self, ordinal: u64, write: WriteId, action: FrameAction) -> Result<Option<usize>, Astray> {
        self.timeline.seek_ordinal(ordinal)?;
        self.act_here(write, action)
    }

    fn act_here(&mut self, write: WriteId, action: FrameAction) -> Result<Option<usize>, Astray> {
        if !self.lab().world().is_under_way(write) {
            return Ok(None);
        }
        let from = self.timeline.act(Fault::Frame { write, action }).ordinal;
        while self.timeline.compute(u64::MAX) {}
        let branch = self.branch();
        let lineage = self.timeline.lineage(branch);
        self.stories.push(Story::tell(self.timeline.frontier(), self.begun, &lineage));
        let is_it = |event: &&Event| {
            event.id.ordinal >= from && matches!(event.what, What::Fault(Fault::Frame { write: of, .. }) if of == write)
        };
        let took_place = lineage.into_iter().find(is_it).map(|event| event.id.ordinal);
        self.timeline.seek_ordinal(took_place.unwrap_or(from) + 1)?;
        let is_this = |row: &super::FrameRow| row.write().and_then(WriteId::of) == Some(write);
        Ok(self.story().frames.iter().position(is_this))
    }

    /// Looks at another branch, at the same instant.
    pub fn switch(&mut self, branch: u32) -> Result<(), Astray> {
        self.timeline.switch(branch).map(|_| ())
    }

    /// Every branch in the order in which they were begun; the first is the experiment as it is.
    pub fn branches(&self) -> impl Iterator<Item = BranchShown> {
        (0..self.timeline.branch_count()).map(|branch| {
            let taken = self.timeline.taken(branch);
            let acted = taken.and_then(|taken| match taken.action {
                Fault::Frame { write, action } => {
                    let from = self.timeline.parent(branch)?.branch;
                    let is_this = |row: &&super::FrameRow| row.write().and_then(WriteId::of) == Some(write);
                    let frame = *self.stories.get(from as usize)?.frames.iter().find(is_this)?;
                    Some(Acted { at: since(self.begun, taken.at), ordinal: taken.ordinal, write, action, frame })
                }
                _ => None,
            });
            let ends = self.timeline.frontier_of(branch).map(|lab| lab.report(Place::Page, true));
            BranchShown { parent: self.timeline.parent(branch).map(|parent| parent.branch), acted, ends }
        })
    }

    /// The facts as far as they are known at the position.
    pub fn report(&self) -> Report {
        self.lab().report(Place::Page, self.at_end())
    }

    /// The bytes of what a story's frame carries, with its fields.
    pub fn frame(&self, index: usize) -> Option<Inspected> {
        let frame = self.story().frames.get(index)?;
        let super::FrameSource::Written { bytes, .. } = frame.source else { return None };
        let bytes = super::story::sent_bytes(self.timeline.get(bytes.event)?, bytes)?;
        Some(inspect::frame(bytes, frame))
    }

    /// The active segment of a shown partition as it lies on its leader's disk at the position.
    pub fn segment(&self, partition: usize) -> Option<Inspected> {
        let shown = self.story().partitions.get(partition)?;
        let (ends, process) = self.leader(partition)?;
        // A copy shares its chunks; reading leaves the run's own disk as it is.
        let mut disk = self.lab().world().machine(process)?.as_server()?.disk().clone();
        let base_offset = ends.active_segment?;
        let directory = log_directory_name(&shown.topic, shown.partition);
        let path = segment_file(&directory, base_offset, LOG_SUFFIX);
        let bytes = read_file(&mut disk, &path).ok()?;
        Some(inspect::segment(bytes))
    }

    /// What a partition's leader says of it, and whose process that is.
    pub fn leader(&self, partition: usize) -> Option<(PartitionEnds, ProcessId)> {
        let shown = self.story().partitions.get(partition)?;
        self.lab().servers().iter().find_map(|(node, process)| {
            let server = self.lab().world().machine(*process)?.as_server()?;
            let ends = server.partition_ends(&shown.topic, shown.partition)?;
            (ends.leader == *node).then_some((ends, *process))
        })
    }

    /// The chain of causes of what is known of a record at the position.
    pub fn why(&self, record: usize) -> Vec<WhyLink> {
        let Some(story) = self.story().records.get(record) else { return Vec::new() };
        let id_of = |ordinal| self.timeline.event_at(self.branch(), ordinal).map(|event| event.id);
        why::of_record(&self.timeline, self.story(), story, record, self.begun, self.ordinal(), id_of)
    }

    /// Records that have been sent at the position.
    pub fn records(&self) -> impl Iterator<Item = (usize, &RecordStory)> {
        let ordinal = self.ordinal();
        self.story().records.iter().enumerate().take_while(move |(_, record)| record.sent < ordinal)
    }
}
