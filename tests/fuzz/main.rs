//! Seeded noise, the same at every run: what peers and disks can do to a broker at their worst. None of it may make the
//! broker panic, answer out of turn, or fail those who do nothing wrong.
#![cfg(not(target_arch = "wasm32"))]

mod connections;
mod directories;
mod requests;
#[path = "../shell/mod.rs"]
mod shell;
