//! The engine hands the page numbers and words. Both sides declare what these mean, in two languages: here they are compared.

use std::collections::BTreeMap;

fn source(file: &str) -> String {
    let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What stands between the braces after `head`.
fn block<'a>(text: &'a str, head: &str) -> &'a str {
    let (_, after) = text.split_once(head).unwrap_or_else(|| panic!("no {head}"));
    let (block, _) = after.split_once("\n}").unwrap_or_else(|| panic!("{head} has no end"));
    block
}

/// The members of an enum whose numbers are written out, as both languages spell them: `Name = 3,`.
fn members(text: &str, name: &str) -> BTreeMap<String, u32> {
    let members = block(text, &format!("pub enum {name} {{")).lines().filter_map(member);
    members.collect()
}

fn member(line: &str) -> Option<(String, u32)> {
    let (name, number) = line.trim().strip_suffix(',')?.split_once(" = ")?;
    Some((name.to_owned(), number.parse().ok()?))
}

#[test]
fn marks_frames_and_records_have_the_same_numbers_in_rust_and_in_typescript() {
    let engine = source("www/src/engine.ts").replace("export enum", "pub enum");
    for (file, name) in [
        ("crate/src/view/story/marks.rs", "MarkKind"),
        ("crate/src/view/story/frames.rs", "FrameKind"),
        ("crate/src/view/story/records.rs", "RecordState"),
    ] {
        let (rust, page) = (members(&source(file), name), members(&engine, name));
        assert!(rust.len() > 4, "{name}: {rust:?}");
        assert_eq!(rust, page, "{name}");
    }
    let frames = source("crate/src/view/story/frames.rs");
    let outcomes = members(&engine, "Outcome");
    for (constant, name) in [("UNDER_WAY", "InFlight"), ("DELIVERED", "Delivered"), ("LOST", "Lost")] {
        let declared = format!("const {constant}: u8 = {};", outcomes[name]);
        assert!(frames.contains(&declared), "{declared}");
    }
}

/// Every text in double quotes, sorted.
fn quoted(text: &str) -> Vec<&str> {
    let mut quoted: Vec<&str> = text.split('"').skip(1).step_by(2).collect();
    quoted.sort_unstable();
    quoted
}

#[test]
fn the_links_of_why_and_the_actions_on_frames_have_the_same_names_in_rust_and_in_typescript() {
    let engine = source("www/src/engine.ts");
    let union = |head: &str| {
        let (_, after) = engine.split_once(head).unwrap_or_else(|| panic!("no {head}"));
        let (union, _) = after.split_once(';').unwrap_or_else(|| panic!("{head} has no end"));
        union.to_owned()
    };
    let why = source("crate/src/view/why.rs");
    assert_eq!(quoted(block(&why, "impl WhyKind {")), quoted(&union("export type WhyKind =")));
    let action = source("crate/src/sim/frame_fault.rs");
    assert_eq!(quoted(block(&action, "impl FrameAction {")), quoted(&union("export type FrameAction =")));
}
