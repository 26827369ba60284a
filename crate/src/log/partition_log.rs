//! The log of a partition as a whole: its segments, its ends, and what changes them besides appends.

use super::checkpoint::CheckpointError;
use super::config::LogConfig;
use super::epochs::LeaderEpochs;
use super::producers::ProducerStates;
use super::recovery::{OpenOptions, Recovery};
use super::segment::{BatchSummary, Segment};
use super::snapshot;
use crate::disk::{Disk, DiskError, FileId};
use crate::ordered::BTreeMap;
use crate::record::BatchError;

/// Why a log could not be opened, read or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogError {
    Disk(DiskError),
    /// At a position where a batch begins there is none.
    Corrupt {
        base_offset: i64,
        position: u64,
        error: BatchError,
    },
    /// There is a batch, and not the one that was written there: its CRC or its offset is wrong.
    Damaged {
        base_offset: i64,
        position: u64,
    },
    /// Kafka died while it swapped a compacted segment in. Kafka itself must finish that.
    UnfinishedSwap {
        path: String,
    },
    /// A file beside the log is not as Kafka writes it.
    Checkpoint(CheckpointError),
}

impl std::fmt::Display for LogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LogError::Disk(error) => error.fmt(f),
            LogError::Corrupt { base_offset, position, error } => {
                write!(f, "{base_offset:020}.log, at position {position}: {error}")
            }
            LogError::Damaged { base_offset, position } => write!(
                f,
                "{base_offset:020}.log, at position {position}: the batch is not as it was written, its CRC or its \
                 offset is wrong"
            ),
            LogError::UnfinishedSwap { path } => {
                write!(f, "{path} is left of an interrupted compaction, start Apache Kafka once to finish it")
            }
            LogError::Checkpoint(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LogError {}

impl From<DiskError> for LogError {
    fn from(error: DiskError) -> LogError {
        LogError::Disk(error)
    }
}

impl From<CheckpointError> for LogError {
    fn from(error: CheckpointError) -> LogError {
        match error {
            CheckpointError::Disk(error) => LogError::Disk(error),
            other => LogError::Checkpoint(other),
        }
    }
}

/// An offset with the place in the files where its batch begins: what a fetch that waits compares (LogOffsetMetadata).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetMetadata {
    pub offset: i64,
    pub segment_base_offset: i64,
    pub position: u64,
}

/// Kafka's UnifiedLog, without the high watermark, which belongs to the partition.
#[derive(Debug, Clone)]
pub struct Log {
    /// The partition's directory, `topic-partition`, which is also how Kafka's texts name the partition.
    pub(super) directory: String,
    pub(super) config: LogConfig,
    /// By base offset; the last one is active. Never empty.
    pub(super) segments: BTreeMap<i64, Segment>,
    pub(super) log_start_offset: i64,
    pub(super) log_end_offset: i64,
    pub(super) recovery_point: i64,
    pub(super) leader_epochs: LeaderEpochs,
    pub(super) producers: ProducerStates,
}

impl Log {
    /// Creates an empty log, or opens what is there as after a clean stop.
    pub fn create(disk: &mut dyn Disk, directory: &str, config: LogConfig, now_ms: i64) -> Result<Log, LogError> {
        let options = OpenOptions { clean_shutdown: true, recovery_point: 0, log_start_offset: 0, now_ms };
        Log::open(disk, directory, config, options)?.run(disk).map(|(log, _)| log)
    }

    /// Begins to open a log. What has to be read again after a crash is read in steps, see [`Recovery::step`].
    pub fn open(
        disk: &mut dyn Disk,
        directory: &str,
        config: LogConfig,
        options: OpenOptions,
    ) -> Result<Recovery, LogError> {
        Recovery::start(disk, directory, config, options)
    }

    /// `topic-partition`
    pub fn directory(&self) -> &str {
        &self.directory
    }

    pub fn config(&self) -> &LogConfig {
        &self.config
    }

    /// Takes effect with the next append.
    pub fn update_config(&mut self, config: LogConfig) {
        self.config = config;
    }

    /// The first offset that may be read.
    pub fn log_start_offset(&self) -> i64 {
        self.log_start_offset
    }

    /// The next offset that will be written (LEO).
    pub fn log_end_offset(&self) -> i64 {
        self.log_end_offset
    }

    /// Everything before it is on stable storage.
    pub fn recovery_point(&self) -> i64 {
        self.recovery_point
    }

    pub fn leader_epochs(&self) -> &LeaderEpochs {
        &self.leader_epochs
    }

    pub fn producers(&self) -> &ProducerStates {
        &self.producers
    }

    /// Bytes of all segments' batches.
    pub fn size_in_bytes(&self) -> u64 {
        self.segments.values().map(|segment| segment.size).sum()
    }

