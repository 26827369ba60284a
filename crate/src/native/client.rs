//! Our clients on TCP, for Rust programs: commands in, replies out, the state machine on a thread of its own.

use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::shell::{self, Clock, Handle, Parts, Report};
use crate::client::Client;
use crate::node::{CallId, Command, Reply};

/// A running client. Dropping it ends it at once; give [`Command::Close`] first to send what is buffered.
#[derive(Debug)]
pub struct NativeClient {
    handle: Handle,
    replies: Receiver<(CallId, Reply)>,
    next_call: u64,
}

impl NativeClient {
    /// Starts a client's thread. Errors: the system has no thread or no file descriptor left.
    pub fn start(client: Client) -> io::Result<NativeClient> {
        let (sender, replies) = channel();
        let handle = shell::spawn("client", move || Parts {
            node: client,
            flusher: Box::new(|_, _| Box::new(|| Ok(()))),
            clock: Clock::starting_now(),
            routes: shell::Routes::default(),
            report: Box::new(move |report| {
                if let Report::Reply(call, reply) = report {
                    // It fails only when the owner is gone, and then nobody wants to know.
                    let _ = sender.send((call, reply));
                }
            }),
        })?;
        Ok(NativeClient { handle, replies, next_call: 0 })
    }

    /// Gives a command; its replies come by [`NativeClient::next_reply`].
    pub fn give(&mut self, command: Command) -> CallId {
        let call = CallId(self.next_call);
        self.next_call += 1;
        self.handle.command(call, command);
        call
    }

    /// The next reply of any call; `None` if none comes within `timeout`.
    pub fn next_reply(&self, timeout: Duration) -> Option<(CallId, Reply)> {
        self.replies.recv_timeout(timeout).ok()
    }

    /// Gives a command and waits for what it comes to: its reply, or for a send what its callback says. Replies of
    /// other calls that come meanwhile are dropped.
    pub fn ask(&mut self, command: Command, timeout: Duration) -> Option<Reply> {
        let asked = self.give(command);
        let deadline = Instant::now() + timeout;
        loop {
            match self.next_reply(deadline.saturating_duration_since(Instant::now()))? {
                (call, reply) if call == asked && reply != Reply::Returned => return Some(reply),
                _ => {}
            }
        }
    }
}
