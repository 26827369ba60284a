//! Cutting a connection's byte stream into frames: a 4-byte size, then that many bytes.

use bytes::{Bytes, BytesMut};

/// `socket.request.max.bytes` unless configured otherwise.
pub const FRAME_BYTES_MAX: i32 = 104_857_600;

const SIZE_BYTES: usize = 4;

/// Room is made at once for a frame that comes in pieces, but no more than this on the word of a peer alone.
const RESERVED_BYTES_MAX: usize = 1024 * 1024;

/// The size in front of a frame is negative or above the limit: the stream cannot be read on, the connection must be
/// closed (Kafka's `InvalidReceiveException`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidFrameSize {
    pub size: i32,
    pub max: i32,
}

/// Takes chunks as they arrive and gives frames without their size.
#[derive(Debug, Clone)]
pub struct FrameSplitter {
    max: i32,
    /// What came and is not yet given out. A frame within one chunk is given as a slice of it, uncopied.
    chunk: Bytes,
    /// The beginning of a frame that spans chunks; `chunk` is empty while this is not.
    partial: BytesMut,
}

impl FrameSplitter {
    pub fn new(max: i32) -> FrameSplitter {
        FrameSplitter { max, chunk: Bytes::new(), partial: BytesMut::new() }
    }

    /// Adds received bytes, which may end anywhere.
    pub fn push(&mut self, chunk: Bytes) {
        if !self.partial.is_empty() {
            self.partial.extend_from_slice(&chunk);
        } else if self.chunk.is_empty() {
            self.chunk = chunk;
        } else {
            let announced = self.chunk.first_chunk().map_or(0, |size| i32::from_be_bytes(*size).max(0) as usize);
            let expected = announced.saturating_add(SIZE_BYTES).min(RESERVED_BYTES_MAX);
            self.partial.reserve(expected.max(self.chunk.len() + chunk.len()));
            self.partial.extend_from_slice(&std::mem::take(&mut self.chunk));
            self.partial.extend_from_slice(&chunk);
        }
    }

    /// Bytes that came and belong to no frame given out yet.
    pub fn buffered(&self) -> usize {
        self.chunk.len() + self.partial.len()
    }

    /// The next frame; `None` until more bytes come. An error is final: the next call gives it again.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, InvalidFrameSize> {
        let waiting: &[u8] = if self.partial.is_empty() { &self.chunk } else { &self.partial };
        let Some(size) = waiting.first_chunk::<SIZE_BYTES>() else {
            return Ok(None);
        };
        let size = i32::from_be_bytes(*size);
        let length = match usize::try_from(size) {
            Ok(length) if size <= self.max => length,
            _ => return Err(InvalidFrameSize { size, max: self.max }),
        };
        let end = SIZE_BYTES + length;
        if waiting.len() < end {
            return Ok(None);
        }
        let whole = if self.partial.is_empty() {
            self.chunk.split_to(end)
        } else {
            let whole = self.partial.split_to(end).freeze();
            self.chunk = self.partial.split().freeze();
            whole
        };
        Ok(Some(whole.slice(SIZE_BYTES..)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(list: &[u8]) -> Bytes {
        Bytes::copy_from_slice(list)
    }

    #[test]
    fn frames_come_out_whole_however_the_stream_is_cut() {
        let stream = [0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 1, 9, 0, 0];
        for first in 0..stream.len() {
            for second in first..stream.len() {
                let mut splitter = FrameSplitter::new(100);
                let mut frames = Vec::new();
                for piece in [&stream[..first], &stream[first..second], &stream[second..]] {
                    splitter.push(bytes(piece));
                    while let Ok(Some(frame)) = splitter.next_frame() {
                        frames.push(frame.to_vec());
                    }
                }
                assert_eq!(frames, [vec![1, 2, 3], vec![], vec![9]]);
                assert_eq!(splitter.buffered(), 2);
            }
        }
    }

    #[test]
    fn a_frame_within_one_chunk_is_not_copied() {
        let chunk = bytes(&[0, 0, 0, 2, 7, 8]);
        let inside = chunk.as_ptr() as usize + 4;
        let mut splitter = FrameSplitter::new(100);
        splitter.push(chunk);
        let frame = splitter.next_frame().unwrap().unwrap();
        assert_eq!(frame.as_ptr() as usize, inside);
    }

    #[test]
    fn a_negative_or_too_large_size_is_an_error_before_the_body_comes() {
        for size in [-1, 101, i32::MIN, i32::MAX] {
            let mut splitter = FrameSplitter::new(100);
            splitter.push(bytes(&size.to_be_bytes()));
            assert_eq!(splitter.next_frame(), Err(InvalidFrameSize { size, max: 100 }));
            splitter.push(bytes(&[0; 8]));
            assert_eq!(splitter.next_frame(), Err(InvalidFrameSize { size, max: 100 }));
        }
        let mut splitter = FrameSplitter::new(100);
        splitter.push(bytes(&100i32.to_be_bytes()));
        assert_eq!(splitter.next_frame(), Ok(None));
    }
}
