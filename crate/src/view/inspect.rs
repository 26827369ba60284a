//! Bytes beside their fields: a frame from its size prefix to the last record, or a segment batch by batch.

use bytes::Bytes;

use super::{FrameKind, FrameRow};
use crate::record::{Batch, Batches, CompressionType, read_varint, read_varlong};
use crate::wire::tree::{Label, Leaf, Node, Tree};
use crate::wire::{self, ApiKey};

/// A field and where it is in the bytes; a parent stands before its children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub value: String,
    pub start: usize,
    pub end: usize,
    pub depth: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected {
    pub bytes: Bytes,
    pub fields: Vec<Field>,
}

/// The size prefix, which the wire's trees do not count.
const SIZE: usize = 4;

/// The header of a batch, field by field: name, offset, length.
pub const BATCH_HEADER: [(&str, usize, usize); 13] = [
    ("base_offset", 0, 8),
    ("batch_length", 8, 4),
    ("partition_leader_epoch", 12, 4),
    ("magic", 16, 1),
    ("crc", 17, 4),
    ("attributes", 21, 2),
    ("last_offset_delta", 23, 4),
    ("base_timestamp", 27, 8),
    ("max_timestamp", 35, 8),
    ("producer_id", 43, 8),
    ("producer_epoch", 51, 2),
    ("base_sequence", 53, 4),
    ("record_count", 57, 4),
];
const BATCH_OVERHEAD: usize = 61;

pub(super) fn frame(bytes: Bytes, row: &FrameRow) -> Inspected {
    let body = bytes.slice(SIZE.min(bytes.len())..);
    let (tree, _) = match row.kind {
        FrameKind::Response => wire::tree::response(&body, ApiKey(row.api_key), row.api_version),
        _ => wire::tree::request(&body),
    };
    let mut fields = vec![Field {
        name: "size".to_owned(),
        value: body.len().to_string(),
        start: 0,
        end: SIZE.min(bytes.len()),
        depth: 0,
    }];
    add_tree(&mut fields, &bytes, &tree, SIZE);
    Inspected { bytes, fields }
}

pub(super) fn segment(bytes: Bytes) -> Inspected {
    let mut fields = Vec::new();
    add_batches(&mut fields, &bytes, 0, bytes.len(), 0);
    Inspected { bytes, fields }
}

/// The fields of a frame without its size prefix, as far as `tree` was read, and of the batches in it.
pub fn frame_fields(frame: &Bytes, tree: &Tree) -> Vec<Field> {
    let mut fields = Vec::new();
    add_tree(&mut fields, frame, tree, 0);
    fields
}

/// Adds a tree's fields, which begin `from` bytes after the first of `bytes`.
fn add_tree(fields: &mut Vec<Field>, bytes: &Bytes, tree: &Tree, from: usize) {
    for node in &tree.nodes {
        let (start, end) = (from + node.start as usize, from + node.end as usize);
        fields.push(Field { name: name(node.label), value: value(node), start, end, depth: node.depth });
        if let Leaf::Records { length } = node.value {
            add_batches(fields, bytes, end.saturating_sub(length as usize), end, node.depth + 1);
        }
    }
}

fn name(label: Label) -> String {
    match label {
        Label::Header => "header".to_owned(),
        Label::Body => "body".to_owned(),
        Label::Field(name) => name.to_owned(),
        Label::Item(index) => format!("[{index}]"),
        Label::TaggedFields => "tagged_fields".to_owned(),
        Label::UnknownTag(tag) => format!("tag {tag}"),
    }
}

fn value(node: &Node) -> String {
    match &node.value {
        Leaf::Struct => String::new(),
        Leaf::Array(count) => format!("[{count}]"),
        Leaf::Null => "null".to_owned(),
        Leaf::Bool(value) => value.to_string(),
        Leaf::Int(value) => value.to_string(),
        // Only quota messages hold one, as bits they are at least exact.
        Leaf::Float64(value) => format!("0x{:016x}", value.to_bits()),
        Leaf::Uuid(value) => value.to_string(),
        Leaf::Text(value) => format!("\"{value}\""),
        Leaf::Bytes { length } | Leaf::Records { length } => format!("{length} B"),
    }
}

/// The batches in a range of the bytes, as far as they are whole.
fn add_batches(fields: &mut Vec<Field>, bytes: &Bytes, start: usize, end: usize, depth: u8) {
    let mut at = start;
    for batch in Batches::new(bytes.slice(start.min(end)..end.min(bytes.len()))) {
        let Ok(batch) = batch else { return };
        let size = batch.size_in_bytes() as usize;
        add_batch(fields, &batch, at, depth);
        at += size;
    }
}

