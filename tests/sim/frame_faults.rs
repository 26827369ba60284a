//! What a network can do to one message: hold it, cut the connection before or after it, send it again.

use steplog::node::*;
use steplog::sim::*;

use crate::toy::*;

const MS: u64 = 1_000;

/// Connected at 12 ms; later sends leave at once, arrive 1 ms later and are answered 1 ms after that.
fn connected() -> Lab {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.send_at(10 * MS, b"first");
    lab
}

/// Counts requests and responses that are sent from now on.
fn trap(lab: &mut Lab, nth: u64, response: bool, action: FrameAction) {
    let trap = Trap { client: lab.client, server: lab.server, api_key: 0, response, nth, action };
    let trap = lab.world.set_trap(trap);
    lab.world.arm(trap);
}

/// When the client heard each answer.
fn heard_at(events: &[Event], lab: &Lab) -> Vec<u64> {
    inputs_at(events, lab.client, |input| matches!(input, Input::Bytes { .. }))
}

fn the_fault(events: &[Event]) -> &Event {
    let mut faults = events.iter().filter(|event| matches!(event.what, What::Fault(Fault::Frame { .. })));
    let fault = faults.next().expect("a fault");
    assert_eq!(faults.next(), None);
    fault
}

#[test]
fn a_held_request_arrives_later_and_those_behind_it_wait_in_order() {
    let mut lab = connected();
    trap(&mut lab, 2, false, FrameAction::Hold(Duration::from_ms(50)));
    for (at, payload) in [(20, "held"), (25, "behind"), (100, "free")] {
        lab.send_at(at * MS, payload.as_bytes());
    }
    let events = lab.run_until(200 * MS);
    assert_eq!(lab.landed(), ["first", "held", "behind", "free"]);
    assert_eq!(heard_at(&events, &lab), [14 * MS, 72 * MS, 72 * MS + 1, 102 * MS]);
    assert_eq!(lost(&events), []);
    assert_eq!(lab.client().ends, []);
}

#[test]
fn a_held_response_lets_requests_pass() {
    let mut lab = connected();
    trap(&mut lab, 1, true, FrameAction::Hold(Duration::from_ms(50)));
    lab.send_at(20 * MS, b"second");
    let events = lab.run_until(200 * MS);
    assert_eq!(lab.landed(), ["first", "second"]);
    assert_eq!(inputs_at(&events, lab.server, |input| matches!(input, Input::Bytes { .. })), [13 * MS, 21 * MS]);
    assert_eq!(heard_at(&events, &lab), [64 * MS, 64 * MS + 1]);
}

#[test]
fn what_its_sender_had_sent_before_it_died_comes_before_the_reset_even_if_it_is_held() {
    let mut lab = connected();
    trap(&mut lab, 1, true, FrameAction::Hold(Duration::from_ms(50)));
    // The answer left at 13 ms; the reset leaves before the answer is held, or while it is.
    for killed_at in [13_500, 30_000] {
        let mut lab = lab.clone();
        lab.fault_at(killed_at, Fault::Kill(lab.server));
        let events = lab.run_until(200 * MS);
        assert_eq!(heard_at(&events, &lab), [64 * MS], "killed at {killed_at}");
        assert_eq!(lab.client().ends, [(CloseReason::Reset, Instant(64 * MS + 1))], "killed at {killed_at}");
    }
}

#[test]
fn a_cut_before_a_request_loses_it_and_all_later_ones_and_both_ends_see_the_connection_close() {
    let mut lab = connected();
    trap(&mut lab, 2, false, FrameAction::CutBefore(Duration::ZERO));
    let written = lab.send_at(20 * MS, b"lost");
    lab.send_at(20 * MS + 500, b"lost too");
    lab.send_at(50 * MS, b"on a new connection");
    let events = lab.run_until(100 * MS);
    assert_eq!(lab.landed(), ["first", "on a new connection"]);
    assert_eq!(lost(&events), [(LostIn::Flight, LostWhy::Cut); 2]);
    assert_eq!(lab.client().ends, [(CloseReason::Finished, Instant(22 * MS))]);
    let closed = |input: &Input| matches!(input, Input::Closed { why: CloseReason::Finished, .. });
    assert_eq!(inputs_at(&events, lab.server, closed), [22 * MS]);
    // The sender's kernel had taken it all the same.
    assert_eq!(lab.done_at(written), Some(20 * MS));
}

