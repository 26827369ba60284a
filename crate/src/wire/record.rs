//! The value of a record in `__cluster_metadata`: frame version, record type and record version as unsigned varints,
//! then the fields (Kafka's `MetadataRecordSerde`).

use bytes::Bytes;

use super::decode::{check_version, decode};
use super::encode::encode_into;
use super::reader::Reader;
use super::schema::{Kind, Message};
use super::writer::Writer;
use super::{WireError, WireErrorKind};

const FRAME_VERSION: u32 = 1;

/// Type and version of a metadata record, and where its fields begin.
pub fn record_type(value: &Bytes) -> Result<(i16, i16, usize), WireError> {
    let mut reader = Reader::new(value, 0, 0, true);
    let frame_version = reader.unsigned_varint()?;
    if frame_version != FRAME_VERSION {
        return Err(WireError::new(0, WireErrorKind::RecordFrame { version: frame_version }));
    }
    let mut number = || {
        let at = reader.position;
        let number = reader.unsigned_varint()?;
        i16::try_from(number).map_err(|_| WireError::new(at, WireErrorKind::UnknownMessage { key: i16::MAX }))
    };
    let (key, version) = (number()?, number()?);
    Ok((key, version, reader.position))
}

/// Reads a metadata record of a type already known from [`record_type`].
pub fn decode_record<M: Message>(value: &Bytes) -> Result<M, WireError> {
    let (key, version, at) = record_type(value)?;
    if M::SCHEMA.kind != Kind::Record(key) {
        return Err(WireError::new(0, WireErrorKind::UnknownMessage { key }));
    }
    decode(value, at, version)
}

/// A metadata record as it stands in the log.
pub fn encode_record<M: Message>(record: &M, version: i16) -> Result<Bytes, WireError> {
    check_version(M::SCHEMA, version)?;
    let mut writer = Writer::new(version, M::SCHEMA.is_flexible(version));
    writer.unsigned_varint(FRAME_VERSION);
    writer.unsigned_varint(u32::from(M::SCHEMA.kind.key().unsigned_abs()));
    writer.unsigned_varint(u32::from(version.unsigned_abs()));
    encode_into(&mut writer, record)?;
    writer.into_bytes()
}
