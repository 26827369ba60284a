//! Batches back to back, as a Produce request, a Fetch response or a file holds them.

use bytes::Bytes;

use super::batch::{Batch, LOG_OVERHEAD, MAGIC_VALUE_V2};

/// Kafka's smallest possible size after the first 12 bytes: a message of magic 0 (`RECORD_OVERHEAD_V0`).
pub const MIN_RECORD_OVERHEAD: i32 = 14;
/// Where the magic byte ends, in every format.
const HEADER_SIZE_UP_TO_MAGIC: usize = 17;

/// Why bytes are not a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchError {
    /// The announced size cannot hold any format's header.
    SizeBelowMinimum { size: i32 },
    /// A format that does not exist, or, with 0 and 1, one that Kafka 4 no longer appends.
    Magic { magic: i8 },
    /// Smaller than the header of a batch.
    TooShort { size: u64 },
    /// The bytes are not as many as the batch announces.
    Length { announced: i64, given: u64 },
}

impl std::fmt::Display for BatchError {
    /// The first two are Kafka's texts; they go over the wire.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BatchError::SizeBelowMinimum { size } => {
                write!(f, "Record size {size} is less than the minimum record overhead ({MIN_RECORD_OVERHEAD})")
            }
            BatchError::Magic { magic } => write!(f, "Invalid magic found in record: {magic}"),
            BatchError::TooShort { size } => {
                write!(f, "Record batch is corrupted (the size {size} is smaller than the minimum allowed overhead 61)")
            }
            BatchError::Length { announced, given } => {
                write!(f, "record batch announces {announced} bytes and has {given}")
            }
        }
    }
}

impl std::error::Error for BatchError {}

/// Iterates over the whole batches of `bytes`. Like Kafka's ByteBufferLogInputStream it ends silently at a cut tail;
/// after an error it ends too, for nothing tells where the next batch would begin.
#[derive(Debug, Clone)]
pub struct Batches {
    rest: Bytes,
}

impl Batches {
    pub fn new(bytes: Bytes) -> Batches {
        Batches { rest: bytes }
    }

    /// What has not been iterated over; at the end: the bytes of a cut tail.
    pub fn rest(&self) -> &Bytes {
        &self.rest
    }

    /// The size of the batch at the front, or `None` if it is cut.
    fn next_size(&self) -> Result<Option<usize>, BatchError> {
        let Some(length) = self.rest.get(8..LOG_OVERHEAD) else { return Ok(None) };
        let length = i32::from_be_bytes(std::array::from_fn(|i| length[i]));
        if length < MIN_RECORD_OVERHEAD {
            return Err(BatchError::SizeBelowMinimum { size: length });
        }
        let Some(&magic) = self.rest.get(HEADER_SIZE_UP_TO_MAGIC - 1) else { return Ok(None) };
        if magic as i8 != MAGIC_VALUE_V2 {
            return Err(BatchError::Magic { magic: magic as i8 });
        }
        let size = length as usize + LOG_OVERHEAD;
        Ok((size <= self.rest.len()).then_some(size))
    }
}

impl Iterator for Batches {
    type Item = Result<Batch<Bytes>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = match self.next_size() {
            Ok(Some(size)) => Batch::new(self.rest.split_to(size)),
            Ok(None) => return None,
            Err(error) => Err(error),
        };
        if batch.is_err() {
            self.rest.clear();
        }
        Some(batch)
    }
}
