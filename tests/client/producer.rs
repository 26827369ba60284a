//! What a producer does, and when. Texts, orders and times are Kafka 4.3.0's: recorded outages and reorderings, and the
//! rules of its source.

use bytes::Bytes;
use steplog::node::{CallId, CloseReason, Command, Duration, EffectKind, Note, ProducerRecord, Reply};
use steplog::record::{BatchBuilder, Codec, Compression, CompressionRatio, CompressionType, ProducerIdentity};

use crate::broker::Answer;
use crate::world::World;

const NOT_PRESENT: &str = "Topic t not present in metadata after 5000 ms.";
/// As in the book's chapter, but linger.ms and retries by default where they do not matter.
const CHAPTER: &[(&str, &str)] = &[
    ("enable.idempotence", "false"),
    ("linger.ms", "0"),
    ("delivery.timeout.ms", "8000"),
    ("max.block.ms", "5000"),
    ("request.timeout.ms", "3000"),
];

fn with<'a>(keys: &[(&'a str, &'a str)], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    keys.iter().chain(more).copied().collect()
}

fn values(world: &World) -> Vec<String> {
    world.broker.sent.iter().map(|sent| sent.values.join("+")).collect()
}

#[test]
fn a_record_is_acked_with_its_offset_once_the_broker_answers() {
    let mut world = World::warm_producer(&with(CHAPTER, &[("acks", "1")]));
    let start = world.now_ms;
    let call = world.send("a");
    assert_eq!(world.replied_at(call, &Reply::Returned), Some(start), "send() does not wait for the answer");
    world.run(10);
    assert_eq!(world.offset(call), Some(0));
    assert_eq!(world.broker.sent[0].at_ms, start + 1);
    assert_eq!(world.broker.requests.last().map(|(_, key, version)| (*key, *version)), Some((0, 13)));
}

#[test]
fn a_batch_size_of_0_makes_a_batch_of_each_record() {
    let mut world = World::warm_producer(&with(CHAPTER, &[("acks", "1"), ("batch.size", "0"), ("linger.ms", "100")]));
    // Longer than what a batch keeps free for the fields of its one record.
    let sent = ["a", "b", "c"].map(|letter| letter.repeat(40));
    let calls = sent.clone().map(|value| world.send(&value));
    world.run(200);
    assert_eq!(values(&world), sent);
    assert_eq!(calls.map(|call| world.offset(call)), [Some(0), Some(1), Some(2)]);
}

#[test]
fn with_acks_0_the_send_buffer_taking_the_request_is_success_with_offset_minus_one() {
    let mut world = World::warm_producer(&with(CHAPTER, &[("acks", "0")]));
    world.frozen = true;
    let calls: Vec<CallId> = (0..20).map(|i| world.send(&i.to_string())).collect();
    world.run(0);
    for call in calls {
        assert_eq!(world.offset(call), Some(-1), "nobody reads, all is well");
    }
    world.run(1000);
    assert_eq!(world.broker.sent, [], "yet nothing arrived");
}

#[test]
fn when_every_known_node_is_gone_the_client_rebootstraps_and_send_blocks_max_block_ms() {
    let mut world = World::warm_producer(&with(CHAPTER, &[("acks", "0")]));
    world.kill();
    let killed = world.now_ms;
    // Recorded: the third or fourth send after the kill blocks, when the first metadata update finds nobody.
    let mut taken = 0;
    while !world.notes.iter().any(|(_, note)| *note == Note::Rebootstrapped) {
        world.send("queued");
        world.run(20);
        taken += 1;
    }
    assert!((4..=7).contains(&taken), "{taken} sends in {} ms", world.now_ms - killed);
    for _ in 0..3 {
        let start = world.now_ms;
        let call = world.send("lost");
        world.run(5000 - 1);
        assert_eq!(world.replied_at(call, &Reply::Returned), None);
        world.run(1);
        assert_eq!(world.failed(call), Some((start + 5000, "TimeoutException", NOT_PRESENT)));
        assert_eq!(world.replied_at(call, &Reply::Returned), Some(start + 5000));
        world.run(20);
    }
    world.up = true;
    let call = world.send("back");
    world.run(1500);
    assert_eq!(world.offset(call), Some(-1), "the next send finds the broker again");
    assert_eq!(world.broker.sent.last().map(|sent| sent.values.clone()), Some(vec!["back".to_owned()]));
}

