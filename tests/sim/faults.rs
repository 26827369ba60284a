use steplog::node::*;
use steplog::sim::*;

use crate::toy::*;

#[test]
fn a_kill_loses_what_flies_towards_it_and_resets_its_peers() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.send_at(10_000, b"lands");
    lab.send_at(20_000, b"flies");
    lab.fault_at(20_500, Fault::Kill(lab.server));
    let events = lab.run_until(100_000);
    assert_eq!(lab.landed(), ["lands"]);
    assert_eq!(lost(&events), [(LostIn::Flight, LostWhy::ReceiverDied)]);
    assert_eq!(lab.client().ends, [(CloseReason::Reset, Instant(21_500))]);
    assert_eq!(lab.world.lives(lab.server)[0].dead_at, Some(Instant(20_500)));
}

#[test]
fn what_a_killed_process_had_sent_still_arrives_before_the_reset() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.send_at(10_000, b"x");
    // It answers at 13 ms.
    lab.fault_at(13_500, Fault::Kill(lab.server));
    let events = lab.run_until(100_000);
    assert_eq!(lost(&events), []);
    assert_eq!(lab.client().heard.len(), 1);
    assert_eq!(lab.client().ends, [(CloseReason::Reset, Instant(14_500))]);
}

#[test]
fn a_dying_process_accepts_bytes_that_nobody_ever_handles() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.send_at(10_000, b"lands");
    lab.fault_at(20_000, Fault::Die { process: lab.server, dying: Duration(100_000) });
    let swallowed = lab.send_at(30_000, b"swallowed");
    let flying = lab.send_at(119_500, b"flying");
    let late = lab.send_at(130_000, b"late");
    let events = lab.run_until(200_000);
    assert_eq!(lab.landed(), ["lands"]);
    // Its sender heard that each was written: all that acks=0 ever learns.
    assert_eq!(lab.done_at(swallowed), Some(30_000));
    assert_eq!(lab.done_at(flying), Some(119_500));
    assert_eq!(lab.done_at(late), None);
    assert_eq!(
        lost(&events),
        [(LostIn::ReceiveBuffer, LostWhy::ReceiverDied), (LostIn::Flight, LostWhy::ReceiverDied)]
    );
    assert_eq!(lab.client().ends, [(CloseReason::Reset, Instant(121_000)), (CloseReason::Refused, Instant(132_000))]);
    assert_eq!(lab.world.lives(lab.server)[0].dead_at, Some(Instant(120_000)));
}

#[test]
fn a_lost_frame_tells_why_it_was_lost_and_who_wrote_it() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.send_at(10_000, b"lands");
    lab.fault_at(20_000, Fault::Die { process: lab.server, dying: Duration(100_000) });
    lab.send_at(30_000, b"swallowed");
    let mut store = Store::default();
    while lab.world.step_until(Instant(200_000), &mut store).is_some() {}
    let lost = store.events().iter().find(|event| matches!(event.what, What::Lost { .. })).expect("a loss");
    let chain = why(&store, lost.id, 100);
    let what = |id: EventId| &store.get(id).expect("recorded").what;
    assert_eq!(*what(chain[1].event), What::Fault(Fault::Kill(lab.server)));
    assert!(matches!(what(chain[2].event), What::Fault(Fault::Die { .. })));
    let [write] = chain[0].also[..] else { panic!("{:?}", chain[0].also) };
    let sender = why(&store, write, 100);
    assert!(matches!(
        what(sender[0].event),
        What::Handled { input: Input::Command(_, Command::Send(record)), .. } if record.value.as_deref() == Some(b"swallowed")
    ));
}

#[test]
fn a_restarted_process_is_deaf_for_its_boot_time_and_keeps_its_disk() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.send_at(10_000, b"before");
    lab.fault_at(20_000, Fault::Kill(lab.server));
    lab.fault_at(50_000, Fault::Start { process: lab.server, boot: Duration(30_000) });
    lab.send_at(60_000, b"while it boots");
    lab.send_at(90_000, b"after");
    lab.run_until(200_000);
    assert_eq!(lab.landed(), ["before", "after"]);
    assert!(lab.client().ends.contains(&(CloseReason::Refused, Instant(62_000))));
    let life = lab.world.lives(lab.server)[1];
    assert_eq!((life.spawned_at, life.started_at), (Instant(50_000), Some(Instant(80_000))));
    assert_eq!(life.serving_at, Some(Instant(80_000)));
}

