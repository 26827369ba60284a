//! Producer snapshots: `<offset>.snapshot` holds the producers' state at that offset, the newest batch of each, so that
//! a start need not read the log from its beginning.

use super::file_names::{SNAPSHOT_SUFFIX, offset_of, segment_file};
use super::producers::{BatchMetadata, ProducerState, ProducerStates};
use crate::disk::{Disk, DiskError, read_file};

const VERSION: i16 = 1;
/// Version, CRC, count.
const HEADER_BYTES: usize = 10;
/// The CRC covers everything from the count on.
const CRC_OFFSET: usize = 2;
const ENTRIES_OFFSET: usize = 6;
const ENTRY_BYTES: usize = 46;

/// The offsets of the snapshots in a directory, ascending.
pub(super) fn list(disk: &dyn Disk, directory: &str) -> Result<Vec<i64>, DiskError> {
    Ok(disk.list(directory)?.iter().filter_map(|name| offset_of(name, SNAPSHOT_SUFFIX)).collect())
}

pub(super) fn remove(disk: &mut dyn Disk, directory: &str, offset: i64) -> Result<(), DiskError> {
    disk.remove(&segment_file(directory, offset, SNAPSHOT_SUFFIX))
}

/// Removes the snapshots that no start needs: of those that are not at a segment's base only the newest stays, and that
/// only if it lies behind the last segment's base (removeStraySnapshots).
pub(super) fn remove_stray(disk: &mut dyn Disk, directory: &str, segment_bases: &[i64]) -> Result<(), DiskError> {
    let strays = list(disk, directory)?;
    let strays: Vec<i64> = strays.into_iter().filter(|offset| !segment_bases.contains(offset)).collect();
    for (i, &offset) in strays.iter().enumerate() {
        let newest = i + 1 == strays.len();
        if !newest || segment_bases.last().is_some_and(|last| offset < *last) {
            remove(disk, directory, offset)?;
        }
    }
    Ok(())
}

impl ProducerStates {
    /// Writes a snapshot at the current offset, unless there is one. Flushed only if `durable`: a lost or torn one
    /// costs a longer start, nothing else.
    pub(super) fn take_snapshot(
        &mut self,
        disk: &mut dyn Disk,
        directory: &str,
        durable: bool,
    ) -> Result<(), DiskError> {
        if self.end_offset <= self.snapshot_offset {
            return Ok(());
        }
        let path = segment_file(directory, self.end_offset, SNAPSHOT_SUFFIX);
        let bytes = encode(self);
        if durable {
            disk.replace(&path, &bytes)?;
        } else {
            let file = disk.open(&path, true)?;
            let written = disk.set_len(file, 0).and_then(|()| disk.append(file, &[&bytes]));
            disk.close(file);
            written?;
        }
        self.snapshot_offset = self.end_offset;
        Ok(())
    }

    /// Goes back to the newest readable snapshot in (log start, end]; with none, to nothing at the log's start.
    /// Snapshots beyond are removed, unreadable ones too. Producers that have expired stay away.
    pub(super) fn truncate_and_reload(
        &mut self,
        disk: &mut dyn Disk,
        directory: &str,
        log_start_offset: i64,
        log_end_offset: i64,
        now_ms: i64,
        expiration_ms: i64,
    ) -> Result<(), DiskError> {
        self.clear();
        (self.end_offset, self.snapshot_offset) = (log_start_offset, log_start_offset);
        let mut offsets = list(disk, directory)?;
        while let Some(offset) = offsets.pop() {
            let in_range = offset > log_start_offset && offset <= log_end_offset;
            let loaded = if in_range { load(disk, directory, offset)? } else { None };
            let Some(producers) = loaded else {
                remove(disk, directory, offset)?;
                continue;
            };
            for (producer_id, state) in producers {
                if !state.is_expired(now_ms, expiration_ms) {
                    self.insert(producer_id, state);
                }
            }
            (self.end_offset, self.snapshot_offset) = (offset, offset);
            // Older ones stay, but for those at or before the log's start.
            for &older in offsets.iter().filter(|older| **older <= log_start_offset) {
                remove(disk, directory, older)?;
            }
            break;
        }
        Ok(())
    }
}

/// `None` if the file is not as it was written.
fn load(disk: &mut dyn Disk, directory: &str, offset: i64) -> Result<Option<Vec<(i64, ProducerState)>>, DiskError> {
    match read_file(disk, &segment_file(directory, offset, SNAPSHOT_SUFFIX)) {
        Ok(bytes) => Ok(decode(&bytes)),
        Err(DiskError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn encode(producers: &ProducerStates) -> Vec<u8> {
    let entries = producers.iter();
    let mut out = Vec::with_capacity(HEADER_BYTES + entries.len() * ENTRY_BYTES);
    out.extend_from_slice(&VERSION.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&(entries.len() as i32).to_be_bytes());
    for (producer_id, state) in entries {
        let newest = state.batches.back();
        out.extend_from_slice(&producer_id.to_be_bytes());
        out.extend_from_slice(&state.producer_epoch.to_be_bytes());
        out.extend_from_slice(&newest.map_or(-1, |batch| batch.last_sequence).to_be_bytes());
        out.extend_from_slice(&newest.map_or(-1, |batch| batch.last_offset).to_be_bytes());
        out.extend_from_slice(&newest.map_or(0, |batch| batch.offset_delta).to_be_bytes());
        out.extend_from_slice(&state.last_timestamp.to_be_bytes());
        out.extend_from_slice(&state.coordinator_epoch.to_be_bytes());
        out.extend_from_slice(&state.current_txn_first_offset.unwrap_or(-1).to_be_bytes());
    }
    let crc = crate::checksum::crc32c(&out[ENTRIES_OFFSET..]);
    out[CRC_OFFSET..ENTRIES_OFFSET].copy_from_slice(&crc.to_be_bytes());
    out
}

fn decode(bytes: &[u8]) -> Option<Vec<(i64, ProducerState)>> {
    let (header, entries) = bytes.split_at_checked(HEADER_BYTES)?;
    let crc = u32::from_be_bytes(field(header, CRC_OFFSET)?);
    let count = i32::from_be_bytes(field(header, ENTRIES_OFFSET)?);
    let as_written = i16::from_be_bytes(field(header, 0)?) == VERSION
        && crate::checksum::crc32c(bytes.get(ENTRIES_OFFSET..)?) == crc
        && i64::from(count) * ENTRY_BYTES as i64 == entries.len() as i64;
    if !as_written {
        return None;
    }
    entries.chunks_exact(ENTRY_BYTES).map(decode_entry).collect()
}

fn decode_entry(entry: &[u8]) -> Option<(i64, ProducerState)> {
    let newest = BatchMetadata {
        last_sequence: i32::from_be_bytes(field(entry, 10)?),
        last_offset: i64::from_be_bytes(field(entry, 14)?),
        offset_delta: i32::from_be_bytes(field(entry, 22)?),
        timestamp: i64::from_be_bytes(field(entry, 26)?),
    };
    let first_offset = i64::from_be_bytes(field(entry, 38)?);
    let state = ProducerState {
        producer_epoch: i16::from_be_bytes(field(entry, 8)?),
        coordinator_epoch: i32::from_be_bytes(field(entry, 34)?),
        last_timestamp: newest.timestamp,
        current_txn_first_offset: (first_offset >= 0).then_some(first_offset),
        batches: if newest.last_offset >= 0 { [newest].into() } else { Default::default() },
    };
    Some((i64::from_be_bytes(field(entry, 0)?), state))
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}
