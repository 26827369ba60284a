//! What Kafka says where no security is configured: no authorizer, a PLAINTEXT listener, no metrics receiver. And what is
//! kept for it all the same: quotas and SCRAM credentials, which are listed here and written by the controller.

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::broker::Broker;
use crate::broker::connections::RequestId;
use crate::broker::context::Context;
use crate::broker::server::Body;
use crate::checksum::crc32c;
use crate::controller::administration::AdministrationRequest;
use crate::wire::messages::administration::acls::{
    AclCreationResult, CreateAclsRequest, CreateAclsResponse, DeleteAclsFilterResult, DeleteAclsRequest,
    DeleteAclsResponse, DescribeAclsRequest, DescribeAclsResponse,
};
use crate::wire::messages::administration::delegation_tokens::{
    CreateDelegationTokenRequest, CreateDelegationTokenResponse, DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse, ExpireDelegationTokenRequest, ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest, RenewDelegationTokenResponse,
};
use crate::wire::messages::administration::reassignments::{
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse,
};
use crate::wire::messages::administration::sasl::{
    SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};
use crate::wire::messages::administration::scram::{
    CredentialInfo, DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
};
use crate::wire::messages::administration::telemetry::{
    GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse, PushTelemetryRequest, PushTelemetryResponse,
};
use crate::wire::{ApiKey, ErrorCode, Uuid};

/// The principal of every connection without authentication.
const ANONYMOUS: &str = "ANONYMOUS";
/// Tokens are asked for over authenticated connections only.
const NO_TOKENS: i16 = ErrorCode::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.0;
/// `ClientMetricsConfigs.INTERVAL_MS_DEFAULT`.
const TELEMETRY_INTERVAL_MS: i32 = 300_000;
const TELEMETRY_BYTES_MAX: i32 = 1_048_576;
/// zstd, lz4, gzip, snappy: what Kafka would rather have first.
const TELEMETRY_COMPRESSION: [i8; 4] = [4, 3, 1, 2];

