//! Messages as Kafka's own `*JsonConverter` classes print them: camel case, absent fields left out, bytes in base64,
//! records as their size. For tests and tools; nothing in the page uses it.

use std::fmt::Write;

use super::schema::{Field, Message, Struct, Type, Value};

/// The JSON of a message of `version`.
pub fn to_json<M: Message>(message: &M, version: i16) -> String {
    let mut out = String::new();
    write_struct(&mut out, message, version);
    out
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
        (Value::Float64(number), _) => write_display(out, number),
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
