//! Structs into bytes, by the table.

use bytes::Bytes;

use super::decode::{ITEM, check_version};
use super::header::{RequestHeader, ResponseHeader, request_header_version, response_header_version};
use super::reader::STRING_BYTES_MAX;
use super::schema::{Field, Kind, Message, Preset, Schema, Struct, Type, UnknownTag, Value};
use super::writer::{Writer, length_u32};
use super::{WireError, WireErrorKind};
use crate::disk::Slice;

/// A request frame with its 4-byte size; the header names key and version. Record batches of some length stay pieces
/// of their own, uncopied.
pub fn encode_request<M: Message>(header: &RequestHeader, body: &M) -> Result<Vec<Slice>, WireError> {
    request_frame(header, M::SCHEMA, body)
}

/// A response frame with its 4-byte size.
pub fn encode_response<M: Message>(version: i16, correlation_id: i32, body: &M) -> Result<Vec<Slice>, WireError> {
    response_frame(version, correlation_id, M::SCHEMA, body)
}

/// A message alone, without header and size: what stands in records.
pub fn encode<M: Message>(message: &M, version: i16) -> Result<Bytes, WireError> {
    let mut writer = Writer::new(version, M::SCHEMA.is_flexible(version));
    encode_into(&mut writer, message)?;
    writer.into_bytes()
}

// From here on nothing is generic, so that it is there once and not for every message.

fn request_frame(header: &RequestHeader, schema: &Schema, body: &dyn Struct) -> Result<Vec<Slice>, WireError> {
    let (key, version) = (header.request_api_key, header.request_api_version);
    if schema.kind != Kind::Request(key) {
        return Err(WireError::new(0, WireErrorKind::UnknownMessage { key }));
    }
    check_version(schema, version)?;
    let header_version = request_header_version(schema.is_flexible(version));
    frame((header, RequestHeader::SCHEMA, header_version), (body, schema, version))
}

fn response_frame(
    version: i16,
    correlation_id: i32,
    schema: &Schema,
    body: &dyn Struct,
) -> Result<Vec<Slice>, WireError> {
    check_version(schema, version)?;
    let header = ResponseHeader { correlation_id, ..Default::default() };
    let header_version = response_header_version(schema.kind.key(), schema.is_flexible(version));
    frame((&header, ResponseHeader::SCHEMA, header_version), (body, schema, version))
}

/// A struct, its schema, and the version in which it is to be written.
type Versioned<'a> = (&'a dyn Struct, &'a Schema, i16);

fn frame(header: Versioned<'_>, body: Versioned<'_>) -> Result<Vec<Slice>, WireError> {
    let (_, schema, version) = header;
    let mut writer = Writer::new(version, schema.is_flexible(version));
    writer.open_frame();
    for (message, schema, version) in [header, body] {
        writer.version = version;
        writer.flexible = schema.is_flexible(version);
        write_struct(&mut writer, message)?;
    }
    writer.close_frame()
}

/// Writes into a writer that has something before the message.
pub(super) fn encode_into<M: Message>(writer: &mut Writer, message: &M) -> Result<(), WireError> {
    check_version(M::SCHEMA, writer.version)?;
    write_struct(writer, message)
}

fn write_struct(writer: &mut Writer, source: &dyn Struct) -> Result<(), WireError> {
    let table = source.table();
    let mut tagged = 0;
    for (index, field) in table.fields.iter().enumerate() {
        let Some(value) = source.value(index) else { continue };
        if !field.is_in(writer.version) {
            if !field.ignorable && !is_preset(field.preset, &value) {
                let kind = WireErrorKind::NotInVersion { version: writer.version };
                return Err(WireError::new(0, kind).in_field(field.name));
            }
        } else if field.tag.is_none() {
            write_value(writer, field, &field.ty, &value).map_err(|error| error.in_field(field.name))?;
        } else if !is_preset(field.preset, &value) {
            tagged += 1;
        }
    }
    let unknown = source.unknown_tags().as_slice();
    if writer.flexible {
        write_tags(writer, source, tagged, unknown)
    } else if unknown.is_empty() {
        Ok(())
    } else {
        let kind = WireErrorKind::NotInVersion { version: writer.version };
        Err(WireError::new(0, kind).in_field("unknown_tags"))
    }
}

/// The tagged section: known fields that differ from their default, and unknown ones, by ascending tag.
fn write_tags(
    writer: &mut Writer,
    source: &dyn Struct,
    tagged: u32,
    mut unknown: &[UnknownTag],
) -> Result<(), WireError> {
    writer.unsigned_varint(tagged + length_u32(unknown.len() as u64)?);
    let mut last: Option<u32> = None;
    // Tables list tagged fields in any order, so each step looks for the lowest tag above the last one written.
    for _ in 0..tagged {
        let next = lowest_tag_above(writer.version, source, last);
        let Some((index, field, tag)) = next else { break };
        unknown = write_unknown(writer, unknown, Some(tag), &mut last)?;
        if let Some(value) = source.value(index) {
            let start = writer.open_tag();
            write_value(writer, field, &field.ty, &value).map_err(|error| error.in_field(field.name))?;
            writer.close_tag(start, tag)?;
        }
        last = Some(tag);
    }
    write_unknown(writer, unknown, None, &mut last).map(|_| ())
}

