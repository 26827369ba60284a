//! From a file to a socket. On Linux the kernel links the page cache's pages to the socket and copies nothing.

use std::fs::File;
use std::io::{self, IoSlice};

use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;

use super::outbox::Sink;

impl Sink for &OwnedWriteHalf {
    fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.try_write_vectored(slices)
    }

    fn send_file(&mut self, file: &File, position: u64, len: u64) -> io::Result<usize> {
        send_file(self.as_ref(), file, position, len)
    }
}

/// The one thing of `native` that is not the same on every Unix.
#[cfg(target_os = "linux")]
fn send_file(socket: &TcpStream, file: &File, mut position: u64, len: u64) -> io::Result<usize> {
    let count = usize::try_from(len).unwrap_or(usize::MAX);
    socket.try_io(tokio::io::Interest::WRITABLE, || Ok(rustix::fs::sendfile(socket, file, Some(&mut position), count)?))
}

#[cfg(not(target_os = "linux"))]
fn send_file(socket: &TcpStream, file: &File, position: u64, len: u64) -> io::Result<usize> {
    use std::os::unix::fs::FileExt;

    const COPIED_BYTES: u64 = 256 * 1024;
    let mut bytes = vec![0; len.min(COPIED_BYTES) as usize];
    let read = file.read_at(&mut bytes, position)?;
    if read == 0 { Ok(0) } else { socket.try_write(&bytes[..read]) }
}
