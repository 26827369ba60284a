//! A shell on a thread of its own, and the handle by which its owner commands it.

use std::io;
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use super::{End, Order, Parts, drive};
use crate::node::{CallId, Command, Node};

/// Commands one shell. Dropping it stops the shell and waits for its thread.
#[derive(Debug)]
pub struct Handle {
    orders: mpsc::UnboundedSender<Order>,
    thread: Option<JoinHandle<io::Result<End>>>,
}

/// Starts a thread that builds a shell and drives it until it ends or the handle is dropped.
///
/// `build` runs on the new thread, since a node need not be `Send`.
pub fn spawn<N, F>(name: &str, build: F) -> io::Result<Handle>
where
    N: Node + 'static,
    F: FnOnce() -> Parts<N> + Send + 'static,
{
    let (orders, receiver) = mpsc::unbounded_channel();
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(drive(build(), receiver)))
    })?;
    Ok(Handle { orders, thread: Some(thread) })
}

impl Handle {
    /// Gives the node a command. A shell that has ended drops it; [`Handle::join`] tells why it ended.
    pub fn command(&self, call: CallId, command: Command) {
        let _ = self.orders.send(Order::Command(call, command));
    }

    /// Waits until the shell ends by itself.
    pub fn join(mut self) -> io::Result<End> {
        self.take_end()
    }

    /// Ends the shell at once; its sockets are closed.
    pub fn stop(mut self) -> io::Result<End> {
        let _ = self.orders.send(Order::Stop);
        self.take_end()
    }

    fn take_end(&mut self) -> io::Result<End> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(end)) => end,
            Some(Err(_)) => Err(io::Error::other("the shell's thread panicked")),
            None => Ok(End::Stopped),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Stop);
        let _ = self.take_end();
    }
}
