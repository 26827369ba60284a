//! The trace hash: 64 bits over every event, its bytes, effects and notes. Equal traces have equal hashes on every
//! machine, and a trace that differs in one byte has another hash.

use std::fmt;

use serde::Serialize;

use super::trace::{Cause, Event, What};
use crate::disk::{DiskError, Slice};
use crate::node::{Causes, Effect, EffectKind, EventId, ExitReason, Input, Instant, Note, OpenedBy};

/// A running hash. Numbers go in as `u64` and bytes eight at a time in little-endian order, so that neither the
/// word size nor the byte order of the machine shows.
///
/// Every step is a bijection of the state for a given word, and of the word for a given state. So two inputs of which
/// exactly one word differs always end in different states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceHash(u64);

impl Default for TraceHash {
    fn default() -> TraceHash {
        TraceHash(0xcbf2_9ce4_8422_2325)
    }
}

impl fmt::Display for TraceHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl TraceHash {
    pub fn value(self) -> u64 {
        self.0
    }

    pub fn word(&mut self, word: u64) {
        let state = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = state ^ (state >> 29);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let (words, tail) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        if !tail.is_empty() {
            let mut last = [0; 8];
            last[..tail.len()].copy_from_slice(tail);
            self.word(u64::from_le_bytes(last));
        }
    }

    /// One whole event, exactly as the world hashes it while it happens.
    pub fn event(&mut self, event: &Event) {
        self.begin(event.at, event.cause, &event.earlier);
        match &event.what {
            What::Handled { process, input, effects } => {
                self.handled(process.0, input);
                self.effects(effects);
            }
            what => self.happened(what),
        }
    }

    pub(super) fn begin(&mut self, at: Instant, cause: Option<Cause>, earlier: &[EventId]) {
        self.word(at.0);
        // Branches are left out: the same actions give the same hash, on whichever branch they were taken.
        match cause {
            None => self.word(u64::MAX),
            Some(cause) => {
                self.word(cause.event.ordinal);
                self.word(cause.effect.map_or(u64::MAX, u64::from));
            }
        }
        self.ordinals(earlier);
    }

    pub(super) fn handled(&mut self, process: u32, input: &Input) {
        self.word(u64::from(process) << 8);
        self.input(input);
    }

    pub(super) fn effects(&mut self, effects: &[Effect]) {
        self.word(effects.len() as u64);
        for effect in effects {
            let Causes { now, earlier } = &effect.because;
            self.word(now.ordinal);
            self.ordinals(earlier);
            self.effect(&effect.kind);
        }
    }

    pub(super) fn happened(&mut self, what: &What) {
        match what {
            What::Handled { process, input, effects } => {
                self.handled(process.0, input);
                self.effects(effects);
            }
            What::Fault(fault) => {
                self.word(1);
                self.value_of(fault);
            }
            What::Booted { process } => self.words(&[2, u64::from(process.0)]),
            What::Buffered { conn, write, len } => {
                self.words(&[3, conn.0, write.event.ordinal, write.effect.map_or(u64::MAX, u64::from), *len]);
            }
            What::ConnectRefused { process, by } => self.words(&[4, u64::from(process.0), u64::from(by.0)]),
            What::Lost { conn, write, len, place, why } => {
                self.words(&[5, conn.0, write.event.ordinal, write.effect.map_or(u64::MAX, u64::from), *len]);
                self.value_of(&(place, why));
            }
            What::Woke { token } => self.words(&[6, *token]),
            What::Line { program, line } => self.words(&[7, u64::from(*program), u64::from(*line)]),
            What::CommandLost { process, call } => self.words(&[8, u64::from(process.0), call.0]),
        }
    }

    fn words(&mut self, words: &[u64]) {
        for word in words {
            self.word(*word);
        }
    }

    fn ordinals(&mut self, ids: &[EventId]) {
        self.word(ids.len() as u64);
        for id in ids {
            self.word(id.ordinal);
        }
    }

    fn texts(&mut self, tag: u64, texts: &[&String]) {
        self.word(tag);
        for text in texts {
            self.bytes(text.as_bytes());
        }
    }

