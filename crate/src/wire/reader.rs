//! A cursor over one frame: every length is checked against what is left before anything is taken or allocated.

use bytes::Bytes;

use super::schema::{Field, Type};
use super::{WireError, WireErrorKind};

/// Kafka's limit for every string, compact or not.
pub(super) const STRING_BYTES_MAX: usize = i16::MAX as usize;

/// Reads primitive values of one version from `frame[position..end]`.
pub(super) struct Reader<'a> {
    frame: &'a Bytes,
    pub position: usize,
    end: usize,
    pub version: i16,
    pub flexible: bool,
}

impl<'a> Reader<'a> {
    pub fn new(frame: &'a Bytes, at: usize, version: i16, flexible: bool) -> Reader<'a> {
        let end = frame.len();
        Reader { frame, position: at.min(end), end, version, flexible }
    }

    pub fn frame(&self) -> &'a Bytes {
        self.frame
    }

    pub fn left(&self) -> usize {
        self.end - self.position
    }

    #[cold]
    pub fn fail<T>(&self, at: usize, kind: WireErrorKind) -> Result<T, WireError> {
        Err(WireError::new(at, kind))
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        match self.frame[self.position..self.end].get(..length) {
            Some(bytes) => {
                self.position += length;
                Ok(bytes)
            }
            None => self.fail(self.position, WireErrorKind::TooShort { needed: length, left: self.left() }),
        }
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        match self.frame[self.position..self.end].first_chunk::<N>() {
            Some(bytes) => {
                self.position += N;
                Ok(*bytes)
            }
            None => self.fail(self.position, WireErrorKind::TooShort { needed: N, left: self.left() }),
        }
    }

    /// Seven bits a byte, low group first. A fifth byte's upper bits are dropped, as Kafka's `ByteUtils` does.
    pub fn unsigned_varint(&mut self) -> Result<u32, WireError> {
        let at = self.position;
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.array()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        self.fail(at, WireErrorKind::VarintTooLong)
    }

    /// A length or count as this field writes it; `None` is null. Kafka takes every negative length for null.
    pub fn length(&mut self, field: &Field, ty: &Type) -> Result<Option<usize>, WireError> {
        let at = self.position;
        let length = if self.flexible && !field.old_encoding {
            (self.unsigned_varint()? as i32).wrapping_sub(1)
        } else if matches!(ty, Type::String) {
            i32::from(i16::from_be_bytes(self.array()?))
        } else {
            i32::from_be_bytes(self.array()?)
        };
        match usize::try_from(length) {
            Ok(length) => Ok(Some(length)),
            Err(_) if field.may_be_null(self.version) => Ok(None),
            Err(_) => self.fail(at, WireErrorKind::Null),
        }
    }

    /// Like `length`, for an array: each element takes at least a byte, so more than is left cannot be true.
    pub fn count(&mut self, field: &Field, ty: &Type) -> Result<Option<usize>, WireError> {
        let at = self.position;
        let count = self.length(field, ty)?;
        match count {
            Some(count) if count > self.left() => {
                self.fail(at, WireErrorKind::CountTooLarge { count, left: self.left() })
            }
            _ => Ok(count),
        }
    }

    /// `count` for an array, `length` for the rest.
    pub fn length_or_count(&mut self, field: &Field, ty: &Type) -> Result<Option<usize>, WireError> {
        if matches!(ty, Type::Array(_)) { self.count(field, ty) } else { self.length(field, ty) }
    }

    /// The byte before a nullable struct: negative if it is null.
    pub fn presence(&mut self, field: &Field) -> Result<bool, WireError> {
        if !field.may_be_null(self.version) {
            return Ok(true);
        }
        Ok(i8::from_be_bytes(self.array()?) >= 0)
    }

    /// Text of `length` bytes. Broken UTF-8 is replaced, never refused: so does Kafka.
    pub fn text(&mut self, length: usize) -> Result<String, WireError> {
        if length > STRING_BYTES_MAX {
            return self.fail(self.position, WireErrorKind::StringTooLong { length });
        }
        let bytes = self.take(length)?;
        Ok(match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        })
    }

    /// `length` bytes of the frame, shared with it.
    pub fn bytes(&mut self, length: usize) -> Result<Bytes, WireError> {
        let start = self.position;
        self.take(length)?;
        Ok(self.frame.slice(start..self.position))
    }

    /// The number and size in front of a tagged field.
    pub fn tag(&mut self) -> Result<(u32, usize), WireError> {
        Ok((self.unsigned_varint()?, self.unsigned_varint()? as usize))
    }

    /// Narrows the reader to the `size` bytes of a tagged field; gives what [`Reader::leave_tag`] needs.
    pub fn enter_tag(&mut self, size: usize) -> Result<usize, WireError> {
        if size > self.left() {
            return self.fail(self.position, WireErrorKind::TooShort { needed: size, left: self.left() });
        }
        Ok(std::mem::replace(&mut self.end, self.position + size))
    }

    /// Back to what is around a tagged field, whose bytes must be consumed.
    pub fn leave_tag(&mut self, tag: u32, end: usize) -> Result<(), WireError> {
        if self.left() > 0 {
            return self.fail(self.position, WireErrorKind::TagSize { tag });
        }
        self.end = end;
        Ok(())
    }
}
