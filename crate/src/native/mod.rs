#![allow(clippy::disallowed_types, clippy::disallowed_methods)]
//! The native shell: sockets, files, clock, signals and the command line.
