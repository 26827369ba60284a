//! Broken and hostile bytes: typed errors, no panic, no allocation by a length that is not there.

use bytes::Bytes;
use steplog::wire::messages::metadata::{MetadataRequest, MetadataResponseTopic};
use steplog::wire::schema::ItemsMut;
use steplog::wire::tree::{Leaf, Node};
use steplog::wire::{WireErrorKind, decode};

use crate::corpus::{Frame, end_of, frames, kind, tree_of};

/// Decode and tree are two walks over one table: each must accept what the other accepts, to the same end.
fn agree(frame: &Frame, bytes: &Bytes, what: &str) {
    let read = end_of(frame, bytes);
    let (tree, error) = tree_of(frame, bytes);
    match (&read, &error) {
        (Ok(read_end), None) => {
            let end = tree.nodes.iter().map(|node| node.end).max();
            assert_eq!(end, Some(*read_end as u32), "{} {what}", frame.name);
        }
        (Err(read), Some(error)) => assert_eq!(read, error, "{} {what}", frame.name),
        (Err(error), None) | (Ok(_), Some(error)) => {
            panic!("{} {:?} {what}: one of decode and tree failed: {error}", frame.name, kind(frame))
        }
    }
}

/// All positions but those inside long record batches, which no walk looks into.
fn positions(frame: &Frame) -> Vec<usize> {
    let (tree, _) = tree_of(frame, &frame.bytes);
    let is_batch = |node: &&Node| matches!(node.value, Leaf::Records { length } if length > 16);
    let batches: Vec<_> = tree.nodes.iter().filter(is_batch).collect();
    let inside = |at: usize| batches.iter().any(|node| at > node.start as usize + 8 && at + 1 < node.end as usize);
    (0..frame.bytes.len()).filter(|at| !inside(*at)).collect()
}

#[test]
fn decode_and_tree_agree_on_flipped_bytes() {
    for frame in frames() {
        agree(&frame, &frame.bytes, "as it came");
        let positions = positions(&frame);
        // Long frames repeat themselves: a few hundred places of each are enough, and take seconds, not minutes.
        let step = positions.len() / 300 + 1;
        for at in positions.into_iter().step_by(step) {
            for flip in [0x01, 0xff] {
                let mut bytes = frame.bytes.to_vec();
                bytes[at] ^= flip;
                // A request's key and version say which message it is: others are not in the corpus.
                if at >= 4 || !frame.is_request {
                    agree(&frame, &bytes.into(), &format!("with byte {at} xor {flip:#x}"));
                }
            }
        }
    }
}

#[test]
fn a_truncated_frame_is_an_error_in_decode_and_tree() {
    for frame in frames() {
        let Ok(end) = end_of(&frame, &frame.bytes) else { continue };
        let positions = positions(&frame);
        let step = positions.len() / 300 + 1;
        for length in positions.into_iter().step_by(step).filter(|length| *length < end) {
            let bytes = frame.bytes.slice(..length);
            agree(&frame, &bytes, &format!("cut to {length} bytes"));
            assert!(end_of(&frame, &bytes).is_err(), "{} cut to {length} of {end} bytes", frame.name);
        }
    }
}

#[test]
fn the_tree_covers_every_byte_of_a_frame() {
    for frame in frames() {
        let Ok(end) = end_of(&frame, &frame.bytes) else { continue };
        let (tree, error) = tree_of(&frame, &frame.bytes);
        assert_eq!(error, None);
        let tops: Vec<_> = tree.nodes.iter().filter(|node| node.depth == 0).collect();
        assert_eq!((tops[0].start, tops[0].end), (0, tops[1].start), "{}", frame.name);
        assert_eq!(tops[1].end as usize, end, "{}", frame.name);
        // Children lie within their parent, one after the other.
        for (index, node) in tree.nodes.iter().enumerate() {
            let children = tree.nodes[index + 1..].iter().take_while(|child| child.depth > node.depth);
            let mut at = node.start;
            for child in children.filter(|child| child.depth == node.depth + 1) {
                assert!(child.start >= at && child.end <= node.end, "{}: {node:?} {child:?}", frame.name);
                at = child.end;
            }
        }
    }
}

#[test]
fn a_hostile_count_is_refused_before_anything_is_allocated() {
    let mut frame = i32::MAX.to_be_bytes().to_vec();
    frame.extend([0; 16]);
    let error = decode::<MetadataRequest>(&frame.into(), 0, 1).unwrap_err();
    assert_eq!(error.kind, WireErrorKind::CountTooLarge { count: i32::MAX as usize, left: 16 });
    assert_eq!((error.field, error.at), ("topics", 0));
}

#[test]
fn a_count_reserves_no_more_memory_than_the_frame_has_bytes() {
    let mut topics: Vec<MetadataResponseTopic> = Vec::new();
    topics.clear_for(60_000, 60_000);
    assert!(topics.capacity() * size_of::<MetadataResponseTopic>() <= 60_000 + size_of::<MetadataResponseTopic>());
    let mut numbers: Vec<i32> = Vec::new();
    numbers.clear_for(1000, 60_000);
    assert_eq!(numbers.capacity(), 1000);
}
