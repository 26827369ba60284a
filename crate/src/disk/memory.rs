//! A disk in memory: for the page, for virtual runs and for tests.
//!
//! Cloning is cheap: contents are shared until one of the clones changes them. It knows what was *written* and what was
//! *flushed*: [`MemoryDisk::process_kill`] keeps the first, [`MemoryDisk::power_cut`] only the second.

use std::sync::Arc;

use bytes::Bytes;

use super::{Disk, DiskError, FileId, Slice};
use crate::ordered::{BTreeMap, BTreeSet};

/// A write to a shared chunk copies it, so this bounds what an append after a snapshot costs; it is also how much of a
/// file one read can give without copying.
const CHUNK_BYTES_MAX: usize = 16 * 1024;

#[derive(Debug, Clone, Default)]
pub struct MemoryDisk {
    names: BTreeMap<String, u32>,
    inodes: BTreeMap<u32, Inode>,
    open: BTreeMap<FileId, OpenFile>,
    next_inode: u32,
    next_file: u32,
    capacity: Option<u64>,
}

#[derive(Debug, Clone)]
struct OpenFile {
    inode: u32,
    path: Arc<str>,
}

#[derive(Debug, Clone, Default)]
struct Inode {
    written: Arc<Content>,
    flushed: Arc<Content>,
}

/// A file's bytes: chunks in order, by the position at which they start.
#[derive(Debug, Clone, Default)]
struct Content {
    chunks: BTreeMap<u64, Chunk>,
    len: u64,
}

#[derive(Debug, Clone)]
enum Chunk {
    Data(Arc<Vec<u8>>),
    /// Preallocated and never written.
    Zeros(u64),
}

/// Lets a read hold on to a chunk without copying it.
struct SharedChunk(Arc<Vec<u8>>);

impl AsRef<[u8]> for SharedChunk {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl MemoryDisk {
    pub fn new() -> MemoryDisk {
        MemoryDisk::default()
    }

    /// Limits the bytes that all files together may hold; more is [`DiskError::Full`]. `None` lifts the limit.
    pub fn set_capacity(&mut self, bytes: Option<u64>) {
        self.capacity = bytes;
    }

    /// The process dies: its open files are gone, every written byte stays.
    pub fn process_kill(&mut self) {
        self.open.clear();
        self.forget_unnamed();
    }

    /// The machine loses power: what was not flushed is gone too.
    pub fn power_cut(&mut self) {
        for inode in self.inodes.values_mut() {
            inode.written = inode.flushed.clone();
        }
        self.process_kill();
    }

    /// All files with their bytes, for state hashes and for readers who want to look at a disk.
    pub fn files(&self) -> impl Iterator<Item = (&str, Bytes)> {
        self.names.iter().map(|(path, inode)| {
            let content = self.inodes.get(inode).map(|inode| inode.written.clone()).unwrap_or_default();
            (path.as_str(), content.read(0, content.len))
        })
    }

    fn used(&self) -> u64 {
        self.inodes.values().map(|inode| inode.written.data_len()).sum()
    }

    fn handle(&self, file: FileId) -> Result<&OpenFile, DiskError> {
        self.open.get(&file).ok_or_else(|| DiskError::NotFound { path: format!("file {}", file.0) })
    }

    fn content(&self, file: FileId) -> Result<&Arc<Content>, DiskError> {
        let handle = self.handle(file)?;
        let inode = self.inodes.get(&handle.inode);
        inode.map(|inode| &inode.written).ok_or_else(|| DiskError::NotFound { path: handle.path.to_string() })
    }

    fn content_mut(&mut self, file: FileId) -> Result<&mut Content, DiskError> {
        let handle = self.open.get(&file).ok_or_else(|| DiskError::NotFound { path: format!("file {}", file.0) })?;
        let inode = self.inodes.get_mut(&handle.inode);
        let inode = inode.ok_or_else(|| DiskError::NotFound { path: handle.path.to_string() })?;
        Ok(Arc::make_mut(&mut inode.written))
    }

    /// Only with a limit is it worth counting.
    fn check_room(&self, file: FileId, more: u64) -> Result<(), DiskError> {
        match self.capacity {
            Some(capacity) if self.used().saturating_add(more) > capacity => {
                Err(DiskError::Full { path: self.handle(file)?.path.to_string() })
            }
            _ => Ok(()),
        }
    }

