//! What a whole run looks like, told once: lanes, frames, marks, records, program lines.
//!
//! In: the experiment, the names of the world's processes, and every event of the run. Out: rows for the page, each with
//! the ordinal of the event that makes it true, so that "what is there at this position" is a comparison of numbers.

mod frames;
mod marks;
mod records;
mod steps;

pub(super) use frames::sent_bytes;
pub use frames::{FrameKind, FrameRow, FrameSource};
pub use marks::{Mark, MarkKind};
pub use records::{RecordState, RecordStory};
pub use steps::StepKind;

use std::collections::BinaryHeap;

use crate::experiment::{ADMIN, Experiment, Lab};
use crate::node::Instant;
use crate::ordered::BTreeMap;
use crate::sim::{Cause, Event, Fault, Frames, ProcessId, What};

/// One participant of the diagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    pub name: String,
    pub process: ProcessId,
    /// Index into the experiment's clients; `None` for a server.
    pub client: Option<usize>,
}

/// One absence of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    pub lane: usize,
    pub dying: i64,
    pub dead: i64,
    pub start: Option<i64>,
    pub serving: Option<i64>,
}

/// A partition that the page shows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShownPartition {
    pub topic: String,
    pub partition: i32,
}

/// A program moved to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineChange {
    pub event: u64,
    pub line: u32,
}

/// A whole run, from its warm-up to its last event. Instants are microseconds since t = 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Story {
    pub lanes: Vec<Lane>,
    pub partitions: Vec<ShownPartition>,
    /// By the instant of sending.
    pub frames: Vec<FrameRow>,
    /// By event.
    pub marks: Vec<Mark>,
    /// In the order of the sends.
    pub records: Vec<RecordStory>,
    pub outages: Vec<Outage>,
    /// What marks point to: exceptions with their texts.
    pub strings: Vec<String>,
    /// By client of the experiment.
    pub lines: BTreeMap<usize, Vec<LineChange>>,
    /// By client: ordinals at which a call of its program began and, if it did, was answered.
    pub calls: BTreeMap<usize, Vec<(u64, Option<u64>)>>,
    pub start: i64,
    pub end: i64,
    /// Where each kind of step stops: event ordinals, ascending.
    stops: steps::Stops,
}

/// Microseconds from `begun` to `at`; negative in the warm-up.
pub fn since(begun: Instant, at: Instant) -> i64 {
    at.0 as i64 - begun.0 as i64
}

/// What the parts of a story share while it is being told.
struct Telling<'a> {
    experiment: &'a Experiment,
    begun: Instant,
    events: &'a [&'a Event],
    frames: &'a Frames,
    lane_of: BTreeMap<ProcessId, usize>,
    partition_of: BTreeMap<ShownPartition, usize>,
}

impl Telling<'_> {
    fn at(&self, event: &Event) -> i64 {
        since(self.begun, event.at)
    }

    fn lane(&self, process: ProcessId) -> Option<usize> {
        self.lane_of.get(&process).copied()
    }

    fn partition(&self, topic: &str, partition: i32) -> Option<usize> {
        self.partition_of.get(&ShownPartition { topic: topic.to_owned(), partition }).copied()
    }
}

impl Story {
    /// Tells the run whose events these are. `lab` may stand anywhere in it.
    pub fn tell(lab: &Lab, begun: Instant, events: &[&Event]) -> Story {
        let experiment = lab.experiment().as_ref();
        let frames = Frames::of(events.iter().copied());
        let lanes = lanes(lab);
        let partitions = partitions(experiment);
        let telling = Telling {
            experiment,
            begun,
            events,
            frames: &frames,
            lane_of: lanes.iter().enumerate().map(|(index, lane)| (lane.process, index)).collect(),
            partition_of: partitions.iter().cloned().enumerate().map(|(index, shown)| (shown, index)).collect(),
        };
        let mut story = Story {
            start: events.first().map_or(0, |event| telling.at(event)).min(0),
            end: events.last().map_or(0, |event| telling.at(event)),
            outages: telling.outages(),
            lanes,
            partitions,
            ..Story::default()
        };
        records::tell(&telling, &mut story);
        marks::tell(&telling, &mut story);
        frames::tell(&telling, &mut story);
        story.fold_idle_clients();
        for event in events {
            if let What::Line { program, line } = &event.what {
                let change = LineChange { event: event.id.ordinal, line: *line };
                story.lines.entry(*program as usize).or_default().push(change);
            }
        }
        story.stops = steps::stops(&story, events);
        story
    }

    /// A client whose program has not called it yet is no part of the story, whatever its connection goes through.
    fn fold_idle_clients(&mut self) {
        let called = |lane: &Lane| {
            let calls = self.calls.get(&lane.client?);
            Some(calls.and_then(|calls| calls.first()).map_or(u64::MAX, |(begun, _)| *begun))
        };
        let called: Vec<Option<u64>> = self.lanes.iter().map(called).collect();
        let idle = |lane: usize, event: u64| called.get(lane).copied().flatten().is_some_and(|called| event < called);
        for frame in &mut self.frames {
            frame.background |= idle(frame.from, frame.event) || idle(frame.to, frame.event);
        }
        for mark in &mut self.marks {
            mark.background |= idle(mark.lane, mark.event);
        }
    }

