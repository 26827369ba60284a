//! The native shell: real sockets, files, clocks and processes.
//!
//! The only module that knows tokio and the operating system; the determinism bans do not hold here.
//!
//! [`shell`] drives one node, [`cli`] is the command line.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

pub mod cli;
pub mod shell;
