//! A Kafka you can step.
//!
//! Brokers, their controller and Kafka clients as state machines without I/O ([`node`]), driven by one of two
//! shells: the simulator ([`sim`]), which the web page runs, or [`native`], which serves real sockets and files.
//!
//! Dependencies flow one way: `disk` ← `wire`, `record` ← `log` ← `node` ← `broker`, `controller`, `client` ← `sim` ←
//! `experiment` ← `view` ← `web`, `native`, `main`.

#![forbid(unsafe_code)]
#![warn(clippy::iter_over_hash_type)]

pub mod broker;
pub mod client;
pub mod controller;
pub mod disk;
pub mod experiment;
pub mod log;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;
pub mod node;
pub mod record;
pub mod sim;
pub mod small_crc32c;
pub mod sorted;
pub mod view;
#[cfg(target_arch = "wasm32")]
pub mod web;
pub mod wire;

// What packs and unpacks: natively a crate that is linked, in the page a wasm of its own.
#[cfg(not(target_arch = "wasm32"))]
pub use steplog_codecs as codecs;
#[cfg(target_arch = "wasm32")]
pub use web::codecs;
// What the page has in few bytes, and a broker in a way that stays fast when there is much of it.
#[cfg(not(target_arch = "wasm32"))]
pub use crc32c as checksum;
#[cfg(target_arch = "wasm32")]
pub use small_crc32c as checksum;
#[cfg(target_arch = "wasm32")]
pub use sorted as ordered;
#[cfg(not(target_arch = "wasm32"))]
pub use std::collections as ordered;