#[test]
fn a_process_killed_while_it_boots_never_starts() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.fault_at(20_000, Fault::Kill(lab.server));
    lab.fault_at(50_000, Fault::Start { process: lab.server, boot: Duration(30_000) });
    lab.fault_at(60_000, Fault::Kill(lab.server));
    lab.run_until(200_000);
    let lives = lab.world.lives(lab.server);
    assert_eq!((lives.len(), lives[1].started_at, lives[1].dead_at), (2, None, Some(Instant(60_000))));
    assert_eq!(lab.world.state(lab.server), ProcessState::Down);
}

#[test]
fn a_stopped_process_accepts_connections_and_handles_everything_when_it_goes_on() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.fault_at(5_000, Fault::Stop(lab.server));
    let first = lab.send_at(10_000, b"one");
    lab.send_at(20_000, b"two");
    lab.fault_at(500_000, Fault::Continue(lab.server));
    lab.run_until(499_999);
    assert_eq!(lab.done_at(first), Some(12_000));
    assert_eq!(lab.landed().len(), 0);
    let events = lab.run_until(600_000);
    assert_eq!(lab.landed(), ["one", "two"]);
    assert_eq!(inputs_at(&events, lab.server, |input| matches!(input, Input::Bytes { .. })), [500_000, 500_000]);
}

#[test]
fn overdue_timers_fire_once_when_a_stopped_process_goes_on() {
    let mut lab = Lab::new(Server { every: Some(Duration(10_000)), ..Server::default() }, still_link());
    lab.fault_at(25_000, Fault::Stop(lab.server));
    lab.fault_at(77_000, Fault::Continue(lab.server));
    lab.run_until(100_000);
    let ticks: Vec<u64> = lab.server().ticks.iter().map(|at| at.0).collect();
    assert_eq!(ticks, [10_000, 20_000, 77_000, 87_000, 97_000]);
}

#[test]
fn a_process_that_exits_closes_in_order_and_refuses_from_then_on() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.send_at(10_000, b"x");
    lab.command_at(20_000, lab.server, Command::Shutdown);
    lab.send_at(30_000, b"y");
    lab.run_until(100_000);
    assert_eq!(lab.client().ends, [(CloseReason::Finished, Instant(21_000)), (CloseReason::Refused, Instant(32_000))]);
    let life = lab.world.lives(lab.server)[0];
    assert_eq!((life.dead_at, life.exit_code), (Some(Instant(20_000)), Some(0)));
}

#[test]
fn a_command_to_a_dead_process_is_reported_and_never_answered() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.fault_at(5_000, Fault::Kill(lab.client));
    let call = lab.send_at(10_000, b"x");
    let mut change = None;
    while let Some(stepped) = lab.world.step(&mut NoTrace) {
        change = stepped.change.or(change);
        assert_eq!(stepped.replies, []);
    }
    assert_eq!(change, Some(Change::CommandLost { process: lab.client, call }));
}

#[test]
fn a_killed_client_leaves_its_server_a_reset() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.send_at(10_000, b"x");
    lab.fault_at(20_000, Fault::Kill(lab.client));
    let events = lab.run_until(100_000);
    let reset = |input: &Input| matches!(input, Input::Closed { why: CloseReason::Reset, .. });
    assert_eq!(inputs_at(&events, lab.server, reset), [21_000]);
}

#[test]
fn a_client_killed_between_syn_and_accept_leaves_no_half_open_connection() {
    for killed_at in [10_500, 11_500] {
        let mut lab = Lab::new(Server::default(), still_link());
        lab.send_at(10_000, b"x");
        lab.fault_at(killed_at, Fault::Kill(lab.client));
        let events = lab.run_until(100_000);
        let opened = inputs_at(&events, lab.server, |input| matches!(input, Input::Opened { .. }));
        let closed = inputs_at(&events, lab.server, |input| matches!(input, Input::Closed { .. }));
        assert_eq!(opened.len(), closed.len());
    }
}

#[test]
fn a_server_killed_while_its_acceptance_flies_resets_who_connected() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.send_at(10_000, b"x");
    lab.fault_at(11_500, Fault::Kill(lab.server));
    lab.run_until(100_000);
    assert_eq!(lab.client().ends, [(CloseReason::Reset, Instant(12_500))]);
    assert_eq!(lab.landed().len(), 0);
}
