//! What a program may say, and what is answered to what it may not.

use super::*;
use crate::experiment::program::Template;

fn read(text: &str) -> Result<Program, SyntaxError> {
    let names = Names { clients: vec!["AcksLab", "reader"], topics: vec![("a2.acks0", 1)] };
    parse("AcksLab", ClientKind::Producer, text, &names)
}

#[test]
fn a_program_becomes_steps_that_know_their_lines() {
    let text = "# the chapter's\nrepeat 400 every 20 ms:\n  send(a2.acks0, v{i})\n    on ok: told_ok += 1\nclose";
    let program = read(text).unwrap();
    assert_eq!(program.lines.len(), 5);
    assert_eq!(program.counters, ["told_ok"]);
    let lines: Vec<u32> = program.steps.iter().map(|step| step.line).collect();
    assert_eq!(lines, [1, 2, 1, 4]);
    assert_eq!(program.steps[0].what, What::Repeat { times: 400, every: Duration::from_ms(20), end: 2 });
    assert_eq!(program.steps[2].what, What::End { head: 0 });
}

#[test]
fn a_record_may_say_everything_that_kafkas_can() {
    let text = "send(a2.acks0, null, \"a # b\" of 9 bytes, partition 3, timestamp -5, header h=null) # that";
    let What::Send(send) = read(text).unwrap().steps.remove(0).what else { panic!("a send") };
    let value = send.value.unwrap();
    assert_eq!((send.key, send.partition, send.timestamp), (None, Some(3), Some(-5)));
    assert_eq!(
        (value.padded(value.text.0.clone()).as_str(), send.headers),
        ("a # b....", vec![("h".to_string(), None)])
    );
    let What::Send(send) = read("send(a2.acks0, partition)").unwrap().steps.remove(0).what else { panic!() };
    assert_eq!(send.value.unwrap().text.0, "partition");
}