#[test]
fn a_cut_can_be_silent_for_a_while_before_anybody_hears_of_it() {
    let mut lab = connected();
    trap(&mut lab, 2, false, FrameAction::CutBefore(Duration::from_ms(300)));
    for at in [20, 100, 200] {
        lab.send_at(at * MS, b"lost");
    }
    let events = lab.run_until(600 * MS);
    assert_eq!(lab.landed(), ["first"]);
    assert_eq!(lost(&events), [(LostIn::Flight, LostWhy::Cut); 3]);
    assert_eq!(lab.client().ends, [(CloseReason::Finished, Instant(322 * MS))]);
}

#[test]
fn a_cut_after_a_request_lets_it_take_effect_and_loses_its_answer() {
    let mut lab = connected();
    trap(&mut lab, 2, false, FrameAction::CutAfter(Duration::ZERO));
    lab.send_at(20 * MS, b"lands");
    let events = lab.run_until(100 * MS);
    assert_eq!(lab.landed(), ["first", "lands"]);
    assert_eq!(heard_at(&events, &lab), [14 * MS]);
    assert_eq!(lost(&events), [(LostIn::Flight, LostWhy::Cut)]);
    assert_eq!(lab.client().ends, [(CloseReason::Finished, Instant(22 * MS))]);
}

#[test]
fn a_cut_before_a_response_loses_it_and_one_after_it_does_not() {
    for (action, answers, losses) in
        [(FrameAction::CutBefore(Duration::ZERO), 1, 1), (FrameAction::CutAfter(Duration::ZERO), 2, 0)]
    {
        let mut lab = connected();
        trap(&mut lab, 2, true, action);
        lab.send_at(20 * MS, b"second");
        let events = lab.run_until(100 * MS);
        assert_eq!(lab.landed(), ["first", "second"]);
        assert_eq!(lab.client().heard.len(), answers, "{action:?}");
        assert_eq!(lost(&events).len(), losses, "{action:?}");
        assert_eq!(lab.client().ends, [(CloseReason::Finished, Instant(23 * MS))], "{action:?}");
    }
}

#[test]
fn what_flew_the_other_way_when_the_connection_was_cut_still_arrives() {
    let mut lab = connected();
    // The second request is cut at 14.5 ms, when the answer to the first has left.
    trap(&mut lab, 2, false, FrameAction::CutBefore(Duration::ZERO));
    lab.send_at(12 * MS + 500, b"lost");
    let events = lab.run_until(100 * MS);
    assert_eq!(heard_at(&events, &lab), [14 * MS]);
    assert_eq!(lab.client().ends, [(CloseReason::Finished, Instant(14 * MS + 500))]);
}

#[test]
fn a_request_that_is_sent_again_lands_twice_and_is_answered_once() {
    let mut lab = connected();
    trap(&mut lab, 2, false, FrameAction::SendAgain);
    lab.send_at(20 * MS, b"twice");
    lab.send_at(30 * MS, b"after");
    let events = lab.run_until(100 * MS);
    assert_eq!(lab.landed(), ["first", "twice", "twice", "after"]);
    assert_eq!(heard_at(&events, &lab), [14 * MS, 22 * MS, 32 * MS]);
    assert_eq!(lost(&events), [(LostIn::Flight, LostWhy::Swallowed)]);
    assert_eq!(lab.client().ends, []);

    let frames = Frames::of(&events);
    let fault = the_fault(&events);
    let copy = frames.by_write(fault.id.into()).expect("a frame of its own for the copy");
    assert!(matches!(copy.outcome, Outcome::Delivered { at: Instant(21_000), .. }), "{copy:?}");
    let answers =
        frames.all().iter().filter(|frame| frame.header.is_some_and(|header| header.answers == Some(copy.write)));
    assert_eq!(answers.count(), 1, "the copy is answered, and that answer is the one that is lost");
    let Some(Cause { event, .. }) = fault.cause else { panic!("{fault:?}") };
    let original = frames.all().iter().find(|frame| frame.write.event == event).expect("the message itself");
    assert_eq!(
        (copy.size, copy.header, copy.from, copy.to),
        (original.size, original.header, original.from, original.to)
    );
}