impl Broker {
    /// The rest of [`Broker::dispatch_administration`].
    pub(super) fn dispatch_security(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        key: ApiKey,
        body: &Body<'_>,
    ) -> Option<()> {
        match key {
            ApiKey::SASL_HANDSHAKE => {
                body.read::<SaslHandshakeRequest>()?;
                let error_code = ErrorCode::ILLEGAL_SASL_STATE.0;
                self.respond(cx, request, &SaslHandshakeResponse { error_code, ..Default::default() });
            }
            ApiKey::SASL_AUTHENTICATE => {
                body.read::<SaslAuthenticateRequest>()?;
                let text = "SaslAuthenticate request received after successful authentication";
                let response = SaslAuthenticateResponse {
                    error_code: ErrorCode::ILLEGAL_SASL_STATE.0,
                    error_message: Some(text.to_string()),
                    ..Default::default()
                };
                self.respond(cx, request, &response);
            }
            ApiKey::DESCRIBE_ACLS => {
                body.read::<DescribeAclsRequest>()?;
                let response = DescribeAclsResponse {
                    error_code: ErrorCode::SECURITY_DISABLED.0,
                    error_message: Some("No Authorizer is configured on the broker".to_string()),
                    ..Default::default()
                };
                self.respond(cx, request, &response);
            }
            ApiKey::CREATE_ACLS => {
                let asked = body.read::<CreateAclsRequest>()?.creations.len();
                let refused = AclCreationResult {
                    error_code: ErrorCode::SECURITY_DISABLED.0,
                    error_message: Some(NO_AUTHORIZER.to_string()),
                    ..Default::default()
                };
                self.respond(cx, request, &CreateAclsResponse { results: vec![refused; asked], ..Default::default() });
            }
            ApiKey::DELETE_ACLS => {
                let asked = body.read::<DeleteAclsRequest>()?.filters.len();
                let refused = DeleteAclsFilterResult {
                    error_code: ErrorCode::SECURITY_DISABLED.0,
                    error_message: Some(NO_AUTHORIZER.to_string()),
                    ..Default::default()
                };
                let response = DeleteAclsResponse { filter_results: vec![refused; asked], ..Default::default() };
                self.respond(cx, request, &response);
            }
            ApiKey::CREATE_DELEGATION_TOKEN => self.refuse_token(cx, request, &body.read()?),
            ApiKey::RENEW_DELEGATION_TOKEN => {
                body.read::<RenewDelegationTokenRequest>()?;
                let (error_code, expiry_timestamp_ms) = (NO_TOKENS, -1);
                let response = RenewDelegationTokenResponse { error_code, expiry_timestamp_ms, ..Default::default() };
                self.respond(cx, request, &response);
            }
            ApiKey::EXPIRE_DELEGATION_TOKEN => {
                body.read::<ExpireDelegationTokenRequest>()?;
                let (error_code, expiry_timestamp_ms) = (NO_TOKENS, -1);
                let response = ExpireDelegationTokenResponse { error_code, expiry_timestamp_ms, ..Default::default() };
                self.respond(cx, request, &response);
            }
            ApiKey::DESCRIBE_DELEGATION_TOKEN => {
                body.read::<DescribeDelegationTokenRequest>()?;
                let response = DescribeDelegationTokenResponse { error_code: NO_TOKENS, ..Default::default() };
                self.respond(cx, request, &response);
            }
            ApiKey::GET_TELEMETRY_SUBSCRIPTIONS => self.handle_get_telemetry_subscriptions(cx, request, &body.read()?),
            ApiKey::PUSH_TELEMETRY => self.handle_push_telemetry(cx, request, &body.read()?),
            ApiKey::LIST_PARTITION_REASSIGNMENTS => {
                body.read::<ListPartitionReassignmentsRequest>()?;
                // Nothing is ever under way: see the controller's side.
                let response = ListPartitionReassignmentsResponse { error_message: None, ..Default::default() };
                self.respond(cx, request, &response);
            }
            ApiKey::DESCRIBE_CLIENT_QUOTAS => self.handle_describe_client_quotas(cx, request, &body.read()?),
            ApiKey::DESCRIBE_USER_SCRAM_CREDENTIALS => {
                self.handle_describe_user_scram_credentials(cx, request, &body.read()?);
            }
            ApiKey::ALTER_CLIENT_QUOTAS => {
                self.administer(request, body.read()?, AdministrationRequest::AlterClientQuotas);
            }
            ApiKey::ALTER_USER_SCRAM_CREDENTIALS => {
                self.administer(request, body.read()?, AdministrationRequest::AlterUserScramCredentials);
            }
            _ => return None,
        }
        Some(())
    }

    fn refuse_token(&mut self, cx: &mut Context<'_>, request: RequestId, body: &CreateDelegationTokenRequest) {
        let owner = body.owner_principal_name.clone().filter(|name| !name.is_empty());
        let kind = body.owner_principal_type.clone().filter(|_| owner.is_some());
        let first_with_requester = 3;
        let requester =
            |text: &str| if request.api_version >= first_with_requester { text.to_string() } else { String::new() };
        let response = CreateDelegationTokenResponse {
            error_code: NO_TOKENS,
            principal_type: kind.unwrap_or_else(|| "User".to_string()),
            principal_name: owner.unwrap_or_else(|| ANONYMOUS.to_string()),
            token_requester_principal_type: requester("User"),
            token_requester_principal_name: requester(ANONYMOUS),
            issue_timestamp_ms: -1,
            expiry_timestamp_ms: -1,
            max_timestamp_ms: -1,
            ..Default::default()
        };
        self.respond(cx, request, &response);
    }

