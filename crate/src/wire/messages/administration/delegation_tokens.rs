//! Delegation tokens (keys 38 to 41).

use bytes::Bytes;

use crate::wire::schema::message;

message! {
    /// Asks for a token that stands in for a principal (KIP-48).
    pub struct CreateDelegationTokenRequest: request 38, versions 1..=3, flexible 2.. {
        owner_principal_type: Option<String> [3..] = [],
        owner_principal_name: Option<String> [3..] = [],
        renewers: Vec<CreatableRenewers>,
        max_lifetime_ms: i64,
    }

    /// Who may renew it.
    pub struct CreatableRenewers {
        principal_type: String,
        principal_name: String,
    }

    /// The token.
    pub struct CreateDelegationTokenResponse: response 38, versions 1..=3, flexible 2.. {
        error_code: i16,
        principal_type: String,
        principal_name: String,
        token_requester_principal_type: String [3..],
        token_requester_principal_name: String [3..],
        issue_timestamp_ms: i64,
        expiry_timestamp_ms: i64,
        max_timestamp_ms: i64,
        token_id: String,
        hmac: Bytes,
        throttle_time_ms: i32,
    }

    /// Lets a token live longer.
    pub struct RenewDelegationTokenRequest: request 39, versions 1..=2, flexible 2.. {
        hmac: Bytes,
        renew_period_ms: i64,
    }

    /// Until when.
    pub struct RenewDelegationTokenResponse: response 39, versions 1..=2, flexible 2.. {
        error_code: i16,
        expiry_timestamp_ms: i64,
        throttle_time_ms: i32,
    }

    /// Ends a token.
    pub struct ExpireDelegationTokenRequest: request 40, versions 1..=2, flexible 2.. {
        hmac: Bytes,
        expiry_time_period_ms: i64,
    }

    /// From when.
    pub struct ExpireDelegationTokenResponse: response 40, versions 1..=2, flexible 2.. {
        error_code: i16,
        expiry_timestamp_ms: i64,
        throttle_time_ms: i32,
    }

    /// Which tokens are there?
    pub struct DescribeDelegationTokenRequest: request 41, versions 1..=3, flexible 2.. {
        owners: Option<Vec<DescribeDelegationTokenOwner>> = [],
    }

    /// An owner whose tokens are asked for.
    pub struct DescribeDelegationTokenOwner {
        principal_type: String,
        principal_name: String,
    }

    /// The tokens.
    pub struct DescribeDelegationTokenResponse: response 41, versions 1..=3, flexible 2.. {
        error_code: i16,
        tokens: Vec<DescribedDelegationToken>,
        throttle_time_ms: i32,
    }

    /// One token.
    pub struct DescribedDelegationToken {
        principal_type: String,
        principal_name: String,
        token_requester_principal_type: String [3..],
        token_requester_principal_name: String [3..],
        issue_timestamp: i64,
        expiry_timestamp: i64,
        max_timestamp: i64,
        token_id: String,
        hmac: Bytes,
        renewers: Vec<DescribedDelegationTokenRenewer>,
    }

    /// Who may renew it.
    pub struct DescribedDelegationTokenRenewer {
        principal_type: String,
        principal_name: String,
    }
}