#[test]
fn every_consequence_of_a_frame_fault_leads_back_to_it_and_to_who_wrote_the_message() {
    let actions = [
        FrameAction::Hold(Duration::from_ms(5)),
        FrameAction::CutBefore(Duration::ZERO),
        FrameAction::CutAfter(Duration::ZERO),
        FrameAction::SendAgain,
    ];
    for action in actions {
        let mut lab = connected();
        trap(&mut lab, 2, false, action);
        lab.send_at(20 * MS, b"this");
        let mut store = Store::default();
        while lab.world.step_until(Instant(100 * MS), &mut store).is_some() {}
        let fault = the_fault(store.events());
        let leads_back = |event: &Event| {
            let chain = why(&store, event.id, 100);
            chain.iter().any(|link| link.event == fault.id || link.also.contains(&fault.id))
        };
        let consequences: Vec<&Event> = store
            .events()
            .iter()
            .filter(|event| match &event.what {
                What::Lost { .. } => true,
                What::Handled { input: Input::Closed { .. }, .. } => true,
                What::Handled { input: Input::Bytes { .. }, .. } => {
                    matches!(action, FrameAction::Hold(_)) && event.at > Instant(20 * MS)
                }
                _ => false,
            })
            .collect();
        assert!(!consequences.is_empty(), "{action:?}");
        for event in consequences {
            assert!(leads_back(event), "{action:?}: {event:?}");
        }
        let chain = why(&store, fault.id, 100);
        let sent = |link: &Link| matches!(store.get(link.event).map(|event| &event.what), Some(What::Handled { input: Input::Command(_, Command::Send(record)), .. }) if record.value.as_deref() == Some(b"this"));
        assert!(chain.iter().any(sent), "{action:?}: {chain:?}");
    }
}

#[test]
fn a_reader_can_do_it_to_a_message_under_way_and_not_to_one_that_has_arrived() {
    let mut lab = connected();
    lab.send_at(20 * MS, b"this");
    let events = lab.run_until(20 * MS + 500);
    let sent = Frames::of(&events).all().last().and_then(|frame| WriteId::of(frame.write)).expect("a message");
    assert!(lab.world.is_under_way(sent));
    let mut untouched = lab.clone();
    lab.world.fault(
        Instant(20 * MS + 500),
        Fault::Frame { write: sent, action: FrameAction::CutBefore(Duration::ZERO) },
        None,
    );
    lab.run_until(100 * MS);
    assert_eq!(lab.landed(), ["first"]);

    untouched.run_until(50 * MS);
    assert!(!untouched.world.is_under_way(sent));
    untouched.world.fault(
        Instant(50 * MS),
        Fault::Frame { write: sent, action: FrameAction::CutBefore(Duration::ZERO) },
        None,
    );
    let events = untouched.run_until(100 * MS);
    assert_eq!(untouched.landed(), ["first", "this"]);
    assert_eq!(the_fault(&events).at, Instant(50 * MS));
    assert_eq!(untouched.client().ends, []);
}

#[test]
fn the_same_fault_leaves_the_same_trace() {
    let run = || {
        let link = LinkSpec { jitter: Duration(300), ..still_link() };
        let mut lab = Lab::seeded(7, Server::default(), link);
        trap(&mut lab, 3, false, FrameAction::SendAgain);
        trap(&mut lab, 5, true, FrameAction::Hold(Duration::from_ms(9)));
        trap(&mut lab, 9, false, FrameAction::CutAfter(Duration::from_ms(4)));
        for n in 0..20 {
            lab.send_at(10 * MS + n * 700, b"payload");
        }
        let events = lab.run_until(100 * MS);
        let mut again = TraceHash::default();
        events.iter().for_each(|event| again.event(event));
        assert_eq!(again, lab.world.trace_hash());
        (lab.world.trace_hash(), lab.world.state_hash())
    };
    assert_eq!(run(), run());
}
