//! What a shell tells a node.

use bytes::Bytes;

use super::{CallId, Command};
use crate::disk::DiskError;

/// One end of a TCP connection. Given by the shell; never used twice in a shell's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ConnId(pub u64);

/// A listener of the node, numbered by the node in [`super::EffectKind::Listen`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ListenerId(pub u32);

/// Names one connection attempt; chosen by the node, unique within its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ConnectToken(pub u64);

/// Names one requested fsync; chosen by the node, unique within its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct FlushToken(pub u64);

/// Names one "call me again after the waiting inputs"; chosen by the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct SliceToken(pub u64);

/// Where a listener is, or where to connect.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Address {
    pub host: String,
    pub port: u16,
}

/// How a connection came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenedBy {
    /// A peer connected to this listener.
    Listener(ListenerId),
    /// Our own [`super::EffectKind::Connect`].
    Connect(ConnectToken),
}

/// Why a connection ended, or why none came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum CloseReason {
    /// The peer closed in order (FIN).
    Finished,
    /// The connection was reset (RST), e.g. because the peer's process died.
    Reset,
    /// Nobody listens there.
    Refused,
    /// The name could not be resolved or the peer not be reached.
    Unreachable,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The first input of a node's life.
    Started,
    /// A listener is bound; natively, this tells which port was picked for port 0.
    Listening {
        listener: ListenerId,
        address: Address,
    },
    Opened {
        conn: ConnId,
        by: OpenedBy,
        peer: Address,
    },
    /// A connection attempt failed. No [`Input::Closed`] follows.
    ConnectFailed {
        token: ConnectToken,
        why: CloseReason,
    },
    /// Bytes arrived, in order. Any split of the stream is possible.
    Bytes {
        conn: ConnId,
        bytes: Bytes,
    },
    /// The send buffer has taken the connection's first `up_to` bytes. This is all that acks=0 ever learns.
    Written {
        conn: ConnId,
        up_to: u64,
    },
    /// The connection is gone. Not sent for a connection that the node itself closed.
    Closed {
        conn: ConnId,
        why: CloseReason,
    },
    Flushed {
        token: FlushToken,
        result: Result<(), DiskError>,
    },
    Slice(SliceToken),
    Tick,
    Command(CallId, Command),
}