fn lowest_tag_above(version: i16, source: &dyn Struct, last: Option<u32>) -> Option<(usize, &'static Field, u32)> {
    let fields = source.table().fields.iter().enumerate();
    fields
        .filter_map(|(index, field)| Some((index, field, field.tag?)))
        .filter(|(index, field, tag)| {
            last.is_none_or(|last| *tag > last)
                && field.is_in(version)
                && source.value(*index).is_some_and(|value| !is_preset(field.preset, &value))
        })
        .min_by_key(|(_, _, tag)| *tag)
}

/// Writes unknown tags below `limit` and gives back the rest.
fn write_unknown<'a>(
    writer: &mut Writer,
    mut unknown: &'a [UnknownTag],
    limit: Option<u32>,
    last: &mut Option<u32>,
) -> Result<&'a [UnknownTag], WireError> {
    while let Some((first, rest)) = unknown.split_first() {
        if limit.is_some_and(|limit| first.tag > limit) {
            break;
        }
        if limit == Some(first.tag) || last.is_some_and(|last| first.tag <= last) {
            return Err(WireError::new(0, WireErrorKind::TagOrder { tag: first.tag }));
        }
        let start = writer.open_tag();
        writer.put(&first.bytes);
        writer.close_tag(start, first.tag)?;
        *last = Some(first.tag);
        unknown = rest;
    }
    Ok(unknown)
}

fn write_value(writer: &mut Writer, field: &Field, ty: &Type, value: &Value<'_>) -> Result<(), WireError> {
    match (value, ty) {
        (Value::Null, _) => return write_null(writer, field, ty),
        (Value::Int(number), Type::Bool | Type::Int8) => writer.put(&(*number as i8).to_be_bytes()),
        (Value::Int(number), Type::Int16 | Type::Uint16) => writer.put(&(*number as i16).to_be_bytes()),
        (Value::Int(number), Type::Int32 | Type::Uint32) => writer.put(&(*number as i32).to_be_bytes()),
        (Value::Int(number), _) => writer.put(&number.to_be_bytes()),
        (Value::Float64(number), _) => writer.put(&number.to_be_bytes()),
        (Value::Uuid(id), _) => writer.put(&id.0),
        (Value::String(text), _) => {
            if text.len() > STRING_BYTES_MAX {
                return Err(WireError::new(0, WireErrorKind::StringTooLong { length: text.len() }));
            }
            write_length(writer, field, ty, text.len() as u64)?;
            writer.put(text.as_bytes());
        }
        (Value::Bytes(bytes), _) => {
            write_length(writer, field, ty, bytes.len() as u64)?;
            writer.put(bytes);
        }
        (Value::Records(slice), _) => {
            write_length(writer, field, ty, slice.size_in_bytes())?;
            writer.foreign(slice);
        }
        (Value::Array(items), Type::Array(item)) => {
            write_length(writer, field, ty, items.count() as u64)?;
            for index in 0..items.count() {
                if let Some(value) = items.item(index) {
                    write_value(writer, &ITEM, item, &value)?;
                }
            }
        }
        (Value::Array(_), _) => {}
        (Value::Struct(source), _) => {
            if field.may_be_null(writer.version) {
                writer.put(&[1]);
            }
            write_struct(writer, *source)?;
        }
    }
    Ok(())
}

fn write_length(writer: &mut Writer, field: &Field, ty: &Type, length: u64) -> Result<(), WireError> {
    let length = length_u32(length)?;
    if writer.flexible && !field.old_encoding {
        writer.unsigned_varint(length + 1);
    } else if matches!(ty, Type::String) {
        // At most 32767, which the caller has checked.
        writer.put(&(length as i16).to_be_bytes());
    } else {
        writer.put(&length.to_be_bytes());
    }
    Ok(())
}

fn write_null(writer: &mut Writer, field: &Field, ty: &Type) -> Result<(), WireError> {
    if !field.may_be_null(writer.version) {
        return Err(WireError::new(0, WireErrorKind::Null));
    }
    match ty {
        Type::Struct(_) => writer.put(&(-1i8).to_be_bytes()),
        _ if writer.flexible && !field.old_encoding => writer.unsigned_varint(0),
        Type::String => writer.put(&(-1i16).to_be_bytes()),
        _ => writer.put(&(-1i32).to_be_bytes()),
    }
    Ok(())
}

/// Whether a field holds its default.
pub(super) fn is_preset(preset: Preset, value: &Value<'_>) -> bool {
    match (preset, value) {
        (Preset::Null, Value::Null) => true,
        (Preset::Null, _) | (_, Value::Null) => false,
        (Preset::Int(default), Value::Int(number)) => default == *number,
        (_, Value::Int(number)) => *number == 0,
        (_, Value::Float64(number)) => *number == 0.0,
        (_, Value::Uuid(id)) => id.is_zero(),
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Bytes(bytes)) => bytes.is_empty(),
        (_, Value::Records(slice)) => slice.size_in_bytes() == 0,
        (_, Value::Array(items)) => items.count() == 0,
        (_, Value::Struct(source)) => {
            let mut fields = source.table().fields.iter().enumerate();
            source.unknown_tags().as_slice().is_empty()
                && fields.all(|(index, field)| source.value(index).is_none_or(|value| is_preset(field.preset, &value)))
        }
    }
}
