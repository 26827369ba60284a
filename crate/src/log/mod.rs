//! The log of one partition, in Kafka's own file formats.
//!
//! Owns segments with their indexes, the leader epochs, the producers' state, recovery after a crash, and the small
//! files of a log directory. In: batches as they came, offsets to read from, and a [`crate::disk::Disk`]. Out: offsets,
//! slices of files, typed errors. A [`Log`] is plain data that can be cloned: what it needs of the world (disk, clock)
//! is an argument of each call.

mod append;
mod checkpoint;
mod config;
mod directory;
mod epochs;
mod file_names;
mod index;
mod partition_log;
mod producers;
mod read;
mod recovery;
mod scan;
mod segment;
mod snapshot;
mod validate;

pub use append::{AppendError, Appended, InvalidRecord};
pub use checkpoint::{CheckpointError, read_offset_checkpoint, write_offset_checkpoint};
pub use config::LogConfig;
pub use directory::{DirectoryError, MetaProperties, PartitionMetadata, consume_clean_shutdown, write_clean_shutdown};
pub use epochs::{EpochEnd, EpochEntry, LeaderEpochs};
pub use file_names::{
    DELETE_SUFFIX, LOG_SUFFIX, STRAY_SUFFIX, log_directory_name, log_directory_put_aside, parse_log_directory_name,
    segment_file,
};
pub use partition_log::{Log, LogError, OffsetMetadata};
pub use producers::{BatchMetadata, ProducerState, ProducerStates};
pub use read::{Read, ReadError, TimestampAndOffset};
pub use recovery::{Loaded, OpenOptions, Progress, Recovery};
