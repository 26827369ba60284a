//! What waits to be sent on one connection: bytes and ranges of files, in order.

use std::any::Any;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};

use bytes::Buf;

use crate::disk::{FileRange, Slice};
use crate::native::file_disk::SharedFile;

/// A longer range of a file goes to the socket without passing through this process. A shorter one is read and leaves
/// in one write with the bytes before it, which costs less than a system call and a packet of its own. What the socket
/// does not take is read again later.
const FILE_READ_BYTES: usize = 32 * 1024;

/// How many pieces go into one write; Linux takes 1024, and a response has two or three per partition.
const SLICES_PER_WRITE: usize = 64;

/// Where file ranges are read to on their way out; one for all connections of a shell.
#[derive(Debug, Default)]
pub struct SendScratch(Vec<u8>);

impl SendScratch {
    fn read(&mut self, range: &FileRange) -> io::Result<&[u8]> {
        if self.0.is_empty() {
            self.0.resize(FILE_READ_BYTES, 0);
        }
        let len = usize::try_from(range.len).unwrap_or(usize::MAX).min(self.0.len());
        let into = &mut self.0[..len];
        range.source.read_at(range.position, into).map_err(|error| io::Error::other(format!("{error:?}")))?;
        Ok(into)
    }
}

/// A socket that does not block: both calls take what there is room for, or say `WouldBlock`.
pub trait Sink {
    fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize>;
    /// Sends `len` bytes of a file from `position` on; 0 if the file ends there.
    fn send_file(&mut self, file: &File, position: u64, len: u64) -> io::Result<usize>;
}

#[derive(Debug, Default)]
pub struct Outbox {
    chunks: VecDeque<Slice>,
    unsent: u64,
    sent: u64,
}

impl Outbox {
    pub fn push(&mut self, chunks: Vec<Slice>) {
        for chunk in chunks {
            let len = chunk.size_in_bytes();
            if len > 0 {
                self.unsent += len;
                self.chunks.push_back(chunk);
            }
        }
    }

    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// How many bytes the socket has taken since the connection was opened.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub fn clear(&mut self) {
        self.chunks.clear();
        self.unsent = 0;
    }

    /// Writes until all is sent or the sink says `WouldBlock`, which is no error here. Any other error ends the
    /// connection, one of a file too: the frame's length is promised already.
    pub fn write_to(&mut self, scratch: &mut SendScratch, sink: &mut impl Sink) -> io::Result<()> {
        while let Some(front) = self.chunks.front() {
            let written = match uncopied(front) {
                Some((file, range)) => sink.send_file(file, range.position, range.len),
                None => self.gather_and_write(scratch, sink),
            };
            let written = match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.advance(written);
        }
        Ok(())
    }

    /// One write: the leading byte chunks and at most one file range that is to be copied.
    fn gather_and_write(&self, scratch: &mut SendScratch, sink: &mut impl Sink) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); SLICES_PER_WRITE];
        let mut count = 0;
        let copied = self.chunks.iter().take_while(|chunk| uncopied(chunk).is_none());
        for (slot, chunk) in slices.iter_mut().zip(copied) {
            count += 1;
            match chunk {
                Slice::Bytes(bytes) => *slot = IoSlice::new(bytes),
                Slice::File(range) => {
                    *slot = IoSlice::new(scratch.read(range)?);
                    break;
                }
            }
        }
        sink.write(&slices[..count])
    }

    fn advance(&mut self, written: usize) {
        let mut left = written as u64;
        self.sent += left;
        self.unsent = self.unsent.saturating_sub(left);
        while left > 0
            && let Some(front) = self.chunks.front_mut()
        {
            let len = match front {
                Slice::Bytes(bytes) => {
                    let taken = left.min(bytes.len() as u64);
                    bytes.advance(taken as usize);
                    left -= taken;
                    bytes.len() as u64
                }
                Slice::File(range) => {
                    let taken = left.min(range.len);
                    range.position += taken;
                    range.len -= taken;
                    left -= taken;
                    range.len
                }
            };
            if len == 0 {
                self.chunks.pop_front();
            }
        }
    }
}

