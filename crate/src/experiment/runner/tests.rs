//! A made-up client answers by hand.

use std::sync::Arc;

use super::*;
use crate::experiment::program::parse;
use crate::experiment::{Client, Cluster, Focus, Links, Opening, Text, Topic};
use crate::node::{RawAnswer, RawField, RecordMetadata, TopicPartition};

fn experiment(program: &str) -> Arc<Experiment> {
    let text = || Text { en: String::new(), zh: String::new() };
    let client = |name: &str, kind| Client { name: name.to_string(), kind, config: BTreeMap::new() };
    let names = parse_names();
    let topic = Topic { name: "t".to_string(), partitions: 1, replication_factor: 1, config: BTreeMap::new() };
    Arc::new(Experiment {
        name: "made-up".to_string(),
        title: text(),
        about: text(),
        seed: 1,
        focus: Focus::default(),
        opening: Opening { at: Duration::ZERO, question: text(), asks: Vec::new() },
        cluster: Cluster { nodes: Vec::new() },
        topics: vec![topic],
        links: Links { delay: Duration::ZERO, jitter: Duration::ZERO, bytes_per_second: 0 },
        clients: vec![client("P", ClientKind::Producer), client("C", ClientKind::Consumer)],
        programs: vec![
            parse("P", ClientKind::Producer, program, &names).unwrap(),
            parse("C", ClientKind::Consumer, "wait for P\nassign(t-0, earliest)\npoll 5 ms", &names).unwrap(),
        ],
        faults: Vec::new(),
        facts: Vec::new(),
        places: Vec::new(),
        left_out: Vec::new(),
    })
}

fn parse_names() -> crate::experiment::program::Names<'static> {
    crate::experiment::program::Names { clients: vec!["P", "C"], topics: vec![("t", 1)] }
}

fn acked(offset: i64) -> Reply {
    let partition = TopicPartition { topic: "t".to_string(), partition: 0 };
    Reply::Acked(RecordMetadata { partition, offset, timestamp: 0 })
}

#[test]
fn the_next_turn_starts_so_long_after_the_last_send_returned() {
    let mut programs = Programs::new(experiment("repeat 2 every 20 ms:\n  send(t, v{i})\n    on ok: told += 1"));
    let mut out = Vec::new();
    programs.begin(Instant(1_000), &mut out);
    let [Order { client: 0, call, command: Command::Send(record), line: Some(1) }] = &out[..] else {
        panic!("{out:?}")
    };
    assert_eq!(record.value.as_deref(), Some(&b"v0"[..]));
    assert_eq!(programs.next_timeout(), None, "send() has not returned");
    let (call, mut out) = (*call, Vec::new());
    programs.reply(Instant(5_001_000), 0, call, &Reply::Returned, &mut out);
    assert_eq!(programs.next_timeout(), Some(Instant(5_021_000)));
    programs.reply(Instant(5_002_000), 0, call, &acked(-1), &mut out);
    programs.tick(Instant(5_021_000), &mut out);
    assert_eq!(out.len(), 1);
    let sends = &programs.measures().sends;
    assert_eq!(sends[0].returned_at, Some(Duration(5_000_000)));
    assert_eq!(sends[1].sent_at, Duration(5_020_000));
    assert_eq!(programs.measures().counters["told"], 1);
}

#[test]
fn an_awaited_send_waits_for_its_callback_and_a_waiting_program_for_the_end_of_the_other() {
    let mut programs = Programs::new(experiment("await send(t, v)\nclose"));
    let mut out = Vec::new();
    programs.begin(Instant(0), &mut out);
    let send = out.remove(0).call;
    programs.reply(Instant(1), 0, send, &Reply::Returned, &mut out);
    assert_eq!((out.len(), programs.line_of(0)), (0, Some(0)));
    programs.reply(Instant(2), 0, send, &acked(7), &mut out);
    let close = out.remove(0);
    assert!(matches!(close.command, Command::Close { .. }));
    programs.reply(Instant(3), 0, close.call, &Reply::Done, &mut out);
    assert!(matches!(&out[..], [Order { client: 1, command: Command::Assign { .. }, .. }]), "{out:?}");
    assert_eq!(programs.measures().ended["P"], Duration(3));
    assert_eq!(programs.measures().sends[0].outcome.as_ref().unwrap().result.as_ref().unwrap().offset, 7);
    assert!(!programs.ended());
}

#[test]
fn a_topic_suffix_stays_between_the_programs_and_the_cluster() {
    let mut programs = Programs::new(experiment("send(t, v)\nclose")).with_topic_suffix("-x1");
    let mut out = Vec::new();
    programs.begin(Instant(0), &mut out);
    let Command::Send(record) = &out[0].command else { panic!("{out:?}") };
    assert_eq!(record.topic, "t-x1");
    let message = "Topic t-x1 not present in metadata after 5000 ms.".to_string();
    let call = out[0].call;
    let thrown = Reply::Failed(Exception::new("TimeoutException", message));
    programs.reply(Instant(1), 0, call, &thrown, &mut out);
    let said = programs.measures().exception_of(0).unwrap();
    assert_eq!(said, "TimeoutException: Topic t not present in metadata after 5000 ms.");
    assert_eq!(programs.line_of(0), Some(0), "the callback comes first: send() has not returned");
}

