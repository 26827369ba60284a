//! DescribeAcls, CreateAcls and DeleteAcls (keys 29 to 31).

use crate::wire::schema::message;

message! {
    /// Which ACLs match?
    pub struct DescribeAclsRequest: request 29, versions 1..=3, flexible 2.. {
        resource_type_filter: i8,
        resource_name_filter: Option<String> = [],
        pattern_type_filter: i8 = 3,
        principal_filter: Option<String> = [],
        host_filter: Option<String> = [],
        operation: i8,
        permission_type: i8,
    }

    /// The ACLs that match.
    pub struct DescribeAclsResponse: response 29, versions 1..=3, flexible 2.. {
        throttle_time_ms: i32,
        error_code: i16,
        error_message: Option<String> = [],
        resources: Vec<DescribeAclsResource>,
    }

    /// A resource that has ACLs.
    pub struct DescribeAclsResource {
        resource_type: i8,
        resource_name: String,
        pattern_type: i8 = 3,
        acls: Vec<AclDescription>,
    }

    /// One ACL.
    pub struct AclDescription {
        principal: String,
        host: String,
        operation: i8,
        permission_type: i8,
    }

    /// Adds ACLs.
    pub struct CreateAclsRequest: request 30, versions 1..=3, flexible 2.. {
        creations: Vec<AclCreation>,
    }

    /// An ACL to add.
    pub struct AclCreation {
        resource_type: i8,
        resource_name: String,
        resource_pattern_type: i8 = 3,
        principal: String,
        host: String,
        operation: i8,
        permission_type: i8,
    }

    /// What became of each.
    pub struct CreateAclsResponse: response 30, versions 1..=3, flexible 2.. {
        throttle_time_ms: i32,
        results: Vec<AclCreationResult>,
    }

    /// One ACL, added or refused.
    pub struct AclCreationResult {
        error_code: i16,
        error_message: Option<String> = [],
    }

    /// Removes the ACLs that match.
    pub struct DeleteAclsRequest: request 31, versions 1..=3, flexible 2.. {
        filters: Vec<DeleteAclsFilter>,
    }

    /// What an ACL must be like to go.
    pub struct DeleteAclsFilter {
        resource_type_filter: i8,
        resource_name_filter: Option<String> = [],
        pattern_type_filter: i8 = 3,
        principal_filter: Option<String> = [],
        host_filter: Option<String> = [],
        operation: i8,
        permission_type: i8,
    }

    /// What went by each filter.
    pub struct DeleteAclsResponse: response 31, versions 1..=3, flexible 2.. {
        throttle_time_ms: i32,
        filter_results: Vec<DeleteAclsFilterResult>,
    }

    /// What went by one filter.
    pub struct DeleteAclsFilterResult {
        error_code: i16,
        error_message: Option<String> = [],
        matching_acls: Vec<DeleteAclsMatchingAcl>,
    }

    /// An ACL that matched.
    pub struct DeleteAclsMatchingAcl {
        error_code: i16,
        error_message: Option<String> = [],
        resource_type: i8,
        resource_name: String,
        pattern_type: i8 = 3,
        principal: String,
        host: String,
        operation: i8,
        permission_type: i8,
    }
}
