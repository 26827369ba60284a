//! Kafka's text checkpoints: line 1 the version 0, line 2 the number of entries, then one entry a line (CheckpointFile).
//! Written beside the old file, flushed and renamed, so that a reader finds the old one or the new one.

use crate::disk::{Disk, DiskError, read_file};
use crate::ordered::BTreeMap;

/// Why a checkpoint could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointError {
    Disk(DiskError),
    /// The file is there but not as Kafka writes it.
    Malformed {
        path: String,
        line: u32,
        expected: &'static str,
    },
}

impl std::fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CheckpointError::Disk(error) => error.fmt(f),
            CheckpointError::Malformed { path, line, expected } => {
                write!(f, "{path}, line {line}: expected {expected}")
            }
        }
    }
}

impl std::error::Error for CheckpointError {}

impl From<DiskError> for CheckpointError {
    fn from(error: DiskError) -> CheckpointError {
        CheckpointError::Disk(error)
    }
}

/// Reads a checkpoint with entries `topic partition offset`: recovery points, log start offsets, high watermarks.
/// Empty if the file does not exist.
pub fn read_offset_checkpoint(
    disk: &mut dyn Disk,
    path: &str,
) -> Result<BTreeMap<(String, i32), i64>, CheckpointError> {
    let entries = read_entries(disk, path, "topic partition offset", |words| match words {
        [topic, partition, offset] => Some(((topic.to_string(), partition.parse().ok()?), offset.parse().ok()?)),
        _ => None,
    })?;
    Ok(entries.into_iter().collect())
}

/// The reverse of [`read_offset_checkpoint`].
pub fn write_offset_checkpoint(
    disk: &mut dyn Disk,
    path: &str,
    offsets: &BTreeMap<(String, i32), i64>,
) -> Result<(), DiskError> {
    write_entries(
        disk,
        path,
        offsets.iter().map(|((topic, partition), offset)| format!("{topic} {partition} {offset}")),
    )
}

/// Reads all entries, each given as its words; none if the file does not exist.
pub(super) fn read_entries<T>(
    disk: &mut dyn Disk,
    path: &str,
    expected: &'static str,
    parse: impl Fn(&[&str]) -> Option<T>,
) -> Result<Vec<T>, CheckpointError> {
    let bytes = match read_file(disk, path) {
        Ok(bytes) => bytes,
        Err(DiskError::NotFound { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let malformed =
        |line: usize, expected| CheckpointError::Malformed { path: path.to_owned(), line: line as u32 + 1, expected };
    let text = std::str::from_utf8(&bytes).map_err(|_| malformed(0, "text"))?;
    let mut lines = text.lines();
    if lines.next() != Some("0") {
        return Err(malformed(0, "version 0"));
    }
    let count: usize = lines.next().and_then(|line| line.parse().ok()).ok_or(malformed(1, "the number of entries"))?;
    let mut entries = Vec::new();
    for (i, line) in lines.enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        entries.push(parse(&words).ok_or(malformed(i + 2, expected))?);
    }
    if entries.len() != count {
        return Err(malformed(1, "the number of entries that follow"));
    }
    Ok(entries)
}

pub(super) fn write_entries(
    disk: &mut dyn Disk,
    path: &str,
    entries: impl ExactSizeIterator<Item = String>,
) -> Result<(), DiskError> {
    let mut text = format!("0\n{}\n", entries.len());
    for entry in entries {
        text.push_str(&entry);
        text.push('\n');
    }
    disk.replace(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::MemoryDisk;

    #[test]
    fn a_checkpoint_is_text_that_kafka_reads_and_comes_back() {
        let mut disk = MemoryDisk::new();
        let offsets = BTreeMap::from([(("a".to_owned(), 0), 7), (("b-c".to_owned(), 12), 0)]);
        write_offset_checkpoint(&mut disk, "recovery-point-offset-checkpoint", &offsets).unwrap();
        let bytes = read_file(&mut disk, "recovery-point-offset-checkpoint").unwrap();
        assert_eq!(bytes, "0\n2\na 0 7\nb-c 12 0\n");
        assert_eq!(read_offset_checkpoint(&mut disk, "recovery-point-offset-checkpoint"), Ok(offsets));
        assert_eq!(read_offset_checkpoint(&mut disk, "missing"), Ok(BTreeMap::new()));
    }

    #[test]
    fn a_malformed_checkpoint_says_in_which_line() {
        let mut disk = MemoryDisk::new();
        for (text, line) in [("", 1), ("1\n0\n", 1), ("0\nx\n", 2), ("0\n2\na 0 7\n", 2), ("0\n1\na 0\n", 3)] {
            disk.replace("c", text.as_bytes()).unwrap();
            match read_offset_checkpoint(&mut disk, "c") {
                Err(CheckpointError::Malformed { line: found, .. }) => assert_eq!(found, line, "{text:?}"),
                other => panic!("{text:?}: {other:?}"),
            }
        }
    }
}
