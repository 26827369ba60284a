//! The native shell: real sockets, files, clocks and processes.
//!
//! The only module that knows tokio and the operating system; the determinism bans do not hold here.
//!
//! [`shell`] drives one node and [`file_disk`] is its storage, [`client`] is our clients for Rust programs, [`place`] runs an experiment on real time,
//! [`experiment`] reads experiments, [`cli`] is the command line, [`server_settings`] reads a server's keys for it.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

pub mod cli;
pub mod client;
pub mod experiment;
pub mod file_disk;
pub mod place;
mod properties;
pub mod server_settings;
pub mod shell;
