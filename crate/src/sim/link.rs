//! One TCP connection: two ends, and a pipe each way with a send buffer, a wire, and a receive window.
//!
//! A write stays whole: it is taken, flies and arrives as one. Nothing overtakes anything within a pipe.

use std::collections::VecDeque;

use bytes::Bytes;

use super::ProcessId;
use super::frame_fault::{Cut, FrameAction, Hold, Swallow};
use super::trace::{Cause, LostWhy};
use crate::node::{Address, CloseReason, ConnId, ConnectToken, Duration, EventId, Instant, Rng};

/// What connects two processes, one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSpec {
    /// How long a byte is under way.
    pub delay: Duration,
    /// Up to this much more, drawn for each write.
    pub jitter: Duration,
    /// 0 means without limit.
    pub bytes_per_second: u64,
    /// Bytes that the sender's kernel takes before the receiver's has them.
    pub send_buffer_bytes: u64,
    /// Bytes that may be under way or unread in the receiver's kernel.
    pub receive_window_bytes: u64,
}

impl Default for LinkSpec {
    /// A rack: 0.2 ms and 1 Gbit/s, with the buffers that Kafka's clients ask for by default (`send.buffer.bytes`,
    /// `receive.buffer.bytes`).
    fn default() -> LinkSpec {
        LinkSpec {
            delay: Duration::from_us(200),
            jitter: Duration::from_us(50),
            bytes_per_second: 125_000_000,
            send_buffer_bytes: 131_072,
            receive_window_bytes: 65_536,
        }
    }
}

/// One [`crate::node::EffectKind::Send`], or the FIN after the last.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub cause: Cause,
    pub bytes: Bytes,
    pub fin: bool,
    /// The stream's length with this write.
    pub up_to: u64,
    /// What is to befall it on arrival, and the event that decreed it.
    pub marked: Option<(FrameAction, EventId)>,
    /// It had to wait because of that event.
    pub held_by: Option<EventId>,
}

impl Write {
    pub fn new(cause: Cause, bytes: Bytes, fin: bool, up_to: u64) -> Write {
        Write { cause, bytes, fin, up_to, marked: None, held_by: None }
    }

    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// What was taken by the send buffer, for the sender's next [`crate::node::Input::Written`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub cause: Cause,
    pub up_to: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Pipe {
    pub spec: LinkSpec,
    /// The process has written it; the send buffer has no room yet.
    pub waiting: VecDeque<Write>,
    /// In the send buffer; the receiver's window has no room yet.
    pub unsent: VecDeque<Write>,
    /// Under way. Also still in the send buffer.
    pub flying: VecDeque<Write>,
    /// In the receiver's kernel.
    pub unread: VecDeque<Write>,
    pub hold: Option<Hold>,
    pub cut: Option<Cut>,
    pub swallow: Vec<Swallow>,
    written: u64,
    send_buffered: u64,
    window_used: u64,
    wire_free_at: Instant,
    pub last_arrival: Instant,
}

impl Pipe {
    fn new(spec: LinkSpec) -> Pipe {
        Pipe {
            spec,
            waiting: VecDeque::new(),
            unsent: VecDeque::new(),
            flying: VecDeque::new(),
            unread: VecDeque::new(),
            hold: None,
            cut: None,
            swallow: Vec::new(),
            written: 0,
            send_buffered: 0,
            window_used: 0,
            wire_free_at: Instant::ZERO,
            last_arrival: Instant::ZERO,
        }
    }

    pub fn write(&mut self, cause: Cause, bytes: Bytes, fin: bool) {
        self.written += bytes.len() as u64;
        self.waiting.push_back(Write::new(cause, bytes, fin, self.written));
    }

    /// Moves one write into the send buffer if there is room. A write that is larger than the whole buffer goes in
    /// when it is empty.
    pub fn take(&mut self) -> Option<Taken> {
        let len = self.waiting.front()?.len();
        if self.send_buffered > 0 && self.send_buffered + len > self.spec.send_buffer_bytes {
            return None;
        }
        let write = self.waiting.pop_front()?;
        self.send_buffered += len;
        let taken = Taken { cause: write.cause, up_to: write.up_to };
        self.unsent.push_back(write);
        Some(taken)
    }