#[test]
fn without_rebootstrap_the_topic_stays_known_and_records_expire() {
    let keys = with(CHAPTER, &[("acks", "1"), ("metadata.recovery.strategy", "none")]);
    let mut world = World::warm_producer(&keys);
    world.kill();
    world.run(3000);
    let start = world.now_ms;
    let call = world.send("late");
    assert_eq!(world.replied_at(call, &Reply::Returned), Some(start));
    world.run(8000);
    let text = "Expiring 1 record(s) for t-0:8000 ms has passed since batch creation. The request has not been sent, or \
                no server response has been received yet.";
    assert_eq!(world.failed(call), Some((start + 8000, "TimeoutException", text)));
}

#[test]
fn expiry_is_per_batch_five_in_flight_and_one_with_the_rest() {
    let mut world = World::warm_producer(&with(CHAPTER, &[("acks", "1"), ("request.timeout.ms", "8000")]));
    world.frozen = true;
    let mut calls = Vec::new();
    for i in 0..9 {
        calls.push(world.send(&i.to_string()));
        world.run(1);
    }
    world.run(8010);
    let failed: Vec<&str> = calls.iter().filter_map(|call| Some(world.failed(*call)?.2)).collect();
    assert_eq!(failed.len(), 9);
    assert!(failed[..5].iter().all(|text| text.starts_with("Expiring 1 record(s) for t-0:80")));
    assert!(failed[5..].iter().all(|text| text.starts_with("Expiring 4 record(s) for t-0:80")));
}

#[test]
fn a_topic_that_never_appears_fails_send_after_max_block_ms() {
    let mut world = World::producer(&[("max.block.ms", "5000")]);
    world.broker.topics.clear();
    let call = world.send("a");
    world.run(6000);
    assert_eq!(world.failed(call), Some((5000, "TimeoutException", NOT_PRESENT)));
    let replies: Vec<&Reply> = world.replies.iter().map(|(_, _, reply)| reply).collect();
    assert!(matches!(replies[..], [Reply::Failed(_), Reply::Returned]), "the callback fires before send() returns");
}

#[test]
fn a_partition_that_does_not_exist_is_waited_for_in_vain() {
    let mut world = World::warm_producer(&[("max.block.ms", "5000")]);
    let record = ProducerRecord { topic: "t".to_owned(), partition: Some(3), ..Default::default() };
    let call = world.send_record(record);
    world.run(6000);
    let text = "Partition 3 of topic t with partition count 1 is not present in metadata after 5000 ms.";
    assert_eq!(world.failed(call).map(|(_, class, text)| (class, text)), Some(("TimeoutException", text)));
}

/// Five in flight, the first unanswered until the connection breaks: as in the recorded experiment `reorder`.
fn cut_with_five_in_flight(idempotence: &str) -> World {
    let keys = [("enable.idempotence", idempotence), ("linger.ms", "0"), ("acks", "all")];
    let mut world = World::warm_producer(&keys);
    for i in 0..12 {
        if i == 4 {
            world.broker.answers.push_back(Answer::Silence);
        }
        world.send(&i.to_string());
        world.run(20);
    }
    world.broker.silent = false;
    world.broker.sent.clear();
    world.cut(CloseReason::Finished);
    world.run(2000);
    assert!(world.replies.iter().filter(|(_, _, reply)| matches!(reply, Reply::Acked(_))).count() == 12);
    world
}

#[test]
fn without_idempotence_batches_of_a_lost_connection_come_back_in_reverse() {
    let world = cut_with_five_in_flight("false");
    assert_eq!(values(&world), ["8", "7", "6", "5", "4", "9+10+11"]);
}

#[test]
fn with_idempotence_they_come_back_in_order_with_their_sequences() {
    let world = cut_with_five_in_flight("true");
    assert_eq!(values(&world), ["4", "5", "6", "7", "8", "9+10+11"]);
    let sequences: Vec<i32> = world.broker.sent.iter().map(|sent| sent.base_sequence).collect();
    assert_eq!(sequences, [5, 6, 7, 8, 9, 10], "after the warming record and four more");
    assert!(world.broker.sent.iter().all(|sent| (sent.producer_id, sent.epoch) == (1000, 0)));
}

