//! The disk of a native node: files below a log directory, which it holds alone.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, IoSlice, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use crate::disk::{Disk, DiskError, FileId, FileRange, RangeSource, Slice};

/// Kafka's name for the file whose lock keeps a second process out of a log directory.
const LOCK_FILE: &str = ".lock";
/// Where [`Disk::replace`] writes before it renames, as Kafka's CheckpointFile does.
const REPLACEMENT_SUFFIX: &str = ".tmp";

#[derive(Debug)]
pub struct FileDisk {
    root: PathBuf,
    open: BTreeMap<FileId, OpenFile>,
    next_file: u32,
    /// Held, not used: the lock ends with it.
    _lock: File,
}

#[derive(Debug)]
struct OpenFile {
    shared: Arc<SharedFile>,
    len: u64,
    /// Where the file's own cursor stands: appends are vectored writes at the cursor.
    cursor: u64,
}

/// An open file that reads, flushes and frames under way keep open.
#[derive(Debug)]
pub struct SharedFile {
    file: File,
    path: String,
}

impl SharedFile {
    /// The file, for a kernel that copies from it to a socket by itself.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Blocks until the file's bytes are on stable storage.
    pub fn flush(&self) -> Result<(), DiskError> {
        self.file.sync_data().map_err(|error| disk_error(&self.path, error))
    }
}

impl RangeSource for SharedFile {
    fn read_at(&self, position: u64, into: &mut [u8]) -> Result<(), DiskError> {
        self.file.read_exact_at(into, position).map_err(|error| disk_error(&self.path, error))
    }
}

impl FileDisk {
    /// Opens a log directory, creating it if need be, and locks it. [`DiskError::Locked`] if another process has it.
    pub fn open(root: &Path) -> Result<FileDisk, DiskError> {
        let name = root.display().to_string();
        std::fs::create_dir_all(root).map_err(|error| disk_error(&name, error))?;
        let lock_path = root.join(LOCK_FILE);
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(lock_path);
        let lock = lock.map_err(|error| disk_error(&name, error))?;
        match lock.try_lock() {
            Ok(()) => Ok(FileDisk { root: root.to_owned(), open: BTreeMap::new(), next_file: 0, _lock: lock }),
            Err(std::fs::TryLockError::WouldBlock) => Err(DiskError::Locked { path: name }),
            Err(std::fs::TryLockError::Error(error)) => Err(disk_error(&name, error)),
        }
    }

    /// An open file that another thread may flush while this disk goes on.
    pub fn shared(&self, file: FileId) -> Result<Arc<SharedFile>, DiskError> {
        Ok(self.handle(file)?.shared.clone())
    }

    fn handle(&self, file: FileId) -> Result<&OpenFile, DiskError> {
        self.open.get(&file).ok_or_else(|| DiskError::NotFound { path: format!("file {}", file.0) })
    }

    fn handle_mut(&mut self, file: FileId) -> Result<&mut OpenFile, DiskError> {
        self.open.get_mut(&file).ok_or_else(|| DiskError::NotFound { path: format!("file {}", file.0) })
    }

    /// A name in a directory is durable once the directory is.
    fn sync_parent(&self, path: &str) -> Result<(), DiskError> {
        let full = self.root.join(path);
        let parent = full.parent().unwrap_or(&self.root);
        File::open(parent).and_then(|directory| directory.sync_all()).map_err(|error| disk_error(path, error))
    }

    fn create_parent(&self, path: &str) -> Result<(), DiskError> {
        match self.root.join(path).parent() {
            Some(parent) => std::fs::create_dir_all(parent).map_err(|error| disk_error(path, error)),
            None => Ok(()),
        }
    }
}

