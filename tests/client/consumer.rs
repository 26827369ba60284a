//! What a consumer by assignment does, with Kafka 4.3.0's exceptions and rules.

use bytes::Bytes;
use steplog::node::{CallId, Command, ConsumerRecord, Duration, Reply, SeekTo, TopicPartition};
use steplog::record::{
    Batch, BatchBuilder, Codec, Compression, CompressionRatio, EndTransactionMarker, ProducerIdentity,
    end_transaction_marker_batch,
};

use crate::world::World;

fn partition() -> TopicPartition {
    TopicPartition { topic: "t".to_owned(), partition: 0 }
}

fn batch(values: &[&str]) -> Batch<Bytes> {
    let mut builder = BatchBuilder::new();
    for value in values {
        builder.append(7, None, Some(value.as_bytes()), std::iter::empty());
    }
    Batch::new(builder.build(ProducerIdentity::NONE)).expect("a batch")
}

fn consumer(keys: &[(&str, &str)], batches: &[&[&str]]) -> World {
    let mut world = World::consumer(keys);
    for values in batches {
        world.broker.append("t", 0, batch(values));
    }
    world.call(Command::Assign { partitions: vec![partition()] });
    world
}

fn poll(world: &mut World, timeout_ms: u64) -> CallId {
    let call = world.call(Command::Poll { timeout: Duration::from_ms(timeout_ms) });
    world.run(i64::try_from(timeout_ms).expect("small"));
    call
}

fn polled(world: &World, call: CallId) -> Vec<(i64, String)> {
    let text =
        |record: &ConsumerRecord| String::from_utf8_lossy(record.value.as_deref().unwrap_or_default()).into_owned();
    match world.reply(call) {
        Some(Reply::Polled { records, .. }) => records.iter().map(|record| (record.offset, text(record))).collect(),
        other => panic!("not polled: {other:?}"),
    }
}

fn of(list: &[(i64, &str)]) -> Vec<(i64, String)> {
    list.iter().map(|(offset, value)| (*offset, (*value).to_owned())).collect()
}

#[test]
fn earliest_reads_from_the_start_and_shows_the_batches_as_they_came() {
    let mut world = consumer(&[("auto.offset.reset", "earliest")], &[&["a", "b"], &["c"]]);
    let call = poll(&mut world, 1000);
    assert_eq!(polled(&world, call), of(&[(0, "a"), (1, "b"), (2, "c")]));
    let Some(Reply::Polled { batches, records }) = world.reply(call) else { panic!("polled") };
    let bytes: Vec<u8> = batches.iter().flat_map(|batch| batch.bytes.to_vec()).collect();
    assert_eq!(Some(&bytes), world.broker.log.get(&partition()));
    assert_eq!((records[0].timestamp, records[0].leader_epoch), (7, 0));
}

#[test]
fn latest_reads_only_what_comes_later() {
    let mut world = consumer(&[], &[&["old"]]);
    let call = poll(&mut world, 1000);
    assert_eq!(polled(&world, call), of(&[]));
    world.broker.append("t", 0, batch(&["new"]));
    // The scripted broker leaves an empty fetch unanswered; the client asks again after request.timeout.ms.
    world.cut(steplog::node::CloseReason::Finished);
    let call = poll(&mut world, 2000);
    assert_eq!(polled(&world, call), of(&[(1, "new")]));
}

#[test]
fn poll_returns_at_most_max_poll_records_and_the_rest_without_another_fetch() {
    let keys = [("auto.offset.reset", "earliest"), ("max.poll.records", "3")];
    let mut world = consumer(&keys, &[&["a", "b", "c"], &["d"]]);
    let first = poll(&mut world, 1000);
    assert_eq!(polled(&world, first), of(&[(0, "a"), (1, "b"), (2, "c")]));
    let fetches = |world: &World| world.broker.requests.iter().filter(|(_, key, _)| *key == 1).count();
    assert_eq!(fetches(&world), 1, "the node still has buffered data of ours");
    let second = poll(&mut world, 0);
    assert_eq!(polled(&world, second), of(&[(3, "d")]));
    world.run(1);
    assert_eq!(fetches(&world), 2, "sent before poll() returned");
}

