//! The simulator, driven through its public API with toy nodes: links, faults, determinism, time travel.

mod determinism;
mod faults;
mod frame_faults;
mod links;
mod time_travel;
mod toy;