#[test]
fn with_one_in_flight_a_retry_keeps_the_order() {
    let keys = with(CHAPTER, &[("acks", "all"), ("max.in.flight.requests.per.connection", "1")]);
    let mut world = World::warm_producer(&keys);
    world.broker.answers.push_back(Answer::Error(19));
    for i in 0..5 {
        world.send(&i.to_string());
        world.run(20);
    }
    world.run(2000);
    assert_eq!(values(&world), ["0", "0", "1+2+3+4"]);
}

#[test]
fn a_retry_waits_for_the_back_off_and_later_batches_wait_behind_it() {
    let mut world = World::warm_producer(&with(CHAPTER, &[("acks", "all")]));
    world.broker.answers.push_back(Answer::Error(19));
    world.send("0");
    world.run(5);
    world.send("1");
    world.run(2000);
    assert_eq!(values(&world), ["0", "0", "1"]);
    let waited = world.broker.sent[1].at_ms - world.broker.sent[0].at_ms;
    assert!((82..=122).contains(&waited), "100 ms ± 20 % and the way back and forth: {waited}");
}

#[test]
fn linger_ms_collects_records_and_batch_size_ends_the_wait() {
    let mut world = World::warm_producer(&[("linger.ms", "50"), ("batch.size", "200")]);
    let start = world.now_ms;
    for value in ["a", "b", "c"] {
        world.send(value);
        world.run(10);
    }
    world.run(100);
    assert_eq!(values(&world), ["a+b+c"]);
    assert_eq!(world.broker.sent[0].at_ms, start + 50 + 1);
    world.broker.sent.clear();
    let large = "x".repeat(100);
    let start = world.now_ms;
    world.send(&large);
    world.send(&large);
    world.run(20);
    assert_eq!(world.broker.sent.len(), 1, "the second did not fit, so the first goes at once");
    assert_eq!(world.broker.sent[0].at_ms, start + 1);
}

#[test]
fn an_error_that_no_retry_cures_reaches_the_application_as_kafkas_exception() {
    let cases = [
        (87, "InvalidRecordException", "This record has failed the validation on broker and hence will be rejected."),
        (
            10,
            "RecordTooLargeException",
            "The request included a message larger than the max message size the server will accept.",
        ),
        (21, "InvalidRequiredAcksException", "Produce request specified an invalid value for required acks."),
    ];
    for (code, class, text) in cases {
        let mut world = World::warm_producer(&with(CHAPTER, &[("acks", "1")]));
        world.broker.answers.push_back(Answer::Error(code));
        let call = world.send("a");
        world.run(100);
        assert_eq!(world.failed(call).map(|(_, class, text)| (class, text)), Some((class, text)), "{code}");
        assert_eq!(world.broker.sent.len(), 1);
    }
}

#[test]
fn with_retries_0_the_application_sees_the_brokers_error_with_retries_only_the_timeout() {
    let mut world = World::warm_producer(&with(CHAPTER, &[("acks", "all"), ("retries", "0")]));
    world.broker.answers.push_back(Answer::Error(19));
    let call = world.send("a");
    world.run(100);
    assert_eq!(world.failed(call).map(|(_, class, _)| class), Some("NotEnoughReplicasException"));

    let mut world = World::warm_producer(&with(CHAPTER, &[("acks", "all")]));
    world.broker.answers.extend(std::iter::repeat_n(Answer::Error(19), 100));
    let call = world.send("a");
    world.run(8000);
    assert_eq!(
        world.failed(call).map(|(_, class, text)| (class, &text[..30])),
        Some(("TimeoutException", "Expiring 1 record(s) for t-0:8"))
    );
}

