//! UpdateFeatures (key 57).

use crate::wire::schema::message;

message! {
    /// Puts features in force at other levels (KIP-584).
    pub struct UpdateFeaturesRequest: request 57, versions 0..=2, flexible 0.. {
        timeout_ms: i32 = 60_000,
        feature_updates: Vec<FeatureUpdateKey>,
        validate_only: bool [1..],
    }

    /// One feature; upgrade (1), safe downgrade (2) or unsafe downgrade (3).
    pub struct FeatureUpdateKey {
        feature: String,
        max_version_level: i16,
        allow_downgrade: bool [..=0],
        upgrade_type: i8 [1..] = 1,
    }

    /// Whether it was done; from version 2 all or nothing.
    pub struct UpdateFeaturesResponse: response 57, versions 0..=2, flexible 0.. {
        throttle_time_ms: i32,
        error_code: i16,
        error_message: Option<String> = [],
        results: Vec<UpdatableFeatureResult> [..=1, ignorable],
    }

    /// One feature.
    pub struct UpdatableFeatureResult {
        feature: String,
        error_code: i16,
        error_message: Option<String> = [],
    }
}
