//! The simulator: the shell that the page and `steplog run` use.
//!
//! Owns the virtual clock, the queue of what will happen, the links and the processes. In go machines
//! ([`Machine`]: a server over its disk, a client), commands and faults; out come replies and a trace of events. One
//! [`World::step`] handles exactly one event. The same setup, seed and interventions give the same trace everywhere.
//!
//! | file | one idea |
//! |---|---|
//! | `world` | the processes, the clock, and the step |
//! | `carry` | carrying out a node's effects |
//! | `network` | what arrives, is read, is refused, is lost |
//! | `link` | one TCP connection: buffers, window, order, bandwidth |
//! | `fault` | kill, freeze, thaw, start |
//! | `frame_fault` | hold, cut before, cut after, send again: what happens to one message |
//! | `trap` | waits for the n-th such message and does something to it |
//! | `process` | one process and its lives |
//! | `machine` | what can run in a process |
//! | `queue` | what will happen, ordered by (instant, ordinal) |
//! | `trace` | what happened: events and their store |
//! | `hash` | the trace hash |
//! | `frames` | messages in flight, matched from a trace |
//! | `provenance` | why did this happen |
//! | `journal`, `timeline` | the reader's actions; keyframes, seek, fork, step sizes |

mod carry;
mod fault;
mod frame_fault;
mod frames;
mod hash;
mod journal;
mod link;
mod machine;
mod network;
mod process;
mod provenance;
mod queue;
mod timeline;
mod trace;
mod trap;
mod world;

pub use fault::*;
pub use frame_fault::{FrameAction, WriteId};
pub use frames::*;
pub use hash::*;
pub use journal::*;
pub use link::LinkSpec;
pub use machine::*;
pub use process::{Life, ProcessId, ProcessSpec, ProcessState};
pub use provenance::*;
pub use timeline::*;
pub use trace::*;
pub use trap::Trap;
pub use world::*;
