//! ApiVersions: what this broker serves (`DefaultApiVersionManager`, KIP-511, KIP-584).

use crate::controller::SUPPORTED_FEATURES;
use crate::wire::api::{self, ListenerKind};
use crate::wire::messages::api_versions::{
    ApiVersion, ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};
use crate::wire::{ApiKey, ErrorCode};

use super::Broker;
use super::connections::RequestId;
use super::context::Context;

/// The first version with the client's name and version, and with features.
const FIRST_WITH_SOFTWARE: i16 = 3;

impl Broker {
    pub(super) fn handle_api_versions(&mut self, cx: &mut Context<'_>, request: RequestId, body: &ApiVersionsRequest) {
        let named = is_software_name(&body.client_software_name) && is_software_name(&body.client_software_version);
        let response = if request.api_version >= FIRST_WITH_SOFTWARE && !named {
            ApiVersionsResponse { error_code: ErrorCode::INVALID_REQUEST.0, ..Default::default() }
        } else {
            self.api_versions(request.api_version)
        };
        self.respond(cx, request, &response);
    }

    fn api_versions(&self, version: i16) -> ApiVersionsResponse {
        let served = api::all().iter().filter(|api| api.served(ListenerKind::Broker).is_some());
        let api_keys = served.filter_map(|api| Some((api.key, api.advertised(ListenerKind::Broker)?)));
        let api_keys = api_keys.map(|(key, versions)| ApiVersion {
            api_key: key.0,
            min_version: *versions.start(),
            max_version: *versions.end(),
            ..Default::default()
        });
        // Old clients cannot read a feature whose minimum is 0 (KAFKA-17492).
        let readable = SUPPORTED_FEATURES.iter().filter(|feature| version > 3 || feature.min > 0);
        let supported_features = readable.map(|feature| SupportedFeatureKey {
            name: feature.name.to_string(),
            min_version: feature.min,
            max_version: feature.max,
            ..Default::default()
        });
        let finalized_features = self.image.features.iter().map(|(name, level)| FinalizedFeatureKey {
            name: name.clone(),
            max_version_level: *level,
            min_version_level: *level,
            ..Default::default()
        });
        ApiVersionsResponse {
            api_keys: api_keys.collect(),
            supported_features: supported_features.collect(),
            finalized_features_epoch: self.image.end_offset - 1,
            finalized_features: finalized_features.collect(),
            ..Default::default()
        }
    }

    /// Answers a version that is not known: code 35 and the versions that are, in the body of version 0, which every
    /// client can read.
    pub(super) fn refuse_api_versions(&mut self, cx: &mut Context<'_>, request: RequestId) {
        let api_keys = ApiKey::API_VERSIONS.api().and_then(|api| api.advertised(ListenerKind::Broker));
        let api_keys = api_keys.map(|versions| ApiVersion {
            api_key: ApiKey::API_VERSIONS.0,
            min_version: *versions.start(),
            max_version: *versions.end(),
            ..Default::default()
        });
        let response = ApiVersionsResponse {
            error_code: ErrorCode::UNSUPPORTED_VERSION.0,
            api_keys: api_keys.into_iter().collect(),
            ..Default::default()
        };
        self.respond_in_version(cx, request, 0, &response);
    }
}

/// `[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?`
fn is_software_name(name: &str) -> bool {
    let ends = |end: Option<char>| end.is_some_and(|c| c.is_ascii_alphanumeric());
    ends(name.chars().next())
        && ends(name.chars().next_back())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.')
}