#[test]
fn a_silent_broker_is_left_after_request_timeout_ms_and_an_append_may_come_twice() {
    let mut world = World::warm_producer(&with(CHAPTER, &[("acks", "all")]));
    world.broker.answers.push_back(Answer::AppendAndSilence);
    let start = world.now_ms;
    let call = world.send("a");
    world.run(3000);
    assert_eq!(world.notes.iter().filter(|(_, note)| matches!(note, Note::Disconnected { .. })).count(), 0);
    world.broker.silent = false;
    world.run(2000);
    let left = world.notes.iter().find(|(_, note)| matches!(note, Note::Disconnected { .. })).map(|(at, _)| *at);
    assert_eq!(left, Some(start + 3001), "more than request.timeout.ms, not just as long");
    assert_eq!(values(&world), ["a", "a"]);
    assert_eq!(world.offset(call), Some(1), "without idempotence the record is in the log twice");
}

#[test]
fn an_idempotent_producer_bumps_its_epoch_after_an_out_of_order_sequence() {
    let mut world = World::warm_producer(&[("linger.ms", "0")]);
    world.send("a");
    world.run(50);
    world.broker.answers.push_back(Answer::Error(45));
    let call = world.send("b");
    world.run(1000);
    let seen: Vec<(String, i16, i32)> =
        world.broker.sent.iter().map(|s| (s.values.join("+"), s.epoch, s.base_sequence)).collect();
    assert_eq!(seen, [("a".into(), 0, 1), ("b".into(), 0, 2), ("b".into(), 1, 0)]);
    assert_eq!(world.offset(call), Some(1));
}

#[test]
fn a_duplicate_sequence_is_success_with_offset_minus_one() {
    let mut world = World::warm_producer(&[("linger.ms", "0")]);
    world.broker.answers.push_back(Answer::Error(46));
    let call = world.send("a");
    world.run(100);
    assert_eq!(world.offset(call), Some(-1));
}

#[test]
fn a_batch_too_large_for_the_broker_is_split() {
    let mut world = World::warm_producer(&with(CHAPTER, &[("acks", "1"), ("linger.ms", "20"), ("batch.size", "400")]));
    world.broker.answers.push_back(Answer::Error(10));
    let value = "x".repeat(60);
    let calls: Vec<CallId> = (0..4).map(|i| world.send(&format!("{i}{value}"))).collect();
    world.run(1000);
    assert_eq!(world.broker.sent[0].values.len(), 4);
    let first: Vec<char> =
        world.broker.sent[1..].iter().flat_map(|s| &s.values).filter_map(|v| v.chars().next()).collect();
    assert_eq!(first, ['0', '1', '2', '3'], "nothing is lost or turned around");
    assert!(calls.iter().all(|call| world.offset(*call).is_some_and(|offset| offset >= 0)));
}

#[test]
fn a_record_larger_than_max_request_size_fails_in_send() {
    let mut world = World::warm_producer(&[("max.request.size", "100"), ("linger.ms", "0")]);
    let call = world.send(&"x".repeat(200));
    let text = "The message is 286 bytes when serialized which is larger than 100, which is the value of the \
                max.request.size configuration.";
    assert_eq!(world.failed(call), Some((world.now_ms, "RecordTooLargeException", text)));
}

#[test]
fn a_full_buffer_blocks_send_until_memory_comes_back_or_max_block_ms_is_over() {
    let keys = with(CHAPTER, &[("acks", "1"), ("buffer.memory", "1000"), ("batch.size", "400"), ("linger.ms", "500")]);
    let mut world = World::warm_producer(&with(&keys, &[("request.timeout.ms", "7000")]));
    world.frozen = true;
    let big = "x".repeat(300);
    world.send(&big);
    world.send(&big);
    let start = world.now_ms;
    let call = world.send(&big);
    world.run(5000);
    let text = "Failed to allocate 400 bytes within the configured max blocking time 5000 ms. Total memory: 1000 bytes. \
                Available memory: 200 bytes. Poolable size: 400 bytes";
    assert_eq!(world.failed(call), Some((start + 5000, "BufferExhaustedException", text)));

    let mut world = World::warm_producer(&keys);
    world.send(&big);
    world.send(&big);
    let call = world.send(&big);
    assert_eq!(world.replied_at(call, &Reply::Returned), None);
    world.run(10);
    assert_eq!(world.replied_at(call, &Reply::Returned), Some(world.now_ms - 8), "as soon as an answer frees memory");
}

