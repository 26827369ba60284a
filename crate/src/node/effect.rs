//! What a node asks of its shell.

use super::{Address, CallId, ConnId, ConnectToken, EventId, FlushToken, ListenerId, Note, Reply, SliceToken};
use crate::disk::{FileId, Slice};

/// Why an effect happens: the event being handled, and, for what was delayed (purgatory, timer, retry), the earlier
/// events that also had to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Causes {
    pub now: EventId,
    /// In the order in which they happened.
    pub earlier: Vec<EventId>,
}

impl Causes {
    /// Of `earlier`, each counts once, and `now` not at all.
    pub fn new(now: EventId, earlier: impl IntoIterator<Item = EventId>) -> Causes {
        let mut causes = Causes::from(now);
        for event in earlier {
            // There are few, so that this is as fast as sorting, at a tenth of its code.
            if event != now
                && let Err(at) = causes.earlier.binary_search(&event)
            {
                causes.earlier.insert(at, event);
            }
        }
        causes
    }
}

impl From<EventId> for Causes {
    fn from(now: EventId) -> Causes {
        Causes { now, earlier: Vec::new() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    pub because: Causes,
    pub kind: EffectKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EffectKind {
    /// Accept connections there. Until then they are refused. A bind that fails ends the shell with its error.
    Listen {
        listener: ListenerId,
        address: Address,
    },
    /// Answered by [`super::Input::Opened`] or [`super::Input::ConnectFailed`].
    Connect {
        token: ConnectToken,
        address: Address,
    },
    /// Answered by [`super::Input::Written`] once the send buffer has taken the bytes.
    Send {
        conn: ConnId,
        chunks: Vec<Slice>,
    },
    /// Stop delivering bytes of this connection (Kafka mutes a connection while it answers).
    PauseReads(ConnId),
    ResumeReads(ConnId),
    /// Send what is buffered, then FIN.
    Close(ConnId),
    /// fsync; answered by [`super::Input::Flushed`].
    Flush {
        file: FileId,
        token: FlushToken,
    },
    /// Answered by [`super::Input::Slice`] after the inputs that already wait.
    Slice(SliceToken),
    /// An answer to a [`super::Input::Command`]. One call may get several, see [`Reply`].
    Reply(CallId, Reply),
    /// The node is done. Nothing is fed to it any more.
    Exit {
        code: i32,
        why: ExitReason,
    },
    /// For readers only: programs and code never see notes.
    Note(Note),
}

/// Why a node ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitReason {
    /// A controlled shutdown came to its end.
    Shutdown,
    /// The directory does not fit this node: where, and what would be right.
    BadDirectory(String),
    /// A write or fsync failed and the node cannot go on (Kafka halts likewise).
    StorageFailed(String),
}
