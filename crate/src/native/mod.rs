//! The native shell: real sockets, files, clocks and processes.
//!
//! The only module that knows tokio and the operating system; the determinism bans do not hold here.
//!
//! [`shell`] drives one node, [`cli`] is the command line, [`server_settings`] reads a server's keys for it,
//! [`experiment`] reads experiments.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

pub mod cli;
pub mod experiment;
pub mod file_disk;
mod properties;
pub mod server_settings;
pub mod shell;
