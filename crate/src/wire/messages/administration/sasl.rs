//! SaslHandshake (key 17) and SaslAuthenticate (key 36).

use bytes::Bytes;

use crate::wire::schema::message;

message! {
    /// Names the mechanism that is to follow.
    pub struct SaslHandshakeRequest: request 17, versions 0..=1, flexible none {
        mechanism: String,
    }

    /// The mechanisms that are on.
    pub struct SaslHandshakeResponse: response 17, versions 0..=1, flexible none {
        error_code: i16,
        mechanisms: Vec<String>,
    }

    /// One token of the mechanism's exchange.
    pub struct SaslAuthenticateRequest: request 36, versions 0..=2, flexible 2.. {
        auth_bytes: Bytes,
    }

    /// The answer to a token.
    pub struct SaslAuthenticateResponse: response 36, versions 0..=2, flexible 2.. {
        error_code: i16,
        error_message: Option<String> = [],
        auth_bytes: Bytes,
        session_lifetime_ms: i64 [1.., ignorable],
    }
}