    /// The segments' base offsets, ascending.
    pub fn segment_base_offsets(&self) -> impl DoubleEndedIterator<Item = i64> {
        self.segments.keys().copied()
    }

    /// LEO with its place.
    pub fn log_end_offset_metadata(&self) -> OffsetMetadata {
        let (segment_base_offset, position) = match self.segments.last_key_value() {
            Some((base, segment)) => (*base, segment.size),
            None => (self.log_end_offset, 0),
        };
        OffsetMetadata { offset: self.log_end_offset, segment_base_offset, position }
    }

    /// The place of any offset in [log start, LEO].
    pub fn offset_metadata(&self, disk: &dyn Disk, offset: i64) -> Result<OffsetMetadata, LogError> {
        if offset < self.log_end_offset {
            let from = self.segments.range(..=offset).next_back().map_or(offset, |(base, _)| *base);
            for (base, segment) in self.segments.range(from..) {
                if let Some(found) = segment.find(disk, offset)? {
                    return Ok(OffsetMetadata { offset, segment_base_offset: *base, position: found.position });
                }
            }
        }
        Ok(OffsetMetadata { offset, ..self.log_end_offset_metadata() })
    }

    /// Notes in the leader-epoch-checkpoint that `epoch` begins at the log's end: what a new leader does first.
    pub fn assign_leader_epoch(&mut self, disk: &mut dyn Disk, epoch: i32) -> Result<(), DiskError> {
        self.leader_epochs.assign(disk, epoch, self.log_end_offset)
    }

    /// The active segment, rolled first if the batch does not belong into it. Tells whether it rolled.
    pub(super) fn maybe_roll(
        &mut self,
        disk: &mut dyn Disk,
        first_offset: i64,
        batch: BatchSummary,
        now_ms: i64,
    ) -> Result<bool, DiskError> {
        let active = self.segments.last_key_value().map(|(_, segment)| segment);
        let roll = active.is_none_or(|active| {
            // An empty segment at this very offset would be replaced by itself.
            (active.size > 0 || active.base_offset != first_offset) && active.should_roll(&self.config, batch, now_ms)
        });
        if roll {
            self.roll(disk, first_offset, now_ms)?;
        }
        Ok(roll)
    }

    fn roll(&mut self, disk: &mut dyn Disk, base_offset: i64, now_ms: i64) -> Result<(), DiskError> {
        if let Some(mut active) = self.segments.last_entry() {
            active.get_mut().become_inactive(disk)?;
        }
        let segment = Segment::create(disk, &self.directory, base_offset, &self.config, now_ms)?;
        self.segments.insert(base_offset, segment);
        // A snapshot at the new base lets a recovery of that segment begin with it.
        self.producers.end_offset = base_offset;
        self.producers.take_snapshot(disk, &self.directory, false)
    }

    /// The files that must reach stable storage before the recovery point may be `up_to`; then call
    /// [`Log::mark_flushed`]. After a roll Kafka flushes up to the new segment's base.
    pub fn files_to_flush(&self, up_to: i64) -> Vec<FileId> {
        let from = self.segments.range(..=self.recovery_point).next_back().map_or(0, |(base, _)| *base);
        if from >= up_to {
            return Vec::new();
        }
        self.segments.range(from..up_to).flat_map(|(_, segment)| segment.files()).collect()
    }

    /// All files that [`Log::files_to_flush`] named for `up_to` are flushed.
    pub fn mark_flushed(&mut self, up_to: i64) {
        self.recovery_point = self.recovery_point.max(up_to.min(self.log_end_offset));
    }

    /// Moves the log's start (DeleteRecords, or a follower told by its leader). It never moves back, nor past the end.
    /// Whole segments before it are removed, but for the active one.
    pub fn increment_log_start_offset(&mut self, disk: &mut dyn Disk, offset: i64) -> Result<bool, DiskError> {
        if offset <= self.log_start_offset || offset > self.log_end_offset {
            return Ok(false);
        }
        self.log_start_offset = offset;
        self.leader_epochs.truncate_from_start(disk, offset)?;
        Ok(true)
    }

    /// Removes the segments that lie wholly before the log's start, as Kafka's retention does at its next round.
    pub fn delete_segments_before_start(&mut self, disk: &mut dyn Disk) -> Result<u32, DiskError> {
        let bases: Vec<i64> = self.segments.keys().copied().collect();
        let mut deleted = 0;
        let start = self.log_start_offset;
        for pair in bases.windows(2).take_while(|pair| pair[1] <= start) {
            self.remove_segment(disk, pair[0])?;
            snapshot::remove(disk, &self.directory, pair[0])?;
            deleted += 1;
        }
        Ok(deleted)
    }

