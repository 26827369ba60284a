//! Which leader epoch began at which offset (LeaderEpochFileCache), kept in `leader-epoch-checkpoint`.

use super::checkpoint::{CheckpointError, read_entries, write_entries};
use crate::disk::{Disk, DiskError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEntry {
    pub epoch: i32,
    pub start_offset: i64,
}

/// The epochs of a log in order; both fields grow from entry to entry.
#[derive(Debug, Clone)]
pub struct LeaderEpochs {
    path: String,
    entries: Vec<EpochEntry>,
}

impl LeaderEpochs {
    /// Reads the checkpoint of a partition's directory; empty if there is none.
    pub(super) fn load(disk: &mut dyn Disk, directory: &str) -> Result<LeaderEpochs, CheckpointError> {
        let path = format!("{directory}/leader-epoch-checkpoint");
        let entries = read_entries(disk, &path, "epoch startOffset", |words| match words {
            [epoch, start] => Some(EpochEntry { epoch: epoch.parse().ok()?, start_offset: start.parse().ok()? }),
            _ => None,
        })?;
        Ok(LeaderEpochs { path, entries })
    }

    pub fn entries(&self) -> &[EpochEntry] {
        &self.entries
    }

    pub fn latest(&self) -> Option<EpochEntry> {
        self.entries.last().copied()
    }

    /// Notes that `epoch` begins at `start_offset`, unless that is known. Entries that contradict it go.
    pub(super) fn assign(&mut self, disk: &mut dyn Disk, epoch: i32, start_offset: i64) -> Result<(), DiskError> {
        let known = self.latest().is_some_and(|last| last.epoch == epoch && last.start_offset <= start_offset);
        if known || epoch < 0 || start_offset < 0 {
            return Ok(());
        }
        while self.latest().is_some_and(|last| last.epoch >= epoch || last.start_offset >= start_offset) {
            self.entries.pop();
        }
        self.entries.push(EpochEntry { epoch, start_offset });
        self.write(disk)
    }

    /// Forgets epochs that began at or after the log's new end.
    pub(super) fn truncate_from_end(&mut self, disk: &mut dyn Disk, end_offset: i64) -> Result<(), DiskError> {
        let kept = self.entries.partition_point(|entry| entry.start_offset < end_offset);
        if kept < self.entries.len() {
            self.entries.truncate(kept);
            self.write(disk)?;
        }
        Ok(())
    }

    /// Forgets epochs that ended before the log's new start; the one that was current there begins at it.
    pub(super) fn truncate_from_start(&mut self, disk: &mut dyn Disk, start_offset: i64) -> Result<(), DiskError> {
        let before = self.entries.partition_point(|entry| entry.start_offset <= start_offset);
        let unchanged = before == 0 || (before == 1 && self.entries[0].start_offset == start_offset);
        if unchanged {
            return Ok(());
        }
        self.entries.drain(..before - 1);
        self.entries[0].start_offset = start_offset;
        self.write(disk)
    }

    pub(super) fn clear(&mut self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        self.entries.clear();
        self.write(disk)
    }

    /// The largest known epoch not above `epoch`, and where it ends; `None` if that cannot be told (KIP-101, KIP-279).
    pub fn end_offset_for(&self, epoch: i32, log_end_offset: i64) -> Option<EpochEnd> {
        // −1 stands for no epoch.
        let latest = self.latest().filter(|_| epoch != -1)?;
        if epoch == latest.epoch {
            return Some(EpochEnd { epoch, end_offset: log_end_offset });
        }
        let next = self.entries.partition_point(|entry| entry.epoch <= epoch);
        let end_offset = self.entries.get(next)?.start_offset;
        let found = if next == 0 { epoch } else { self.entries[next - 1].epoch };
        Some(EpochEnd { epoch: found, end_offset })
    }

    /// The epoch in which `offset` was written.
    pub fn epoch_for_offset(&self, offset: i64) -> Option<i32> {
        let next = self.entries.partition_point(|entry| entry.start_offset <= offset);
        next.checked_sub(1).map(|i| self.entries[i].epoch)
    }

    fn write(&self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        let lines = self.entries.iter().map(|entry| format!("{} {}", entry.epoch, entry.start_offset));
        write_entries(disk, &self.path, lines)
    }
}

/// Where an epoch ends: the offset after its last record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEnd {
    pub epoch: i32,
    pub end_offset: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::MemoryDisk;

    fn epochs(disk: &mut MemoryDisk, pairs: &[(i32, i64)]) -> LeaderEpochs {
        let mut epochs = LeaderEpochs::load(disk, "t-0").unwrap();
        for &(epoch, start) in pairs {
            epochs.assign(disk, epoch, start).unwrap();
        }
        epochs
    }

    fn pairs(epochs: &LeaderEpochs) -> Vec<(i32, i64)> {
        epochs.entries().iter().map(|entry| (entry.epoch, entry.start_offset)).collect()
    }

    #[test]
    fn an_epoch_ends_where_the_next_known_one_begins() {
        let mut disk = MemoryDisk::new();
        let epochs = epochs(&mut disk, &[(2, 6), (3, 10), (5, 20)]);
        let end = |epoch| epochs.end_offset_for(epoch, 35).map(|end| (end.epoch, end.end_offset));
        assert_eq!(end(5), Some((5, 35)));
        assert_eq!(end(6), None);
        assert_eq!(end(1), Some((1, 6)));
        assert_eq!(end(2), Some((2, 10)));
        assert_eq!(end(4), Some((3, 20)));
    }

    #[test]
    fn a_contradicting_entry_replaces_those_it_contradicts() {
        let mut disk = MemoryDisk::new();
        let mut epochs = epochs(&mut disk, &[(0, 0), (2, 10), (3, 12)]);
        epochs.assign(&mut disk, 3, 15).unwrap();
        assert_eq!(pairs(&epochs), [(0, 0), (2, 10), (3, 12)]);
        epochs.assign(&mut disk, 4, 10).unwrap();
        assert_eq!(pairs(&epochs), [(0, 0), (4, 10)]);
    }

    #[test]
    fn truncation_keeps_the_epoch_of_the_first_offset() {
        let mut disk = MemoryDisk::new();
        let mut epochs = epochs(&mut disk, &[(0, 0), (2, 10), (3, 12)]);
        epochs.truncate_from_start(&mut disk, 11).unwrap();
        assert_eq!(pairs(&epochs), [(2, 11), (3, 12)]);
        epochs.truncate_from_end(&mut disk, 12).unwrap();
        assert_eq!(pairs(&epochs), [(2, 11)]);
        assert_eq!(pairs(&LeaderEpochs::load(&mut disk, "t-0").unwrap()), [(2, 11)]);
        assert_eq!(epochs.epoch_for_offset(10), None);
        assert_eq!(epochs.epoch_for_offset(99), Some(2));
    }
}
