//! What can run in a process of the simulator.

use crate::disk::{DiskError, FileId};
use crate::node::Node;

/// A node together with what outlives it: its configuration and its disk.
///
/// The world owns a machine from the moment it is added. It calls [`Machine::boot`] before every life, the first one
/// too, and feeds inputs through [`Node`] only while the process runs.
pub trait Machine: Node + Clone {
    /// Makes a fresh node over the kept disk. `seed` differs for every process and every life.
    fn boot(&mut self, seed: u64);

    /// fsync: what is written to the file is now flushed.
    fn flush(&mut self, file: FileId) -> Result<(), DiskError>;
}
