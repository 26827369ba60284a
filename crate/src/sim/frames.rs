//! Messages in flight: every write of a trace, matched with its arrival or its loss.

use super::ProcessId;
use super::fault::Fault;
use super::frame_fault::{FrameAction, WriteId};
use super::trace::{Cause, Event, LostIn, LostWhy, What};
use crate::disk::Slice;
use crate::node::{ConnId, EffectKind, EventId, Input, Instant, OpenedBy};
use crate::ordered::BTreeMap;

/// A message from one process to another: one write, which in Kafka's protocol is one frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The Send that wrote it; for a copy that the network made, the fault.
    pub write: Cause,
    /// The Send of the same bytes, if this is a copy that the network made.
    pub copy_of: Option<Cause>,
    pub from: ProcessId,
    pub to: ProcessId,
    /// The sending and the receiving end.
    pub conns: (ConnId, ConnId),
    pub sent_at: Instant,
    pub size: u64,
    /// When the receiver's kernel had it, if the process did not read it at once.
    pub buffered: Option<(EventId, Instant)>,
    pub outcome: Outcome,
    pub header: Option<Header>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Pending,
    Delivered { event: EventId, at: Instant },
    Lost { event: EventId, at: Instant, place: LostIn, why: LostWhy },
}

/// What the first bytes of a Kafka frame say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub api_key: i16,
    pub api_version: i16,
    pub correlation_id: i32,
    /// The request that this is the response to; absent in a request.
    pub answers: Option<Cause>,
}

/// How a connection came and went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wire {
    pub opener: ProcessId,
    /// Who accepted, once it did.
    pub acceptor: Option<ProcessId>,
    pub opened_at: Instant,
    /// Each end's last event, in the order in which they came: a close of its own, or the news of one.
    pub ends: Vec<(EventId, Instant, ConnId)>,
}

/// Built by handing it every event of a trace in order.
#[derive(Debug, Clone, Default)]
pub struct Frames {
    frames: Vec<Frame>,
    by_write: BTreeMap<Cause, usize>,
    /// Requests without a response yet, by the requester's end and correlation id.
    open_requests: BTreeMap<(ConnId, i32), usize>,
    /// The network's copies, by what they are copies of.
    copies: BTreeMap<usize, usize>,
    /// Connection attempts, by the effect that began them.
    connecting: BTreeMap<Cause, ProcessId>,
    /// By connection number.
    wires: BTreeMap<u64, Wire>,
}

