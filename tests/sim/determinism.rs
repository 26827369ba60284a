use bytes::Bytes;
use steplog::disk::Slice;
use steplog::node::*;
use steplog::sim::*;

use crate::toy::*;

/// An outage under load, with jitter and random notes.
fn busy(seed: u64) -> Lab {
    let server = Server { noisy: true, every: Some(Duration(3_000)), ..Server::default() };
    let mut lab = Lab::seeded(seed, server, LinkSpec::default());
    for n in 0..100u64 {
        lab.send_at(10_000 + 2_000 * n, format!("record {n}").as_bytes());
    }
    lab.fault_at(100_000, Fault::Die { process: lab.server, dying: Duration(20_000) });
    lab.fault_at(130_000, Fault::Start { process: lab.server, boot: Duration(5_000) });
    lab
}

fn finish(mut world: World<Toy>) -> (TraceHash, u64) {
    while world.step_until(Instant(300_000), &mut NoTrace).is_some() {}
    (world.trace_hash(), world.state_hash())
}

fn hash_of(events: &[Event]) -> TraceHash {
    let mut hash = TraceHash::default();
    for event in events {
        hash.event(event);
    }
    hash
}

#[test]
fn one_seed_gives_one_trace() {
    let (mut one, mut other) = (busy(7), busy(7));
    let (events, again) = (one.run_until(300_000), other.run_until(300_000));
    assert!(events.len() > 500);
    assert_eq!(events, again);
    assert_eq!(one.world.trace_hash(), other.world.trace_hash());
}

#[test]
fn another_seed_gives_another_trace() {
    assert_ne!(finish(busy(7).world).0, finish(busy(8).world).0);
}

#[test]
fn whether_a_trace_is_kept_changes_nothing() {
    let mut kept = busy(7);
    kept.run_until(300_000);
    assert_eq!((kept.world.trace_hash(), kept.world.state_hash()), finish(busy(7).world));
}

#[test]
fn a_clone_goes_the_same_way_wherever_it_is_taken() {
    let mut lab = busy(7);
    let expected = finish(lab.world.clone());
    let mut steps = 0u64;
    while lab.world.step_until(Instant(300_000), &mut NoTrace).is_some() {
        steps += 1;
        if steps.is_multiple_of(37) {
            assert_eq!(finish(lab.world.clone()), expected, "cloned after {steps} steps");
        }
    }
    assert!(steps > 500);
}

#[test]
fn the_hash_can_be_computed_again_from_the_recorded_events() {
    let mut lab = busy(7);
    let events = lab.run_until(300_000);
    assert_eq!(hash_of(&events), lab.world.trace_hash());
}

#[test]
fn one_flipped_byte_of_any_frame_changes_the_hash() {
    let mut lab = busy(7);
    let mut events = lab.run_until(60_000);
    let expected = hash_of(&events);
    let flip = |bytes: &Bytes, at: usize| {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 1;
        Bytes::from(flipped)
    };
    let mut flipped = 0;
    for index in 0..events.len() {
        let original = events[index].clone();
        let What::Handled { process, input, effects } = &original.what else { continue };
        let mut variants = Vec::new();
        if let Input::Bytes { conn, bytes } = input {
            for at in 0..bytes.len() {
                let input = Input::Bytes { conn: *conn, bytes: flip(bytes, at) };
                variants.push(What::Handled { process: *process, input, effects: effects.clone() });
            }
        }
        for (number, effect) in effects.iter().enumerate() {
            let EffectKind::Send { conn, chunks } = &effect.kind else { continue };
            let [Slice::Bytes(bytes)] = &chunks[..] else { continue };
            for at in 0..bytes.len() {
                let mut effects = effects.clone();
                effects[number].kind = EffectKind::Send { conn: *conn, chunks: vec![Slice::Bytes(flip(bytes, at))] };
                variants.push(What::Handled { process: *process, input: input.clone(), effects });
            }
        }
        for what in variants {
            events[index].what = what;
            assert_ne!(hash_of(&events), expected);
            flipped += 1;
        }
        events[index] = original;
    }
    assert!(flipped > 1_000, "{flipped} bytes were flipped");
}

#[test]
fn a_changed_note_an_instant_and_a_cause_each_change_the_hash() {
    let mut lab = busy(7);
    let events = lab.run_until(60_000);
    let expected = hash_of(&events);
    let changed = |change: &dyn Fn(&mut Event)| {
        let mut events = events.clone();
        let noted = |event: &Event| event.effects().iter().any(|it| matches!(it.kind, EffectKind::Note(_)));
        let index = events.iter().position(noted).expect("a note");
        change(&mut events[index]);
        hash_of(&events)
    };
    assert_ne!(changed(&|event| event.at += Duration(1)), expected);
    assert_ne!(changed(&|event| event.cause = None), expected);
    let other_note = changed(&|event| {
        let What::Handled { effects, .. } = &mut event.what else { return };
        for effect in effects {
            if let EffectKind::Note(Note::Serving { broker_epoch }) = &mut effect.kind {
                *broker_epoch += 1;
            }
        }
    });
    assert_ne!(other_note, expected);
    assert_eq!(changed(&|_| {}), expected);
}

#[test]
fn a_process_more_changes_nothing_for_the_others() {
    let mut lab = busy(7);
    let expected = lab.run_until(300_000).len();
    let mut more = busy(7);
    more.world.add(ProcessSpec::named("bystander"), Toy::client());
    assert_eq!(more.run_until(300_000).len(), expected);
    assert_eq!(more.world.trace_hash(), lab.world.trace_hash());
}
