//! What a reader of acks-0 sees: where a record is lost, why, and the bytes of its frame.

use steplog::native::experiment;
use steplog::node::Duration;
use steplog::sim::{FrameAction, WriteId};
use steplog::view::{FrameKind, RecordState, StepKind, Viewer, WhyKind};

fn acks_0() -> Viewer {
    Viewer::open(experiment::find("acks-0").unwrap(), None).unwrap()
}

fn at_end() -> Viewer {
    let mut viewer = acks_0();
    viewer.seek(viewer.story().end).unwrap();
    viewer
}

fn records_in(viewer: &Viewer, state: RecordState) -> Vec<usize> {
    let ordinal = viewer.ordinal();
    viewer.records().filter(|(_, record)| record.state(ordinal) == Some(state)).map(|(index, _)| index).collect()
}

#[test]
fn the_lost_records_of_the_page_are_those_of_the_facts() {
    let viewer = at_end();
    let lost = records_in(&viewer, RecordState::Lost);
    let fact = viewer.report().facts.into_iter().find(|fact| fact.name == "lost").unwrap();
    assert!(!lost.is_empty());
    assert_eq!(fact.value, Some(steplog::experiment::expression::Value::Int(lost.len() as i64)));
    let known = [RecordState::Lost, RecordState::Failed, RecordState::OkInLog];
    let all: usize = known.iter().map(|state| records_in(&viewer, *state).len()).sum();
    assert_eq!(all, 400);
}

#[test]
fn a_lost_record_is_lost_because_its_frame_was_lost_because_the_broker_was_killed() {
    let viewer = at_end();
    let lost = records_in(&viewer, RecordState::Lost)[0];
    let links = viewer.why(lost);
    let kinds: Vec<WhyKind> = links.iter().map(|link| link.kind).collect();
    use WhyKind::{Dying, FrameLost, FrameSent, Killed, Ok, SendCalled, Written};
    assert_eq!(kinds, [FrameLost, Killed, Dying, FrameSent, SendCalled, Ok, Written]);
    let at = |kind: WhyKind| links.iter().find(|link| link.kind == kind).unwrap().at;
    assert!(at(Ok) < at(FrameLost), "the producer was told ok before the loss");
    assert_eq!((at(Dying), at(Killed)), (3_000_000, 3_100_000));
}

#[test]
fn before_the_kill_a_lost_record_is_ok_and_on_its_way() {
    let mut viewer = at_end();
    let lost = records_in(&viewer, RecordState::Lost)[0];
    viewer.seek(3_050_000).unwrap();
    assert!(records_in(&viewer, RecordState::OkOnTheWay).contains(&lost));
    assert!(records_in(&viewer, RecordState::Lost).is_empty());
}

#[test]
fn stepping_back_undoes_stepping_forward_for_every_kind_of_step() {
    let mut viewer = acks_0();
    for kind in [StepKind::Event, StepKind::Frame, StepKind::Line, StepKind::Moment] {
        for fold in [false, true] {
            viewer.seek(2_950_000).unwrap();
            viewer.step(kind, true, fold).unwrap();
            let first = viewer.ordinal();
            viewer.step(kind, true, fold).unwrap();
            assert!(viewer.ordinal() > first);
            viewer.step(kind, false, fold).unwrap();
            assert_eq!(viewer.ordinal(), first, "{kind:?}");
        }
    }
}

#[test]
fn the_fields_of_a_produce_frame_cover_its_bytes_down_to_the_record() {
    let viewer = at_end();
    let frames = viewer.story().frames.iter().enumerate();
    let (index, _) =
        frames.clone().find(|(_, frame)| frame.kind == FrameKind::Request && frame.records == (7, 7)).unwrap();
    let inspected = viewer.frame(index).unwrap();
    let field = |name: &str| inspected.fields.iter().find(|field| field.name == name).unwrap();
    assert_eq!(field("acks").value, "0");
    assert_eq!(field("crc").end - field("crc").start, 4);
    let value = field("value");
    assert_eq!(format!("\"{}\"", String::from_utf8_lossy(&inspected.bytes[value.start..value.end])), value.value);
    assert!(inspected.fields.iter().all(|field| field.start <= field.end && field.end <= inspected.bytes.len()));
}

