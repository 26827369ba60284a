//! Peers at their worst, each on its connection, beside one that does nothing wrong.

use bytes::Bytes;
use steplog::node::{ConnId, Duration, EffectKind, Rng};
use steplog::wire::Uuid;
use steplog::wire::messages::api_versions::ApiVersionsResponse;
use steplog::wire::messages::create_topics::{CreatableTopic, CreateTopicsRequest, CreateTopicsResponse};
use steplog::wire::{RequestHeader, decode_response, encode_request};

use super::requests::{made, mutated, pick, recorded, sized};
use super::shell::{Seen, Shell, config};

/// A second or two; for a long hunt raise it.
const REQUESTS: u64 = 500;

/// A broker with the topic `orders`, two partitions.
fn with_orders() -> (Shell, Uuid) {
    let mut shell = Shell::start(config(&[]));
    let topic =
        CreatableTopic { name: "orders".to_string(), num_partitions: 2, replication_factor: 1, ..Default::default() };
    let header = RequestHeader { request_api_key: 19, request_api_version: 7, ..Default::default() };
    let body = CreateTopicsRequest { topics: vec![topic], ..Default::default() };
    let chunks = encode_request(&header, &body).expect("a request");
    let request: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.to_bytes().expect("in memory")).collect();
    let conn = shell.connect();
    let Seen::Reply(answer) = shell.exchange(conn, request, Duration::from_ms(1000)) else { panic!("no answer") };
    let created = decode_response::<CreateTopicsResponse>(&answer, 7).expect("an answer").1;
    (shell, created.topics[0].topic_id)
}

fn api_versions() -> Bytes {
    sized(&[0, 18, 0, 0, 0, 0, 0, 9, 0xff, 0xff])
}

/// The request that this round sends.
fn request(rng: &mut Rng, recorded: &[Bytes], topic_id: Uuid) -> Bytes {
    match rng.below(4) {
        0 => pick(rng, recorded).clone(),
        1 => {
            let frame = pick(rng, recorded).clone();
            mutated(rng, &frame, recorded)
        }
        2 => {
            let frame = made(rng, topic_id);
            mutated(rng, &frame, recorded)
        }
        _ => made(rng, topic_id),
    }
}

/// Sends the bytes whole, in two pieces, or one by one.
fn send_in_pieces(shell: &mut Shell, rng: &mut Rng, conn: ConnId, bytes: Bytes) {
    let mut rest = bytes;
    let piece = match rng.below(4) {
        0 if rest.len() < 200 => 1,
        1 => 1 + rng.below(rest.len() as u64) as usize,
        _ => rest.len(),
    };
    while !rest.is_empty() && !shell.closed.contains(&conn) {
        let next = rest.split_to(piece.min(rest.len()));
        shell.send(conn, next);
    }
}

fn run(seed: u64, rounds: u64) -> Vec<EffectKind> {
    let recorded = recorded();
    let mut rng = Rng::new(seed);
    let (mut shell, topic_id) = with_orders();
    let bystander = shell.connect();
    let mut open = vec![shell.connect()];
    for round in 0..rounds {
        if open.len() < 8 && rng.below(4) == 0 {
            open.push(shell.connect());
        }
        let at = rng.below(open.len() as u64) as usize;
        let conn = open[at];
        for _ in 0..*pick(&mut rng, &[1, 1, 1, 2, 5]) {
            let bytes = request(&mut rng, &recorded, topic_id);
            send_in_pieces(&mut shell, &mut rng, conn, bytes);
        }
        while let Some(frame) = shell.next_frame(conn) {
            assert!(frame.len() >= 4, "seed {seed}, round {round}: an answer without a correlation id");
        }
        if rng.below(10) == 0 && !shell.closed.contains(&conn) {
            shell.close(conn);
            open.swap_remove(at);
        } else if shell.closed.contains(&conn) {
            open.swap_remove(at);
        }
        if open.is_empty() {
            open.push(shell.connect());
        }
        if rng.below(20) == 0 {
            shell.wait(Duration::from_ms(*pick(&mut rng, &[1, 100, 6000, 700_000])));
            open.retain(|conn| !shell.closed.contains(conn));
            open.push(shell.connect());
        }
        assert_eq!(shell.exit, None, "seed {seed}, round {round}");
        if round % 50 == 0 {
            let conn = if shell.closed.contains(&bystander) { shell.connect() } else { bystander };
            let Seen::Reply(answer) = shell.exchange(conn, api_versions(), Duration::from_ms(1000)) else {
                panic!("seed {seed}, round {round}: no answer to one who did nothing wrong");
            };
            let (header, body) = decode_response::<ApiVersionsResponse>(&answer, 0).expect("an answer");
            assert_eq!((header, body.error_code), (9, 0));
        }
    }
    shell.effects.into_iter().map(|effect| effect.kind).collect()
}

#[test]
fn whatever_peers_send_the_broker_goes_on_and_serves_the_others() {
    for seed in 0..3 {
        run(seed, REQUESTS);
    }
}

#[test]
fn the_same_noise_has_the_same_effects() {
    assert!(run(7, 300) == run(7, 300));
}

#[test]
fn a_client_that_reads_nothing_gets_one_answer_and_is_read_no_further() {
    let (mut shell, _) = with_orders();
    let conn = shell.connect();
    shell.stalled.insert(conn);
    shell.send(conn, api_versions().repeat(1000));
    assert!(shell.next_frame(conn).is_some());
    assert_eq!(shell.next_frame(conn), None);
    assert!(shell.paused.contains(&conn));
}

#[test]
fn thousands_of_requests_in_one_piece_are_answered_in_turns() {
    let (mut shell, _) = with_orders();
    let conn = shell.connect();
    let before = shell.effects.len();
    shell.send(conn, api_versions().repeat(1000));
    let turns = shell.effects[before..].iter().filter(|effect| matches!(effect.kind, EffectKind::Slice(_))).count();
    assert_eq!(turns, 15);
    for _ in 0..1000 {
        assert!(shell.next_frame(conn).is_some());
    }
    assert!(!shell.paused.contains(&conn));
}
