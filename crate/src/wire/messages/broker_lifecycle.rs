//! What a broker says to the controller: BrokerRegistration (62), BrokerHeartbeat (63), AllocateProducerIds (67).

use crate::wire::Uuid;
use crate::wire::schema::message;

message! {
    /// A broker's first word to the controller.
    pub struct BrokerRegistrationRequest: request 62, versions 0..=4, flexible 0.. {
        broker_id: i32,
        cluster_id: String,
        incarnation_id: Uuid,
        listeners: Vec<Listener>,
        features: Vec<Feature>,
        rack: Option<String>,
        is_migrating_zk_broker: bool [1..],
        log_dirs: Vec<Uuid> [2.., ignorable],
        previous_broker_epoch: i64 [3.., ignorable] = -1,
    }

    /// Where the broker listens.
    pub struct Listener {
        name: String,
        host: String,
        port: u16,
        security_protocol: i16,
    }

    /// The levels of a feature that the broker can work with.
    pub struct Feature {
        name: String,
        min_supported_version: i16,
        max_supported_version: i16,
    }

    /// The broker epoch, which all later requests of this life carry.
    pub struct BrokerRegistrationResponse: response 62, versions 0..=4, flexible 0.. {
        throttle_time_ms: i32,
        error_code: i16,
        broker_epoch: i64 = -1,
    }

    /// Keeps the broker's session alive, and asks to be unfenced or to shut down.
    pub struct BrokerHeartbeatRequest: request 63, versions 0..=2, flexible 0.. {
        broker_id: i32,
        broker_epoch: i64 = -1,
        current_metadata_offset: i64,
        want_fence: bool,
        want_shut_down: bool,
        offline_log_dirs: Vec<Uuid> [1.., tag 0],
        cordoned_log_dirs: Option<Vec<Uuid>> [2.., tag 1],
    }

    /// How the controller sees the broker.
    pub struct BrokerHeartbeatResponse: response 63, versions 0..=2, flexible 0.. {
        throttle_time_ms: i32,
        error_code: i16,
        is_caught_up: bool,
        is_fenced: bool = true,
        should_shut_down: bool,
    }

    /// A broker asks for a block of producer ids.
    pub struct AllocateProducerIdsRequest: request 67, versions 0..=0, flexible 0.. {
        broker_id: i32,
        broker_epoch: i64 = -1,
    }

    /// A block of producer ids, never handed out before.
    pub struct AllocateProducerIdsResponse: response 67, versions 0..=0, flexible 0.. {
        throttle_time_ms: i32,
        error_code: i16,
        producer_id_start: i64,
        producer_id_len: i32,
    }
}
