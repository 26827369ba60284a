//! What a broker says to its controller, and hears back: Kafka's wire messages, whatever carries them.
//!
//! On a combined node nothing is serialised; a channel over the network can be put in its place without a change on
//! either side, since both see only requests and responses matched by correlation id.

use std::collections::VecDeque;
use std::sync::Arc;

#[cfg(feature = "administration")]
use super::administration::{AdministrationRequest, AdministrationResponse};
use crate::node::EventId;
use crate::wire::messages::alter_partition::{AlterPartitionRequest, AlterPartitionResponse};
use crate::wire::messages::broker_lifecycle::{
    AllocateProducerIdsRequest, AllocateProducerIdsResponse, BrokerHeartbeatRequest, BrokerHeartbeatResponse,
    BrokerRegistrationRequest, BrokerRegistrationResponse,
};
#[cfg(feature = "administration")]
use crate::wire::messages::configs::{
    AlterConfigsRequest, AlterConfigsResourceResponse, IncrementalAlterConfigsRequest,
};
use crate::wire::messages::create_partitions::{CreatePartitionsRequest, CreatePartitionsResponse};
use crate::wire::messages::create_topics::{CreateTopicsRequest, CreateTopicsResponse};
use crate::wire::messages::delete_topics::{DeleteTopicsRequest, DeleteTopicsResponse};

#[derive(Debug, Clone, PartialEq)]
pub enum ControllerRequest {
    BrokerRegistration(BrokerRegistrationRequest),
    BrokerHeartbeat(BrokerHeartbeatRequest),
    /// Forwarded for a client, or the broker's own for auto-creation.
    CreateTopics(CreateTopicsRequest),
    /// Forwarded for a client. Old versions have no code for a deletion that is switched off.
    DeleteTopics {
        request: DeleteTopicsRequest,
        version: i16,
    },
    /// Forwarded for a client.
    CreatePartitions(CreatePartitionsRequest),
    /// Forwarded for a client, without the resources that the broker has answered itself.
    #[cfg(feature = "administration")]
    AlterConfigs(AlterConfigsRequest),
    #[cfg(feature = "administration")]
    IncrementalAlterConfigs(IncrementalAlterConfigsRequest),
    AllocateProducerIds(AllocateProducerIdsRequest),
    AlterPartition(AlterPartitionRequest),
    #[cfg(feature = "administration")]
    Administration(AdministrationRequest),
}

#[derive(Debug, Clone, PartialEq)]
pub enum ControllerResponse {
    BrokerRegistration(BrokerRegistrationResponse),
    BrokerHeartbeat(BrokerHeartbeatResponse),
    CreateTopics(CreateTopicsResponse),
    DeleteTopics(DeleteTopicsResponse),
    CreatePartitions(CreatePartitionsResponse),
    /// To either of the two requests, in the order of its resources.
    #[cfg(feature = "administration")]
    AlterConfigs(Vec<AlterConfigsResourceResponse>),
    AllocateProducerIds(AllocateProducerIdsResponse),
    AlterPartition(AlterPartitionResponse),
    #[cfg(feature = "administration")]
    Administration(AdministrationResponse),
}

/// A message under way, with the event that caused it.
#[derive(Debug, Clone, PartialEq)]
pub struct InFlight<T> {
    pub correlation_id: i32,
    pub cause: EventId,
    /// Shared, so that a clone of the node costs nothing for it.
    pub message: Arc<T>,
}

/// The channel of one broker to the active controller, both ways in order.
#[derive(Debug, Clone, Default)]
pub struct ControllerChannel {
    next_correlation_id: i32,
    requests: VecDeque<InFlight<ControllerRequest>>,
    responses: VecDeque<InFlight<ControllerResponse>>,
}

impl ControllerChannel {
    /// The broker sends; the answer carries the same correlation id.
    pub fn send(&mut self, request: ControllerRequest, cause: EventId) -> i32 {
        let correlation_id = self.next_correlation_id;
        self.next_correlation_id = self.next_correlation_id.wrapping_add(1);
        self.requests.push_back(InFlight { correlation_id, cause, message: Arc::new(request) });
        correlation_id
    }

    pub fn answer(&mut self, response: InFlight<ControllerResponse>) {
        self.responses.push_back(response);
    }

    pub fn next_request(&mut self) -> Option<InFlight<ControllerRequest>> {
        self.requests.pop_front()
    }

    pub fn next_response(&mut self) -> Option<InFlight<ControllerResponse>> {
        self.responses.pop_front()
    }
}
