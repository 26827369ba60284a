//! DescribeUserScramCredentials (key 50) and AlterUserScramCredentials (key 51).

use bytes::Bytes;

use crate::wire::schema::message;

message! {
    /// Which credentials do users have? (KIP-554)
    pub struct DescribeUserScramCredentialsRequest: request 50, versions 0..=0, flexible 0.. {
        users: Option<Vec<UserName>> = [],
    }

    /// A user.
    pub struct UserName {
        name: String,
    }

    /// Credentials by user.
    pub struct DescribeUserScramCredentialsResponse: response 50, versions 0..=0, flexible 0.. {
        throttle_time_ms: i32,
        error_code: i16,
        error_message: Option<String> = [],
        results: Vec<DescribeUserScramCredentialsResult>,
    }

    /// One user.
    pub struct DescribeUserScramCredentialsResult {
        user: String,
        error_code: i16,
        error_message: Option<String> = [],
        credential_infos: Vec<CredentialInfo>,
    }

    /// Mechanism and iterations, never the secret.
    pub struct CredentialInfo {
        mechanism: i8,
        iterations: i32,
    }

    /// Sets and removes credentials.
    pub struct AlterUserScramCredentialsRequest: request 51, versions 0..=0, flexible 0.. {
        deletions: Vec<ScramCredentialDeletion>,
        upsertions: Vec<ScramCredentialUpsertion>,
    }

    /// A credential to remove.
    pub struct ScramCredentialDeletion {
        name: String,
        mechanism: i8,
    }

    /// A credential to set.
    pub struct ScramCredentialUpsertion {
        name: String,
        mechanism: i8,
        iterations: i32,
        salt: Bytes,
        salted_password: Bytes,
    }

    /// What became of each user.
    pub struct AlterUserScramCredentialsResponse: response 51, versions 0..=0, flexible 0.. {
        throttle_time_ms: i32,
        results: Vec<AlterUserScramCredentialsResult>,
    }

    /// One user.
    pub struct AlterUserScramCredentialsResult {
        user: String,
        error_code: i16,
        error_message: Option<String> = [],
    }
}
