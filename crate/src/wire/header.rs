//! Request and response headers. Which version a header has follows from API key and version alone.

use bytes::Bytes;

use super::api::ApiKey;
use super::decode::decode_prefix;
use super::reader::Reader;
use super::schema::message;
use super::{WireError, WireErrorKind};

message! {
    /// Version 2, with tagged fields, goes before flexible bodies; version 1 before all others.
    pub struct RequestHeader: header, versions 1..=2, flexible 2.. {
        request_api_key: i16,
        request_api_version: i16,
        /// Chosen by the client; the response carries it back.
        correlation_id: i32,
        /// Not compact even in version 2, so that a broker can read it before it knows the version.
        client_id: Option<String> [old_encoding],
    }

    /// Version 1, with tagged fields, goes before flexible bodies, except that of ApiVersions.
    pub struct ResponseHeader: header, versions 0..=1, flexible 1.. {
        correlation_id: i32,
    }
}

pub const fn request_header_version(flexible: bool) -> i16 {
    if flexible { 2 } else { 1 }
}

/// ApiVersions always answers with version 0: a client must be able to read it before it knows what the broker speaks
/// (KIP-511).
pub const fn response_header_version(key: i16, flexible: bool) -> i16 {
    if flexible && key != ApiKey::API_VERSIONS.0 { 1 } else { 0 }
}

/// Reads a request's header and says where the body begins. The key must be one of Kafka's; whether the version is
/// served is the caller's question, as an ApiVersions request of any version gets an answer.
pub fn decode_request_header(frame: &Bytes) -> Result<(RequestHeader, usize), WireError> {
    let (key, version) = key_and_version(frame)?;
    let api = ApiKey(key).api().ok_or(WireError::new(0, WireErrorKind::UnknownMessage { key }))?;
    decode_prefix(frame, 0, request_header_version(api.is_flexible(version)))
}

/// The first two fields of every request header.
pub(super) fn key_and_version(frame: &Bytes) -> Result<(i16, i16), WireError> {
    let mut reader = Reader::new(frame, 0, 0, false);
    Ok((i16::from_be_bytes(reader.array()?), i16::from_be_bytes(reader.array()?)))
}

/// Reads a response's header and says where the body begins; the receiver knows key and version by the correlation id.
pub fn decode_response_header(frame: &Bytes, key: ApiKey, version: i16) -> Result<(ResponseHeader, usize), WireError> {
    let api = key.api().ok_or(WireError::new(0, WireErrorKind::UnknownMessage { key: key.0 }))?;
    decode_prefix(frame, 0, response_header_version(key.0, api.is_flexible(version)))
}
