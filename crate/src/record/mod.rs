//! Record batches, magic 2: the bytes that producers send, brokers store and consumers fetch.
//!
//! Owns the layout of a batch and its records. In: bytes from a frame or a file, or records to send. Out: a checked
//! view ([`Batch`]), records one by one ([`Records`]), or the bytes of a new batch ([`BatchBuilder`]). What packs and
//! unpacks is in the crate `steplog-codecs`; which codec, level and limit is said here. A batch is never decoded into
//! something else: it is appended, replicated and fetched as the bytes that came, with base offset and
//! leader epoch patched in place.

mod batch;
mod batches;
mod builder;
mod compression;
mod control;
mod records;
mod varint;

pub use batch::*;
pub use batches::{BatchError, Batches, MIN_RECORD_OVERHEAD};
pub use builder::{BatchBuilder, HeaderRef, ProducerIdentity, one_record_size_upper_bound, record_size};
pub use compression::{Codec, Compression, CompressionRatio, CompressionType, Refused, unpacked_bytes_max};
pub use control::{ControlRecordType, EndTransactionMarker, end_transaction_marker_batch};
pub use records::{Headers, Record, RecordError, Records};
pub use varint::{put_uvarint, put_varlong, read_uvarint, read_varint, read_varlong, size_of_varint, size_of_varlong};

/// "No producer id", "no sequence", "no timestamp" and "no epoch" are all −1 on the wire.
pub const NO_PRODUCER_ID: i64 = -1;
pub const NO_PRODUCER_EPOCH: i16 = -1;
pub const NO_SEQUENCE: i32 = -1;
pub const NO_TIMESTAMP: i64 = -1;
pub const NO_PARTITION_LEADER_EPOCH: i32 = -1;