    fn forget_unnamed(&mut self) {
        let held: BTreeSet<u32> =
            self.names.values().copied().chain(self.open.values().map(|file| file.inode)).collect();
        self.inodes.retain(|inode, _| held.contains(inode));
    }

    /// The names at `path` and below it.
    fn names_under(&self, path: &str) -> Vec<String> {
        let below = format!("{path}/");
        let own = self.names.contains_key(path).then(|| path.to_owned());
        let inside =
            self.names.range(below.clone()..).map(|(name, _)| name).take_while(|name| name.starts_with(&below));
        own.into_iter().chain(inside.cloned()).collect()
    }

    fn inode_at(&mut self, path: &str) -> u32 {
        if let Some(inode) = self.names.get(path) {
            return *inode;
        }
        let inode = self.next_inode;
        self.next_inode += 1;
        self.inodes.insert(inode, Inode::default());
        self.names.insert(path.to_owned(), inode);
        inode
    }
}

impl Disk for MemoryDisk {
    fn open(&mut self, path: &str, create: bool) -> Result<FileId, DiskError> {
        if !create && !self.names.contains_key(path) {
            return Err(DiskError::NotFound { path: path.to_owned() });
        }
        let inode = self.inode_at(path);
        let file = FileId(self.next_file);
        self.next_file += 1;
        self.open.insert(file, OpenFile { inode, path: path.into() });
        Ok(file)
    }

    fn len(&self, file: FileId) -> Result<u64, DiskError> {
        Ok(self.content(file)?.len)
    }

    fn append(&mut self, file: FileId, parts: &[&[u8]]) -> Result<(), DiskError> {
        self.check_room(file, parts.iter().map(|part| part.len() as u64).sum())?;
        let content = self.content_mut(file)?;
        for part in parts {
            content.append(part);
        }
        Ok(())
    }

    fn write_at(&mut self, file: FileId, position: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.check_room(file, bytes.len() as u64)?;
        self.content_mut(file)?.write_at(position, bytes);
        Ok(())
    }

    fn read(&self, file: FileId, position: u64, len: u64) -> Result<Bytes, DiskError> {
        Ok(self.content(file)?.read(position, len))
    }

    fn slice(&self, file: FileId, position: u64, len: u64) -> Result<Slice, DiskError> {
        self.read(file, position, len).map(Slice::Bytes)
    }

    fn set_len(&mut self, file: FileId, len: u64) -> Result<(), DiskError> {
        self.content_mut(file)?.set_len(len);
        Ok(())
    }

    fn flush(&mut self, file: FileId) -> Result<(), DiskError> {
        let inode = self.handle(file)?.inode;
        if let Some(inode) = self.inodes.get_mut(&inode) {
            inode.flushed = inode.written.clone();
        }
        Ok(())
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let below = self.names.keys().filter_map(|name| name.strip_prefix(&prefix));
        let children: BTreeSet<&str> = below.filter_map(|rest| rest.split('/').next()).collect();
        Ok(children.into_iter().map(str::to_owned).collect())
    }

    fn exists(&self, path: &str) -> bool {
        !self.names_under(path).is_empty()
    }

    fn remove(&mut self, path: &str) -> Result<(), DiskError> {
        let names = self.names_under(path);
        for name in &names {
            self.names.remove(name);
        }
        if !names.is_empty() {
            self.forget_unnamed();
        }
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        let names = self.names_under(from);
        if names.is_empty() {
            return Err(DiskError::NotFound { path: from.to_owned() });
        }
        for name in names {
            if let Some(inode) = self.names.remove(&name) {
                self.names.insert(format!("{to}{}", &name[from.len()..]), inode);
            }
        }
        self.forget_unnamed();
        Ok(())
    }

    fn replace(&mut self, path: &str, bytes: &[u8]) -> Result<(), DiskError> {
        let more = bytes.len() as u64;
        if self.capacity.is_some_and(|capacity| self.used().saturating_add(more) > capacity) {
            return Err(DiskError::Full { path: path.to_owned() });
        }
        // A new inode: whoever has the old file open keeps reading the old bytes.
        let replaced = self.names.remove(path).is_some();
        let inode = self.inode_at(path);
        let mut content = Content::default();
        content.append(bytes);
        let content = Arc::new(content);
        self.inodes.insert(inode, Inode { written: content.clone(), flushed: content });
        // Looks at all files, which a thousand new ones must not each cost.
        if replaced {
            self.forget_unnamed();
        }
        Ok(())
    }