#[test]
fn flush_sends_at_once_and_returns_when_all_callbacks_have_fired() {
    let mut world = World::producer(&[("linger.ms", "60000")]);
    world.call(Command::PartitionsFor { topic: "t".to_owned() });
    world.run(200);
    let call = world.send("a");
    let flush = world.call(Command::Flush);
    world.run(10);
    assert_eq!(world.offset(call), Some(0));
    assert_eq!(world.reply(flush), Some(&Reply::Done));
    let acked = world.replies.iter().position(|(_, c, reply)| *c == call && matches!(reply, Reply::Acked(_)));
    let done = world.replies.iter().position(|(_, c, _)| *c == flush);
    assert!(acked < done);
}

#[test]
fn close_sends_what_is_left_and_fails_it_when_the_timeout_is_over() {
    let mut world = World::producer(&[("linger.ms", "60000")]);
    world.call(Command::PartitionsFor { topic: "t".to_owned() });
    world.run(200);
    let call = world.send("a");
    let close = world.call(Command::Close { timeout: Duration::from_ms(1000) });
    world.run(10);
    assert_eq!((world.offset(call), world.reply(close)), (Some(0), Some(&Reply::Done)));
    let late = world.send("b");
    assert_eq!(
        world.failed(late).map(|(_, class, text)| (class, text)),
        Some(("IllegalStateException", "Cannot perform operation after producer has been closed"))
    );

    let mut world = World::warm_producer(&[("linger.ms", "0")]);
    world.frozen = true;
    let start = world.now_ms;
    let call = world.send("a");
    let close = world.call(Command::Close { timeout: Duration::from_ms(1000) });
    world.run(2000);
    assert_eq!(world.failed(call), Some((start + 1000, "KafkaException", "Producer is closed forcefully.")));
    assert_eq!(world.replied_at(close, &Reply::Done), Some(start + 1000));
}

#[test]
fn records_with_a_key_go_where_its_hash_says() {
    let mut world = World::producer(&[("linger.ms", "0")]);
    world.broker.topics.insert("t".to_owned(), 10);
    for key in ["foobar", "abc", "a"] {
        let key = Some(Bytes::from_static(key.as_bytes()));
        world.send_record(ProducerRecord { topic: "t".to_owned(), key, ..Default::default() });
    }
    world.run(500);
    let partitions: Vec<i32> = world.broker.sent.iter().map(|sent| sent.partition).collect();
    let mut sorted = partitions.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [4, 6, 7], "6, 7 and 4 for foobar, abc and a");
}

#[test]
fn an_older_broker_is_spoken_to_in_the_version_that_it_names() {
    for newest in [0, 1, 3] {
        let mut world = World::producer(&[]);
        world.broker.api_versions_max = newest;
        let call = world.call(Command::PartitionsFor { topic: "t".to_owned() });
        world.run(500);
        assert_eq!(world.reply(call), Some(&Reply::Partitions(1)));
        let asked: Vec<i16> =
            world.broker.requests.iter().filter(|(_, key, _)| *key == 18).map(|(_, _, v)| *v).collect();
        assert_eq!(asked[..2], [4, newest]);
    }
}

#[test]
fn why_a_record_was_acked_leads_back_to_its_send() {
    let mut world = World::warm_producer(&with(CHAPTER, &[("acks", "1")]));
    let call = world.send("a");
    world.run(10);
    let event = |wanted: &dyn Fn(&EffectKind) -> bool| world.effects.iter().find(|effect| wanted(&effect.kind));
    let returned = event(&|kind| *kind == EffectKind::Reply(call, Reply::Returned)).expect("returned");
    let acked = event(&|kind| matches!(kind, EffectKind::Reply(c, Reply::Acked(_)) if *c == call)).expect("acked");
    assert_ne!(acked.because.now, returned.because.now);
    assert!(acked.because.earlier.contains(&returned.because.now));
}

#[test]
fn one_seed_makes_one_history() {
    let run = || {
        let mut world = World::warm_producer(&with(CHAPTER, &[("acks", "1")]));
        world.kill();
        for i in 0..3 {
            world.send(&i.to_string());
            world.run(3000);
        }
        world.effects
    };
    assert!(run() == run());
}

