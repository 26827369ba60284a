//! GetTelemetrySubscriptions (key 71) and PushTelemetry (key 72).

use bytes::Bytes;

use crate::wire::Uuid;
use crate::wire::schema::message;

message! {
    /// Which metrics should a client push? (KIP-714)
    pub struct GetTelemetrySubscriptionsRequest: request 71, versions 0..=0, flexible 0.. {
        client_instance_id: Uuid,
    }

    /// The metrics wanted, how and how often.
    pub struct GetTelemetrySubscriptionsResponse: response 71, versions 0..=0, flexible 0.. {
        throttle_time_ms: i32,
        error_code: i16,
        client_instance_id: Uuid,
        subscription_id: i32,
        accepted_compression_types: Vec<i8>,
        push_interval_ms: i32,
        telemetry_max_bytes: i32,
        delta_temporality: bool,
        requested_metrics: Vec<String>,
    }

    /// Metrics of a client.
    pub struct PushTelemetryRequest: request 72, versions 0..=0, flexible 0.. {
        client_instance_id: Uuid,
        subscription_id: i32,
        terminating: bool,
        compression_type: i8,
        metrics: Bytes,
    }

    /// Whether they were taken.
    pub struct PushTelemetryResponse: response 72, versions 0..=0, flexible 0.. {
        throttle_time_ms: i32,
        error_code: i16,
    }
}
