//! Kafka's wire format: frames, headers, and every message we speak, declared once in a schema notation
//! ([`schema`]) from which come struct, decode, encode and a field tree with byte ranges.
//!
//! In: bytes of a frame (without its 4-byte size), or message structs. Out: message structs, pieces to send
//! ([`crate::disk::Slice`], with the size in front), [`tree::Tree`]s, typed [`WireError`]s. Nothing here copies record
//! batches or trusts a length before it was checked against the bytes that are there.
//!
//! To add an API: declare its messages in `messages/`, list them in `messages/mod.rs`, mark it as served in `api.rs`.

pub mod api;
mod decode;
mod encode;
mod error;
pub mod errors;
pub mod frame;
mod header;
pub mod json;
pub mod messages;
mod reader;
mod record;
pub mod schema;
pub mod tree;
mod uuid;
mod writer;

pub use api::ApiKey;
pub use decode::{decode, decode_prefix};
pub use encode::{encode, encode_request, encode_response};
pub use error::{WireError, WireErrorKind};
pub use errors::ErrorCode;
pub use header::{RequestHeader, ResponseHeader, decode_request_header, decode_response_header};
pub use record::{decode_record, encode_record, record_type};
pub use schema::{Message, Records};
pub use uuid::{NotAUuid, Uuid};

use bytes::Bytes;

/// Reads a whole response: its correlation id and body. Bytes after the body are ignored.
pub fn decode_response<M: Message>(frame: &Bytes, version: i16) -> Result<(i32, M), WireError> {
    let (header, at) = decode_response_header(frame, ApiKey(M::SCHEMA.kind.key()), version)?;
    Ok((header.correlation_id, decode(frame, at, version)?))
}