    /// Anything serde knows, by postcard's encoding, which is the same everywhere.
    fn value_of<T: Serialize>(&mut self, value: &T) {
        // The flavor never fails, and the types here are plain data: there is no error to tell anybody about.
        if let Err(never) = postcard::serialize_with_flavor(value, Absorb(self)) {
            debug_assert!(false, "{never}");
        }
    }

    fn input(&mut self, input: &Input) {
        match input {
            Input::Started => self.word(1),
            Input::Listening { listener, address } => {
                self.word(2);
                self.value_of(&(listener, address));
            }
            Input::Opened { conn, by, peer } => {
                let by = match by {
                    OpenedBy::Listener(listener) => [0, u64::from(listener.0)],
                    OpenedBy::Connect(token) => [1, token.0],
                };
                self.words(&[3, conn.0, by[0], by[1]]);
                self.value_of(peer);
            }
            Input::ConnectFailed { token, why } => {
                self.words(&[4, token.0]);
                self.value_of(why);
            }
            Input::Bytes { conn, bytes } => {
                self.words(&[5, conn.0]);
                self.bytes(bytes);
            }
            Input::Written { conn, up_to } => self.words(&[6, conn.0, *up_to]),
            Input::Closed { conn, why } => {
                self.words(&[7, conn.0]);
                self.value_of(why);
            }
            Input::Flushed { token, result } => {
                self.words(&[8, token.0]);
                match result {
                    Ok(()) => self.word(0),
                    Err(DiskError::Full { path }) => self.texts(1, &[path]),
                    Err(DiskError::NotFound { path }) => self.texts(2, &[path]),
                    Err(DiskError::Locked { path }) => self.texts(3, &[path]),
                    Err(DiskError::Io { path, message }) => self.texts(4, &[path, message]),
                }
            }
            Input::Slice(token) => self.words(&[9, token.0]),
            Input::Tick => self.word(10),
            Input::Command(call, command) => {
                self.words(&[11, call.0]);
                self.value_of(command);
            }
        }
    }

    fn effect(&mut self, effect: &EffectKind) {
        match effect {
            EffectKind::Listen { listener, address } => {
                self.word(1);
                self.value_of(&(listener, address));
            }
            EffectKind::Connect { token, address } => {
                self.word(2);
                self.value_of(&(token, address));
            }
            EffectKind::Send { conn, chunks } => {
                self.words(&[3, conn.0, chunks.len() as u64]);
                for chunk in chunks {
                    self.chunk(chunk);
                }
            }
            EffectKind::PauseReads(conn) => self.words(&[4, conn.0]),
            EffectKind::ResumeReads(conn) => self.words(&[5, conn.0]),
            EffectKind::Close(conn) => self.words(&[6, conn.0]),
            EffectKind::Flush { file, token } => self.words(&[7, u64::from(file.0), token.0]),
            EffectKind::Slice(token) => self.words(&[8, token.0]),
            EffectKind::Reply(call, reply) => {
                self.words(&[9, call.0]);
                self.value_of(reply);
            }
            EffectKind::Exit { code, why } => {
                self.words(&[10, i64::from(*code).cast_unsigned()]);
                match why {
                    ExitReason::Shutdown => self.word(1),
                    ExitReason::BadDirectory(text) => self.texts(2, &[text]),
                    ExitReason::StorageFailed(text) => self.texts(3, &[text]),
                }
            }
            EffectKind::Note(Note::FollowsFrom { event }) => self.words(&[12, event.ordinal]),
            EffectKind::Note(note) => {
                self.word(11);
                self.value_of(note);
            }
        }
    }

    /// A chunk counts by its bytes, whether they are in memory or still in a file.
    fn chunk(&mut self, chunk: &Slice) {
        match chunk {
            Slice::Bytes(bytes) => self.bytes(bytes),
            Slice::File(range) => {
                let mut bytes = vec![0; usize::try_from(range.len).unwrap_or(0)];
                match range.source.read_at(range.position, &mut bytes) {
                    Ok(()) => self.bytes(&bytes),
                    Err(_) => self.word(u64::MAX),
                }
            }
        }
    }
}

/// Feeds postcard's output into the hash instead of a buffer.
struct Absorb<'h>(&'h mut TraceHash);

impl postcard::ser_flavors::Flavor for Absorb<'_> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.word(u64::from(byte));
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.bytes(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}
