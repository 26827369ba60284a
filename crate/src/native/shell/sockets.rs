//! Listening, connecting, reading and writing.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::pin;
use std::rc::Rc;

use bytes::Bytes;
use tokio::io::AsyncReadExt;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::connection::{Connection, Gate, LINGER, Writer};
use super::outbox::Outbox;
use super::{Core, End, Report, Shell};
use crate::disk::Slice;
use crate::node::{Address, CloseReason, ConnId, ConnectToken, Input, ListenerId, Node, OpenedBy};

/// Connections that the kernel holds for us until they are accepted.
const LISTEN_BACKLOG: u32 = 1024;

/// How long to wait when accepting fails, as it does while the process has no file descriptor left.
const ACCEPT_RETRY: std::time::Duration = std::time::Duration::from_millis(100);

/// The room offered to one read. It doubles while reads fill it and halves while they need less than a quarter.
const READ_BYTES_MIN: usize = 4 * 1024;
const READ_BYTES_MAX: usize = 1024 * 1024;

impl<N: Node + 'static> Shell<N> {
    pub(super) fn listen(self: &Rc<Self>, core: &mut Core<N>, listener: ListenerId, address: Address) {
        let (socket, bound) = match bind(&address) {
            Ok(bound) => bound,
            Err(error) => return core.finish(End::ListenFailed { address, error }),
        };
        let address = Address { host: address.host, port: bound.port() };
        (core.report)(Report::Listening { listener, address: address.clone() });
        core.inputs.push_back(Input::Listening { listener, address });
        let shell = Rc::clone(self);
        tokio::task::spawn_local(async move {
            loop {
                match socket.accept().await {
                    Ok((stream, peer)) => shell.opened(stream, peer, OpenedBy::Listener(listener)),
                    Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
                }
            }
        });
    }

    pub(super) fn connect(self: &Rc<Self>, token: ConnectToken, address: Address) {
        let shell = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let connected = async {
                let stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
                let peer = stream.peer_addr()?;
                io::Result::Ok((stream, peer))
            };
            match connected.await {
                Ok((stream, peer)) => shell.opened(stream, peer, OpenedBy::Connect(token)),
                Err(error) => {
                    let why = match error.kind() {
                        io::ErrorKind::ConnectionRefused => CloseReason::Refused,
                        io::ErrorKind::ConnectionReset => CloseReason::Reset,
                        _ => CloseReason::Unreachable,
                    };
                    shell.feed(Input::ConnectFailed { token, why });
                }
            }
        });
    }

    fn opened(self: &Rc<Self>, stream: TcpStream, peer: SocketAddr, by: OpenedBy) {
        // It fails only on a socket that is broken already, which the first read tells.
        let _ = stream.set_nodelay(true);
        let (read_half, write_half) = stream.into_split();
        let mut core = self.core.borrow_mut();
        let conn = core.new_connection();
        let gate = Rc::new(Gate::default());
        let reader = tokio::task::spawn_local(Rc::clone(self).read(conn, read_half, Rc::clone(&gate)));
        core.connections.insert(
            conn,
            Connection {
                writer: Rc::new(Writer::new(write_half)),
                gate,
                reader: reader.abort_handle(),
                accepted: matches!(by, OpenedBy::Listener(_)),
            },
        );
        let peer = Address { host: peer.ip().to_string(), port: peer.port() };
        core.inputs.push_back(Input::Opened { conn, by, peer });
        self.drain(&mut core);
    }

    /// The task of one connection: reads, and feeds what it read. Aborted when the connection is closed.
    async fn read(self: Rc<Self>, conn: ConnId, mut half: OwnedReadHalf, gate: Rc<Gate>) {
        let mut room = READ_BYTES_MIN;
        loop {
            gate.wait_until_open().await;
            let read = self.read_once(&mut half, room).await;
            // Paused while it waited: the bytes stay here until they are wanted.
            gate.wait_until_open().await;
            let why = match read {
                Ok(bytes) if !bytes.is_empty() => {
                    room = next_room(room, bytes.len());
                    self.feed(Input::Bytes { conn, bytes });
                    continue;
                }
                Ok(_) => CloseReason::Finished,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => CloseReason::Reset,
            };
            let mut core = self.core.borrow_mut();
            core.lose(conn, why);
            self.drain(&mut core);
            return;
        }
    }

    /// Reads once into the buffer that all connections share; it is borrowed only while the socket is ready.
    async fn read_once(&self, half: &mut OwnedReadHalf, room: usize) -> io::Result<Bytes> {
        std::future::poll_fn(|context| {
            let buffer = &mut self.core.borrow_mut().read_buffer;
            buffer.reserve(room);
            pin!(half.read_buf(buffer)).poll(context).map_ok(|_| buffer.split().freeze())
        })
        .await
    }

    pub(super) fn send(self: &Rc<Self>, core: &mut Core<N>, conn: ConnId, chunks: Vec<Slice>) {
        let Some(connection) = core.connections.get(&conn) else {
            return;
        };
        let writer = Rc::clone(&connection.writer);
        writer.outbox.borrow_mut().push(chunks);
        if writer.waiting.get() {
            connection.apply_backpressure();
        } else {
            self.write(core, conn, &writer);
        }
    }

    /// Writes what the socket takes now; a task waits for it to take the rest.
    fn write(self: &Rc<Self>, core: &mut Core<N>, conn: ConnId, writer: &Rc<Writer>) {
        if let Err(why) = writer.flush(core) {
            return core.lose(conn, why);
        }
        core.written(conn, writer);
        if !writer.outbox.borrow().is_empty() {
            writer.waiting.set(true);
            tokio::task::spawn_local(Rc::clone(self).write_rest(conn, Rc::clone(writer)));
        }
    }

    async fn write_rest(self: Rc<Self>, conn: ConnId, writer: Rc<Writer>) {
        let mut closed = false;
        while !writer.outbox.borrow().is_empty() {
            if closed {
                match tokio::time::timeout(LINGER, writer.half.writable()).await {
                    Ok(Ok(())) => {}
                    _ => break,
                }
            } else {
                tokio::select! {
                    _ = writer.half.writable() => {}
                    () = writer.closed.notified() => {
                        closed = true;
                        continue;
                    }
                }
            }
            let mut core = self.core.borrow_mut();
            match writer.flush(&mut core) {
                Ok(()) => core.written(conn, &writer),
                Err(why) => {
                    writer.outbox.borrow_mut().clear();
                    core.lose(conn, why);
                }
            }
            self.drain(&mut core);
        }
        writer.waiting.set(false);
    }
}

