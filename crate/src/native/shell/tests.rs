//! The shell with toy nodes on real loopback sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration as StdDuration;

use bytes::Bytes;

use super::*;
use crate::disk::Slice;
use crate::node::{ConnectToken, FlushToken, OpenedBy};

/// Records what it is fed and does what the test's rule says.
struct Scripted<F> {
    rule: F,
    timeout: Option<Instant>,
    seen: std::sync::mpsc::Sender<(At, Input)>,
}

impl<F: FnMut(&At, &Input, &mut Option<Instant>) -> Vec<EffectKind>> Node for Scripted<F> {
    fn handle(&mut self, at: At, input: Input, out: &mut Vec<Effect>) {
        let kinds = (self.rule)(&at, &input, &mut self.timeout);
        out.extend(kinds.into_iter().map(|kind| Effect { because: at.event.into(), kind }));
        let _ = self.seen.send((at, input));
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.timeout
    }
}

fn start<F>(rule: F) -> (Handle, Receiver<(At, Input)>)
where
    F: FnMut(&At, &Input, &mut Option<Instant>) -> Vec<EffectKind> + Send + 'static,
{
    let (seen, inputs) = channel();
    let handle = spawn("test", move || Parts {
        node: Scripted { rule, timeout: None, seen },
        flusher: Box::new(|_, _| Box::new(|| Ok(()))),
        clock: Clock::starting_now(),
        routes: Routes::default(),
        report: Box::new(|_| {}),
    })
    .unwrap();
    (handle, inputs)
}

fn listen() -> EffectKind {
    EffectKind::Listen { listener: ListenerId(0), address: Address { host: "127.0.0.1".into(), port: 0 } }
}

fn send(conn: ConnId, bytes: impl Into<Bytes>) -> EffectKind {
    EffectKind::Send { conn, chunks: vec![Slice::Bytes(bytes.into())] }
}

fn next(inputs: &Receiver<(At, Input)>) -> Input {
    inputs.recv_timeout(StdDuration::from_secs(10)).expect("an input within ten seconds").1
}

fn port(inputs: &Receiver<(At, Input)>) -> u16 {
    loop {
        if let Input::Listening { address, .. } = next(inputs) {
            return address.port;
        }
    }
}

/// Listens and answers what it reads with the same bytes.
fn echo(_: &At, input: &Input, _: &mut Option<Instant>) -> Vec<EffectKind> {
    match input {
        Input::Started => vec![listen()],
        Input::Bytes { conn, bytes } => vec![send(*conn, bytes.clone())],
        _ => vec![],
    }
}

#[test]
fn bytes_come_in_go_out_and_are_reported_written() {
    let (_shell, inputs) = start(echo);
    let mut client = TcpStream::connect(("127.0.0.1", port(&inputs))).unwrap();
    let Input::Opened { conn, by, peer } = next(&inputs) else { panic!("expected Opened") };
    assert_eq!(by, OpenedBy::Listener(ListenerId(0)));
    assert_eq!(peer.port, client.local_addr().unwrap().port());
    client.write_all(b"hello").unwrap();
    let mut back = [0; 5];
    client.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"hello");
    assert_eq!(next(&inputs), Input::Bytes { conn, bytes: Bytes::from_static(b"hello") });
    assert_eq!(next(&inputs), Input::Written { conn, up_to: 5 });
    drop(client);
    assert_eq!(next(&inputs), Input::Closed { conn, why: CloseReason::Finished });
}

#[test]
fn events_are_numbered_without_a_gap() {
    let (_shell, inputs) = start(echo);
    let port = port(&inputs);
    for _ in 0..3 {
        drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
    }
    let ordinals: Vec<u64> =
        (0..6).map(|_| inputs.recv_timeout(StdDuration::from_secs(10)).unwrap().0.event.ordinal).collect();
    assert_eq!(ordinals, [2, 3, 4, 5, 6, 7]);
}

#[test]
fn megabytes_to_a_slow_reader_arrive_whole_and_in_order() {
    let payload: Vec<u8> = (0..20_000_000u32).map(|i| (i % 253) as u8).collect();
    let expected = payload.clone();
    let payload = Bytes::from(payload);
    let (_shell, inputs) = start(move |_, input, _| match input {
        Input::Started => vec![listen()],
        Input::Opened { conn, .. } => vec![send(*conn, payload.clone()), EffectKind::Close(*conn)],
        _ => vec![],
    });
    let mut client = TcpStream::connect(("127.0.0.1", port(&inputs))).unwrap();
    std::thread::sleep(StdDuration::from_millis(100));
    let mut received = Vec::new();
    client.read_to_end(&mut received).unwrap();
    assert!(received == expected);
}

