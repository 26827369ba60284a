//! The two indexes of a segment: offset → position and timestamp → offset (OffsetIndex, TimeIndex).
//!
//! Entries stay in the file and are found by bisection; only the last one is kept here. An index that is written to is
//! preallocated with zeros, as Kafka's memory-mapped ones are, and trimmed when its segment becomes inactive.

use crate::disk::{Disk, DiskError, FileId};

/// What both kinds of index share: a file of entries of one size.
#[derive(Debug, Clone)]
struct EntryFile<const ENTRY_BYTES: usize> {
    path: String,
    /// Opened on first use, as Kafka's are.
    file: Option<FileId>,
    entries: u64,
    entries_max: u64,
}

impl<const ENTRY_BYTES: usize> EntryFile<ENTRY_BYTES> {
    const SIZE: u64 = ENTRY_BYTES as u64;

    fn new(path: String, bytes_max: u64) -> Self {
        EntryFile { path, file: None, entries: 0, entries_max: bytes_max / Self::SIZE }
    }

    /// Opens the file if it exists. Its whole length counts as entries: it was trimmed when it became inactive.
    fn load(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        if disk.exists(&self.path) {
            let file = disk.open(&self.path, false)?;
            self.file = Some(file);
            self.entries = disk.len(file)? / Self::SIZE;
        }
        Ok(())
    }

    /// Makes room for `entries_max` entries.
    fn preallocate(&mut self, disk: &mut dyn Disk) -> Result<FileId, DiskError> {
        let file = match self.file {
            Some(file) => file,
            None => disk.open(&self.path, true)?,
        };
        let len = self.entries_max.max(self.entries) * Self::SIZE;
        if self.file.is_none() || disk.len(file)? != len {
            disk.set_len(file, len)?;
        }
        self.file = Some(file);
        Ok(file)
    }

    fn has_whole_entries(&self, disk: &dyn Disk) -> Result<bool, DiskError> {
        match self.file {
            Some(file) => Ok(disk.len(file)? % Self::SIZE == 0),
            None => Ok(false),
        }
    }

    fn push(&mut self, disk: &mut dyn Disk, entry: [u8; ENTRY_BYTES]) -> Result<(), DiskError> {
        let file = match self.file {
            Some(file) => file,
            None => self.preallocate(disk)?,
        };
        disk.write_at(file, self.entries * Self::SIZE, &entry)?;
        self.entries += 1;
        Ok(())
    }

    fn entry(&self, disk: &dyn Disk, slot: u64) -> Result<[u8; ENTRY_BYTES], DiskError> {
        let cut = || DiskError::Io { path: self.path.clone(), message: format!("entry {slot} is cut") };
        let bytes = disk.read(self.file.ok_or_else(cut)?, slot * Self::SIZE, Self::SIZE)?;
        bytes.as_ref().try_into().map_err(|_| cut())
    }

