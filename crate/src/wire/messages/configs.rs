//! Reading and changing the configuration of topics, brokers and the like: DescribeConfigs (key 32), AlterConfigs
//! (33), IncrementalAlterConfigs (44), ListConfigResources (74).

use crate::wire::schema::message;

message! {
    /// Asks for the effective configuration of resources (KIP-133).
    pub struct DescribeConfigsRequest: request 32, versions 1..=4, flexible 4.. {
        resources: Vec<DescribeConfigsResource>,
        include_synonyms: bool,
        include_documentation: bool [3..],
    }

    /// A resource; no keys means all of them.
    pub struct DescribeConfigsResource {
        resource_type: i8,
        resource_name: String,
        configuration_keys: Option<Vec<String>>,
    }

    /// The configuration of each resource.
    pub struct DescribeConfigsResponse: response 32, versions 1..=4, flexible 4.. {
        throttle_time_ms: i32,
        results: Vec<DescribeConfigsResult>,
    }

    /// One resource, described or not.
    pub struct DescribeConfigsResult {
        error_code: i16,
        error_message: Option<String>,
        resource_type: i8,
        resource_name: String,
        configs: Vec<DescribeConfigsResourceResult>,
    }

    /// One key: its value, where it comes from, and the other places that could have given it.
    pub struct DescribeConfigsResourceResult {
        name: String,
        value: Option<String>,
        read_only: bool,
        config_source: i8 [ignorable] = -1,
        is_sensitive: bool,
        synonyms: Vec<DescribeConfigsSynonym> [ignorable],
        config_type: i8 [3.., ignorable],
        documentation: Option<String> [3.., ignorable],
    }

    /// A place that gives the key a value, the one that counts first (KIP-226).
    pub struct DescribeConfigsSynonym {
        name: String,
        value: Option<String>,
        source: i8,
    }

    /// Replaces the whole dynamic configuration of resources.
    pub struct AlterConfigsRequest: request 33, versions 0..=2, flexible 2.. {
        resources: Vec<AlterConfigsResource>,
        validate_only: bool,
    }

    /// A resource and all that it is configured with from now on.
    pub struct AlterConfigsResource {
        resource_type: i8,
        resource_name: String,
        configs: Vec<AlterableConfig>,
    }

    /// A key and its value.
    pub struct AlterableConfig {
        name: String,
        value: Option<String>,
    }

    /// What became of each resource.
    pub struct AlterConfigsResponse: response 33, versions 0..=2, flexible 2.. {
        throttle_time_ms: i32,
        responses: Vec<AlterConfigsResourceResponse>,
    }

    /// One resource, changed or not.
    pub struct AlterConfigsResourceResponse {
        error_code: i16,
        error_message: Option<String>,
        resource_type: i8,
        resource_name: String,
    }

    /// Changes single keys of resources (KIP-339).
    pub struct IncrementalAlterConfigsRequest: request 44, versions 0..=1, flexible 1.. {
        resources: Vec<IncrementalAlterConfigsResource>,
        validate_only: bool,
    }

    /// A resource and the changes to it.
    pub struct IncrementalAlterConfigsResource {
        resource_type: i8,
        resource_name: String,
        configs: Vec<IncrementalAlterableConfig>,
    }

    /// A change of one key; the operation is an `AlterConfigOp.OpType`.
    pub struct IncrementalAlterableConfig {
        name: String,
        config_operation: i8,
        value: Option<String>,
    }

    /// What became of each resource.
    pub struct IncrementalAlterConfigsResponse: response 44, versions 0..=1, flexible 1.. {
        throttle_time_ms: i32,
        responses: Vec<AlterConfigsResourceResponse>,
    }

    /// Asks which resources can be described; version 0 means client metrics subscriptions (KIP-1142).
    pub struct ListConfigResourcesRequest: request 74, versions 0..=1, flexible 0.. {
        resource_types: Vec<i8> [1..],
    }

    /// The resources.
    pub struct ListConfigResourcesResponse: response 74, versions 0..=1, flexible 0.. {
        throttle_time_ms: i32,
        error_code: i16,
        config_resources: Vec<ConfigResource>,
    }

    /// One resource.
    pub struct ConfigResource {
        resource_name: String,
        resource_type: i8 [1.., ignorable] = 16,
    }
}