#[test]
fn an_exception_outside_a_send_ends_the_run_and_names_its_line() {
    let mut programs = Programs::new(experiment("flush"));
    let mut out = Vec::new();
    programs.begin(Instant(0), &mut out);
    let exception = Exception::new("TimeoutException", "no".to_string());
    programs.reply(Instant(1), 0, out[0].call, &Reply::Failed(exception), &mut Vec::new());
    let failure = &programs.measures().failures[0];
    assert_eq!((failure.client.as_str(), failure.line), ("P", Some(0)));
    assert_eq!(failure.what, "TimeoutException: no");
    assert!(programs.ended());
}

fn record(offset: i64, key: &str, value: &str) -> ConsumerRecord {
    ConsumerRecord {
        partition: TopicPartition { topic: "t".to_string(), partition: 0 },
        offset,
        timestamp: 0,
        leader_epoch: 0,
        key: Some(key.to_string().into()),
        value: Some(value.to_string().into()),
        headers: Vec::new(),
    }
}

#[test]
fn a_unique_key_leaves_one_row_of_a_record_that_came_twice() {
    let program = "poll 5 ms\nfor each record:\n  db.insert(all, {key}, {value})\n  db.insert_once(once, {key}, {value})\n  \
                   db.upsert(last, {key}, {value})\nflush";
    let mut programs = Programs::new(experiment(program));
    let mut out = Vec::new();
    programs.begin(Instant(0), &mut out);
    let records = vec![record(0, "k7", "paid"), record(1, "k8", "paid"), record(2, "k7", "again")];
    let call = out.remove(0).call;
    programs.reply(Instant(1), 0, call, &Reply::Polled { records, batches: Vec::new() }, &mut out);
    assert!(matches!(out[0].command, Command::Flush), "{out:?}");
    let tables = &programs.measures().tables;
    let row = |key: &str, value: &str| (key.to_string(), value.to_string());
    assert_eq!(tables["all"], [row("k7", "paid"), row("k8", "paid"), row("k7", "again")]);
    assert_eq!(tables["once"], [row("k7", "paid"), row("k8", "paid")]);
    assert_eq!(tables["last"], [row("k7", "again"), row("k8", "paid")]);
}

#[test]
fn for_no_record_nothing_is_run() {
    let mut programs = Programs::new(experiment("for each record:\n  db.insert(all, {key}, {value})\nflush"));
    let mut out = Vec::new();
    programs.begin(Instant(0), &mut out);
    assert!(matches!(out[0].command, Command::Flush), "{out:?}");
    assert!(programs.measures().tables["all"].is_empty());
}

#[test]
fn answers_to_raw_requests_are_kept_by_name() {
    let program = "repeat 2:\n  gap = produce_raw(t-0, {pid: 7, sequence: {i}})\nproduce_raw(t-0)";
    let mut programs = Programs::new(experiment(program));
    let mut out = Vec::new();
    programs.begin(Instant(0), &mut out);
    let answers = [
        RawAnswer::Answered { error_code: 45, base_offset: -1, record_errors: 0 },
        RawAnswer::Closed,
        RawAnswer::Silent,
    ];
    for (turn, answer) in (0..).zip(answers) {
        let Order { call, command: Command::ProduceRaw(raw), .. } = out.remove(0) else { panic!("{out:?}") };
        assert_eq!(raw.get(RawField::Sequence), (turn < 2).then_some(turn));
        programs.reply(Instant(1), 0, call, &Reply::Produced(answer), &mut out);
    }
    assert_eq!(programs.measures().answers["gap"], answers[..2]);
}

fn failed(class: &'static str) -> Reply {
    Reply::Failed(Exception::new(class, "no".to_string()))
}

/// Gives `Returned` for every send that was ordered, then its callback.
fn answer(programs: &mut Programs, orders: Vec<Order>, callback: &Reply) -> Vec<Order> {
    let mut out = Vec::new();
    for order in orders.iter().filter(|order| matches!(order.command, Command::Send(_))) {
        programs.reply(Instant(1), order.client, order.call, &Reply::Returned, &mut out);
        programs.reply(Instant(2), order.client, order.call, callback, &mut out);
    }
    out
}

