//! Messages as Kafka's own `*JsonConverter` classes print them: camel case, absent fields left out, bytes in base64,
//! records as their size. For tests and tools; nothing in the page uses it.
//!
//! In: a message, or any frame with its tree, of which no message need be built. Out: JSON in one line.

use std::fmt::Write;

use bytes::Bytes;

use super::decode::ITEM;
use super::messages;
use super::schema::{Field, Kind, Message, Preset, Struct, Table, Type, Value};
use super::tree::{Label, Leaf, Node, Tree};
use super::{RequestHeader, ResponseHeader};

/// The JSON of a message of `version`.
pub fn to_json<M: Message>(message: &M, version: i16) -> String {
    let mut out = String::new();
    write_struct(&mut out, message, version);
    out
}

/// The JSON of header and body of a frame that was read whole into `tree`: a request's or a response's, as `kind` says.
pub fn frame_to_json(frame: &Bytes, tree: &Tree, kind: Kind) -> String {
    let header = match kind {
        Kind::Response(_) => ResponseHeader::SCHEMA,
        _ => RequestHeader::SCHEMA,
    };
    let mut walk = Walk { frame, nodes: &tree.nodes, at: 0, out: String::new() };
    walk.out.push('{');
    for (name, schema) in [("header", Some(header)), ("body", messages::schema(kind))] {
        let Some(schema) = schema else { continue };
        walk.name(name);
        walk.at += 1;
        walk.object(1, schema.root);
    }
    walk.out.push('}');
    walk.out
}

/// Walks a tree's nodes, each after what it stands in, beside the tables that they were read by.
struct Walk<'a> {
    frame: &'a Bytes,
    nodes: &'a [Node],
    at: usize,
    out: String,
}

impl<'a> Walk<'a> {
    /// The next node, if it stands this deep.
    fn next(&mut self, depth: u8) -> Option<&'a Node> {
        let node = self.nodes.get(self.at).filter(|node| node.depth == depth)?;
        self.at += 1;
        Some(node)
    }

    /// Begins a member of an object.
    fn name(&mut self, name: &str) {
        if !self.out.ends_with('{') {
            self.out.push(',');
        }
        write_string(&mut self.out, name);
        self.out.push(':');
    }

    /// An object of the fields at this depth; whether each has its default.
    fn object(&mut self, depth: u8, table: &'static Table) -> bool {
        self.out.push('{');
        let is_preset = self.fields(depth, table);
        self.out.push('}');
        is_preset
    }

    fn fields(&mut self, depth: u8, table: &'static Table) -> bool {
        let mut are_preset = true;
        while let Some(node) = self.next(depth) {
            match node.label {
                Label::TaggedFields => are_preset &= self.fields(depth + 1, table),
                Label::Field(name) => {
                    let Some(field) = table.fields.iter().find(|field| field.name == name) else { continue };
                    let before = self.out.len();
                    self.name(&camel_case(field));
                    let is_preset = self.value(node, field, &field.ty);
                    if is_preset && field.tag.is_some() {
                        self.out.truncate(before);
                    }
                    are_preset &= is_preset;
                }
                // Kafka's converters know no unknown fields; these are bytes, so nothing stands below them.
                _ => are_preset = false,
            }
        }
        are_preset
    }

    /// The value of `node`, which was taken, and all below it; whether that is the field's default.
    fn value(&mut self, node: &'a Node, field: &'static Field, ty: &'static Type) -> bool {
        let out = &mut self.out;
        match &node.value {
            Leaf::Struct => {
                if let Type::Struct(table) = ty {
                    return self.object(node.depth + 1, table);
                }
            }
            Leaf::Array(count) => {
                let Type::Array(item) = ty else { return false };
                out.push('[');
                while let Some(node) = self.next(node.depth + 1) {
                    if node.label != Label::Item(0) {
                        self.out.push(',');
                    }
                    self.value(node, &ITEM, item);
                }
                self.out.push(']');
                return *count == 0 && matches!(field.preset, Preset::Zero | Preset::Empty);
            }
            Leaf::Null => {
                out.push_str(if matches!(ty, Type::Records) { "0" } else { "null" });
                return field.preset == Preset::Null;
            }
            Leaf::Bool(truth) => {
                write_display(out, truth);
                return field.preset == if *truth { Preset::Int(1) } else { Preset::Zero };
            }
            Leaf::Int(number) => {
                write_display(out, number);
                return matches!((field.preset, number), (Preset::Zero, 0)) || field.preset == Preset::Int(*number);
            }
            Leaf::Float64(number) => write_float(out, *number),
            Leaf::Uuid(id) => {
                write_string(out, &id.to_string());
                return *id == super::Uuid::ZERO;
            }
            Leaf::Text(text) => {
                write_string(out, text);
                return text.is_empty() && matches!(field.preset, Preset::Zero | Preset::Empty);
            }
            Leaf::Bytes { length } => {
                let end = node.end as usize;
                let bytes = self.frame.get(end.saturating_sub(*length as usize)..end).unwrap_or_default();
                write_base64(out, bytes);
                return bytes.is_empty() && matches!(field.preset, Preset::Zero | Preset::Empty);
            }
            Leaf::Records { length } => write_display(out, length),
        }
        false
    }
}

