//! Time travel over anything that can be replayed: keyframes, seek, step sizes, and a branch for every action.
//!
//! A position stands between events. Seeking takes the nearest keyframe at or before it and replays from there; what
//! was recorded on the way out is compared on the way back ([`Astray`]).

use super::journal::{Journal, Taken};
use super::trace::{Event, Events, NoTrace, Store, Trace};
use crate::node::{EventId, Instant};

/// A world together with what runs its programs.
///
/// Two values that went through the same steps and actions must be equal from then on, whatever was cloned between.
pub trait Replayable: Clone {
    /// What a reader can do.
    type Action: Clone + std::fmt::Debug;

    /// Makes exactly one event happen. False if nothing will happen any more.
    fn step(&mut self, trace: &mut dyn Trace) -> bool;

    /// Takes an action at `at`, which is not before the last event. What it brings happens in later steps.
    fn act(&mut self, at: Instant, action: &Self::Action);

    /// How many events have happened.
    fn next_ordinal(&self) -> u64;
    fn now(&self) -> Instant;
    fn state_hash(&self) -> u64;

    /// Events from here on belong to this branch.
    fn set_branch(&mut self, branch: u32);
}

/// Between two events: `ordinal` of them have happened on this branch, and the clock shows `at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub branch: u32,
    pub ordinal: u64,
    pub at: Instant,
}

/// A replay ended in another state than the first run: a defect in the engine, never a reader's mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Astray {
    pub branch: u32,
    pub ordinal: u64,
}

impl std::fmt::Display for Astray {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the replay of branch {} differs from its first run before event {}", self.branch, self.ordinal)
    }
}

impl std::error::Error for Astray {}

/// Keyframes every so many events: the state is cheap to clone, and 256 events replay in well under a millisecond.
pub const KEYFRAME_EVERY: u64 = 256;

/// State hashes are taken more often than keyframes, so that a replay from a keyframe meets some.
const CHECK_EVERY: u64 = 32;

#[derive(Debug, Clone)]
struct Branch<T: Replayable> {
    /// Absent for the first branch. The ordinal is where this one begins.
    parent: Option<u32>,
    first: u64,
    /// What made it: the action at its first ordinal.
    taken: Option<Taken<T::Action>>,
    /// In the order of their ordinals; the first stands at `first`.
    keyframes: Vec<T>,
    /// State hashes at every ordinal that is a multiple of [`CHECK_EVERY`], from the first such one after `first`.
    checks: Vec<u64>,
    store: Store,
    /// The furthest that was computed.
    frontier: T,
    ended: bool,
}

#[derive(Debug, Clone)]
pub struct Timeline<T: Replayable> {
    seed: u64,
    experiment: String,
    keyframe_every: u64,
    branches: Vec<Branch<T>>,
    position: Position,
    /// The state at `position`.
    state: T,
    /// The branch whose history that is: an ancestor's, before the branch begins.
    state_of: u32,
}

impl<T: Replayable> Branch<T> {
    fn check(&self, ordinal: u64) -> Option<u64> {
        let index = (ordinal / CHECK_EVERY).checked_sub(self.first / CHECK_EVERY + 1)?;
        self.checks.get(usize::try_from(index).ok()?).copied()
    }
}

impl<T: Replayable> Timeline<T> {
    /// Begins at `start`, whose earlier events (a warm-up) are in `history`, from ordinal 0 on.
    pub fn new(seed: u64, experiment: &str, start: T, history: Store) -> Timeline<T> {
        let position = Position { branch: 0, ordinal: start.next_ordinal(), at: start.now() };
        let branch = Branch {
            parent: None,
            first: start.next_ordinal(),
            taken: None,
            keyframes: vec![start.clone()],
            checks: Vec::new(),
            store: history,
            frontier: start.clone(),
            ended: false,
        };
        Timeline {
            seed,
            experiment: experiment.to_owned(),
            keyframe_every: KEYFRAME_EVERY,
            branches: vec![branch],
            position,
            state: start,
            state_of: 0,
        }
    }

    /// Sets how many events lie between two keyframes, from now on. Nothing but memory and time depends on it.
    pub fn set_keyframe_every(&mut self, events: u64) {
        self.keyframe_every = events.max(1);
    }

    pub fn position(&self) -> Position {
        self.position
    }

    /// The state at the position.
    pub fn state(&self) -> &T {
        &self.state
    }