    /// Puts one write on the wire if the window allows it, and tells when it arrives.
    pub fn transmit(&mut self, now: Instant, rng: &mut Rng) -> Option<Instant> {
        let len = self.unsent.front()?.len();
        if self.window_used > 0 && self.window_used + len > self.spec.receive_window_bytes {
            return None;
        }
        let write = self.unsent.pop_front()?;
        self.window_used += len;
        self.flying.push_back(write);
        let on_wire = match self.spec.bytes_per_second {
            0 => Duration::ZERO,
            rate => Duration::from_us(len.saturating_mul(1_000_000).div_ceil(rate)),
        };
        self.wire_free_at = self.wire_free_at.max(now) + on_wire;
        Some(self.arrival_after(self.wire_free_at, rng))
    }

    /// When something that leaves at `departs` arrives: never before what left earlier.
    pub fn arrival_after(&mut self, departs: Instant, rng: &mut Rng) -> Instant {
        let jitter = match self.spec.jitter.0 {
            0 => 0,
            most => rng.below(most + 1),
        };
        self.last_arrival = self.last_arrival.max(departs + self.spec.delay + Duration::from_us(jitter));
        self.last_arrival
    }

    /// The oldest write under way is there. Its bytes leave the send buffer and fill the window until they are read.
    pub fn arrive(&mut self) -> Option<Write> {
        let write = self.flying.pop_front()?;
        self.send_buffered -= write.len();
        Some(write)
    }

    /// A write that its sender knows nothing of goes on the wire by itself, as the next to arrive.
    pub fn insert_next(&mut self, write: Write) {
        self.send_buffered += write.len();
        self.window_used += write.len();
        self.flying.push_front(write);
    }

    /// What has not reached the receiver, oldest first.
    pub fn under_way(&self) -> impl Iterator<Item = &Write> {
        self.flying.iter().chain(&self.unsent).chain(&self.waiting)
    }

    pub fn under_way_mut(&mut self) -> impl Iterator<Item = &mut Write> {
        self.flying.iter_mut().chain(&mut self.unsent).chain(&mut self.waiting)
    }

    /// The stream's length up to what is on the wire.
    pub fn on_wire(&self) -> u64 {
        let still_here = self.unsent.iter().chain(&self.waiting).map(Write::len).sum::<u64>();
        self.written - still_here
    }

    /// The receiving process has read these bytes, or its kernel has thrown them away.
    pub fn read(&mut self, len: u64) {
        self.window_used -= len;
    }

    /// Whether the sender waits for room.
    pub fn blocked(&self) -> bool {
        !self.waiting.is_empty() || !self.unsent.is_empty()
    }
}

#[derive(Debug, Clone)]
pub(super) struct End {
    pub process: ProcessId,
    pub life: u32,
    /// Whether the process may use this end.
    pub open: bool,
    /// Once it may not any more: what becomes of bytes that still arrive.
    pub gone: LostWhy,
    pub reads_paused: bool,
    /// An [`super::queue::Item::Read`] waits for this end.
    pub reading: bool,
}

impl End {
    pub fn new(process: ProcessId, life: u32) -> End {
        End {
            process,
            life,
            open: false,
            gone: LostWhy::Closed(CloseReason::Finished),
            reads_paused: false,
            reading: false,
        }
    }
}

/// `ends[0]` connected, `ends[1]` accepted. `pipes[i]` carries what `ends[i]` writes.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    pub ends: [End; 2],
    pub pipes: [Pipe; 2],
    pub token: ConnectToken,
    pub address: Address,
    /// Who connected knows that it is accepted.
    pub established: bool,
}

impl Connection {
    pub fn new(from: End, to: End, specs: [LinkSpec; 2], token: ConnectToken, address: Address) -> Connection {
        Connection { ends: [from, to], pipes: specs.map(Pipe::new), token, address, established: false }
    }

    /// Nobody can use it any more and nothing of it is under way.
    pub fn over(&self) -> bool {
        self.ends.iter().all(|end| !end.open) && self.pipes.iter().all(|pipe| pipe.flying.is_empty() && !pipe.blocked())
    }
}

/// Each end of connection `n` has a [`ConnId`] of its own: 2n for who connected, 2n + 1 for who accepted.
pub(super) fn conn_of(connection: u64, side: usize) -> ConnId {
    ConnId(connection * 2 + side as u64)
}

pub(super) fn split(conn: ConnId) -> (u64, usize) {
    (conn.0 / 2, usize::from(conn.0 % 2 == 1))
}