    fn close(&mut self, file: FileId) {
        if let Some(closed) = self.open.remove(&file)
            && self.names.get(closed.path.as_ref()) != Some(&closed.inode)
        {
            self.forget_unnamed();
        }
    }
}

impl Chunk {
    fn len(&self) -> u64 {
        match self {
            Chunk::Data(data) => data.len() as u64,
            Chunk::Zeros(len) => *len,
        }
    }
}

impl Content {
    /// Bytes that take space: preallocated zeros do not.
    fn data_len(&self) -> u64 {
        let data = self.chunks.values().filter(|chunk| matches!(chunk, Chunk::Data(_)));
        data.map(Chunk::len).sum()
    }

    fn append(&mut self, mut bytes: &[u8]) {
        if let Some(mut last) = self.chunks.last_entry()
            && let Chunk::Data(data) = last.get_mut()
            && data.len() < CHUNK_BYTES_MAX
        {
            let (fits, rest) = bytes.split_at(bytes.len().min(CHUNK_BYTES_MAX - data.len()));
            Arc::make_mut(data).extend_from_slice(fits);
            self.len += fits.len() as u64;
            bytes = rest;
        }
        for piece in bytes.chunks(CHUNK_BYTES_MAX) {
            self.chunks.insert(self.len, Chunk::Data(Arc::new(piece.to_vec())));
            self.len += piece.len() as u64;
        }
    }

    fn read(&self, position: u64, len: u64) -> Bytes {
        let end = position.saturating_add(len).min(self.len);
        if position >= end {
            return Bytes::new();
        }
        let Some((&start, first)) = self.chunks.range(..=position).next_back() else { return Bytes::new() };
        let is_last = start + first.len() == self.len;
        if let Chunk::Data(data) = first
            && end <= start + data.len() as u64
            // The last chunk still grows. Holding on to it would make the next append copy it, so a small read of it
            // copies the few bytes instead.
            && (!is_last || data.len() >= CHUNK_BYTES_MAX || (end - position) * 2 > data.len() as u64)
        {
            let whole = Bytes::from_owner(SharedChunk(data.clone()));
            return whole.slice((position - start) as usize..(end - start) as usize);
        }
        let mut out = Vec::with_capacity((end - position) as usize);
        for (&start, chunk) in self.chunks.range(start..end) {
            let from = position.max(start) - start;
            let to = (end - start).min(chunk.len());
            match chunk {
                Chunk::Data(data) => out.extend_from_slice(&data[from as usize..to as usize]),
                Chunk::Zeros(_) => out.resize(out.len() + (to - from) as usize, 0),
            }
        }
        out.into()
    }

    fn set_len(&mut self, len: u64) {
        if len > self.len {
            self.chunks.insert(self.len, Chunk::Zeros(len - self.len));
        } else {
            self.chunks.split_off(&len);
            if let Some((&start, last)) = self.chunks.iter_mut().next_back() {
                match last {
                    Chunk::Data(data) if start + data.len() as u64 > len => {
                        Arc::make_mut(data).truncate((len - start) as usize);
                    }
                    Chunk::Data(_) => {}
                    Chunk::Zeros(zeros) => *zeros = len - start,
                }
            }
        }
        self.len = len;
    }

    fn write_at(&mut self, position: u64, bytes: &[u8]) {
        let end = position + bytes.len() as u64;
        if position > self.len {
            self.set_len(position);
        }
        // What follows the written range is set aside, the front cut, and all put together again: index files are
        // written in order, so what is set aside is one run of zeros.
        let old_len = self.len;
        let behind = if end < old_len { self.split_off(end) } else { BTreeMap::new() };
        self.set_len(position);
        self.append(bytes);
        self.chunks.extend(behind);
        self.len = old_len.max(end);
    }

    /// Takes the chunks from `position` on, which lies inside the file.
    fn split_off(&mut self, position: u64) -> BTreeMap<u64, Chunk> {
        let mut behind = self.chunks.split_off(&position);
        if let Some((&start, chunk)) = self.chunks.iter().next_back() {
            let end = start + chunk.len();
            if end > position {
                let tail = match chunk {
                    Chunk::Data(data) => Chunk::Data(Arc::new(data[(position - start) as usize..].to_vec())),
                    Chunk::Zeros(_) => Chunk::Zeros(end - position),
                };
                behind.insert(position, tail);
            }
        }
        behind
    }
}
