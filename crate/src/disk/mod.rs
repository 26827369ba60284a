//! Storage as the core sees it: named files in directories, behind one trait.
//!
//! Append, read, truncate, list and remove are synchronous (they meet the page cache, as in Kafka's own log layer);
//! fsync is an effect with a completion. The memory disk knows what is *written* and what is *flushed*.

mod memory;

use std::sync::Arc;

use bytes::Bytes;

pub use memory::MemoryDisk;

/// An open file of a [`Disk`]; valid until the disk is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// Why a disk operation failed. The path is relative to the disk's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskError {
    /// ENOSPC, and EFBIG, which a file-size limit gives.
    Full {
        path: String,
    },
    NotFound {
        path: String,
    },
    /// Another process holds the directory.
    Locked {
        path: String,
    },
    Io {
        path: String,
        message: String,
    },
}

impl std::fmt::Display for DiskError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DiskError::Full { path } => write!(f, "{path}: no space left (or the file-size limit is reached)"),
            DiskError::NotFound { path } => write!(f, "{path}: no such file"),
            DiskError::Locked { path } => write!(f, "{path}: another process is using this directory"),
            DiskError::Io { path, message } => write!(f, "{path}: {message}"),
        }
    }
}

impl std::error::Error for DiskError {}

/// Bytes of a file that are not read until they are sent. Holds its file open, so a removed file still serves it.
#[derive(Debug, Clone)]
pub struct FileRange {
    pub source: Arc<dyn RangeSource>,
    pub position: u64,
    pub len: u64,
}

impl PartialEq for FileRange {
    fn eq(&self, other: &FileRange) -> bool {
        Arc::ptr_eq(&self.source, &other.source) && self.position == other.position && self.len == other.len
    }
}

impl Eq for FileRange {}

/// Something that can fill a buffer from a position: an open file. `Any`, so that a shell can recognise its own disk's
/// files and leave the copying to the kernel.
pub trait RangeSource: std::any::Any + std::fmt::Debug + Send + Sync {
    fn read_at(&self, position: u64, into: &mut [u8]) -> Result<(), DiskError>;
}

/// What a read gives, and a piece of what is sent: bytes, or a range that can go to the socket uncopied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slice {
    Bytes(Bytes),
    File(FileRange),
}

impl Slice {
    pub fn size_in_bytes(&self) -> u64 {
        match self {
            Slice::Bytes(bytes) => bytes.len() as u64,
            Slice::File(range) => range.len,
        }
    }

    /// The bytes in memory; a file range is read.
    pub fn to_bytes(&self) -> Result<Bytes, DiskError> {
        match self {
            Slice::Bytes(bytes) => Ok(bytes.clone()),
            Slice::File(range) => {
                let mut into = vec![0; range.len as usize];
                range.source.read_at(range.position, &mut into)?;
                Ok(into.into())
            }
        }
    }
}

/// A directory tree of append-mostly files. Paths are relative to its root, with `/`.
///
/// What a call has written survives the death of the process. What survives a power cut is what was flushed since,
/// and what went through [`Disk::replace`]; names (create, remove, rename) are taken as durable at once.
pub trait Disk {
    /// Opens a file, creating it and its directories if `create`. At most one open file per path writes.
    fn open(&mut self, path: &str, create: bool) -> Result<FileId, DiskError>;
    fn len(&self, file: FileId) -> Result<u64, DiskError>;
    /// Appends all of `parts`, one after the other, or nothing: on error the file is cut back to its former length.
    /// Several parts, so that a batch with a patched header is written without copying its records.
    fn append(&mut self, file: FileId, parts: &[&[u8]]) -> Result<(), DiskError>;
    /// Overwrites in place, growing the file if need be (index files are preallocated).
    fn write_at(&mut self, file: FileId, position: u64, bytes: &[u8]) -> Result<(), DiskError>;
    /// Reads `len` bytes into memory; fewer only at the end of the file.
    fn read(&self, file: FileId, position: u64, len: u64) -> Result<Bytes, DiskError>;
    /// Like `read`, but may stay in the file until it is sent.
    fn slice(&self, file: FileId, position: u64, len: u64) -> Result<Slice, DiskError>;
    /// Cuts, or extends with zeros that take no space until they are overwritten.
    fn set_len(&mut self, file: FileId, len: u64) -> Result<(), DiskError>;
    /// Blocks until the file is on stable storage. For shells, and for nodes that start or stop: between the two a
    /// node asks for a flush by [`crate::node::EffectKind::Flush`] and goes on.
    fn flush(&mut self, file: FileId) -> Result<(), DiskError>;
    /// The names in a directory, sorted; empty if it does not exist.
    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError>;
    fn exists(&self, path: &str) -> bool;
    /// Removes a file, or a directory with all that is in it. Open files stay readable. Removing nothing is no error.
    fn remove(&mut self, path: &str) -> Result<(), DiskError>;
    /// Atomic within one directory, replacing what is there. Files or directories.
    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError>;
    /// Puts `bytes` in place of a small file, atomically and durably: written beside it, flushed, renamed, as Kafka
    /// writes its checkpoints.
    fn replace(&mut self, path: &str, bytes: &[u8]) -> Result<(), DiskError>;
    fn close(&mut self, file: FileId);
    /// Bytes in all, and bytes left, of what the files lie on; `None` if nobody knows.
    fn space(&self) -> Option<(i64, i64)> {
        None
    }
}

/// Reads a whole small file. `NotFound` if it does not exist.
pub fn read_file(disk: &mut dyn Disk, path: &str) -> Result<Bytes, DiskError> {
    let file = disk.open(path, false)?;
    let bytes = disk.len(file).and_then(|len| disk.read(file, 0, len));
    disk.close(file);
    bytes
}