fn write_struct(out: &mut String, source: &dyn Struct, version: i16) {
    out.push('{');
    let mut is_first = true;
    for (index, field) in source.table().fields.iter().enumerate() {
        let Some(value) = source.value(index) else { continue };
        let is_left_out = field.tag.is_some() && super::encode::is_preset(field.preset, &value);
        if !field.is_in(version) || is_left_out {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            out.push(',');
        }
        write_string(out, &camel_case(field));
        out.push(':');
        write_value(out, &field.ty, &value, version);
    }
    out.push('}');
}

/// Kafka's name of a field: `topic_id` is `topicId`. Records are printed as their size, under a name that says so.
fn camel_case(field: &Field) -> String {
    let mut name = String::new();
    let mut is_upper = false;
    for character in field.name.chars() {
        if character == '_' {
            is_upper = true;
        } else if std::mem::take(&mut is_upper) {
            name.extend(character.to_uppercase());
        } else {
            name.push(character);
        }
    }
    if matches!(field.ty, Type::Records) {
        name.push_str("SizeInBytes");
    }
    name
}

fn write_value(out: &mut String, ty: &Type, value: &Value<'_>, version: i16) {
    match (value, ty) {
        (Value::Null, Type::Records) => out.push('0'),
        (Value::Null, _) => out.push_str("null"),
        (Value::Int(number), Type::Bool) => out.push_str(if *number == 0 { "false" } else { "true" }),
        (Value::Int(number), _) => write_display(out, number),
        (Value::Float64(number), _) => write_float(out, *number),
        (Value::Uuid(id), _) => write_string(out, &id.to_string()),
        (Value::String(text), _) => write_string(out, text),
        (Value::Bytes(bytes), _) => write_base64(out, bytes),
        (Value::Records(slice), _) => write_display(out, &slice.size_in_bytes()),
        (Value::Array(items), Type::Array(item)) => {
            out.push('[');
            for index in 0..items.count() {
                if index > 0 {
                    out.push(',');
                }
                if let Some(value) = items.item(index) {
                    write_value(out, item, &value, version);
                }
            }
            out.push(']');
        }
        (Value::Array(_), _) => {}
        (Value::Struct(source), _) => write_struct(out, *source, version),
    }
}

/// As Java prints them: a whole number has its ".0".
fn write_float(out: &mut String, number: f64) {
    write_display(out, &format_args!("{number:?}"));
}

fn write_display(out: &mut String, value: &dyn std::fmt::Display) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Standard base64 with padding, as Jackson writes binary nodes.
fn write_base64(out: &mut String, bytes: &[u8]) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.push('"');
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let character = ALPHABET[(bits >> (18 - 6 * i) & 63) as usize];
            out.push(if i > chunk.len() { '=' } else { character as char });
        }
    }
    out.push('"');
}
