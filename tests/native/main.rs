//! The native broker and the places that need real time, as a user meets them: the built binary, sockets and signals.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Real processes live on real time.

mod broker_process;
mod clients;
mod decode;
mod errors;
mod frame_faults;
mod hostile;
mod log_sizes;
mod places;
