use steplog::node::*;
use steplog::sim::*;

use crate::toy::*;

fn sends(count: usize, payload: &[u8], lab: &mut Lab) -> Vec<CallId> {
    (0..count).map(|_| lab.send_at(10_000, payload)).collect()
}

#[test]
fn a_connect_takes_a_round_trip() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.send_at(10_000, b"x");
    let events = lab.run_until(50_000);
    let opened = |input: &Input| matches!(input, Input::Opened { .. });
    assert_eq!(inputs_at(&events, lab.server, opened), [11_000]);
    assert_eq!(inputs_at(&events, lab.client, opened), [12_000]);
    assert_eq!(lab.landed(), ["x"]);
    assert_eq!(lab.client().heard.len(), 1);
}

#[test]
fn a_connect_is_refused_after_a_round_trip_while_nobody_listens() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.fault_at(5_000, Fault::Kill(lab.server));
    lab.send_at(10_000, b"x");
    let events = lab.run_until(50_000);
    assert_eq!(lab.client().ends, [(CloseReason::Refused, Instant(12_000))]);
    let refused = events.iter().find(|event| matches!(event.what, What::ConnectRefused { .. }));
    assert_eq!(refused.map(|event| event.at), Some(Instant(11_000)));
}

#[test]
fn a_host_that_does_not_exist_is_unreachable() {
    let mut world: World<Toy> = World::new(WorldSetup::seeded(1));
    let client = world.add(ProcessSpec::named("client"), Toy::client());
    world.fault(Instant::ZERO, Fault::Start { process: client, boot: Duration::ZERO }, None);
    world.command(Instant(1), client, CallId(1), Command::Send(ProducerRecord::default()), None);
    let mut events = Vec::new();
    while world.step(&mut events).is_some() {}
    let unreachable = |input: &Input| matches!(input, Input::ConnectFailed { why: CloseReason::Unreachable, .. });
    assert_eq!(inputs_at(&events, client, unreachable), [1]);
}

#[test]
fn writes_arrive_whole_and_in_order_however_much_the_link_jitters() {
    let link = LinkSpec { jitter: Duration(5_000), ..still_link() };
    let mut lab = Lab::new(Server::default(), link);
    let expected: Vec<String> = (0..50).map(|n| format!("record {n}")).collect();
    for (n, payload) in expected.iter().enumerate() {
        lab.send_at(10_000 + 100 * n as u64, payload.as_bytes());
    }
    lab.run_until(1_000_000);
    assert_eq!(lab.landed(), expected);
    assert_eq!(lab.client().heard.len(), 50);
}

#[test]
fn bandwidth_spreads_what_is_written_at_once() {
    // 112 bytes a write at 112,000 bytes a second: one each millisecond.
    let link = LinkSpec { bytes_per_second: 112_000, ..still_link() };
    let mut lab = Lab::new(Server { silent: true, ..Server::default() }, link);
    sends(3, &[b'x'; 100], &mut lab);
    let events = lab.run_until(100_000);
    let bytes = |input: &Input| matches!(input, Input::Bytes { .. });
    assert_eq!(inputs_at(&events, lab.server, bytes), [14_000, 15_000, 16_000]);
}

#[test]
fn a_full_send_buffer_takes_more_only_after_the_peer_has_acknowledged() {
    let link = LinkSpec { send_buffer_bytes: 112, ..still_link() };
    let mut lab = Lab::new(Server { silent: true, ..Server::default() }, link);
    let calls = sends(3, &[b'x'; 100], &mut lab);
    lab.run_until(100_000);
    let done: Vec<_> = calls.iter().map(|call| lab.done_at(*call)).collect();
    assert_eq!(done, [Some(12_000), Some(14_000), Some(16_000)]);
}

#[test]
fn paused_reads_fill_the_window_then_the_send_buffer_and_then_the_sender_waits() {
    let link = LinkSpec { send_buffer_bytes: 224, receive_window_bytes: 336, ..still_link() };
    let mut lab = Lab::new(Server { deaf: true, ..Server::default() }, link);
    let calls = sends(7, &[b'x'; 100], &mut lab);
    let resumed = lab.command_at(100_000, lab.server, Command::Flush);
    let before = lab.run_until(99_999);
    // Three fill the receiver's window, two more the send buffer; two still wait.
    assert_eq!(calls.iter().filter(|call| lab.done_at(**call).is_some()).count(), 5);
    assert_eq!(lab.landed().len(), 0);
    assert_eq!(before.iter().filter(|event| matches!(event.what, What::Buffered { .. })).count(), 3);
    lab.run_until(200_000);
    assert_eq!(lab.done_at(resumed), Some(100_000));
    assert_eq!(lab.landed().len(), 7);
    assert!(calls.iter().all(|call| lab.done_at(*call).is_some()));
}

#[test]
fn close_sends_what_is_buffered_and_then_the_peer_hears_of_it() {
    let link = LinkSpec { send_buffer_bytes: 112, ..still_link() };
    let mut lab = Lab::new(Server { silent: true, ..Server::default() }, link);
    sends(3, &[b'x'; 100], &mut lab);
    lab.command_at(12_500, lab.client, Command::Close { timeout: Duration::ZERO });
    let events = lab.run_until(100_000);
    assert_eq!(lab.landed().len(), 3);
    let closed = |input: &Input| matches!(input, Input::Closed { why: CloseReason::Finished, .. });
    assert_eq!(inputs_at(&events, lab.server, closed), [17_000]);
    assert_eq!(inputs_at(&events, lab.client, closed).len(), 0);
}

#[test]
fn what_arrives_at_a_closed_end_is_lost() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.send_at(10_000, b"x");
    // The request arrives at 13 ms, its answer would at 14 ms.
    lab.command_at(13_500, lab.client, Command::Close { timeout: Duration::ZERO });
    let events = lab.run_until(100_000);
    assert_eq!(lost(&events), [(LostIn::Flight, LostWhy::Closed(CloseReason::Finished))]);
}

#[test]
fn every_frame_is_matched_with_its_arrival_and_its_answer() {
    let mut lab = Lab::new(Server::default(), still_link());
    lab.send_at(10_000, b"first");
    lab.send_at(20_000, b"second");
    let events = lab.run_until(20_500);
    let frames = Frames::of(&events);
    let [request, answer, under_way] = frames.all() else { panic!("{:?}", frames.all()) };
    assert_eq!((request.from, request.to, request.sent_at), (lab.client, lab.server, Instant(12_000)));
    assert_eq!(request.size, 4 + 8 + 5);
    assert!(matches!(request.outcome, Outcome::Delivered { at: Instant(13_000), .. }));
    let header = Header { api_key: 0, api_version: 9, correlation_id: 0, answers: None };
    assert_eq!(request.header, Some(header));
    assert_eq!((answer.from, answer.to), (lab.server, lab.client));
    assert_eq!(answer.header, Some(Header { answers: Some(request.write), ..header }));
    assert_eq!(under_way.outcome, Outcome::Pending);
}