#[test]
fn a_paused_connection_delivers_nothing_until_it_is_resumed() {
    let (shell, inputs) = start(|_, input, _| match input {
        Input::Started => vec![listen()],
        Input::Bytes { conn, .. } => vec![EffectKind::PauseReads(*conn)],
        Input::Command(call, _) => vec![EffectKind::ResumeReads(ConnId(call.0))],
        _ => vec![],
    });
    let mut client = TcpStream::connect(("127.0.0.1", port(&inputs))).unwrap();
    let Input::Opened { conn, .. } = next(&inputs) else { panic!("expected Opened") };
    client.write_all(b"one").unwrap();
    assert_eq!(next(&inputs), Input::Bytes { conn, bytes: Bytes::from_static(b"one") });
    client.write_all(b"two").unwrap();
    assert!(inputs.recv_timeout(StdDuration::from_millis(200)).is_err());
    shell.command(CallId(conn.0), Command::Shutdown);
    assert!(matches!(next(&inputs), Input::Command(..)));
    assert_eq!(next(&inputs), Input::Bytes { conn, bytes: Bytes::from_static(b"two") });
}

#[test]
fn a_peer_that_takes_no_answers_is_not_read_for_ever() {
    let answer = Bytes::from(vec![7u8; 4 * 1024 * 1024]);
    let (_shell, inputs) = start(move |_, input, _| match input {
        Input::Started => vec![listen()],
        Input::Bytes { conn, .. } => vec![send(*conn, answer.clone())],
        _ => vec![],
    });
    let mut client = TcpStream::connect(("127.0.0.1", port(&inputs))).unwrap();
    client.set_write_timeout(Some(StdDuration::from_millis(300))).unwrap();
    for _ in 0..10_000 {
        if client.write_all(&[1; 64 * 1024]).is_err() {
            break;
        }
    }
    let reads = inputs.try_iter().filter(|(_, input)| matches!(input, Input::Bytes { .. })).count();
    assert!(reads < 100, "{reads} reads were answered with 4 MiB each");
}

#[test]
fn ticks_come_when_they_are_due_and_a_slice_comes_after_waiting_inputs() {
    let (_shell, inputs) = start(|at, input, timeout| match input {
        Input::Started => {
            *timeout = Some(Instant(at.now.mono.0 + 30_000));
            vec![listen(), EffectKind::Slice(SliceToken(1))]
        }
        Input::Tick => {
            *timeout = None;
            vec![]
        }
        _ => vec![],
    });
    assert_eq!(next(&inputs), Input::Started);
    assert!(matches!(next(&inputs), Input::Listening { .. }));
    assert_eq!(next(&inputs), Input::Slice(SliceToken(1)));
    let (at, input) = inputs.recv_timeout(StdDuration::from_secs(10)).unwrap();
    assert_eq!(input, Input::Tick);
    assert!(at.now.mono.0 >= 30_000);
    assert!(inputs.recv_timeout(StdDuration::from_millis(100)).is_err());
}

#[test]
fn connecting_tells_refused_and_unreachable_apart_and_fsync_is_answered() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let connect = |token, host: &str, port| EffectKind::Connect {
        token: ConnectToken(token),
        address: Address { host: host.into(), port },
    };
    let (_shell, inputs) = start(move |_, input, _| match input {
        Input::Started => vec![connect(1, "127.0.0.1", free)],
        Input::ConnectFailed { token: ConnectToken(1), .. } => vec![connect(2, "no such host", 1)],
        Input::ConnectFailed { .. } => vec![EffectKind::Flush { file: FileId(0), token: FlushToken(9) }],
        _ => vec![],
    });
    assert_eq!(next(&inputs), Input::Started);
    assert_eq!(next(&inputs), Input::ConnectFailed { token: ConnectToken(1), why: CloseReason::Refused });
    assert_eq!(next(&inputs), Input::ConnectFailed { token: ConnectToken(2), why: CloseReason::Unreachable });
    assert_eq!(next(&inputs), Input::Flushed { token: FlushToken(9), result: Ok(()) });
}

#[test]
fn a_busy_port_ends_the_shell_with_its_address() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let (shell, _inputs) = start(move |_, _, _| {
        let address = Address { host: "127.0.0.1".into(), port };
        vec![EffectKind::Listen { listener: ListenerId(0), address }]
    });
    match shell.join().unwrap() {
        End::ListenFailed { address, error } => {
            assert_eq!(address.port, port);
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        }
        end => panic!("{end:?}"),
    }
}

#[test]
fn a_node_that_exits_ends_its_shell() {
    let (shell, _inputs) = start(|_, _, _| vec![EffectKind::Exit { code: 0, why: ExitReason::Shutdown }]);
    assert!(matches!(shell.join().unwrap(), End::Exited { code: 0, why: ExitReason::Shutdown }));
}
