//! One TCP connection: its writing half, and the gate that stops its reader.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::outbox::Outbox;

/// A peer that does not take its answers gets no more of its requests read while this much waits for it.
pub const UNSENT_BYTES_MAX: u64 = 1024 * 1024;

/// How long a closed connection may take to send what is left.
pub const LINGER: std::time::Duration = std::time::Duration::from_secs(10);

pub struct Connection {
    pub writer: Rc<Writer>,
    pub gate: Rc<Gate>,
    pub reader: AbortHandle,
    /// Opened by a peer. Only such a connection stops reading while its peer does not: if both ends did, each could
    /// wait for the other for ever.
    pub accepted: bool,
}

impl Connection {
    /// Stop reading, send what is buffered, then FIN (when the last owner of the writer drops it).
    pub fn finish(self) {
        self.reader.abort();
        self.writer.closed.notify_one();
    }

    /// The peer is gone: nothing buffered can reach it.
    pub fn abandon(self) {
        self.reader.abort();
        self.writer.outbox.borrow_mut().clear();
        self.writer.closed.notify_one();
    }

    /// Applies the bound on unsent bytes.
    pub fn apply_backpressure(&self) {
        let unsent = self.writer.outbox.borrow().unsent();
        self.gate.set_paused_by_peer(self.accepted && unsent > UNSENT_BYTES_MAX);
    }
}

/// The writing half with what waits for it. A task owns it beside the connection while the socket is full.
pub struct Writer {
    pub half: OwnedWriteHalf,
    pub outbox: RefCell<Outbox>,
    /// A task is waiting for the socket to take more.
    pub waiting: Cell<bool>,
    /// The node closed the connection.
    pub closed: Notify,
}

/// Stops a reader for either of two reasons.
#[derive(Default)]
pub struct Gate {
    paused_by_node: Cell<bool>,
    paused_by_peer: Cell<bool>,
    opened: Notify,
}

impl Gate {
    pub fn set_paused_by_node(&self, paused: bool) {
        self.paused_by_node.set(paused);
        self.wake();
    }

    pub fn set_paused_by_peer(&self, paused: bool) {
        self.paused_by_peer.set(paused);
        self.wake();
    }

    fn wake(&self) {
        if self.is_open() {
            self.opened.notify_one();
        }
    }

    fn is_open(&self) -> bool {
        !self.paused_by_node.get() && !self.paused_by_peer.get()
    }

    pub async fn wait_until_open(&self) {
        while !self.is_open() {
            self.opened.notified().await;
        }
    }
}