/// The file behind a chunk that the kernel is to copy.
fn uncopied(chunk: &Slice) -> Option<(&File, &FileRange)> {
    match chunk {
        Slice::File(range) if range.len > FILE_READ_BYTES as u64 => {
            let source: &dyn Any = &*range.source;
            source.downcast_ref::<SharedFile>().map(|shared| (shared.file(), range))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;
    use crate::disk::{Disk, DiskError, RangeSource};
    use crate::native::file_disk::FileDisk;

    /// A file whose byte at position p is p modulo 251.
    #[derive(Debug)]
    struct Counting;

    impl RangeSource for Counting {
        fn read_at(&self, position: u64, into: &mut [u8]) -> Result<(), DiskError> {
            for (i, byte) in into.iter_mut().enumerate() {
                *byte = ((position + i as u64) % 251) as u8;
            }
            Ok(())
        }
    }

    /// Keeps what it gets, so much at a time, until it is full.
    struct Taking {
        at_a_time: usize,
        room: usize,
        taken: Vec<u8>,
        calls_for_files: u32,
    }

    impl Taking {
        fn new(at_a_time: usize, room: usize) -> Taking {
            Taking { at_a_time, room, taken: Vec::new(), calls_for_files: 0 }
        }
    }

    impl Sink for Taking {
        fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
            let mut all: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
            all.truncate(self.at_a_time.min(self.room - self.taken.len()));
            self.taken.extend_from_slice(&all);
            if all.is_empty() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(all.len()) }
        }

        fn send_file(&mut self, file: &File, position: u64, len: u64) -> io::Result<usize> {
            self.calls_for_files += 1;
            let mut bytes = vec![0; len as usize];
            file.read_exact_at(&mut bytes, position)?;
            self.write(&[IoSlice::new(&bytes)])
        }
    }

    #[test]
    fn bytes_and_file_ranges_leave_in_order_whatever_the_socket_takes_at_a_time() {
        let file_len = FILE_READ_BYTES as u64 + 1000;
        for at_a_time in [7777, FILE_READ_BYTES, usize::MAX] {
            let mut outbox = Outbox::default();
            outbox.push(vec![
                Slice::Bytes(Bytes::from_static(b"head")),
                Slice::File(FileRange { source: Arc::new(Counting), position: 5, len: file_len }),
                Slice::Bytes(Bytes::new()),
                Slice::Bytes(Bytes::from_static(b"tail")),
            ]);
            let mut sink = Taking::new(at_a_time, usize::MAX);
            outbox.write_to(&mut SendScratch::default(), &mut sink).unwrap();
            let mut expected = b"head".to_vec();
            expected.extend((0..file_len).map(|i| ((5 + i) % 251) as u8));
            expected.extend_from_slice(b"tail");
            assert!(sink.taken == expected, "{at_a_time} at a time");
            assert_eq!((outbox.sent(), outbox.unsent()), (expected.len() as u64, 0));
        }
    }

    #[test]
    fn long_ranges_of_a_disks_file_are_left_to_the_kernel_and_short_ones_join_the_bytes_before_them() {
        let directory = tempfile::tempdir().unwrap();
        let mut disk = FileDisk::open(directory.path()).unwrap();
        let file = disk.open("f", true).unwrap();
        let content: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
        disk.append(file, &[&content]).unwrap();
        let mut outbox = Outbox::default();
        outbox.push(vec![
            Slice::Bytes(Bytes::from_static(b"head")),
            disk.slice(file, 0, 90_000).unwrap(),
            Slice::Bytes(Bytes::from_static(b"middle")),
            disk.slice(file, 7, 1000).unwrap(),
        ]);
        let mut sink = Taking::new(usize::MAX, usize::MAX);
        outbox.write_to(&mut SendScratch::default(), &mut sink).unwrap();
        let expected = [b"head", &content[..90_000], b"middle", &content[7..1007]].concat();
        assert!(sink.taken == expected);
        assert_eq!(sink.calls_for_files, 1);
    }

    #[test]
    fn a_full_socket_leaves_the_rest_for_later() {
        let mut outbox = Outbox::default();
        outbox.push(vec![Slice::Bytes(Bytes::from_static(b"abcdef"))]);
        outbox.write_to(&mut SendScratch::default(), &mut Taking::new(usize::MAX, 4)).unwrap();
        assert_eq!((outbox.sent(), outbox.unsent()), (4, 2));
    }
}
