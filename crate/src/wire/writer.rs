//! The frame that is being written: one buffer of our bytes, and foreign pieces (record batches) that stand between
//! them uncopied.

use bytes::{BufMut, Bytes, BytesMut};

use super::{WireError, WireErrorKind};
use crate::disk::Slice;

/// Records shorter than this are copied into the buffer: one more piece costs a socket more than the copy.
const COPY_BYTES_MAX: usize = 512;

/// The 4-byte size in front of every frame.
const SIZE_BYTES: usize = 4;

pub(super) struct Writer {
    buffer: BytesMut,
    /// Foreign pieces, each with the position in `buffer` before which it stands.
    pieces: Vec<(usize, Slice)>,
    pieces_bytes: u64,
    pub version: i16,
    pub flexible: bool,
}

impl Writer {
    pub fn new(version: i16, flexible: bool) -> Writer {
        Writer { buffer: BytesMut::with_capacity(128), pieces: Vec::new(), pieces_bytes: 0, version, flexible }
    }

    pub fn put(&mut self, bytes: &[u8]) {
        self.buffer.put_slice(bytes);
    }

    pub fn unsigned_varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.buffer.put_u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.buffer.put_u8(value as u8);
    }

    /// Puts bytes in the frame, by reference if they are long.
    pub fn foreign(&mut self, slice: &Slice) {
        match slice {
            Slice::Bytes(bytes) if bytes.len() < COPY_BYTES_MAX => self.put(bytes),
            _ => {
                self.pieces_bytes += slice.size_in_bytes();
                self.pieces.push((self.buffer.len(), slice.clone()));
            }
        }
    }

    /// All bytes so far, foreign ones too.
    pub fn len(&self) -> u64 {
        self.buffer.len() as u64 + self.pieces_bytes
    }

    /// Where a tagged field's content begins, for [`Writer::close_tag`].
    pub fn open_tag(&self) -> TagStart {
        TagStart { buffer: self.buffer.len(), pieces: self.pieces.len(), len: self.len() }
    }

    /// Puts tag and size before the content that was written since `start`: its size is not known earlier.
    pub fn close_tag(&mut self, start: TagStart, tag: u32) -> Result<(), WireError> {
        let size = length_u32(self.len() - start.len)?;
        let before = self.buffer.len();
        self.unsigned_varint(tag);
        self.unsigned_varint(size);
        let prefix = self.buffer.len() - before;
        self.buffer[start.buffer..].rotate_right(prefix);
        for (position, _) in &mut self.pieces[start.pieces..] {
            *position += prefix;
        }
        Ok(())
    }

    /// Leaves room for the frame's size.
    pub fn open_frame(&mut self) {
        self.put(&[0; SIZE_BYTES]);
    }

    /// Fills in the frame's size and gives the pieces in order.
    pub fn close_frame(mut self) -> Result<Vec<Slice>, WireError> {
        let size = self.len().saturating_sub(SIZE_BYTES as u64);
        let size = i32::try_from(size).map_err(|_| too_large(size))?;
        if let Some(place) = self.buffer.first_chunk_mut::<SIZE_BYTES>() {
            *place = size.to_be_bytes();
        }
        let mut rest = self.buffer.freeze();
        let mut given = 0;
        let mut slices = Vec::with_capacity(self.pieces.len() * 2 + 1);
        for (position, piece) in self.pieces {
            let ours = rest.split_to(position - given);
            given = position;
            if !ours.is_empty() {
                slices.push(Slice::Bytes(ours));
            }
            slices.push(piece);
        }
        if !rest.is_empty() {
            slices.push(Slice::Bytes(rest));
        }
        Ok(slices)
    }

    /// All bytes in one piece, without a size; an error if a file range is among them.
    pub fn into_bytes(self) -> Result<Bytes, WireError> {
        if self.pieces.is_empty() {
            return Ok(self.buffer.freeze());
        }
        let mut all = BytesMut::with_capacity(self.buffer.len());
        let mut given = 0;
        for (position, piece) in &self.pieces {
            all.put_slice(&self.buffer[given..*position]);
            given = *position;
            match piece {
                Slice::Bytes(bytes) => all.put_slice(bytes),
                Slice::File(_) => return Err(WireError::new(0, WireErrorKind::FileRange)),
            }
        }
        all.put_slice(&self.buffer[given..]);
        Ok(all.freeze())
    }
}

/// A position in the frame, see [`Writer::open_tag`].
pub(super) struct TagStart {
    buffer: usize,
    pieces: usize,
    len: u64,
}

/// A length that fits Kafka's int32.
pub(super) fn length_u32(length: u64) -> Result<u32, WireError> {
    i32::try_from(length).map(|length| length as u32).map_err(|_| too_large(length))
}

#[cold]
fn too_large(length: u64) -> WireError {
    WireError::new(0, WireErrorKind::TooLarge { length: usize::try_from(length).unwrap_or(usize::MAX) })
}
