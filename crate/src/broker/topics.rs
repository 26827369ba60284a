//! CreateTopics, DeleteTopics, CreatePartitions: forwarded to the controller, answered when it is (`ForwardingManager`).

use crate::controller::{ControllerRequest, ControllerResponse};

use super::Broker;
use super::connections::RequestId;
use super::context::Context;
use super::lifecycle::ControllerCall;

impl Broker {
    pub(super) fn forward(&mut self, request: RequestId, body: ControllerRequest) {
        self.call_controller(body, ControllerCall::Forwarded(request), request.cause);
    }

    pub(super) fn forwarded(&mut self, cx: &mut Context<'_>, request: RequestId, response: &ControllerResponse) {
        match response {
            ControllerResponse::CreateTopics(response) => self.respond(cx, request, response),
            ControllerResponse::DeleteTopics(response) => self.respond(cx, request, response),
            ControllerResponse::CreatePartitions(response) => self.respond(cx, request, response),
            #[cfg(feature = "administration")]
            ControllerResponse::Administration(response) => self.administered(cx, request, response),
            // Nothing else is forwarded as it came.
            _ => {}
        }
    }
}
