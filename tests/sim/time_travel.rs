use steplog::node::*;
use steplog::sim::*;

use crate::toy::*;

/// A lab with a program: it sends a record every 2 ms.
#[derive(Debug, Clone)]
struct Lesson {
    lab: Lab,
    calls: u64,
}

#[derive(Debug, Clone, PartialEq)]
enum Action {
    Inflict(Fault),
}

const LAST_WAKE: u64 = 100;

impl Lesson {
    fn new() -> Lesson {
        let server = Server { noisy: true, ..Server::default() };
        let mut lab = Lab::seeded(3, server, LinkSpec::default());
        lab.world.wake(Instant(10_000), 0, None);
        Lesson { lab, calls: 0 }
    }
}

impl Replayable for Lesson {
    type Action = Action;

    fn step(&mut self, trace: &mut dyn Trace) -> bool {
        let Some(stepped) = self.lab.world.step(trace) else { return false };
        match stepped.change {
            Some(Change::Woke(n)) if n < LAST_WAKE => {
                self.lab.world.program_line(0, n as u32 % 3, Some(stepped.event.into()));
                self.lab.world.wake(stepped.at + Duration(2_000), n + 1, Some(stepped.event.into()));
            }
            Some(Change::Line { .. }) => {
                self.calls += 1;
                let record = ProducerRecord { value: Some(self.calls.to_string().into()), ..ProducerRecord::default() };
                let because = Some(stepped.event.into());
                let call = CallId(self.calls);
                self.lab.world.command(stepped.at, self.lab.client, call, Command::Send(record), because);
            }
            _ => {}
        }
        true
    }

    fn act(&mut self, at: Instant, action: &Action) {
        let Action::Inflict(fault) = action;
        self.lab.world.fault(at, *fault, None);
    }

    fn next_ordinal(&self) -> u64 {
        self.lab.world.next_ordinal()
    }

    fn now(&self) -> Instant {
        self.lab.world.now()
    }

    fn state_hash(&self) -> u64 {
        self.lab.world.state_hash()
    }

    fn set_branch(&mut self, branch: u32) {
        self.lab.world.set_branch(branch);
    }
}

fn timeline() -> Timeline<Lesson> {
    Timeline::new(3, "lesson", Lesson::new(), Store::default())
}

#[test]
fn seeking_there_and_back_shows_the_same_state() {
    let mut timeline = timeline();
    let at = |timeline: &mut Timeline<Lesson>, us| {
        let position = timeline.seek(Instant(us)).expect("a faithful replay");
        assert_eq!(position.at, Instant(us));
        (position, timeline.state().state_hash(), timeline.state().lab.landed())
    };
    let instants = [50_000, 150_000, 49_999, 0, 210_000, 150_000, 50_000];
    let first = at(&mut timeline, 50_000);
    let far = at(&mut timeline, 150_000);
    assert!(far.2.len() > first.2.len());
    for instant in instants {
        let seen = at(&mut timeline, instant);
        match instant {
            50_000 => assert_eq!(seen, first),
            150_000 => assert_eq!(seen, far),
            _ => {}
        }
    }
}

#[test]
fn keyframe_spacing_changes_nothing_but_speed() {
    let visit = |every: u64| {
        let mut timeline = timeline();
        timeline.set_keyframe_every(every);
        [200_000, 31_000, 77_777, 12_345, 150_001].map(|us| {
            timeline.seek(Instant(us)).expect("a faithful replay");
            (timeline.position(), timeline.state().state_hash())
        })
    };
    let expected = visit(1);
    for every in [2, 7, 64, 1_000_000] {
        assert_eq!(visit(every), expected, "a keyframe every {every} events");
    }
}

#[test]
fn steps_forward_and_back_by_event_line_and_moment_meet() {
    let mut timeline = timeline();
    timeline.seek(Instant(60_000)).expect("a faithful replay");
    let start = timeline.position().ordinal;
    let forward = timeline.next(1000, |_| true).expect("faithful").expect("an event");
    assert_eq!(forward.ordinal, start + 1);
    let back = timeline.previous(|_| true).expect("faithful").expect("an event");
    assert_eq!(back.ordinal, start);

    let line = timeline.next(1000, Event::is_line).expect("faithful").expect("a line");
    let next_line = timeline.next(1000, Event::is_line).expect("faithful").expect("a line");
    assert_eq!(next_line.at.0 - line.at.0, 2_000);
    assert_eq!(timeline.previous(Event::is_line).expect("faithful"), Some(line));
    assert!(timeline.event_at(0, line.ordinal - 1).is_some_and(Event::is_line));

    let landed = timeline.state().lab.landed().len();
    let arrival = timeline.next(1000, |event| event.notes().next().is_some()).expect("faithful");
    assert!(arrival.is_some());
    assert_eq!(timeline.state().lab.landed().len(), landed + 1);
}

