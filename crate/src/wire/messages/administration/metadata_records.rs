//! Metadata records of quotas and SCRAM credentials.

use bytes::Bytes;

use crate::wire::schema::message;

message! {
    /// A user has this credential now.
    pub struct UserScramCredentialRecord: record 11, versions 0..=0, flexible 0.. {
        name: String,
        mechanism: i8,
        salt: Bytes,
        stored_key: Bytes,
        server_key: Bytes,
        iterations: i32,
    }

    /// A quota of an entity was set, or removed.
    pub struct ClientQuotaRecord: record 14, versions 0..=0, flexible 0.. {
        entity: Vec<QuotaEntityData>,
        key: String,
        value: f64,
        remove: bool,
    }

    /// One part of an entity; null is the default.
    pub struct QuotaEntityData {
        entity_type: String,
        entity_name: Option<String>,
    }

    /// A user has this credential no longer.
    pub struct RemoveUserScramCredentialRecord: record 22, versions 0..=0, flexible 0.. {
        name: String,
        mechanism: i8,
    }
}
