//! What waits to be sent on one connection: bytes and ranges of files, in order.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use bytes::Buf;

use crate::disk::{FileRange, Slice};

/// How much of a file range is read for one write; what the socket does not take is read again later.
const FILE_READ_BYTES: usize = 256 * 1024;

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

#[derive(Debug, Default)]
pub struct Outbox {
    chunks: VecDeque<Slice>,
    unsent: u64,
    sent: u64,
}

impl Outbox {
    pub fn push(&mut self, chunks: Vec<Slice>) {
        for chunk in chunks {
            let len = match &chunk {
                Slice::Bytes(bytes) => bytes.len() as u64,
                Slice::File(range) => range.len,
            };
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

    /// Writes until all is sent or `write` says `WouldBlock`, which is no error here. Any other error ends the
    /// connection, one of a file too: the frame's length is promised already.
    pub fn write_to(
        &mut self,
        scratch: &mut SendScratch,
        mut write: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<()> {
        while !self.chunks.is_empty() {
            let written = match self.gather_and_write(scratch, &mut write) {
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

    /// One write: the leading byte chunks and at most one file range.
    fn gather_and_write(
        &self,
        scratch: &mut SendScratch,
        write: &mut impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); SLICES_PER_WRITE];
        let mut count = 0;
        for (slot, chunk) in slices.iter_mut().zip(&self.chunks) {
            count += 1;
            match chunk {
                Slice::Bytes(bytes) => *slot = IoSlice::new(bytes),
                Slice::File(range) => {
                    *slot = IoSlice::new(scratch.read(range)?);
                    break;
                }
            }
        }
        write(&slices[..count])
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;
    use crate::disk::{DiskError, RangeSource};

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

    #[test]
    fn bytes_and_file_ranges_leave_in_order_whatever_the_socket_takes_at_a_time() {
        let file_len = FILE_READ_BYTES as u64 + 1000;
        for taken_at_a_time in [7777, FILE_READ_BYTES, usize::MAX] {
            let mut outbox = Outbox::default();
            outbox.push(vec![
                Slice::Bytes(Bytes::from_static(b"head")),
                Slice::File(FileRange { source: Arc::new(Counting), position: 5, len: file_len }),
                Slice::Bytes(Bytes::new()),
                Slice::Bytes(Bytes::from_static(b"tail")),
            ]);
            let mut sent = Vec::new();
            outbox
                .write_to(&mut SendScratch::default(), |slices| {
                    let all: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
                    let taken = all.len().min(taken_at_a_time);
                    sent.extend_from_slice(&all[..taken]);
                    Ok(taken)
                })
                .unwrap();
            let mut expected = b"head".to_vec();
            expected.extend((0..file_len).map(|i| ((5 + i) % 251) as u8));
            expected.extend_from_slice(b"tail");
            assert!(sent == expected, "{taken_at_a_time} at a time");
            assert_eq!((outbox.sent(), outbox.unsent()), (expected.len() as u64, 0));
        }
    }

    #[test]
    fn a_full_socket_leaves_the_rest_for_later() {
        let mut outbox = Outbox::default();
        outbox.push(vec![Slice::Bytes(Bytes::from_static(b"abcdef"))]);
        let mut room = 4;
        outbox
            .write_to(&mut SendScratch::default(), |slices| {
                let taken = slices[0].len().min(room);
                room -= taken;
                if taken == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(taken) }
            })
            .unwrap();
        assert_eq!((outbox.sent(), outbox.unsent()), (4, 2));
    }
}