#[test]
fn what_a_callback_is_told_is_filled_in_once() {
    let template = Template("{class}: {message} in turn {i}".to_string());
    let words = [("class", "E".to_string()), ("message", "{class}".to_string())];
    assert_eq!(template.fill(7, &words), "E: {class} in turn 7");
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_what_would_be_right() {
    let all = "expected one of repeat, send, await, print, construct, flush, close, wait, assign, seek, poll, drain, \
               for each record, db, produce_raw, on ok, on error, on throw, partitioner:, interceptor";
    let cases = [
        ("sned(a2.acks0, v)", format!("line 1, column 1: `sned` is no statement (did you mean `send`?): {all}")),
        ("send(a2.acks, v)", "line 1, column 6: there is no topic `a2.acks` (did you mean `a2.acks0`?)".into()),
        ("send(a2.acks0 v)", "line 1, column 15: expected `,`".into()),
        (
            "send(a2.acks0, )",
            "line 1, column 16: expected what to send, e.g. `v{i}`, `\"two words\"` or `null`".into(),
        ),
        (
            "send(a2.acks0, v{i})",
            "line 1, column 16: `{i}` is the turn of a repeat, and this line is in none".into(),
        ),
        ("repeat 0:", "line 1, column 8: expected how often: a number from 1 to 1000000".into()),
        ("repeat 4 every 20:\n  flush", "line 1, column 16: expected a duration, e.g. `20 ms` or `3 s`".into()),
        ("repeat 4:\nflush", "line 1, column 1: this block needs at least one indented line below it".into()),
        ("flush\n flush", "line 2, column 2: indent by two spaces for each level".into()),
        (
            "flush\n  flush",
            "line 2, column 3: only the lines below a `repeat` or `for each record` are indented".into(),
        ),
        ("flush now", "line 1, column 7: `now` is too much: expected the end of the line".into()),
        ("wait for AcksLab", "line 1, column 10: a program cannot wait for itself".into()),
        ("wait for raeder", "line 1, column 10: there is no client `raeder` (did you mean `reader`?)".into()),
        (
            "await flush",
            "line 1, column 7: only a send can be awaited: expected `send(` or the end of the line".into(),
        ),
        ("await", "line 1, column 1: there is no send before this that could be awaited".into()),
        (
            "send(a2.acks0, k, v, partitoin 3)",
            "line 1, column 22: expected `partition 3`, `timestamp 1700000000000` or `header name=value` (did you \
             mean `partition`?)"
                .into(),
        ),
        ("send(a2.acks0, v, partition 3, partition 4)", "line 1, column 32: this stands here already".into()),
        ("send(a2.acks0, v, partition 99999999999)", "line 1, column 29: expected a whole number".into()),
        (
            "send(a2.acks0, v of 0 bytes)",
            "line 1, column 21: expected a size from 1 to 8388608, e.g. `1000 bytes`".into(),
        ),
        ("send(a2.acks0, \"v)", "line 1, column 16: this text has no end: expected `\"`".into()),
        (
            "print \"{class}\"",
            "line 1, column 7: `{class}`: the only braces here are `{i}`, the turn of the repeat".into(),
        ),
        (
            "construct produser(acks=1)",
            "line 1, column 11: expected what to construct: producer, consumer or admin".into(),
        ),
        ("construct producer(acks 1)", "line 1, column 20: expected a key and its value, e.g. `acks=1`".into()),
        (
            "construct producer(acks=1)\n  on throw: told += 1",
            "line 2, column 3: this belongs right below a send, two spaces further in".into(),
        ),
        (
            "flush\n  on ok: told += 1",
            "line 2, column 3: this belongs right below a send or a construct, two spaces further in".into(),
        ),
        (
            "send(a2.acks0, v)\n  on ok: ok += 1",
            "line 2, column 10: `ok` is measured already: count in another name, e.g. `told_ok`".into(),
        ),
        (
            "assign(a2.acks0-1, earliest)",
            "line 1, column 8: there is no partition `a2.acks0-1` (did you mean `a2.acks0-0`?)".into(),
        ),
        ("seek(a2.acks0-0, start)", "line 1, column 18: expected beginning, end or an offset".into()),
        ("", "line 1, column 1: a program needs at least one line".into()),
        (
            "gap = produce_raw(a2.acks0-0, {pdi: 7})",
            "line 1, column 32: a raw request has no field `pdi` (did you mean `pid`?)".into(),
        ),
        (
            "produce_raw(a2.acks0-0, {magic: 300})",
            "line 1, column 33: expected a whole number from -128 to 127, or `{i}`".into(),
        ),
        ("produce_raw(a2.acks0-0, {crc: bad})", "line 1, column 31: expected one of right, wrong".into()),
        (
            "gap = flush",
            "line 1, column 7: only the answer of a raw request can be kept: expected `produce_raw(`".into(),
        ),
        (
            "db.insert(orders, {key}, v)",
            "line 1, column 19: a record's fields are known only below `for each record:`".into(),
        ),
        ("db.inset(orders, k, v)", "line 1, column 4: `db` has no `inset` (did you mean `insert`?)".into()),
        ("partitioner:\n  key vip: 0\nflush", "line 1, column 1: the last rule of a partitioner is for all other keys, e.g. `others: hash 0, 1`".into()),
        ("partitioner:\n  others: 0\n  key vip: 1", "line 3, column 3: no rule can follow `others`".into()),
        ("partitioner:\n  others: none", "line 2, column 11: expected a partition's number".into()),
        ("flush\npartitioner:", "line 2, column 1: this belongs above the first statement".into()),
        ("interceptor I:\n  on sned: print \"x\"", "line 2, column 3: expected `on` one of configure, send, ack, error, close (did you mean `send`?)".into()),
        ("interceptor I:\n  on ack: prefix \"x\"", "line 2, column 11: expected `print \"…\"`, `throw \"…\"`, or on send `prefix \"…\"` or `header name=value`".into()),
        ("for every record:", "line 1, column 5: expected `for each record:`".into()),
    ];
    for (text, wanted) in cases {
        assert_eq!(read(text).expect_err(text).to_string(), wanted, "{text}");
    }
}
