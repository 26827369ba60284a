//! DescribeClientQuotas (key 48) and AlterClientQuotas (key 49).

use crate::wire::schema::message;

message! {
    /// Which quotas match? (KIP-546)
    pub struct DescribeClientQuotasRequest: request 48, versions 0..=1, flexible 1.. {
        components: Vec<QuotaFilterComponent>,
        strict: bool,
    }

    /// What one part of an entity must be: exactly this (0), the default (1), any (2).
    pub struct QuotaFilterComponent {
        entity_type: String,
        match_type: i8,
        match_: Option<String> = [],
    }

    /// The quotas that match.
    pub struct DescribeClientQuotasResponse: response 48, versions 0..=1, flexible 1.. {
        throttle_time_ms: i32,
        error_code: i16,
        error_message: Option<String> = [],
        entries: Option<Vec<QuotaEntry>> = [],
    }

    /// The quotas of one entity.
    pub struct QuotaEntry {
        entity: Vec<QuotaEntity>,
        values: Vec<QuotaValue>,
    }

    /// One part of an entity; null is the default.
    pub struct QuotaEntity {
        entity_type: String,
        entity_name: Option<String> = [],
    }

    /// One quota.
    pub struct QuotaValue {
        key: String,
        value: f64,
    }

    /// Sets and removes quotas.
    pub struct AlterClientQuotasRequest: request 49, versions 0..=1, flexible 1.. {
        entries: Vec<QuotaAlteration>,
        validate_only: bool,
    }

    /// The quotas of one entity to set and remove.
    pub struct QuotaAlteration {
        entity: Vec<QuotaEntity>,
        ops: Vec<QuotaOperation>,
    }

    /// One quota to set or remove.
    pub struct QuotaOperation {
        key: String,
        value: f64,
        remove: bool,
    }

    /// What became of each entity.
    pub struct AlterClientQuotasResponse: response 49, versions 0..=1, flexible 1.. {
        throttle_time_ms: i32,
        entries: Vec<QuotaAlterationResult>,
    }

    /// One entity, altered or refused.
    pub struct QuotaAlterationResult {
        error_code: i16,
        error_message: Option<String> = [],
        entity: Vec<QuotaEntity>,
    }
}
