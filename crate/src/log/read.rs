//! Reading: slices of the files for fetches, and lookups by timestamp.

use super::partition_log::{Log, LogError, OffsetMetadata};
use super::segment::Segment;
use crate::disk::{Disk, Slice};
use crate::record::RecordError;

/// What a fetch gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// `None` if there is nothing to give. It begins with the batch that holds the asked offset, and may end in the
    /// middle of a batch.
    pub records: Option<Slice>,
    pub size: u64,
    /// Where it begins.
    pub fetch_offset: OffsetMetadata,
    /// Not even the first batch is there as a whole.
    pub first_entry_incomplete: bool,
}

/// Why a read or a lookup gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// Before the log's start or after its end: Kafka's code 1.
    OffsetOutOfRange {
        offset: i64,
        log_start_offset: i64,
        log_end_offset: i64,
    },
    Log(LogError),
    /// A batch that a lookup had to look into holds no records.
    Records {
        base_offset: i64,
        error: RecordError,
    },
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReadError::OffsetOutOfRange { offset, log_start_offset, log_end_offset } => write!(
                f,
                "Received request for offset {offset}, but we only have log segments in the range {log_start_offset} \
                 to {log_end_offset}."
            ),
            ReadError::Log(error) => error.fmt(f),
            ReadError::Records { base_offset, error } => write!(f, "batch at offset {base_offset}: {error}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl<E: Into<LogError>> From<E> for ReadError {
    fn from(error: E) -> ReadError {
        ReadError::Log(error.into())
    }
}

/// The answer to a lookup by timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampAndOffset {
    pub timestamp: i64,
    pub offset: i64,
    pub leader_epoch: i32,
}

impl Log {
    /// Reads from the batch that holds `offset` on, at most `bytes_max`, and nothing at or after `upper_bound`: the high
    /// watermark or last stable offset for consumers, the log's end for followers. With `min_one_message` the first
    /// batch is given whole even if it is larger than `bytes_max` (KIP-74).
    pub fn read(
        &self,
        disk: &dyn Disk,
        offset: i64,
        bytes_max: u64,
        upper_bound: i64,
        min_one_message: bool,
    ) -> Result<Read, ReadError> {
        if offset < self.log_start_offset || offset > self.log_end_offset {
            return Err(ReadError::OffsetOutOfRange {
                offset,
                log_start_offset: self.log_start_offset,
                log_end_offset: self.log_end_offset,
            });
        }
        let end = self.log_end_offset_metadata();
        let nothing = |fetch_offset| Read { records: None, size: 0, fetch_offset, first_entry_incomplete: false };
        if offset >= upper_bound {
            let place = if offset == end.offset { end } else { self.offset_metadata(disk, offset)? };
            return Ok(nothing(place));
        }
        // Most reads are bounded by the end itself, whose place is known.
        let bound = if upper_bound >= end.offset { end } else { self.offset_metadata(disk, upper_bound)? };
        let from = self.segments.range(..=offset).next_back().map_or(offset, |(base, _)| *base);
        for (base, segment) in self.segments.range(from..) {
            let Some(found) = segment.find(disk, offset)? else { continue };
            let fetch_offset = OffsetMetadata { offset, segment_base_offset: *base, position: found.position };
            let limit = if *base == bound.segment_base_offset { bound.position } else { segment.size };
            let wanted = if min_one_message { bytes_max.max(found.size) } else { bytes_max };
            let size = wanted.min(limit.saturating_sub(found.position));
            if size == 0 {
                return Ok(nothing(fetch_offset));
            }
            let records = Some(disk.slice(segment.log, found.position, size)?);
            return Ok(Read { records, size, fetch_offset, first_entry_incomplete: wanted < found.size });
        }
        Ok(nothing(end))
    }

    /// The first record, in offset order, whose timestamp is at least `timestamp`.
    pub fn offset_for_timestamp(
        &self,
        disk: &dyn Disk,
        timestamp: i64,
    ) -> Result<Option<TimestampAndOffset>, ReadError> {
        let mut candidates = self.segments.values();
        let Some(segment) = candidates.find(|segment| segment.max_timestamp_so_far.timestamp >= timestamp) else {
            return Ok(None);
        };
        let indexed = segment.time_index.lookup(disk, timestamp)?;
        let start = segment.offset_index.lookup(disk, indexed.offset.max(self.log_start_offset))?;
        let at_least = |found: i64, offset: i64| found >= timestamp && offset >= self.log_start_offset;
        first_record(disk, segment, start.position, timestamp, at_least)
    }

    /// The record with the largest timestamp; of several the first.
    pub fn offset_of_max_timestamp(&self, disk: &dyn Disk) -> Result<Option<TimestampAndOffset>, ReadError> {
        let mut largest: Option<&Segment> = None;
        for segment in self.segments.values() {
            let larger =
                |known: &Segment| segment.max_timestamp_so_far.timestamp > known.max_timestamp_so_far.timestamp;
            if largest.is_none_or(larger) {
                largest = Some(segment);
            }
        }
        let Some(segment) = largest.filter(|segment| segment.max_timestamp_so_far.timestamp >= 0) else {
            return Ok(None);
        };
        let max = segment.max_timestamp_so_far;
        let start = segment.offset_index.lookup(disk, max.offset)?;
        first_record(disk, segment, start.position, max.timestamp, |found, _| found == max.timestamp)
    }
}

/// The first record from `position` on for which `wanted(timestamp, offset)`; batches whose largest timestamp is below
/// `timestamp` are stepped over.
fn first_record(
    disk: &dyn Disk,
    segment: &Segment,
    position: u64,
    timestamp: i64,
    wanted: impl Fn(i64, i64) -> bool,
) -> Result<Option<TimestampAndOffset>, ReadError> {
    let mut scan = segment.scan(position);
    while let Some(found) = scan.next_whole(disk)? {
        if found.header().max_timestamp() < timestamp {
            continue;
        }
        let batch = scan.whole(disk, &found)?;
        let base_offset = batch.base_offset();
        let leader_epoch = batch.partition_leader_epoch();
        // Our own log's: this leader has unpacked it before.
        let unpacked = batch.unpacked_records(i32::MAX as usize);
        let unpacked = unpacked.map_err(|error| ReadError::Records { base_offset, error })?;
        for record in batch.records_in(&unpacked) {
            let record = record.map_err(|error| ReadError::Records { base_offset, error })?;
            if wanted(record.timestamp, record.offset) {
                let (timestamp, offset) = (record.timestamp, record.offset);
                return Ok(Some(TimestampAndOffset { timestamp, offset, leader_epoch }));
            }
        }
    }
    Ok(None)
}