    /// The state at the end of what was computed of the current branch.
    pub fn frontier(&self) -> &T {
        &self.branch(self.position.branch).frontier
    }

    /// The state at the end of what was computed of any branch.
    pub fn frontier_of(&self, branch: u32) -> Option<&T> {
        self.branches.get(branch as usize).map(|branch| &branch.frontier)
    }

    /// The action that began a branch; none for the first.
    pub fn taken(&self, branch: u32) -> Option<&Taken<T::Action>> {
        self.branches.get(branch as usize)?.taken.as_ref()
    }

    pub fn branch_count(&self) -> u32 {
        self.branches.len() as u32
    }

    /// Where a branch begins, and on which other one.
    pub fn parent(&self, branch: u32) -> Option<EventId> {
        let branch = self.branches.get(branch as usize)?;
        Some(EventId { branch: branch.parent?, ordinal: branch.first })
    }

    /// Every action that led to this branch.
    pub fn journal(&self, branch: u32) -> Journal<T::Action> {
        let mut actions = Vec::new();
        let mut at = self.branches.get(branch as usize);
        while let Some(branch) = at {
            actions.extend(branch.taken.clone());
            at = branch.parent.and_then(|parent| self.branches.get(parent as usize));
        }
        actions.reverse();
        Journal { seed: self.seed, experiment: self.experiment.clone(), actions }
    }

    /// The event with this ordinal on a branch or, before it begins, on those that it came from.
    pub fn event_at(&self, branch: u32, ordinal: u64) -> Option<&Event> {
        self.branch(self.owner(branch, ordinal)?).store.at(ordinal)
    }

    /// The branch's own events: those before its beginning stand on the one that it came from.
    pub fn events(&self, branch: u32) -> &[Event] {
        self.branches.get(branch as usize).map_or(&[], |branch| branch.store.events())
    }

    /// Every computed event that led to the branch's end, from the very first on.
    pub fn lineage(&self, branch: u32) -> Vec<&Event> {
        (0..self.computed(branch)).filter_map(|ordinal| self.event_at(branch, ordinal)).collect()
    }

    /// How many events of the branch were computed, those before its beginning included.
    pub fn computed(&self, branch: u32) -> u64 {
        self.branches.get(branch as usize).map_or(0, |branch| branch.store.ordinals().end)
    }

    /// Computes up to `events` more events of the current branch without moving. False once it has ended.
    pub fn compute(&mut self, events: u64) -> bool {
        (0..events).all(|_| self.extend(self.position.branch))
    }

    /// Computes the current branch up to and including everything at `instant`.
    pub fn compute_until(&mut self, instant: Instant) {
        let branch = self.position.branch;
        while self.branch(branch).frontier.now() <= instant && self.extend(branch) {}
    }

    // --- moving ---

    /// Moves to just after all that happens at `instant` or before.
    pub fn seek(&mut self, instant: Instant) -> Result<Position, Astray> {
        self.compute_until(instant);
        let branch = self.position.branch;
        self.go_to(branch, self.ordinal_after(branch, instant))?;
        self.position.at = self.position.at.max(instant);
        Ok(self.position)
    }

    /// Moves to where `ordinal` events have happened, or to the end if there are fewer.
    pub fn seek_ordinal(&mut self, ordinal: u64) -> Result<Position, Astray> {
        let branch = self.position.branch;
        while self.computed(branch) < ordinal && self.extend(branch) {}
        self.go_to(branch, ordinal.min(self.computed(branch)))
    }

    /// Moves to another branch, at the position's instant.
    pub fn switch(&mut self, branch: u32) -> Result<Position, Astray> {
        if (branch as usize) < self.branches.len() {
            self.position.branch = branch;
        }
        self.seek(self.position.at)
    }

    /// Moves to just after the next event that is wanted, computing at most `limit` events. `None`, and no move, if
    /// there is none.
    pub fn next(&mut self, limit: u64, wanted: impl Fn(&Event) -> bool) -> Result<Option<Position>, Astray> {
        let Position { branch, ordinal: from, .. } = self.position;
        for ordinal in from..from.saturating_add(limit) {
            if self.computed(branch) <= ordinal && !self.extend(branch) {
                break;
            }
            if self.event_at(branch, ordinal).is_some_and(&wanted) {
                return self.go_to(branch, ordinal + 1).map(Some);
            }
        }
        Ok(None)
    }

