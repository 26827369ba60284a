//! UnregisterBroker (key 64).

use crate::wire::schema::message;

message! {
    /// Takes a broker out of the cluster's metadata.
    pub struct UnregisterBrokerRequest: request 64, versions 0..=0, flexible 0.. {
        broker_id: i32,
    }

    /// Whether it was taken out.
    pub struct UnregisterBrokerResponse: response 64, versions 0..=0, flexible 0.. {
        throttle_time_ms: i32,
        error_code: i16,
        error_message: Option<String> = [],
    }
}