#[test]
fn prints_of_program_and_callbacks_stand_in_their_order() {
    let text = "repeat 2:\n  send(t, v{i})\n    on ok: print \"{metadata} in turn {i}\"\n  print \"sent {i}\"\n  await";
    let mut programs = Programs::new(experiment(text));
    let mut out = Vec::new();
    programs.begin(Instant(0), &mut out);
    let again = answer(&mut programs, out, &acked(3));
    assert_eq!(again.len(), 1, "the second send waits for the first's callback");
    answer(&mut programs, again, &acked(4));
    let printed: Vec<&str> = programs.measures().printed.iter().map(AsRef::as_ref).collect();
    assert_eq!(printed, ["sent 0", "t-0@3 in turn 0", "sent 1", "t-0@4 in turn 1"]);
}

#[test]
fn a_record_is_sent_with_all_that_its_line_says() {
    let text = "send(t, null, v of 4 bytes, partition 7, timestamp 5, header a=b, header c=null)\nsend(t, k, null)";
    let mut programs = Programs::new(experiment(text));
    let mut out = Vec::new();
    programs.begin(Instant(0), &mut out);
    let Command::Send(record) = &out[0].command else { panic!("{out:?}") };
    assert_eq!((record.partition, record.timestamp), (Some(7), Some(5)));
    assert_eq!((record.key.as_deref(), record.value.as_deref()), (None, Some(&b"v..."[..])));
    assert_eq!(record.headers, [("a".to_string(), Some("b".into())), ("c".to_string(), None)]);
    let again = answer(&mut programs, out, &acked(0));
    let Command::Send(record) = &again[0].command else { panic!("{again:?}") };
    assert_eq!((record.key.as_deref(), record.value.as_deref()), (Some(&b"k"[..]), None));
}

#[test]
fn an_awaited_send_that_fails_ends_a_program_that_does_not_say_on_error() {
    for (line, goes_on) in [("", false), ("\n  on error: print \"{class}\"", true)] {
        let mut programs = Programs::new(experiment(&format!("await send(t, v){line}\nflush")));
        let mut out = Vec::new();
        programs.begin(Instant(0), &mut out);
        let next = answer(&mut programs, out, &failed("TimeoutException"));
        assert_eq!(next.iter().filter(|order| order.client == 0).count(), usize::from(goes_on));
        let failures = &programs.measures().failures;
        assert_eq!(failures.is_empty(), goes_on, "{failures:?}");
        assert!(failures.iter().all(|failure| failure.what == "ExecutionException: TimeoutException: no"));
    }
}

#[test]
fn what_send_itself_throws_reaches_no_callback() {
    let text = "send(t, v)\n  on error: print \"callback\"\n  on throw: print \"{class}: {message}\"\nflush";
    let mut programs = Programs::new(experiment(text));
    let (mut out, mut next) = (Vec::new(), Vec::new());
    programs.begin(Instant(0), &mut out);
    let thrown = Exception::new("IllegalStateException", "closed".to_string());
    programs.reply(Instant(1), 0, out[0].call, &Reply::Threw(thrown), &mut next);
    assert_eq!(next.len(), 1, "the program goes on");
    let measures = programs.measures();
    assert_eq!(measures.printed, ["IllegalStateException: closed".into()]);
    assert!(measures.sends[0].threw);
}

#[test]
fn a_constructor_that_throws_is_told_with_its_cause() {
    let text = "construct producer(acks=1, enable.idempotence=true)\n  on error: print \"{class} {cause}\"\n\
                construct producer(delivery.timeout.ms=1)\n  on error: print \"{message}; {cause}\"\n\
                construct consumer(bootstrap.servers=null)\n  on error: print \"{message}\"\n\
                construct producer(acks=0)\n  on ok: print \"made\"\nprint config linger.ms";
    let mut programs = Programs::new(experiment(text));
    programs.begin(Instant(0), &mut Vec::new());
    let printed: Vec<&str> = programs.measures().printed.iter().map(AsRef::as_ref).collect();
    let wanted = [
        "ConfigException ",
        "Failed to construct kafka producer; ConfigException: delivery.timeout.ms should be equal to or larger than \
         linger.ms + request.timeout.ms",
        "Missing required configuration \"bootstrap.servers\" which has no default value.",
        "made",
        "linger.ms = 5",
    ];
    assert_eq!(printed, wanted);
}

#[test]
fn what_plugins_print_is_measured_and_what_they_put_in_front_is_recognised() {
    let text = "interceptor A:\n  on send: prefix \"a-\"\ninterceptor B:\n  on send: prefix \"b-\"\n  on send: throw \"no\"\n\
                interceptor C:\n  on send: prefix \"c-\"\nsend(t, v)";
    let mut programs = Programs::new(experiment(text));
    let mut out = Vec::new();
    let configured = Reply::Printed("configured".to_string());
    programs.reply(Instant(0), 0, CallId::NONE, &configured, &mut out);
    programs.begin(Instant(0), &mut out);
    assert_eq!(programs.measures().printed, ["configured".into()]);
    assert_eq!(programs.id_of(&record(0, "k", "c-a-v")), Some(0));
    assert_eq!(programs.id_of(&record(0, "k", "v")), None);
}
