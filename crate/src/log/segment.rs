//! One segment: a log file and its two indexes (LogSegment).

use super::config::LogConfig;
use super::file_names::{INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, segment_file};
use super::index::{OffsetIndex, TimeIndex, TimestampOffset};
use super::partition_log::LogError;
use super::scan::{Found, HEADERS_WINDOW_BYTES, Next, RECOVERY_WINDOW_BYTES, Scan};
use crate::disk::{Disk, DiskError, FileId};
use crate::record::{Batch, NO_TIMESTAMP, RECORD_BATCH_OVERHEAD};

#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub base_offset: i64,
    pub log: FileId,
    /// Bytes of whole batches.
    pub size: u64,
    /// Bytes behind them: a tail that was torn while the stop was clean. Kafka does not cut it at the start either; it
    /// goes when the next batch takes its place.
    torn_bytes: u64,
    pub offset_index: OffsetIndex,
    pub time_index: TimeIndex,
    /// The largest timestamp, and the last offset of the batch that brought it.
    pub max_timestamp_so_far: TimestampOffset,
    bytes_since_last_index_entry: u64,
    /// The first batch's largest timestamp, from which `segment.ms` counts.
    first_batch_timestamp: Option<i64>,
    created_ms: i64,
}

/// What an append tells about its batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchSummary {
    pub last_offset: i64,
    pub max_timestamp: i64,
    pub size: u64,
}

impl Segment {
    /// An empty segment. Files that are in the way are removed, as Kafka does when it rolls.
    pub fn create(
        disk: &mut dyn Disk,
        directory: &str,
        base_offset: i64,
        config: &LogConfig,
        now_ms: i64,
    ) -> Result<Segment, DiskError> {
        Segment::remove_files(disk, directory, base_offset)?;
        let log = disk.open(&segment_file(directory, base_offset, LOG_SUFFIX), true)?;
        Ok(Segment::new(directory, base_offset, config, log, 0, now_ms))
    }

    /// A segment that is on the disk. Indexes are taken as they are; see [`Segment::start_recovery`].
    pub fn load(
        disk: &mut dyn Disk,
        directory: &str,
        base_offset: i64,
        config: &LogConfig,
        now_ms: i64,
    ) -> Result<Segment, LogError> {
        let log = disk.open(&segment_file(directory, base_offset, LOG_SUFFIX), false)?;
        let size = disk.len(log)?;
        let mut segment = Segment::new(directory, base_offset, config, log, size, now_ms);
        segment.offset_index.load(disk)?;
        segment.time_index.load(disk)?;
        Ok(segment)
    }

    fn new(directory: &str, base_offset: i64, config: &LogConfig, log: FileId, size: u64, now_ms: i64) -> Segment {
        let index = |suffix| segment_file(directory, base_offset, suffix);
        Segment {
            base_offset,
            log,
            size,
            torn_bytes: 0,
            offset_index: OffsetIndex::new(index(INDEX_SUFFIX), base_offset, config.segment_index_bytes),
            time_index: TimeIndex::new(index(TIME_INDEX_SUFFIX), base_offset, config.segment_index_bytes),
            max_timestamp_so_far: TimestampOffset { timestamp: NO_TIMESTAMP, offset: base_offset },
            bytes_since_last_index_entry: 0,
            first_batch_timestamp: None,
            created_ms: now_ms,
        }
    }

    /// Whether both indexes can be those of this log: whole entries, and the last one points at a batch. What lies
    /// between is a hint, see [`Segment::find`].
    pub fn has_sane_indexes(&self, disk: &dyn Disk) -> Result<bool, LogError> {
        if !self.offset_index.has_whole_entries(disk)? || !self.time_index.has_whole_entries(disk)? {
            return Ok(false);
        }
        if self.time_index.last().offset < self.base_offset {
            return Ok(false);
        }
        let last = self.offset_index.last();
        if last.position == 0 {
            return Ok(last.offset >= self.base_offset);
        }
        let Next::Batch(found) = self.scan_from(last.position).next(disk)? else { return Ok(false) };
        let first = found.header().base_offset();
        Ok(first >= self.base_offset && first <= last.offset)
    }