impl Frames {
    pub fn of<'e>(events: impl IntoIterator<Item = &'e Event>) -> Frames {
        let mut frames = Frames::default();
        for event in events {
            frames.absorb(event);
        }
        frames
    }

    /// In the order in which they were sent.
    pub fn all(&self) -> &[Frame] {
        &self.frames
    }

    pub fn by_write(&self, write: Cause) -> Option<&Frame> {
        self.frames.get(*self.by_write.get(&write)?)
    }

    /// The frame whose arrival, buffering or loss this event is.
    pub fn of_event(&self, event: &Event) -> Option<&Frame> {
        match &event.what {
            What::Handled { input: Input::Bytes { .. }, .. } => self.by_write(event.cause?),
            What::Buffered { write, .. } | What::Lost { write, .. } => self.by_write(*write),
            _ => None,
        }
    }

    pub fn wires(&self) -> impl Iterator<Item = &Wire> {
        self.wires.values()
    }

    pub fn absorb(&mut self, event: &Event) {
        match &event.what {
            What::Handled { process, input, effects } => {
                self.input(event, *process, input);
                for (index, effect) in effects.iter().enumerate() {
                    match &effect.kind {
                        EffectKind::Send { conn, chunks } => {
                            let write = Cause { event: event.id, effect: Some(index as u32) };
                            self.sent(write, *process, *conn, chunks, event.at);
                        }
                        EffectKind::Connect { .. } => {
                            let attempt = Cause { event: event.id, effect: Some(index as u32) };
                            self.connecting.insert(attempt, *process);
                        }
                        EffectKind::Close(conn) => self.ended(event, *conn),
                        _ => {}
                    }
                }
            }
            What::Fault(Fault::Frame { write, action: FrameAction::SendAgain }) => self.sent_again(event, *write),
            What::Buffered { write, .. } => {
                if let Some(frame) = self.frame_mut(write) {
                    frame.buffered = Some((event.id, event.at));
                }
            }
            What::Lost { write, place, why, .. } => {
                let lost = Outcome::Lost { event: event.id, at: event.at, place: *place, why: *why };
                // What is lost on its way to where it would have been copied is lost twice.
                let index = self.by_write.get(write).copied();
                let copy = index.and_then(|index| self.copies.get(&index)).copied();
                for index in index.into_iter().chain(copy) {
                    if let Some(frame) = self.frames.get_mut(index) {
                        frame.outcome = lost;
                    }
                }
            }
            _ => {}
        }
    }

    fn frame_mut(&mut self, write: &Cause) -> Option<&mut Frame> {
        self.frames.get_mut(*self.by_write.get(write)?)
    }

    fn input(&mut self, event: &Event, process: ProcessId, input: &Input) {
        match input {
            Input::Opened { conn, by, .. } => {
                let number = conn.0 / 2;
                let opener = event.cause.and_then(|attempt| self.connecting.remove(&attempt)).unwrap_or(process);
                let wire = self.wires.entry(number).or_insert(Wire {
                    opener,
                    acceptor: None,
                    opened_at: event.at,
                    ends: Vec::new(),
                });
                match by {
                    OpenedBy::Listener(_) => wire.acceptor = Some(process),
                    OpenedBy::Connect(_) => wire.opener = process,
                }
            }
            Input::Bytes { .. } => {
                if let Some(frame) = event.cause.and_then(|write| self.frame_mut(&write)) {
                    frame.outcome = Outcome::Delivered { event: event.id, at: event.at };
                }
            }
            Input::Closed { conn, .. } => self.ended(event, *conn),
            _ => {}
        }
    }

    fn ended(&mut self, event: &Event, conn: ConnId) {
        if let Some(wire) = self.wires.get_mut(&(conn.0 / 2)) {
            wire.ends.push((event.id, event.at, conn));
        }
    }

    fn sent(&mut self, write: Cause, from: ProcessId, conn: ConnId, chunks: &[Slice], at: Instant) {
        let Some(wire) = self.wires.get(&(conn.0 / 2)) else { return };
        let peer = ConnId(conn.0 ^ 1);
        let opened_here = conn.0.is_multiple_of(2);
        let to = if opened_here { wire.acceptor } else { Some(wire.opener) };
        let Some(to) = to else { return };
        let start = first_bytes(chunks);
        let header = if opened_here { request_header(start) } else { self.response_header(start, peer) };
        let index = self.frames.len();
        if opened_here && let Some(header) = header {
            self.open_requests.insert((conn, header.correlation_id), index);
        }
        self.by_write.insert(write, index);
        self.frames.push(Frame {
            write,
            copy_of: None,
            from,
            to,
            conns: (conn, peer),
            sent_at: at,
            size: chunks.iter().map(Slice::size_in_bytes).sum(),
            buffered: None,
            outcome: Outcome::Pending,
            header,
        });
    }

    /// The copy of a message flies beside it.
    fn sent_again(&mut self, event: &Event, write: WriteId) {
        let original = self.frames.iter().rposition(|frame| WriteId::of(frame.write) == Some(write));
        let Some((index, frame)) = original.and_then(|index| Some((index, self.frames.get(index)?))) else { return };
        if frame.outcome != Outcome::Pending {
            return;
        }
        let copy = Frame {
            write: event.id.into(),
            copy_of: Some(frame.write),
            sent_at: event.at,
            buffered: None,
            ..frame.clone()
        };
        self.copies.insert(index, self.frames.len());
        self.by_write.insert(copy.write, self.frames.len());
        self.frames.push(copy);
    }

    /// A response names no API: that is known from the request with its correlation id.
    fn response_header(&mut self, start: [u8; 12], requester: ConnId) -> Option<Header> {
        let correlation_id = i32::from_be_bytes([start[4], start[5], start[6], start[7]]);
        let request = self.open_requests.remove(&(requester, correlation_id))?;
        // Its copy will be answered too.
        if let Some(copy) = self.copies.get(&request) {
            self.open_requests.insert((requester, correlation_id), *copy);
        }
        let request = self.frames.get(request)?;
        Some(Header { answers: Some(request.write), ..request.header? })
    }
}

/// The length, and the fixed part of a request header; zeros where there is less.
fn first_bytes(chunks: &[Slice]) -> [u8; 12] {
    let mut start = [0; 12];
    let in_memory = chunks.iter().map_while(|chunk| match chunk {
        Slice::Bytes(bytes) => Some(bytes),
        Slice::File(_) => None,
    });
    for (to, from) in start.iter_mut().zip(in_memory.flatten()) {
        *to = *from;
    }
    start
}

fn request_header(start: [u8; 12]) -> Option<Header> {
    let length = i32::from_be_bytes([start[0], start[1], start[2], start[3]]);
    // A request header is at least the eight bytes that are read here.
    (length >= 8).then(|| Header {
        api_key: i16::from_be_bytes([start[4], start[5]]),
        api_version: i16::from_be_bytes([start[6], start[7]]),
        correlation_id: i32::from_be_bytes([start[8], start[9], start[10], start[11]]),
        answers: None,
    })
}
