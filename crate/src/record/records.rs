//! The records inside a batch (org.apache.kafka.common.record.DefaultRecord).

use super::compression::{Codec, CompressionType, Refused};
use super::varint::{read_varint, read_varlong};

/// Why the bytes after a batch's header are not its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordError {
    /// The records are packed where nobody packs them.
    Compressed { compression: CompressionType },
    /// No codec has this number.
    UnknownCodec { id: u8 },
    /// The records cannot be unpacked.
    Packed { codec: Codec, refused: Refused },
    /// The batch's count is negative.
    Count { count: i32 },
    /// Record `index` ends before its field does, or announces a length that does not fit.
    Cut { index: u32, field: &'static str },
    /// Record `index` announces more bytes than its fields take.
    DeclaredLength { index: u32, left: u64 },
    /// Bytes are left after the last record.
    Trailing { left: u64 },
}

impl std::fmt::Display for RecordError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RecordError::Compressed { compression } => {
                write!(f, "records are compressed ({}), which they never are here", compression.name())
            }
            RecordError::UnknownCodec { id } => write!(f, "Unknown compression type id: {id}"),
            RecordError::Packed { codec, refused } => {
                f.write_str("Failed to decompress record stream: ")?;
                f.write_str(codec.name())?;
                f.write_str(match refused {
                    Refused::Corrupt => " cannot read it",
                    Refused::Truncated => " found no end",
                    Refused::TooLarge => " would make more of it than is allowed",
                })
            }
            RecordError::Count { count } => write!(f, "the batch announces {count} records"),
            RecordError::Cut { index, field } => write!(f, "record {index}: its {field} does not fit"),
            RecordError::DeclaredLength { index, left } => {
                write!(f, "record {index} announces {left} bytes more than its fields take")
            }
            RecordError::Trailing { left } => {
                write!(f, "Incorrect declared batch size, records still remaining in file ({left} bytes)")
            }
        }
    }
}

impl std::error::Error for RecordError {}

/// One record. Key, value and headers are slices of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    pub attributes: i8,
    pub offset: i64,
    /// Already what a reader sees: with LogAppendTime the batch's largest timestamp, whatever the delta.
    pub timestamp: i64,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    headers: &'a [u8],
    header_count: i32,
}

impl<'a> Record<'a> {
    pub fn headers(&self) -> Headers<'a> {
        Headers { rest: self.headers, left: self.header_count }
    }
}

/// A record's headers in order, keys as bytes (they need not be UTF-8). The bytes were checked with the record.
#[derive(Debug, Clone)]
pub struct Headers<'a> {
    rest: &'a [u8],
    left: i32,
}

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1).filter(|left| *left >= 0)?;
        let key = take_nullable(&mut self.rest).ok()??;
        Some((key, take_nullable(&mut self.rest).ok()?))
    }
}

/// Iterates over a batch's records. After an error it ends.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    rest: &'a [u8],
    count: i32,
    next: i32,
    base_offset: i64,
    base_timestamp: i64,
    log_append_time: Option<i64>,
    ended: bool,
}

impl<'a> Records<'a> {
    pub(super) fn new(
        bytes: &'a [u8],
        count: i32,
        base_offset: i64,
        base_timestamp: i64,
        log_append_time: Option<i64>,
    ) -> Records<'a> {
        Records { rest: bytes, count, next: 0, base_offset, base_timestamp, log_append_time, ended: false }
    }

    fn read(&mut self) -> Result<Record<'a>, RecordError> {
        let index = self.next as u32;
        let cut = |field| RecordError::Cut { index, field };
        let length = read_varint(&mut self.rest).ok_or(cut("length"))?;
        let mut body = take(&mut self.rest, length).ok_or(cut("length"))?;
        let attributes = take(&mut body, 1).ok_or(cut("attributes"))?[0] as i8;
        let timestamp_delta = read_varlong(&mut body).ok_or(cut("timestampDelta"))?;
        let offset_delta = read_varint(&mut body).ok_or(cut("offsetDelta"))?;
        let key = take_nullable(&mut body).map_err(|()| cut("key"))?;
        let value = take_nullable(&mut body).map_err(|()| cut("value"))?;
        let header_count = read_varint(&mut body).ok_or(cut("headersCount"))?;
        // Each header takes two bytes at least, so no count can keep this loop longer than the record is.
        if header_count < 0 || header_count as usize > body.len() {
            return Err(cut("headersCount"));
        }
        let headers = body;
        for _ in 0..header_count {
            take_nullable(&mut body).ok().flatten().ok_or(cut("header key"))?;
            take_nullable(&mut body).map_err(|()| cut("header value"))?;
        }
        if !body.is_empty() {
            return Err(RecordError::DeclaredLength { index, left: body.len() as u64 });
        }
        Ok(Record {
            attributes,
            offset: self.base_offset.wrapping_add(i64::from(offset_delta)),
            timestamp: self.log_append_time.unwrap_or_else(|| self.base_timestamp.wrapping_add(timestamp_delta)),
            key,
            value,
            headers,
            header_count,
        })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        if self.next < self.count {
            let record = self.read();
            self.next += 1;
            self.ended = record.is_err();
            return Some(record);
        }
        self.ended = true;
        if self.count < 0 {
            return Some(Err(RecordError::Count { count: self.count }));
        }
        (!self.rest.is_empty()).then_some(Err(RecordError::Trailing { left: self.rest.len() as u64 }))
    }
}

fn take<'a>(bytes: &mut &'a [u8], length: i32) -> Option<&'a [u8]> {
    let (front, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(front)
}

/// A length of −1 is null; any other negative one is as wrong as one that is too large.
fn take_nullable<'a>(bytes: &mut &'a [u8]) -> Result<Option<&'a [u8]>, ()> {
    match read_varint(bytes).ok_or(())? {
        -1 => Ok(None),
        length => take(bytes, length).map(Some).ok_or(()),
    }
}
