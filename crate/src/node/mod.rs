//! The contract between a node (a server, a client) and the shell that drives it.
//!
//! A [`Node`] owns no socket, clock, thread or source of randomness. A shell feeds it one [`Input`] at a time and
//! carries out the [`Effect`]s it appends, in order. The simulator does so on a virtual clock, `native` on sockets
//! and files; a node cannot tell them apart.

mod call;
mod effect;
mod input;
mod note;
mod outbox;
mod raw;
mod rng;
mod time;

pub use call::*;
pub use effect::*;
pub use input::*;
pub use note::*;
pub use outbox::Outbox;
pub use raw::{RawAnswer, RawDomain, RawField, RawProduce, records as raw_records};
pub use rng::Rng;
pub use time::*;

/// A state machine that a shell drives.
pub trait Node {
    /// Feed one input; effects are appended to `out` in the order in which they are to be carried out.
    ///
    /// Never blocks, and never panics on bytes that came from a peer.
    fn handle(&mut self, at: At, input: Input, out: &mut Vec<Effect>);

    /// The earliest instant at which [`Input::Tick`] is wanted. Spurious ticks are harmless.
    fn next_timeout(&self) -> Option<Instant>;
}