    /// The next place to stand after `ordinal` events, or the one before, for a step of this kind.
    pub fn step(&self, kind: StepKind, forward: bool, ordinal: u64, fold: bool) -> Option<u64> {
        self.stops.step(kind, forward, ordinal, fold)
    }

    /// Distinct instants at which something is drawn, ascending.
    pub fn beats(&self, fold: bool) -> Vec<i64> {
        let shown = |background: bool| !(fold && background);
        let frames = self.frames.iter().filter(|frame| shown(frame.background));
        let marks = self.marks.iter().filter(|mark| shown(mark.background));
        let mut beats: Vec<i64> = frames.flat_map(|frame| [frame.sent, frame.end]).collect();
        beats.extend(marks.map(|mark| mark.at));
        let mut beats = BinaryHeap::from(beats).into_sorted_vec();
        beats.dedup();
        beats
    }

    /// Instants of what is rare and changes the story, ascending.
    pub fn moments(&self) -> Vec<i64> {
        let moments = self.marks.iter().filter(|mark| mark.kind.is_moment() && !mark.background);
        moments.map(|mark| mark.at).collect()
    }

    /// The frame that this wrote.
    pub fn frame_written(&self, write: Cause) -> Option<usize> {
        self.frames.iter().position(|frame| frame.write() == Some(write))
    }
}

impl Telling<'_> {
    fn outages(&self) -> Vec<Outage> {
        let mut outages: Vec<Outage> = Vec::new();
        for event in self.events {
            let at = self.at(event);
            let of = |process: &ProcessId| self.lane(*process);
            match &event.what {
                What::Fault(Fault::Die { process, .. }) => {
                    if let Some(lane) = of(process) {
                        outages.push(Outage { lane, dying: at, dead: at, start: None, serving: None });
                    }
                }
                What::Fault(Fault::Kill(process)) => {
                    let Some(lane) = of(process) else { continue };
                    match outages.last_mut().filter(|last| last.lane == lane && last.start.is_none()) {
                        Some(last) => last.dead = at,
                        None => outages.push(Outage { lane, dying: at, dead: at, start: None, serving: None }),
                    }
                }
                // Stopped and not killed: it hangs until it is continued, or as far as this story goes.
                What::Fault(Fault::Stop(process)) => {
                    let dead = self.events.last().map_or(at, |last| self.at(last));
                    outages.extend(of(process).map(|lane| Outage {
                        lane,
                        dying: at,
                        dead,
                        start: None,
                        serving: None,
                    }));
                }
                What::Fault(Fault::Continue(process)) => {
                    let lane = of(process);
                    if let Some(last) = outages.iter_mut().rev().find(|outage| Some(outage.lane) == lane) {
                        (last.dead, last.start, last.serving) = (at, Some(at), Some(at));
                    }
                }
                What::Fault(Fault::Start { process, .. }) => {
                    let lane = of(process);
                    if let Some(last) = outages.iter_mut().rev().find(|outage| Some(outage.lane) == lane) {
                        last.start.get_or_insert(at);
                    }
                }
                What::Handled { process, effects, .. } if marks::serves(effects) => {
                    let lane = of(process);
                    if let Some(last) = outages.iter_mut().rev().find(|outage| Some(outage.lane) == lane) {
                        last.serving.get_or_insert(at);
                    }
                }
                _ => {}
            }
        }
        outages
    }
}

/// Clients that run a program, then the servers in focus.
fn lanes(lab: &Lab) -> Vec<Lane> {
    let experiment = lab.experiment();
    let clients = experiment.clients.iter().zip(lab.clients()).enumerate();
    let clients = clients.filter(|(_, (client, _))| client.name != ADMIN);
    let clients = clients.map(|(index, (client, process))| Lane {
        name: client.name.clone(),
        process: *process,
        client: Some(index),
    });
    let in_focus = |id: &i32| experiment.focus.nodes.is_empty() || experiment.focus.nodes.contains(id);
    let servers = lab.servers().iter().filter(|(id, _)| in_focus(id));
    clients.chain(servers.map(|(id, process)| Lane { name: id.to_string(), process: *process, client: None })).collect()
}

fn partitions(experiment: &Experiment) -> Vec<ShownPartition> {
    let focus = &experiment.focus.topics;
    let topics = experiment.topics.iter().filter(|topic| focus.is_empty() || focus.contains(&topic.name));
    topics
        .flat_map(|topic| {
            (0..topic.partitions).map(|partition| ShownPartition { topic: topic.name.clone(), partition })
        })
        .collect()
}
