//! The native broker and the places that need real time, as a user meets them: the built binary, sockets and signals.

mod broker_process;
mod clients;
mod errors;
mod hostile;
mod places;