    pub(super) fn remove_segment(&mut self, disk: &mut dyn Disk, base_offset: i64) -> Result<(), DiskError> {
        if let Some(mut segment) = self.segments.remove(&base_offset) {
            segment.close(disk);
            Segment::remove_files(disk, &self.directory, base_offset)?;
        }
        Ok(())
    }

    /// Removes all batches that reach `offset` or beyond. Gives false if there are none.
    pub fn truncate_to(&mut self, disk: &mut dyn Disk, offset: i64, now_ms: i64) -> Result<bool, LogError> {
        if offset >= self.log_end_offset {
            self.leader_epochs.truncate_from_end(disk, self.log_end_offset)?;
            return Ok(false);
        }
        if self.segments.first_key_value().is_none_or(|(base, _)| *base > offset) {
            self.truncate_fully_and_start_at(disk, offset, now_ms)?;
            return Ok(true);
        }
        let later: Vec<i64> = self.segments.range(offset + 1..).map(|(base, _)| *base).collect();
        for base in later {
            self.remove_segment(disk, base)?;
            snapshot::remove(disk, &self.directory, base)?;
        }
        if let Some(mut active) = self.segments.last_entry() {
            active.get_mut().truncate_to(disk, offset, now_ms)?;
        }
        self.log_end_offset = offset;
        self.recovery_point = self.recovery_point.min(offset);
        self.log_start_offset = self.log_start_offset.min(offset);
        self.leader_epochs.truncate_from_end(disk, offset)?;
        self.rebuild_producers(disk, now_ms)?;
        Ok(true)
    }

    /// Removes everything and begins anew at `offset`.
    pub fn truncate_fully_and_start_at(
        &mut self,
        disk: &mut dyn Disk,
        offset: i64,
        now_ms: i64,
    ) -> Result<(), LogError> {
        let bases: Vec<i64> = self.segments.keys().copied().collect();
        for base in bases {
            self.remove_segment(disk, base)?;
        }
        for snapshot in snapshot::list(disk, &self.directory)? {
            snapshot::remove(disk, &self.directory, snapshot)?;
        }
        let mut segment = Segment::create(disk, &self.directory, offset, &self.config, now_ms)?;
        segment.become_active(disk)?;
        self.segments.insert(offset, segment);
        self.log_start_offset = offset;
        self.log_end_offset = offset;
        self.recovery_point = self.recovery_point.min(offset);
        self.leader_epochs.clear(disk)?;
        self.producers = ProducerStates::default();
        self.producers.end_offset = offset;
        self.producers.snapshot_offset = offset;
        Ok(())
    }

    /// The producers' state at the log's end, from the newest snapshot and the batches after it.
    fn rebuild_producers(&mut self, disk: &mut dyn Disk, now_ms: i64) -> Result<(), LogError> {
        let (start, end) = (self.log_start_offset, self.log_end_offset);
        let expiration_ms = self.config.producer_id_expiration_ms;
        self.producers.truncate_and_reload(disk, &self.directory, start, end, now_ms, expiration_ms)?;
        let from = self.segments.range(..=self.producers.end_offset).next_back().map_or(0, |(base, _)| *base);
        for (_, segment) in self.segments.range(from..) {
            let indexed = segment.offset_index.lookup(disk, self.producers.end_offset)?;
            let mut scan = segment.scan_all(indexed.position);
            while let Some(found) = scan.next_whole(disk)? {
                if found.header().base_offset() >= self.producers.end_offset {
                    let batch = scan.whole(disk, &found)?;
                    self.producers.replay(&batch);
                }
            }
        }
        self.producers.end_offset = end;
        self.producers.take_snapshot(disk, &self.directory, false)?;
        Ok(())
    }

    /// A clean stop: flushes everything, trims the indexes, leaves a producer snapshot. The log cannot be used after.
    pub fn close_clean(mut self, disk: &mut dyn Disk) -> Result<i64, DiskError> {
        self.producers.take_snapshot(disk, &self.directory, true)?;
        let unflushed = self.segments.range(..=self.recovery_point).next_back().map_or(0, |(base, _)| *base);
        for (base, segment) in &mut self.segments {
            segment.become_inactive(disk)?;
            if *base >= unflushed {
                for file in segment.files() {
                    disk.flush(file)?;
                }
            }
            segment.close(disk);
        }
        Ok(self.log_end_offset)
    }

    /// Lets go of the files, which are to be removed.
    pub fn close(mut self, disk: &mut dyn Disk) {
        self.segments.values_mut().for_each(|segment| segment.close(disk));
    }

    pub(super) fn append_parts(
        &mut self,
        disk: &mut dyn Disk,
        parts: &[&[u8]],
        batch: BatchSummary,
    ) -> Result<(), DiskError> {
        if let Some(mut active) = self.segments.last_entry() {
            active.get_mut().append(disk, &self.config, parts, batch)?;
        }
        self.log_end_offset = batch.last_offset + 1;
        Ok(())
    }
}