#[test]
fn an_empty_poll_returns_after_its_timeout() {
    let mut world = consumer(&[("auto.offset.reset", "earliest")], &[]);
    let start = world.now_ms;
    let call = world.call(Command::Poll { timeout: Duration::from_ms(700) });
    world.run(1000);
    let empty = Reply::Polled { records: Vec::new(), batches: Vec::new() };
    assert_eq!(world.replied_at(call, &empty), Some(start + 700));
}

#[test]
fn seek_reads_from_the_offset_asked_for() {
    let mut world = consumer(&[], &[&["a", "b"], &["c", "d"]]);
    world.call(Command::Seek { partition: partition(), to: SeekTo::Offset(3) });
    let call = poll(&mut world, 1000);
    assert_eq!(polled(&world, call), of(&[(3, "d")]), "the first record of the batch is passed over");
    world.call(Command::Seek { partition: partition(), to: SeekTo::Beginning });
    let call = poll(&mut world, 1000);
    assert_eq!(polled(&world, call).first(), of(&[(0, "a")]).first());
}

#[test]
fn seek_of_a_partition_that_is_not_assigned_is_refused() {
    let mut world = World::consumer(&[]);
    let call = world.call(Command::Seek { partition: partition(), to: SeekTo::Beginning });
    assert_eq!(
        world.failed(call).map(|(_, class, text)| (class, text)),
        Some(("IllegalStateException", "No current assignment for partition t-0"))
    );
    let call = world.call(Command::Poll { timeout: Duration::from_ms(1) });
    let text = "Consumer is not subscribed to any topics or assigned any partitions";
    assert_eq!(world.failed(call).map(|(_, class, text)| (class, text)), Some(("IllegalStateException", text)));
}

#[test]
fn without_a_reset_policy_a_missing_or_impossible_position_is_an_exception() {
    let mut world = consumer(&[("auto.offset.reset", "none")], &[&["a"]]);
    let call = poll(&mut world, 100);
    let text = "Undefined offset with no reset policy for partitions: [t-0]";
    assert_eq!(world.failed(call).map(|(_, class, text)| (class, text)), Some(("NoOffsetForPartitionException", text)));
    world.call(Command::Seek { partition: partition(), to: SeekTo::Offset(5) });
    let call = poll(&mut world, 1000);
    let text = "Fetch position FetchPosition{offset=5, offsetEpoch=Optional.empty, currentLeader=LeaderAndEpoch{leader=\
                Optional[broker:9092 (id: 1 rack: null isFenced: false)], epoch=0}} is out of range for partition t-0";
    assert_eq!(world.failed(call).map(|(_, class, text)| (class, text)), Some(("OffsetOutOfRangeException", text)));
}

#[test]
fn an_offset_out_of_range_is_reset_by_the_policy() {
    let mut world = consumer(&[("auto.offset.reset", "earliest")], &[&["a"]]);
    world.call(Command::Seek { partition: partition(), to: SeekTo::Offset(99) });
    let call = poll(&mut world, 1000);
    assert_eq!(polled(&world, call), of(&[(0, "a")]));
}

#[test]
fn a_flipped_byte_is_an_exception_unless_check_crcs_is_off() {
    let corrupt = |keys: &[(&str, &str)]| {
        let mut world = consumer(keys, &[&["a"]]);
        let log = world.broker.log.get_mut(&partition()).expect("a log");
        *log.iter_mut().rev().nth(1).expect("a byte") ^= 1;
        world
    };
    let mut world = corrupt(&[("auto.offset.reset", "earliest")]);
    let call = poll(&mut world, 1000);
    let text = "Received exception when fetching the next record from t-0. If needed, please seek past the record to \
                continue consumption.";
    assert_eq!(world.failed(call).map(|(_, class, text)| (class, text)), Some(("KafkaException", text)));
    world.call(Command::Seek { partition: partition(), to: SeekTo::Offset(1) });
    world.broker.append("t", 0, batch(&["b"]));
    let call = poll(&mut world, 1000);
    assert_eq!(polled(&world, call), of(&[(1, "b")]), "a seek goes past it");

    let mut world = corrupt(&[("auto.offset.reset", "earliest"), ("check.crcs", "false")]);
    let call = poll(&mut world, 1000);
    assert_eq!(polled(&world, call), of(&[(0, "`")]));
}

