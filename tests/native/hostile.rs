//! Requests that no client sends. How each ends is Kafka's: recorded from Apache Kafka 4.3.0 (`edge-replies.json`).

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::broker_process::{Broker, PATIENCE};

/// How a connection ended up after a request.
#[derive(Debug, PartialEq, Eq)]
enum Ending {
    Closed,
    /// Nothing came within a third of a second, and it is still open.
    Waiting,
    Answered(Vec<u8>),
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}

fn send(address: &str, request: &[u8]) -> Ending {
    let mut stream = TcpStream::connect(address).expect("the broker accepts");
    stream.write_all(request).expect("the broker takes bytes");
    ending(&mut stream, Duration::from_millis(330))
}

fn ending(stream: &mut TcpStream, patience: Duration) -> Ending {
    stream.set_read_timeout(Some(patience)).expect("a timeout can be set");
    let mut buffer = vec![0; 64 * 1024];
    match stream.read(&mut buffer) {
        Ok(0) => Ending::Closed,
        Ok(read) => Ending::Answered(buffer[..read].to_vec()),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ending::Waiting,
        Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => Ending::Closed,
        Err(error) => panic!("{error}"),
    }
}

const API_VERSIONS: &str = "0000000e0012000000000066000465646765";

#[test]
fn bad_requests_end_as_kafka_ends_them_and_touch_no_other_connection() {
    let broker = Broker::start(&["--memory"]);
    let mut bystander = TcpStream::connect(&broker.address).unwrap();
    let closed = [
        ("unknown api key 999", "0000000e03e7000000000001000465646765"),
        ("api key -1", "0000000effff000000000001000465646765"),
        ("removed api key 4", "0000000f000400000000000100046564676500"),
        ("Vote on a broker listener", "00000012003400000000000100046564676500000000"),
        ("Produce v2, listed and not served", "0000001800000002000000010004656467650001000003e800000000"),
        ("Fetch v3", "0000001f00010003000000010004656467650000000000000000000000000000000000"),
        ("Metadata v14", "000000130003000e000000010004656467650001000000"),
        ("frame length -1", "ffffffff"),
        ("frame length -2147483648", "80000000"),
        ("frame length 0", "00000000"),
        ("frame length 4", "0000000400120000"),
        ("frame length 104857601", "06400001"),
        ("HTTP", "474554202f20485454502f312e310d0a0d0a"),
    ];
    for (case, request) in closed {
        assert_eq!(send(&broker.address, &bytes(request)), Ending::Closed, "{case}");
        bystander.write_all(&bytes(API_VERSIONS)).unwrap();
        assert!(matches!(ending(&mut bystander, PATIENCE), Ending::Answered(_)), "the bystander, after {case}");
    }
}

#[test]
fn a_truncated_frame_waits_for_its_rest() {
    let broker = Broker::start(&["--memory"]);
    assert_eq!(send(&broker.address, &bytes("06400000")), Ending::Waiting, "the largest size, no data");
    let request = bytes(API_VERSIONS);
    let mut stream = TcpStream::connect(&broker.address).unwrap();
    for piece in request[..request.len() - 1].chunks(3) {
        stream.write_all(piece).unwrap();
    }
    assert_eq!(ending(&mut stream, Duration::from_millis(200)), Ending::Waiting);
    stream.write_all(&request[request.len() - 1..]).unwrap();
    assert!(matches!(ending(&mut stream, PATIENCE), Ending::Answered(_)));
}

#[test]
fn an_api_versions_of_the_future_is_answered_with_what_is_known() {
    let broker = Broker::start(&["--memory"]);
    let request = bytes("000000170012006300000007000465646765000565646765023100");
    let expected = bytes("0000001000000007002300000001001200000004");
    assert_eq!(send(&broker.address, &request), Ending::Answered(expected));
}

#[test]
fn noise_of_every_kind_leaves_the_broker_serving() {
    let broker = Broker::start(&["--memory"]);
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..300 {
        let noise: Vec<u8> = (0..200)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 32) as u8
            })
            .collect();
        let mut stream = TcpStream::connect(&broker.address).unwrap();
        // A valid size and key in front, so that the noise gets further than the size check.
        let _ = stream.write_all(&[0, 0, 0, 200, 0, noise[0] % 68, 0, noise[1] % 14]);
        let _ = stream.write_all(&noise);
    }
    assert!(matches!(send(&broker.address, &bytes(API_VERSIONS)), Ending::Answered(_)));
}

#[test]
fn requests_behind_one_another_are_answered_in_order() {
    let broker = Broker::start(&["--memory"]);
    let mut stream = TcpStream::connect(&broker.address).unwrap();
    let mut all = Vec::new();
    for correlation_id in 0..50u8 {
        let mut request = bytes(API_VERSIONS);
        request[11] = correlation_id;
        all.extend(request);
    }
    stream.write_all(&all).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    for expected in 0..50u8 {
        let mut size = [0; 4];
        stream.read_exact(&mut size).unwrap();
        let mut body = vec![0; u32::from_be_bytes(size) as usize];
        stream.read_exact(&mut body).unwrap();
        assert_eq!(body[..4], [0, 0, 0, expected]);
    }
}