#[test]
fn acting_in_the_past_keeps_both_histories() {
    let mut timeline = timeline();
    timeline.seek(Instant(300_000)).expect("a faithful replay");
    let undisturbed = timeline.state().lab.landed();
    timeline.seek(Instant(100_000)).expect("a faithful replay");
    let server = timeline.state().lab.server;
    let forked = timeline.act(Action::Inflict(Fault::Kill(server)));
    assert_eq!((forked.branch, forked.at), (1, Instant(100_000)));

    timeline.seek(Instant(300_000)).expect("a faithful replay");
    let disturbed = timeline.state().lab.landed();
    assert!(disturbed.len() < undisturbed.len());
    // Before the fork both are one history, and it can be visited from the new branch.
    timeline.seek(Instant(50_000)).expect("a faithful replay");
    assert_eq!(timeline.position().branch, 1);
    let early = timeline.state().lab.landed();
    assert!(early.len() < disturbed.len());

    timeline.switch(0).expect("a faithful replay");
    timeline.seek(Instant(300_000)).expect("a faithful replay");
    assert_eq!(timeline.state().lab.landed(), undisturbed);
    let journal = timeline.journal(1);
    assert_eq!((journal.seed, journal.experiment.as_str(), journal.actions.len()), (3, "lesson", 1));
    assert_eq!(timeline.journal(0).actions.len(), 0);
    assert_eq!(timeline.parent(1), Some(EventId { branch: 0, ordinal: forked.ordinal }));
}

#[test]
fn a_journal_replayed_on_a_fresh_timeline_gives_the_same_state() {
    let mut first = timeline();
    first.seek(Instant(100_000)).expect("a faithful replay");
    let server = first.state().lab.server;
    first.act(Action::Inflict(Fault::Kill(server)));
    first.seek(Instant(120_000)).expect("a faithful replay");
    first.act(Action::Inflict(Fault::Start { process: server, boot: Duration(10_000) }));
    first.seek(Instant(300_000)).expect("a faithful replay");

    let mut second = timeline();
    for taken in first.journal(2).actions {
        second.seek_ordinal(taken.ordinal).expect("a faithful replay");
        second.seek(taken.at).expect("a faithful replay");
        assert_eq!(second.position().ordinal, taken.ordinal);
        second.act(taken.action);
    }
    second.seek(Instant(300_000)).expect("a faithful replay");
    assert_eq!(second.state().lab.world.trace_hash(), first.state().lab.world.trace_hash());
}

#[test]
fn the_why_of_an_event_crosses_into_the_history_before_the_fork() {
    let mut timeline = timeline();
    timeline.seek(Instant(100_000)).expect("a faithful replay");
    let server = timeline.state().lab.server;
    timeline.act(Action::Inflict(Fault::Stop(server)));
    let lined = timeline.next(1000, Event::is_line).expect("faithful").expect("a line");
    let line = timeline.event_at(1, lined.ordinal - 1).expect("recorded").id;
    assert_eq!(line.branch, 1);
    let chain = why(&timeline, line, 1000);
    assert_eq!(chain.last().map(|link| link.event.branch), Some(0));
}

/// A lesson whose replays go astray: it counts how often it was cloned.
#[derive(Debug)]
struct Forgetful(Lesson, u64);

impl Clone for Forgetful {
    fn clone(&self) -> Forgetful {
        Forgetful(self.0.clone(), self.1 + 1)
    }
}

impl Replayable for Forgetful {
    type Action = Action;

    fn step(&mut self, trace: &mut dyn Trace) -> bool {
        self.0.step(trace)
    }
    fn act(&mut self, at: Instant, action: &Action) {
        self.0.act(at, action);
    }
    fn next_ordinal(&self) -> u64 {
        self.0.next_ordinal()
    }
    fn now(&self) -> Instant {
        self.0.now()
    }
    fn state_hash(&self) -> u64 {
        self.0.state_hash() ^ self.1
    }
    fn set_branch(&mut self, branch: u32) {
        self.0.set_branch(branch);
    }
}

#[test]
fn a_replay_that_differs_from_the_first_run_is_an_error_not_a_wrong_picture() {
    let mut timeline = Timeline::new(3, "lesson", Forgetful(Lesson::new(), 0), Store::default());
    timeline.seek_ordinal(40).expect_err("the state hash at event 32 differs");
}