    /// No metric is wanted of anybody (`ClientMetricsManager`).
    fn handle_get_telemetry_subscriptions(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        body: &GetTelemetrySubscriptionsRequest,
    ) {
        let mut client_instance_id = body.client_instance_id;
        while is_reserved(client_instance_id) {
            client_instance_id = Uuid::from_random(self.rng.bytes16()).unwrap_or_default();
        }
        let response = GetTelemetrySubscriptionsResponse {
            client_instance_id,
            subscription_id: subscription_id(client_instance_id),
            accepted_compression_types: TELEMETRY_COMPRESSION.to_vec(),
            push_interval_ms: TELEMETRY_INTERVAL_MS,
            telemetry_max_bytes: TELEMETRY_BYTES_MAX,
            delta_temporality: true,
            ..Default::default()
        };
        self.respond(cx, request, &response);
    }

    fn handle_push_telemetry(&mut self, cx: &mut Context<'_>, request: RequestId, body: &PushTelemetryRequest) {
        let error = if is_reserved(body.client_instance_id) {
            ErrorCode::INVALID_REQUEST
        } else if body.subscription_id != subscription_id(body.client_instance_id) {
            ErrorCode::UNKNOWN_SUBSCRIPTION_ID
        } else {
            ErrorCode::NONE
        };
        self.respond(cx, request, &PushTelemetryResponse { error_code: error.0, ..Default::default() });
    }

    fn handle_describe_user_scram_credentials(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        body: &DescribeUserScramCredentialsRequest,
    ) {
        let asked: Vec<&str> = body.users.iter().flatten().map(|user| user.name.as_str()).collect();
        let all = self.image.scram.keys().map(|(user, _)| user.as_str());
        let users: BTreeSet<&str> = if asked.is_empty() { all.collect() } else { asked.iter().copied().collect() };
        let results = users.into_iter().map(|user| {
            let failed = |error: ErrorCode, text: &str| DescribeUserScramCredentialsResult {
                user: user.to_string(),
                error_code: error.0,
                error_message: Some(format!("{text}{user}")),
                ..Default::default()
            };
            if asked.iter().filter(|other| **other == user).count() > 1 {
                let text = "Cannot describe SCRAM credentials for the same user twice in a single request: ";
                return failed(ErrorCode::DUPLICATE_RESOURCE, text);
            }
            let of_user = self.image.scram.range((user.to_string(), i8::MIN)..=(user.to_string(), i8::MAX));
            let infos: Vec<CredentialInfo> = of_user
                .map(|((_, mechanism), iterations)| CredentialInfo {
                    mechanism: *mechanism,
                    iterations: *iterations,
                    ..Default::default()
                })
                .collect();
            if infos.is_empty() {
                let text = "Attempt to describe a user credential that does not exist: ";
                return failed(ErrorCode::RESOURCE_NOT_FOUND, text);
            }
            DescribeUserScramCredentialsResult { user: user.to_string(), credential_infos: infos, ..Default::default() }
        });
        let response = DescribeUserScramCredentialsResponse { results: results.collect(), ..Default::default() };
        self.respond(cx, request, &response);
    }
}

const NO_AUTHORIZER: &str = "No Authorizer is configured.";

/// `Uuid.RESERVED`: ids that nobody may have.
fn is_reserved(id: Uuid) -> bool {
    u128::from_be_bytes(id.0) < 100
}

/// `ClientMetricsManager.computeSubscriptionId`, of an empty set of metrics.
fn subscription_id(id: Uuid) -> i32 {
    let metrics = Bytes::from(format!("[]{TELEMETRY_INTERVAL_MS}"));
    let [a, b, c, d] = [0, 4, 8, 12].map(|at| {
        let word = id.0.get(at..at + 4).and_then(|word| word.try_into().ok()).unwrap_or_default();
        i32::from_be_bytes(word)
    });
    // Java's Uuid.hashCode: all four words against each other.
    crc32c(&metrics) as i32 ^ a ^ b ^ c ^ d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_has_kafkas_id() {
        // Recorded of 4.3.0.
        let id = "F0Shc5s9QD-QnTYFctX8wA".parse().expect("an id");
        assert_eq!(subscription_id(id), -1_158_254_505);
    }
}
