//! Storage as the core sees it: named files in directories, behind one trait.
//!
//! Append, read, truncate, list and remove are synchronous (they meet the page cache, as in Kafka's own log layer);
//! fsync is an effect with a completion. The memory disk knows what is *written* and what is *flushed*.

use std::sync::Arc;

use bytes::Bytes;

/// An open file of a [`Disk`]; valid until the disk is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// Why a disk operation failed.
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

/// Something that can fill a buffer from a position: an open file.
pub trait RangeSource: std::fmt::Debug + Send + Sync {
    fn read_at(&self, position: u64, into: &mut [u8]) -> Result<(), DiskError>;
}

/// What a read gives, and a piece of what is sent: bytes, or a range that can go to the socket uncopied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slice {
    Bytes(Bytes),
    File(FileRange),
}

/// A directory tree of append-mostly files. Paths are relative, with `/`.
pub trait Disk {
    /// Opens a file, creating it and its directories if `create`.
    fn open(&mut self, path: &str, create: bool) -> Result<FileId, DiskError>;
    fn len(&self, file: FileId) -> Result<u64, DiskError>;
    /// Appends all of `bytes`, or nothing counts: on error the file is cut back to its former length.
    fn append(&mut self, file: FileId, bytes: &[u8]) -> Result<(), DiskError>;
    /// Overwrites in place (index files are preallocated, checkpoints patched).
    fn write_at(&mut self, file: FileId, position: u64, bytes: &[u8]) -> Result<(), DiskError>;
    /// Reads `len` bytes into memory; fewer only at the end of the file.
    fn read(&self, file: FileId, position: u64, len: u64) -> Result<Bytes, DiskError>;
    /// Like `read`, but may stay in the file until it is sent.
    fn slice(&self, file: FileId, position: u64, len: u64) -> Result<Slice, DiskError>;
    /// Cuts, or extends with zeros (preallocation).
    fn set_len(&mut self, file: FileId, len: u64) -> Result<(), DiskError>;
    /// The names in a directory, sorted; empty if it does not exist.
    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError>;
    fn exists(&self, path: &str) -> bool;
    fn remove(&mut self, path: &str) -> Result<(), DiskError>;
    /// Atomic within one directory, replacing what is there.
    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError>;
    fn close(&mut self, file: FileId);
}