impl<N> Core<N> {
    /// Tells the node what the socket took, unless the node has closed the connection.
    fn written(&mut self, conn: ConnId, writer: &Writer) {
        if let Some(connection) = self.connections.get(&conn) {
            connection.apply_backpressure();
            let up_to = writer.outbox.borrow().sent();
            self.inputs.push_back(Input::Written { conn, up_to });
        }
    }
}

impl Writer {
    fn new(half: OwnedWriteHalf) -> Writer {
        Writer { half, outbox: Outbox::default().into(), waiting: false.into(), closed: Default::default() }
    }

    fn flush<N>(&self, core: &mut Core<N>) -> Result<(), CloseReason> {
        let written = self.outbox.borrow_mut().write_to(&mut core.scratch, &mut &self.half);
        written.map_err(|_| CloseReason::Reset)
    }
}

fn bind(address: &Address) -> io::Result<(TcpListener, SocketAddr)> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for candidate in (address.host.as_str(), address.port).to_socket_addrs()? {
        match bind_one(candidate) {
            Ok(listener) => {
                let bound = listener.local_addr()?;
                return Ok((listener, bound));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn bind_one(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restarted broker must get its port back although old connections are still in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(LISTEN_BACKLOG)
}

fn next_room(room: usize, read: usize) -> usize {
    if read >= room {
        (room * 2).min(READ_BYTES_MAX)
    } else if read < room / 4 {
        (room / 2).max(READ_BYTES_MIN)
    } else {
        room
    }
}