    /// How many entries at the front satisfy `holds`, which is true up to some entry and false from there on.
    fn partition_point(&self, disk: &dyn Disk, holds: impl Fn([u8; ENTRY_BYTES]) -> bool) -> Result<u64, DiskError> {
        let (mut low, mut high) = (0, self.entries);
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(self.entry(disk, middle)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    fn trim(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        match self.file {
            Some(file) => disk.set_len(file, self.entries * Self::SIZE),
            None => Ok(()),
        }
    }

    fn close(&mut self, disk: &mut dyn Disk) {
        if let Some(file) = self.file.take() {
            disk.close(file);
        }
    }
}

/// `.index`: relative offset and position, each 4 bytes.
#[derive(Debug, Clone)]
pub(super) struct OffsetIndex {
    base_offset: i64,
    file: EntryFile<8>,
    last: OffsetPosition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OffsetPosition {
    pub offset: i64,
    pub position: u64,
}

impl OffsetIndex {
    pub fn new(path: String, base_offset: i64, bytes_max: u64) -> OffsetIndex {
        let last = OffsetPosition { offset: base_offset, position: 0 };
        OffsetIndex { base_offset, file: EntryFile::new(path, bytes_max), last }
    }

    pub fn load(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        self.file.load(disk)?;
        self.reload_last(disk)
    }

    /// False also if there is no file.
    pub fn has_whole_entries(&self, disk: &dyn Disk) -> Result<bool, DiskError> {
        self.file.has_whole_entries(disk)
    }

    pub fn last(&self) -> OffsetPosition {
        self.last
    }

    pub fn file_id(&self) -> Option<FileId> {
        self.file.file
    }

    pub fn preallocate(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        self.file.preallocate(disk).map(|_| ())
    }

    pub fn is_full(&self) -> bool {
        self.file.entries >= self.file.entries_max
    }

    /// Whether the offset's distance from the base fits an entry.
    pub fn can_append(&self, offset: i64) -> bool {
        relative(self.base_offset, offset).is_some()
    }

    /// Appends an entry. Kafka rolls before one could not fit; offsets that do not grow are left out.
    pub fn append(&mut self, disk: &mut dyn Disk, offset: i64, position: u64) -> Result<(), DiskError> {
        let grows = self.file.entries == 0 || offset > self.last.offset;
        if let (Some(relative), Ok(position), true) =
            (relative(self.base_offset, offset), i32::try_from(position), grows)
        {
            let mut entry = [0; 8];
            entry[..4].copy_from_slice(&relative.to_be_bytes());
            entry[4..].copy_from_slice(&position.to_be_bytes());
            self.file.push(disk, entry)?;
            self.last = self.decode(entry);
        }
        Ok(())
    }

    /// The last entry at or before `offset`, or the segment's start.
    pub fn lookup(&self, disk: &dyn Disk, offset: i64) -> Result<OffsetPosition, DiskError> {
        // Most readers are at the end of the log.
        if self.file.entries == 0 || offset >= self.last.offset {
            return Ok(self.last);
        }
        match self.file.partition_point(disk, |entry| self.decode(entry).offset <= offset)? {
            0 => Ok(OffsetPosition { offset: self.base_offset, position: 0 }),
            found => Ok(self.decode(self.file.entry(disk, found - 1)?)),
        }
    }

    /// Drops entries at or after `offset`.
    pub fn truncate_to(&mut self, disk: &mut dyn Disk, offset: i64) -> Result<(), DiskError> {
        self.file.entries = self.file.partition_point(disk, |entry| self.decode(entry).offset < offset)?;
        self.reload_last(disk)?;
        self.file.trim(disk)?;
        self.file.preallocate(disk).map(|_| ())
    }

    pub fn trim(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        self.file.trim(disk)
    }

    /// Forgets all entries, for a rebuild.
    pub fn reset(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        self.file.entries = 0;
        self.last = OffsetPosition { offset: self.base_offset, position: 0 };
        self.file.trim(disk)?;
        self.file.preallocate(disk).map(|_| ())
    }

    pub fn close(&mut self, disk: &mut dyn Disk) {
        self.file.close(disk);
    }

    fn reload_last(&mut self, disk: &dyn Disk) -> Result<(), DiskError> {
        self.last = match self.file.entries.checked_sub(1) {
            Some(slot) => self.decode(self.file.entry(disk, slot)?),
            None => OffsetPosition { offset: self.base_offset, position: 0 },
        };
        Ok(())
    }

    fn decode(&self, entry: [u8; 8]) -> OffsetPosition {
        let [relative, position] = [0, 4].map(|at| i32::from_be_bytes(std::array::from_fn(|i| entry[at + i])));
        OffsetPosition {
            offset: self.base_offset.wrapping_add(i64::from(relative)),
            position: u64::try_from(position).unwrap_or(0),
        }
    }
}

/// `.timeindex`: timestamp (8 bytes) and relative offset (4).
#[derive(Debug, Clone)]
pub(super) struct TimeIndex {
    base_offset: i64,
    file: EntryFile<12>,
    last: TimestampOffset,
}

/// A timestamp and the last offset of the batch that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimestampOffset {
    pub timestamp: i64,
    pub offset: i64,
}

impl TimeIndex {
    pub fn new(path: String, base_offset: i64, bytes_max: u64) -> TimeIndex {
        let file = EntryFile::new(path, bytes_max);
        TimeIndex { base_offset, file, last: TimestampOffset { timestamp: -1, offset: base_offset } }
    }

    pub fn load(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        self.file.load(disk)?;
        self.reload_last(disk)
    }

    /// False also if there is no file.
    pub fn has_whole_entries(&self, disk: &dyn Disk) -> Result<bool, DiskError> {
        self.file.has_whole_entries(disk)
    }

    pub fn file_id(&self) -> Option<FileId> {
        self.file.file
    }

    pub fn preallocate(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        self.file.preallocate(disk).map(|_| ())
    }

    /// One entry earlier than the other index: the last place is for the entry that closes the segment.
    pub fn is_full(&self) -> bool {
        self.file.entries + 1 >= self.file.entries_max
    }

    pub fn last(&self) -> TimestampOffset {
        self.last
    }

    /// Appends an entry if its timestamp is larger than the last one's.
    pub fn maybe_append(&mut self, disk: &mut dyn Disk, at: TimestampOffset) -> Result<(), DiskError> {
        let fits = self.file.entries < self.file.entries_max;
        if let Some(relative) = relative(self.base_offset, at.offset)
            && fits
            && at.timestamp > self.last.timestamp
            && (self.file.entries == 0 || at.offset >= self.last.offset)
        {
            let mut entry = [0; 12];
            entry[..8].copy_from_slice(&at.timestamp.to_be_bytes());
            entry[8..].copy_from_slice(&relative.to_be_bytes());
            self.file.push(disk, entry)?;
            self.last = at;
        }
        Ok(())
    }

    /// The last entry whose timestamp is at most `timestamp`, or (−1, base offset).
    pub fn lookup(&self, disk: &dyn Disk, timestamp: i64) -> Result<TimestampOffset, DiskError> {
        match self.file.partition_point(disk, |entry| self.decode(entry).timestamp <= timestamp)? {
            0 => Ok(TimestampOffset { timestamp: -1, offset: self.base_offset }),
            found => Ok(self.decode(self.file.entry(disk, found - 1)?)),
        }
    }

    /// Drops entries at or after `offset`.
    pub fn truncate_to(&mut self, disk: &mut dyn Disk, offset: i64) -> Result<(), DiskError> {
        self.file.entries = self.file.partition_point(disk, |entry| self.decode(entry).offset < offset)?;
        self.reload_last(disk)?;
        self.file.trim(disk)?;
        self.file.preallocate(disk).map(|_| ())
    }

    pub fn trim(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        self.file.trim(disk)
    }

    pub fn reset(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        self.file.entries = 0;
        self.last = TimestampOffset { timestamp: -1, offset: self.base_offset };
        self.file.trim(disk)?;
        self.file.preallocate(disk).map(|_| ())
    }

    pub fn close(&mut self, disk: &mut dyn Disk) {
        self.file.close(disk);
    }

    fn reload_last(&mut self, disk: &dyn Disk) -> Result<(), DiskError> {
        self.last = match self.file.entries.checked_sub(1) {
            Some(slot) => self.decode(self.file.entry(disk, slot)?),
            None => TimestampOffset { timestamp: -1, offset: self.base_offset },
        };
        Ok(())
    }

    fn decode(&self, entry: [u8; 12]) -> TimestampOffset {
        let relative = i32::from_be_bytes(std::array::from_fn(|i| entry[8 + i]));
        TimestampOffset {
            timestamp: i64::from_be_bytes(std::array::from_fn(|i| entry[i])),
            offset: self.base_offset.wrapping_add(i64::from(relative)),
        }
    }
}

fn relative(base_offset: i64, offset: i64) -> Option<i32> {
    offset.checked_sub(base_offset).and_then(|delta| i32::try_from(delta).ok()).filter(|delta| *delta >= 0)
}