impl OpenFile {
    fn append(&mut self, parts: &[&[u8]]) -> std::io::Result<()> {
        let file = &mut &self.shared.file;
        if self.cursor != self.len {
            file.seek(SeekFrom::Start(self.len))?;
            self.cursor = self.len;
        }
        let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut left = slices.as_mut_slice();
        IoSlice::advance_slices(&mut left, 0);
        let mut written = 0;
        while !left.is_empty() {
            match file.write_vectored(left) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => {
                    written += n as u64;
                    IoSlice::advance_slices(&mut left, n);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.len += written;
        self.cursor = self.len;
        Ok(())
    }
}

impl Disk for FileDisk {
    fn open(&mut self, path: &str, create: bool) -> Result<FileId, DiskError> {
        if create {
            self.create_parent(path)?;
        }
        let file = OpenOptions::new().read(true).write(true).create(create).open(self.root.join(path));
        let file = file.map_err(|error| disk_error(path, error))?;
        let len = file.metadata().map_err(|error| disk_error(path, error))?.len();
        let id = FileId(self.next_file);
        self.next_file += 1;
        let shared = Arc::new(SharedFile { file, path: path.to_owned() });
        self.open.insert(id, OpenFile { shared, len, cursor: 0 });
        Ok(id)
    }

    fn len(&self, file: FileId) -> Result<u64, DiskError> {
        Ok(self.handle(file)?.len)
    }

    fn append(&mut self, file: FileId, parts: &[&[u8]]) -> Result<(), DiskError> {
        let open = self.handle_mut(file)?;
        open.append(parts).map_err(|error| {
            // What was written before the error must not look like a batch.
            let cut = open.shared.file.set_len(open.len);
            open.cursor = u64::MAX;
            disk_error(&open.shared.path, cut.err().unwrap_or(error))
        })
    }

    fn write_at(&mut self, file: FileId, position: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let open = self.handle_mut(file)?;
        let written = open.shared.file.write_all_at(bytes, position);
        written.map_err(|error| disk_error(&open.shared.path, error))?;
        open.len = open.len.max(position + bytes.len() as u64);
        Ok(())
    }

    fn read(&self, file: FileId, position: u64, len: u64) -> Result<Bytes, DiskError> {
        let open = self.handle(file)?;
        let len = len.min(open.len.saturating_sub(position));
        let mut bytes = vec![0; len as usize];
        open.shared.read_at(position, &mut bytes)?;
        Ok(bytes.into())
    }

    fn slice(&self, file: FileId, position: u64, len: u64) -> Result<Slice, DiskError> {
        let open = self.handle(file)?;
        let len = len.min(open.len.saturating_sub(position));
        Ok(Slice::File(FileRange { source: open.shared.clone(), position, len }))
    }

    fn set_len(&mut self, file: FileId, len: u64) -> Result<(), DiskError> {
        let open = self.handle_mut(file)?;
        // Beyond its end a file grows by a hole, which takes no space.
        open.shared.file.set_len(len).map_err(|error| disk_error(&open.shared.path, error))?;
        open.len = len;
        Ok(())
    }

    fn flush(&mut self, file: FileId) -> Result<(), DiskError> {
        self.handle(file)?.shared.flush()
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        let entries = match std::fs::read_dir(self.root.join(directory)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(disk_error(directory, error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(|error| disk_error(directory, error))?.file_name();
            // The lock is this disk's own; names that are not UTF-8 are nobody's.
            names.extend(name.into_string().ok().filter(|name| name != LOCK_FILE));
        }
        names.sort();
        Ok(names)
    }

    fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    fn remove(&mut self, path: &str) -> Result<(), DiskError> {
        let full = self.root.join(path);
        let removed = if full.is_dir() { std::fs::remove_dir_all(&full) } else { std::fs::remove_file(&full) };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(disk_error(path, error)),
            _ => Ok(()),
        }
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        self.create_parent(to)?;
        std::fs::rename(self.root.join(from), self.root.join(to)).map_err(|error| disk_error(from, error))?;
        self.sync_parent(to)
    }

    fn replace(&mut self, path: &str, bytes: &[u8]) -> Result<(), DiskError> {
        self.create_parent(path)?;
        let beside = format!("{path}{REPLACEMENT_SUFFIX}");
        let write = || {
            let mut file = File::create(self.root.join(&beside))?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        write().map_err(|error| disk_error(path, error))?;
        self.rename(&beside, path)
    }

    fn space(&self) -> Option<(i64, i64)> {
        let space = rustix::fs::statvfs(&self.root).ok()?;
        let bytes = |blocks: u64| i64::try_from(blocks.saturating_mul(space.f_frsize)).ok();
        Some((bytes(space.f_blocks)?, bytes(space.f_bavail)?))
    }

    fn close(&mut self, file: FileId) {
        self.open.remove(&file);
    }
}

/// A file-size limit (EFBIG) is a full disk to whoever wanted to write.
fn disk_error(path: &str, error: std::io::Error) -> DiskError {
    let path = path.to_owned();
    match error.kind() {
        ErrorKind::NotFound => DiskError::NotFound { path },
        ErrorKind::StorageFull | ErrorKind::FileTooLarge | ErrorKind::QuotaExceeded => DiskError::Full { path },
        _ => DiskError::Io { path, message: error.to_string() },
    }
}
