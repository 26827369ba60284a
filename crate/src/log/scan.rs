//! Walks over the batches of a segment file, reading headers only unless a whole batch is asked for.

use bytes::Bytes;

use super::partition_log::LogError;
use crate::disk::{Disk, FileId};
use crate::record::{Batch, BatchError, LOG_OVERHEAD, RECORD_BATCH_OVERHEAD};

/// How much one read takes when headers are looked for near a position: an index interval and a header.
pub(super) const HEADERS_WINDOW_BYTES: u64 = 4096 + RECORD_BATCH_OVERHEAD as u64;
/// How much one read takes when everything will be read anyway.
pub(super) const RECOVERY_WINDOW_BYTES: u64 = 64 * 1024;

/// A position between batches, and the bytes read ahead from there.
#[derive(Debug, Clone)]
pub(super) struct Scan {
    file: FileId,
    /// The segment's, for errors.
    base_offset: i64,
    position: u64,
    end: u64,
    window_bytes: u64,
    window: Bytes,
    window_start: u64,
}

/// A batch found by a scan.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub position: u64,
    pub size: u64,
    /// The header alone: its length is that of the whole batch, which is not there.
    header: [u8; RECORD_BATCH_OVERHEAD],
}

/// What stands at a scan's position.
pub(super) enum Next {
    Batch(Found),
    /// The end, with no bytes left, or with a batch that is cut.
    End,
    /// No batch of magic 2.
    Bad(BatchError),
}

impl Scan {
    pub fn new(file: FileId, base_offset: i64, position: u64, end: u64, window_bytes: u64) -> Scan {
        Scan { file, base_offset, position, end, window_bytes, window: Bytes::new(), window_start: position }
    }

    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next batch; the scan then stands behind it.
    pub fn next(&mut self, disk: &dyn Disk) -> Result<Next, LogError> {
        let left = self.end.saturating_sub(self.position);
        if left < LOG_OVERHEAD as u64 {
            return Ok(Next::End);
        }
        let header = self.bytes(disk, self.position, RECORD_BATCH_OVERHEAD as u64)?;
        let Some(length) = header.get(8..LOG_OVERHEAD) else { return Ok(Next::End) };
        let length = i32::from_be_bytes(std::array::from_fn(|i| length[i]));
        if length < crate::record::MIN_RECORD_OVERHEAD {
            return Ok(Next::Bad(BatchError::SizeBelowMinimum { size: length }));
        }
        let size = length as u64 + LOG_OVERHEAD as u64;
        // Kafka asks in this order: what announces more than there is counts as cut, whatever else it says.
        if size > left {
            return Ok(Next::End);
        }
        if let Some(&magic) = header.get(16)
            && magic as i8 != crate::record::MAGIC_VALUE_V2
        {
            return Ok(Next::Bad(BatchError::Magic { magic: magic as i8 }));
        }
        let Ok(header) = header.as_ref().try_into() else {
            return Ok(Next::Bad(BatchError::TooShort { size }));
        };
        if size < RECORD_BATCH_OVERHEAD as u64 {
            return Ok(Next::Bad(BatchError::TooShort { size }));
        }
        let found = Found { position: self.position, size, header };
        self.position += size;
        Ok(Next::Batch(found))
    }

    /// The next batch, where only whole batches can be: anything else is an error.
    pub fn next_whole(&mut self, disk: &dyn Disk) -> Result<Option<Found>, LogError> {
        match self.next(disk)? {
            Next::Batch(found) => Ok(Some(found)),
            Next::End => Ok(None),
            Next::Bad(error) => Err(self.corrupt(error)),
        }
    }

    /// All bytes of a batch that this scan found.
    pub fn whole(&mut self, disk: &dyn Disk, found: &Found) -> Result<Batch<Bytes>, LogError> {
        let bytes = self.bytes(disk, found.position, found.size)?;
        let base_offset = self.base_offset;
        Batch::new(bytes).map_err(|error| LogError::Corrupt { base_offset, position: found.position, error })
    }

    /// The error for what stands at this scan's position.
    pub fn corrupt(&self, error: BatchError) -> LogError {
        LogError::Corrupt { base_offset: self.base_offset, position: self.position, error }
    }

    fn bytes(&mut self, disk: &dyn Disk, position: u64, len: u64) -> Result<Bytes, LogError> {
        let in_window = position.checked_sub(self.window_start).filter(|from| from + len <= self.window.len() as u64);
        if let Some(from) = in_window {
            return Ok(self.window.slice(from as usize..(from + len) as usize));
        }
        let wanted = len.max(self.window_bytes).min(self.end.saturating_sub(position));
        self.window = disk.read(self.file, position, wanted)?;
        self.window_start = position;
        Ok(self.window.slice(..self.window.len().min(len as usize)))
    }
}

impl Found {
    /// The header's fields. Its records are not there.
    pub fn header(&self) -> HeaderView<'_> {
        HeaderView(&self.header)
    }
}

/// The fields of a header that a scan needs, without the batch behind it.
pub(super) struct HeaderView<'a>(&'a [u8; RECORD_BATCH_OVERHEAD]);

impl HeaderView<'_> {
    pub fn base_offset(&self) -> i64 {
        i64::from_be_bytes(std::array::from_fn(|i| self.0[i]))
    }

    pub fn last_offset(&self) -> i64 {
        let delta = i32::from_be_bytes(std::array::from_fn(|i| self.0[23 + i]));
        self.base_offset().wrapping_add(i64::from(delta))
    }

    /// Whether the batch can come next in a segment: offsets, which no CRC covers, do not go back and fit the index.
    pub fn follows(&self, next_offset: i64, segment_base_offset: i64) -> bool {
        let delta = i32::from_be_bytes(std::array::from_fn(|i| self.0[23 + i]));
        self.base_offset() >= next_offset
            && delta >= 0
            && self
                .last_offset()
                .checked_sub(segment_base_offset)
                .is_some_and(|relative| relative <= i64::from(i32::MAX))
    }

    pub fn max_timestamp(&self) -> i64 {
        i64::from_be_bytes(std::array::from_fn(|i| self.0[35 + i]))
    }
}