fn add_batch(fields: &mut Vec<Field>, batch: &Batch<Bytes>, at: usize, depth: u8) {
    let bytes = batch.bytes();
    let crc = if batch.is_crc_valid() { "CRC ok" } else { "CRC wrong" };
    fields.push(Field {
        name: "batch".to_owned(),
        value: format!("{} B, {crc}", bytes.len()),
        start: at,
        end: at + bytes.len(),
        depth,
    });
    for (name, offset, length) in BATCH_HEADER {
        let Some(raw) = bytes.get(offset..offset + length) else { return };
        fields.push(Field {
            name: name.to_owned(),
            value: if name == "crc" { batch.crc().to_string() } else { signed(raw).to_string() },
            start: at + offset,
            end: at + offset + length,
            depth: depth + 1,
        });
    }
    // Packed records have no fields of their own until they are unpacked.
    if batch.compression_type() != CompressionType::None {
        fields.push(Field {
            name: "records".to_owned(),
            value: format!("{}, {} B", batch.compression_type().name(), batch.packed_records().len()),
            start: at + bytes.len() - batch.packed_records().len(),
            end: at + bytes.len(),
            depth: depth + 1,
        });
        return;
    }
    let mut rest = bytes.get(BATCH_OVERHEAD..).unwrap_or_default();
    for index in 0..batch.record_count() {
        let start = at + bytes.len() - rest.len();
        if add_record(fields, &mut rest, start, index, depth + 1).is_none() {
            return;
        }
    }
}

fn signed(bytes: &[u8]) -> i64 {
    let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
    bytes.iter().fold(if negative { -1 } else { 0 }, |value: i64, byte| value << 8 | i64::from(*byte))
}

/// Reads the fields of one record, each varint with the bytes that it takes.
struct Fields<'a, 'f> {
    rest: &'a [u8],
    at: usize,
    depth: u8,
    fields: &'f mut Vec<Field>,
}

impl<'a> Fields<'a, '_> {
    fn push(&mut self, name: &str, value: String, left: usize) {
        let end = self.at + left - self.rest.len();
        self.fields.push(Field { name: name.to_owned(), value, start: self.at, end, depth: self.depth });
        self.at = end;
    }

    fn varint(&mut self, name: &str) -> Option<i32> {
        let left = self.rest.len();
        let value = read_varint(&mut self.rest)?;
        self.push(name, value.to_string(), left);
        Some(value)
    }

    fn varlong(&mut self, name: &str) -> Option<i64> {
        let left = self.rest.len();
        let value = read_varlong(&mut self.rest)?;
        self.push(name, value.to_string(), left);
        Some(value)
    }

    /// A length and as many bytes; −1 is null.
    fn data(&mut self, length: &str, name: &str) -> Option<()> {
        let Ok(size) = usize::try_from(self.varint(length)?) else { return Some(()) };
        let (data, rest) = self.rest.split_at_checked(size)?;
        let left = self.rest.len();
        self.rest = rest;
        self.push(name, text(data), left);
        Some(())
    }
}

fn add_record(fields: &mut Vec<Field>, rest: &mut &[u8], start: usize, index: i32, depth: u8) -> Option<()> {
    let left = rest.len();
    let mut head = *rest;
    let length = usize::try_from(read_varint(&mut head)?).ok()?;
    let size = left - head.len() + length;
    let (record, after) = rest.split_at_checked(size)?;
    *rest = after;
    let name = format!("record [{index}]");
    fields.push(Field { name, value: format!("{size} B"), start, end: start + size, depth });
    let mut reader = Fields { rest: record, at: start, depth: depth + 1, fields };
    reader.varint("length")?;
    let left = reader.rest.len();
    let (attributes, rest) = reader.rest.split_first()?;
    reader.rest = rest;
    reader.push("attributes", attributes.to_string(), left);
    reader.varlong("timestamp_delta")?;
    reader.varint("offset_delta")?;
    reader.data("key_length", "key")?;
    reader.data("value_length", "value")?;
    for _ in 0..reader.varint("headers_count")? {
        reader.data("header_key_length", "header_key")?;
        reader.data("header_value_length", "header_value")?;
    }
    Some(())
}

/// Text in quotes, or hex where it is none.
fn text(data: &[u8]) -> String {
    match std::str::from_utf8(data) {
        Ok(text) if !text.chars().any(char::is_control) => format!("\"{text}\""),
        _ => data.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