#[test]
fn the_log_on_the_page_is_the_segment_on_the_disk() {
    let viewer = at_end();
    let (ends, leader) = viewer.leader(0).unwrap();
    assert_eq!(Some(&leader), viewer.lab().servers().get(&1));
    let batches = viewer.segment(0).unwrap().fields.iter().filter(|field| field.name == "batch").count();
    let records = viewer.segment(0).unwrap().fields.iter().filter(|field| field.name.starts_with("record [")).count();
    assert!(batches > 0);
    assert_eq!(records as i64, ends.log_end_offset);
}

/// A Produce request that is delivered, of a record that the log has in the end.
fn a_produce(viewer: &Viewer) -> usize {
    let is_it = |frame: &steplog::view::FrameRow| {
        frame.api_key == 0 && frame.kind == FrameKind::Request && frame.outcome == 1 && frame.records == (10, 10)
    };
    viewer.story().frames.iter().position(is_it).expect("a Produce")
}

#[test]
fn a_reader_who_acts_on_a_frame_of_the_past_begins_a_branch_and_the_old_one_stays() {
    let mut viewer = at_end();
    let frame = a_produce(&viewer);
    let (sent, hash) = (viewer.story().frames[frame].sent, viewer.lab().world().trace_hash());
    let landed = |viewer: &Viewer| viewer.branches().map(|branch| branch.ends.unwrap().facts).collect::<Vec<_>>();
    let acted = viewer.act(frame, FrameAction::CutBefore(Duration::ZERO)).unwrap().expect("the frame is there");
    assert_eq!((viewer.branch(), viewer.at()), (1, sent));
    assert!(!viewer.at_end());
    assert_eq!(viewer.story().frames[acted].outcome, 2, "it is lost");
    let branches: Vec<_> = viewer.branches().collect();
    let acted = branches[1].acted.as_ref().unwrap();
    assert_eq!((branches[1].parent, acted.at, acted.frame.records), (Some(0), sent, (10, 10)));
    // acks=0: a lost request more is a record lost more.
    let [before, after] = &landed(&viewer)[..] else { panic!("two branches") };
    let value = |facts: &[steplog::experiment::Judged], name: &str| {
        facts.iter().find(|fact| fact.name == name).and_then(|fact| fact.value.clone()).unwrap()
    };
    assert_ne!(value(before, "lost"), value(after, "lost"));

    viewer.seek(viewer.story().end).unwrap();
    let lost = viewer.why(10);
    let kinds: Vec<WhyKind> = lost.iter().map(|link| link.kind).collect();
    assert!(kinds.starts_with(&[WhyKind::FrameCut, WhyKind::Cut]), "{kinds:?}");
    assert!(kinds.contains(&WhyKind::SendCalled), "{kinds:?}");
    let acted_hash = viewer.lab().world().trace_hash();
    viewer.switch(0).unwrap();
    viewer.seek(viewer.story().end).unwrap();
    assert_eq!(viewer.lab().world().trace_hash(), hash);

    // The same journal on a fresh run leads to the same branch.
    let mut again = acks_0();
    again.act_at(acted.ordinal, acted.write, acted.action).unwrap().expect("the same frame");
    again.seek(again.story().end).unwrap();
    assert_eq!(again.lab().world().trace_hash(), acted_hash);
}

#[test]
fn what_is_not_under_way_cannot_be_acted_on_where_a_journal_says_so() {
    let mut viewer = at_end();
    let frame = viewer.story().frames[a_produce(&viewer)];
    let write = frame.write().and_then(WriteId::of).unwrap();
    assert_eq!(viewer.act_at(viewer.ordinal(), write, FrameAction::SendAgain), Ok(None));
    assert_eq!(viewer.branch(), 0);
}

#[test]
fn a_frame_that_is_sent_again_is_drawn_twice_with_the_same_bytes() {
    let mut viewer = at_end();
    let frame = a_produce(&viewer);
    let bytes = viewer.frame(frame).unwrap().bytes;
    let frame = viewer.act(frame, FrameAction::SendAgain).unwrap().unwrap();
    let story = viewer.story();
    let twins: Vec<usize> = (0..story.frames.len()).filter(|index| story.frames[*index].records == (10, 10)).collect();
    assert_eq!(twins.len(), 2);
    assert!(twins.contains(&frame));
    for twin in twins {
        assert_eq!(viewer.frame(twin).unwrap().bytes, bytes);
        assert_eq!(viewer.story().frames[twin].outcome, 1);
    }
}