    /// Reads from the file what appends otherwise keep current: the first and the largest timestamp.
    pub fn load_timestamps(&mut self, disk: &dyn Disk) -> Result<(), LogError> {
        self.first_batch_timestamp = self.scan(0).next_whole(disk)?.map(|found| found.header().max_timestamp());
        self.max_timestamp_so_far = self.time_index.last();
        let indexed = self.offset_index.lookup(disk, self.max_timestamp_so_far.offset)?;
        let mut scan = self.scan(indexed.position);
        while let Some(found) = scan.next_whole(disk)? {
            self.note_timestamp(found.header().max_timestamp(), found.header().last_offset());
        }
        Ok(())
    }

    /// Finds the end of the last whole batch and gives the offset after it.
    pub fn load_end(&mut self, disk: &dyn Disk) -> Result<i64, LogError> {
        let mut scan = self.scan(self.offset_index.lookup(disk, i64::MAX)?.position);
        let mut next_offset = self.base_offset;
        loop {
            match scan.next(disk)? {
                Next::Batch(found) if found.header().follows(next_offset, self.base_offset) => {
                    next_offset = found.header().last_offset() + 1;
                }
                Next::Batch(Found { position, .. }) => {
                    return Err(LogError::Damaged { base_offset: self.base_offset, position });
                }
                Next::Bad(error) => return Err(scan.corrupt(error)),
                Next::End => break,
            }
        }
        self.torn_bytes = self.size - scan.position();
        self.size = scan.position();
        Ok(next_offset)
    }

    pub fn scan(&self, position: u64) -> Scan {
        let position = if position > self.size { 0 } else { position };
        Scan::new(self.log, self.base_offset, position, self.size, HEADERS_WINDOW_BYTES)
    }

    /// The same, with nothing at all behind the end.
    fn scan_from(&self, position: u64) -> Scan {
        Scan::new(self.log, self.base_offset, position, self.size, HEADERS_WINDOW_BYTES)
    }

    /// A scan that reads everything.
    pub fn scan_all(&self, position: u64) -> Scan {
        Scan::new(self.log, self.base_offset, position, self.size, RECOVERY_WINDOW_BYTES)
    }

    /// Whether the next batch belongs into a new segment.
    pub fn should_roll(&self, config: &LogConfig, batch: BatchSummary, now_ms: i64) -> bool {
        let waited_ms = match self.first_batch_timestamp {
            Some(first) if first >= 0 => batch.max_timestamp.saturating_sub(first),
            _ => now_ms.saturating_sub(self.created_ms),
        };
        self.size + batch.size > config.segment_bytes
            || (self.size > 0 && waited_ms > config.segment_ms)
            || self.offset_index.is_full()
            || self.time_index.is_full()
            || !self.offset_index.can_append(batch.last_offset)
    }

    /// Appends a batch, given in parts, with an index entry before it once enough bytes came since the last one.
    pub fn append(
        &mut self,
        disk: &mut dyn Disk,
        config: &LogConfig,
        parts: &[&[u8]],
        batch: BatchSummary,
    ) -> Result<(), DiskError> {
        if self.torn_bytes > 0 {
            disk.set_len(self.log, self.size)?;
            self.torn_bytes = 0;
        }
        disk.append(self.log, parts)?;
        let position = self.size;
        self.size += batch.size;
        self.index(disk, config, position, batch)
    }

    fn index(
        &mut self,
        disk: &mut dyn Disk,
        config: &LogConfig,
        position: u64,
        batch: BatchSummary,
    ) -> Result<(), DiskError> {
        self.first_batch_timestamp.get_or_insert(batch.max_timestamp);
        self.note_timestamp(batch.max_timestamp, batch.last_offset);
        if self.bytes_since_last_index_entry > config.index_interval_bytes {
            self.offset_index.append(disk, batch.last_offset, position)?;
            self.time_index.maybe_append(disk, self.max_timestamp_so_far)?;
            self.bytes_since_last_index_entry = 0;
        }
        self.bytes_since_last_index_entry += batch.size;
        Ok(())
    }