/// Sends so much that many batches go out, one after the other, and gives what each of them held.
fn batches_of(keys: &[(&str, &str)], records: usize, value: impl Fn(usize) -> String) -> World {
    let mut world = World::warm_producer(&with(&[("linger.ms", "100"), ("acks", "1")], keys));
    world.broker.sent.clear();
    for i in 0..records {
        let record = ProducerRecord {
            topic: "t".to_owned(),
            timestamp: Some(1_767_225_600_000),
            value: Some(value(i).into()),
            ..Default::default()
        };
        world.send_record(record);
        // A batch is packed, and the estimate learns from it, when it is sent.
        world.run(1);
    }
    world.run(1000);
    world
}

#[test]
fn a_producer_packs_with_its_codec_and_the_records_are_those_that_were_sent() {
    for (name, codec) in [("none", None), ("gzip", Some(Codec::Gzip)), ("zstd", Some(Codec::Zstd))] {
        let value = |i| format!("order-{i}").repeat(10);
        let world = batches_of(&[("compression.type", name)], 20, value);
        let [sent] = &world.broker.sent[..] else { panic!("one batch") };
        assert_eq!(sent.compression, codec.map_or(CompressionType::None, CompressionType::Packed));
        assert_eq!(sent.values, (0..20).map(value).collect::<Vec<_>>());
        let unpacked = 61 + 20 * 80;
        assert!(codec.is_none() || sent.size < unpacked / 4, "{name}: {}", sent.size);
    }
}

#[test]
fn batches_grow_as_kafkas_estimate_learns_how_well_they_pack() {
    let text = "packs well, ".repeat(80);
    let world = batches_of(&[("compression.type", "gzip")], 1500, |_| text.clone());
    // The warming record's 11 bytes became more by packing, which the estimate follows at once.
    let mut warm = BatchBuilder::new().compressed(Compression::of(Codec::Gzip), CompressionRatio::ONE);
    warm.append(0, None, Some(b"warm"), std::iter::empty());
    let mut ratio = (warm.build(ProducerIdentity::NONE).len() - 61) as f32 / 11.0;
    assert!(ratio > 1.05);
    // A batch is begun before the one before it is packed (CompressionRatioEstimator: down by 0.005 each time;
    // MemoryRecordsBuilder: times 1.05). A record of 960 bytes takes 969.
    let mut expected = Vec::new();
    for sent in &world.broker.sent {
        let fits = |count: usize| 61 + (count as f32 * 969.0 * ratio * 1.05) as usize + 969 <= 16_384;
        expected.push(1 + (1..64).take_while(|count| fits(*count)).count());
        assert!(sent.size < 500);
        ratio -= if expected.len() == 1 { 0.0 } else { 0.005 };
    }
    let counts: Vec<usize> = world.broker.sent.iter().map(|sent| sent.values.len()).collect();
    assert!(counts.len() > 20 && expected.last() > expected.first());
    // The last batch went when the records were at their end.
    assert_eq!(counts[..counts.len() - 1], expected[..counts.len() - 1]);
}

#[test]
fn a_packed_batch_that_is_too_large_for_the_broker_is_sent_anew_and_then_split() {
    let keys = [("compression.type", "lz4"), ("linger.ms", "500"), ("max.in.flight.requests.per.connection", "1")];
    let mut world = World::warm_producer(&keys);
    world.broker.answers.extend([Answer::Error(10), Answer::Error(10)]);
    let all: Vec<String> = (0..10).map(|i| format!("{i} of ten, ").repeat(30)).collect();
    let calls: Vec<CallId> = all.iter().map(|value| world.send(value)).collect();
    world.run(2000);
    let [first, anew, parts @ ..] = &world.broker.sent[..] else { panic!("sent") };
    // Not split before the estimate is set right, for that may be what made it too large.
    assert_eq!((&first.values, &anew.values), (&all, &all));
    assert!(parts.len() >= 2);
    assert_eq!(parts.iter().flat_map(|part| &part.values).collect::<Vec<_>>(), all.iter().collect::<Vec<_>>());
    assert!(world.broker.sent.iter().all(|sent| sent.compression == CompressionType::Packed(Codec::Lz4)));
    for (offset, call) in (0..).zip(calls) {
        assert_eq!(world.offset(call), Some(offset));
    }
}
