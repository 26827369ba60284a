//! Bytes into structs, by the table.

use bytes::Bytes;

use super::reader::Reader;
use super::schema::{Field, Message, Schema, Slot, Struct, Type, UnknownTag};
use super::{WireError, WireErrorKind};
use crate::disk;

/// Reads a message body of `version` that starts at `at`. Bytes after it are ignored, as Kafka ignores them.
pub fn decode<M: Message>(frame: &Bytes, at: usize, version: i16) -> Result<M, WireError> {
    decode_prefix(frame, at, version).map(|(message, _)| message)
}

/// Like [`decode`]; also says where the message ends.
pub fn decode_prefix<M: Message>(frame: &Bytes, at: usize, version: i16) -> Result<(M, usize), WireError> {
    let mut message = M::default();
    let end = read_message(frame, at, version, M::SCHEMA, &mut message)?;
    Ok((message, end))
}

/// What is the same for every message, so that it is there once.
fn read_message(
    frame: &Bytes,
    at: usize,
    version: i16,
    schema: &Schema,
    target: &mut dyn Struct,
) -> Result<usize, WireError> {
    check_version(schema, version)?;
    let mut reader = Reader::new(frame, at, version, schema.is_flexible(version));
    read_struct(&mut reader, target)?;
    Ok(reader.position)
}

pub(super) fn check_version(schema: &Schema, version: i16) -> Result<(), WireError> {
    let (min, max) = (schema.first_version, schema.last_version);
    if (min..=max).contains(&version) {
        return Ok(());
    }
    Err(WireError::new(0, WireErrorKind::UnsupportedVersion { key: schema.kind.key(), version, min, max }))
}

fn read_struct(reader: &mut Reader<'_>, target: &mut dyn Struct) -> Result<(), WireError> {
    let table = target.table();
    for (index, field) in table.fields.iter().enumerate() {
        if field.tag.is_none() && field.is_in(reader.version) {
            read_field(reader, field, target, index)?;
        }
    }
    if reader.flexible { read_tags(reader, target) } else { Ok(()) }
}

fn read_field(
    reader: &mut Reader<'_>,
    field: &'static Field,
    target: &mut dyn Struct,
    index: usize,
) -> Result<(), WireError> {
    match target.slot(index) {
        Some(slot) => read_value(reader, field, &field.ty, slot).map_err(|error| error.in_field(field.name)),
        None => Ok(()),
    }
}

fn read_value(reader: &mut Reader<'_>, field: &'static Field, ty: &Type, slot: Slot<'_>) -> Result<(), WireError> {
    match slot {
        Slot::Bool(place) => *place = reader.array::<1>()? != [0],
        Slot::Int8(place) => *place = i8::from_be_bytes(reader.array()?),
        Slot::Int16(place) => *place = i16::from_be_bytes(reader.array()?),
        Slot::Uint16(place) => *place = u16::from_be_bytes(reader.array()?),
        Slot::Int32(place) => *place = i32::from_be_bytes(reader.array()?),
        Slot::Uint32(place) => *place = u32::from_be_bytes(reader.array()?),
        Slot::Int64(place) => *place = i64::from_be_bytes(reader.array()?),
        Slot::Float64(place) => *place = f64::from_be_bytes(reader.array()?),
        Slot::Uuid(place) => place.0 = reader.array()?,
        Slot::Struct(place) => read_struct(reader, place)?,
        Slot::Option(place) => {
            // Only structs say their presence with a byte; all others by their length.
            if matches!(ty, Type::Struct(_)) {
                if reader.presence(field)? {
                    read_value(reader, field, ty, place.set_present())?;
                } else {
                    place.set_null();
                }
            } else {
                match reader.length_or_count(field, ty)? {
                    Some(length) => read_sized(reader, ty, place.set_present(), length)?,
                    None => place.set_null(),
                }
            }
        }
        sized => {
            // A field that is no `Option` is never null, so `None` cannot come.
            let length = reader.length_or_count(field, ty)?.unwrap_or_default();
            read_sized(reader, ty, sized, length)?;
        }
    }
    Ok(())
}

fn read_sized(reader: &mut Reader<'_>, ty: &Type, slot: Slot<'_>, length: usize) -> Result<(), WireError> {
    match (slot, ty) {
        (Slot::String(place), _) => *place = reader.text(length)?,
        (Slot::Bytes(place), _) => *place = reader.bytes(length)?,
        (Slot::Records(place), _) => *place = disk::Slice::Bytes(reader.bytes(length)?),
        (Slot::Array(items), Type::Array(item)) => {
            items.clear_for(length, reader.left());
            for _ in 0..length {
                if let Some(slot) = items.push() {
                    read_value(reader, &ITEM, item, slot)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Elements of arrays have no attributes of their own: no Kafka schema has arrays of nullable elements.
pub(super) static ITEM: Field = Field::new("", Type::Bool, false, super::schema::Preset::Zero);

fn read_tags(reader: &mut Reader<'_>, target: &mut dyn Struct) -> Result<(), WireError> {
    let table = target.table();
    // A mask of the known tags seen; no Kafka schema has a tag above 63.
    let mut seen = 0u64;
    // Kafka's count is a Java int: a "negative" one means no tagged fields.
    let count = reader.unsigned_varint()? as i32;
    for _ in 0..count {
        let at = reader.position;
        let (tag, size) = reader.tag()?;
        let mut fields = table.fields.iter().enumerate();
        let known = fields.find(|(_, field)| field.tag == Some(tag) && field.is_in(reader.version));
        match known {
            Some((index, field)) => {
                let bit = 1u64.checked_shl(tag).unwrap_or_default();
                if seen & bit != 0 {
                    return reader.fail(at, WireErrorKind::TagRepeated { tag });
                }
                seen |= bit;
                let end = reader.enter_tag(size)?;
                read_field(reader, field, target, index)?;
                reader.leave_tag(tag, end)?;
            }
            None => {
                let bytes = reader.bytes(size)?;
                target.unknown_tags_mut().push(UnknownTag { tag, bytes });
            }
        }
    }
    Ok(())
}