    fn note_timestamp(&mut self, max_timestamp: i64, last_offset: i64) {
        if max_timestamp > self.max_timestamp_so_far.timestamp {
            self.max_timestamp_so_far = TimestampOffset { timestamp: max_timestamp, offset: last_offset };
        }
    }

    /// Forgets what the indexes say: a recovery tells it anew by [`Segment::recover_batch`].
    pub fn start_recovery(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        self.offset_index.reset(disk)?;
        self.time_index.reset(disk)?;
        self.max_timestamp_so_far = TimestampOffset { timestamp: NO_TIMESTAMP, offset: self.base_offset };
        self.first_batch_timestamp = None;
        self.bytes_since_last_index_entry = 0;
        Ok(())
    }

    pub fn recover_batch(
        &mut self,
        disk: &mut dyn Disk,
        config: &LogConfig,
        position: u64,
        batch: &Batch<bytes::Bytes>,
    ) -> Result<(), DiskError> {
        let summary = BatchSummary {
            last_offset: batch.last_offset(),
            max_timestamp: batch.max_timestamp(),
            size: batch.size_in_bytes(),
        };
        self.index(disk, config, position, summary)
    }

    /// Ends a recovery: cuts what follows `valid_bytes` and gives the number of bytes cut.
    pub fn finish_recovery(&mut self, disk: &mut dyn Disk, valid_bytes: u64) -> Result<u64, DiskError> {
        let cut = self.size - valid_bytes;
        if cut > 0 {
            disk.set_len(self.log, valid_bytes)?;
            self.size = valid_bytes;
        }
        self.become_inactive(disk)?;
        Ok(cut)
    }

    /// What happens when the segment is rolled or closed: the largest timestamp is entered, the indexes are trimmed.
    pub fn become_inactive(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        self.time_index.maybe_append(disk, self.max_timestamp_so_far)?;
        self.offset_index.trim(disk)?;
        self.time_index.trim(disk)
    }

    /// Makes room in the indexes, for appends.
    pub fn become_active(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        self.offset_index.preallocate(disk)?;
        self.time_index.preallocate(disk)
    }

    /// The first batch whose last offset is at or after `offset`.
    pub fn find(&self, disk: &dyn Disk, offset: i64) -> Result<Option<Found>, LogError> {
        let mut scan = self.scan(self.offset_index.lookup(disk, offset)?.position);
        // An entry that is wrong must not hide what is there: then all is looked at.
        if !matches!(scan.clone().next(disk)?, Next::Batch(found) if found.header().base_offset() <= offset) {
            scan = self.scan(0);
        }
        while let Some(found) = scan.next_whole(disk)? {
            if found.header().last_offset() >= offset {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Removes all batches from the one that holds `offset` on.
    pub fn truncate_to(&mut self, disk: &mut dyn Disk, offset: i64, now_ms: i64) -> Result<(), LogError> {
        let found = self.find(disk, offset)?;
        self.offset_index.truncate_to(disk, offset)?;
        self.time_index.truncate_to(disk, offset)?;
        if let Some(found) = found {
            disk.set_len(self.log, found.position)?;
            self.size = found.position;
        }
        if self.size == 0 {
            self.created_ms = now_ms;
        }
        self.bytes_since_last_index_entry = 0;
        self.load_timestamps(disk)
    }

    pub fn files(&self) -> impl Iterator<Item = FileId> {
        [Some(self.log), self.offset_index.file_id(), self.time_index.file_id()].into_iter().flatten()
    }

    pub fn close(&mut self, disk: &mut dyn Disk) {
        self.offset_index.close(disk);
        self.time_index.close(disk);
        disk.close(self.log);
    }

    /// Removes the files of the segment with this base offset.
    pub fn remove_files(disk: &mut dyn Disk, directory: &str, base_offset: i64) -> Result<(), DiskError> {
        for suffix in [LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX] {
            disk.remove(&segment_file(directory, base_offset, suffix))?;
        }
        Ok(())
    }
}

const _: () = assert!(HEADERS_WINDOW_BYTES >= RECORD_BATCH_OVERHEAD as u64);
