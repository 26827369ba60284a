//! ApiVersions (key 18).

use crate::wire::schema::message;

message! {
    /// Asks which APIs and versions the broker serves.
    pub struct ApiVersionsRequest: request 18, versions 0..=4, flexible 3.. {
        client_software_name: String [3.., ignorable],
        client_software_version: String [3.., ignorable],
    }

    /// Which APIs and versions the broker serves, and the cluster's features (KIP-584).
    pub struct ApiVersionsResponse: response 18, versions 0..=4, flexible 3.. {
        error_code: i16,
        api_keys: Vec<ApiVersion>,
        throttle_time_ms: i32 [1.., ignorable],
        supported_features: Vec<SupportedFeatureKey> [3.., ignorable, tag 0],
        finalized_features_epoch: i64 [3.., ignorable, tag 1] = -1,
        finalized_features: Vec<FinalizedFeatureKey> [3.., ignorable, tag 2],
        zk_migration_ready: bool [3.., ignorable, tag 3],
    }

    /// The served range of one API.
    pub struct ApiVersion {
        api_key: i16,
        min_version: i16,
        max_version: i16,
    }

    /// The levels of a feature that this node can work with.
    pub struct SupportedFeatureKey {
        name: String [3..],
        min_version: i16 [3..],
        max_version: i16 [3..],
    }

    /// The level of a feature that is in force.
    pub struct FinalizedFeatureKey {
        name: String [3..],
        max_version_level: i16 [3..],
        min_version_level: i16 [3..],
    }
}