#[test]
fn control_batches_are_passed_over_and_the_position_with_them() {
    let mut world = consumer(&[("auto.offset.reset", "earliest")], &[&["a"]]);
    let marker = EndTransactionMarker { committed: true, coordinator_epoch: 0 };
    let marker = end_transaction_marker_batch(0, 0, 7, 1000, 0, marker);
    world.broker.append("t", 0, Batch::new(marker).expect("a batch"));
    world.broker.append("t", 0, batch(&["b"]));
    let call = poll(&mut world, 1000);
    assert_eq!(polled(&world, call), of(&[(0, "a"), (2, "b")]));
}

#[test]
fn end_offsets_are_looked_up_and_time_out_with_kafkas_text() {
    let mut world = consumer(&[("default.api.timeout.ms", "2000")], &[&["a", "b"]]);
    let call = world.call(Command::EndOffsets { partitions: vec![partition()] });
    world.run(500);
    assert_eq!(world.reply(call), Some(&Reply::Offsets(vec![(partition(), 2)])));
    world.kill();
    let start = world.now_ms;
    let call = world.call(Command::EndOffsets { partitions: vec![partition()] });
    world.run(3000);
    assert_eq!(
        world.failed(call),
        Some((start + 2000, "TimeoutException", "Failed to get offsets by times in 2000ms"))
    );
}

#[test]
fn a_consumer_reads_on_after_its_broker_was_away() {
    let mut world = consumer(&[("auto.offset.reset", "earliest")], &[&["a"]]);
    let call = poll(&mut world, 1000);
    assert_eq!(polled(&world, call), of(&[(0, "a")]));
    world.kill();
    let call = poll(&mut world, 3000);
    assert_eq!(polled(&world, call), of(&[]));
    world.up = true;
    world.broker.append("t", 0, batch(&["b"]));
    let call = poll(&mut world, 3000);
    assert_eq!(polled(&world, call), of(&[(1, "b")]));
}

#[test]
fn packed_batches_are_unpacked_and_one_that_cannot_be_stops_the_consumer_there() {
    let mut world = consumer(&[("auto.offset.reset", "earliest")], &[]);
    let packed = |codec, values: &[&str]| {
        let mut builder = BatchBuilder::new().compressed(Compression::of(codec), CompressionRatio::ONE);
        values.iter().for_each(|value| builder.append(0, None, Some(value.as_bytes()), std::iter::empty()));
        Batch::new(builder.build(ProducerIdentity::NONE)).expect("a batch")
    };
    for (codec, values) in Codec::ALL.into_iter().zip([["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]]) {
        world.broker.append("t", 0, packed(codec, &values));
    }
    let mut garbage = packed(Codec::Gzip, &["never read"]).into_bytes().to_vec();
    garbage[63] ^= 0xff;
    let mut garbage = Batch::new(garbage).expect("a batch");
    // Sets the CRC right.
    garbage.set_producer(ProducerIdentity::NONE);
    world.broker.append("t", 0, Batch::new(garbage.into_bytes().into()).expect("a batch"));
    let call = poll(&mut world, 1000);
    let letters = ["a", "b", "c", "d", "e", "f", "g", "h"];
    assert_eq!(polled(&world, call), (0..).zip(letters).map(|(o, l)| (o, l.to_owned())).collect::<Vec<_>>());
    let call = poll(&mut world, 1000);
    let text = "Received exception when fetching the next record from t-0. If needed, please seek past the record to \
                continue consumption.";
    assert_eq!(world.failed(call).map(|(_, class, text)| (class, text)), Some(("KafkaException", text)));
}