    /// Moves to just after the latest wanted event before the one that the position stands behind. `None`, and no
    /// move, if there is none.
    pub fn previous(&mut self, wanted: impl Fn(&Event) -> bool) -> Result<Option<Position>, Astray> {
        let Position { branch, ordinal: from, .. } = self.position;
        let first = self.branches.first().map_or(0, |branch| branch.first);
        let found =
            (first..from.saturating_sub(1)).rev().find(|ordinal| self.event_at(branch, *ordinal).is_some_and(&wanted));
        match found {
            Some(ordinal) => self.go_to(branch, ordinal + 1).map(Some),
            None => Ok(None),
        }
    }

    /// Acts at the position. That begins a new branch, which becomes the current one; the old one stays as it was.
    pub fn act(&mut self, action: T::Action) -> Position {
        let Position { branch: current, ordinal, at } = self.position;
        let parent = self.owner(current, ordinal).unwrap_or(current);
        let branch = self.branch_count();
        self.state.set_branch(branch);
        self.state.act(at, &action);
        self.branches.push(Branch {
            parent: Some(parent),
            first: ordinal,
            taken: Some(Taken { at, ordinal, action }),
            keyframes: vec![self.state.clone()],
            checks: Vec::new(),
            store: Store::starting_at(ordinal),
            frontier: self.state.clone(),
            ended: false,
        });
        self.state_of = branch;
        self.position.branch = branch;
        self.position
    }

    // --- inside ---

    fn branch(&self, branch: u32) -> &Branch<T> {
        &self.branches[branch as usize]
    }

    /// The branch on which this ordinal was computed: the given one or one that it came from.
    fn owner(&self, mut branch: u32, ordinal: u64) -> Option<u32> {
        loop {
            let at = self.branches.get(branch as usize)?;
            match at.parent {
                Some(parent) if ordinal < at.first => branch = parent,
                _ => return Some(branch),
            }
        }
    }

    /// How many events of the branch happen at `instant` or before.
    fn ordinal_after(&self, mut branch: u32, instant: Instant) -> u64 {
        let mut most = u64::MAX;
        loop {
            let at = self.branch(branch);
            match (at.parent, &at.taken) {
                (Some(parent), Some(taken)) if taken.at > instant => {
                    most = most.min(at.first);
                    branch = parent;
                }
                _ => return at.store.first_after(instant).min(most),
            }
        }
    }

    fn extend(&mut self, branch: u32) -> bool {
        let every = self.keyframe_every;
        let Some(branch) = self.branches.get_mut(branch as usize) else { return false };
        if branch.ended || !branch.frontier.step(&mut branch.store) {
            branch.ended = true;
            return false;
        }
        let ordinal = branch.frontier.next_ordinal();
        if ordinal.is_multiple_of(CHECK_EVERY) {
            branch.checks.push(branch.frontier.state_hash());
        }
        if branch.keyframes.last().is_none_or(|last| ordinal >= last.next_ordinal() + every) {
            branch.keyframes.push(branch.frontier.clone());
        }
        true
    }

    /// Moves to a position that was computed.
    fn go_to(&mut self, branch: u32, ordinal: u64) -> Result<Position, Astray> {
        let owner = self.owner(branch, ordinal).unwrap_or(branch);
        let keyframes = &self.branch(owner).keyframes;
        let index = keyframes.partition_point(|keyframe| keyframe.next_ordinal() <= ordinal).saturating_sub(1);
        let keyframe = &keyframes[index];
        // Going on from where we are is cheaper than from a keyframe behind us.
        let here = self.state.next_ordinal();
        let ours = self.state_of == owner && (keyframe.next_ordinal()..=ordinal).contains(&here);
        if !ours {
            self.state = keyframe.clone();
            self.state_of = owner;
        }
        while self.state.next_ordinal() < ordinal && self.state.step(&mut NoTrace) {
            let at = self.state.next_ordinal();
            if at.is_multiple_of(CHECK_EVERY) && self.branch(owner).check(at) != Some(self.state.state_hash()) {
                return Err(Astray { branch: owner, ordinal: at });
            }
        }
        self.position = Position { branch, ordinal: self.state.next_ordinal(), at: self.state.now() };
        Ok(self.position)
    }
}

impl<T: Replayable> Events for Timeline<T> {
    fn get(&self, id: EventId) -> Option<&Event> {
        self.branches.get(id.branch as usize)?.store.get(id)
    }
}
