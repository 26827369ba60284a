//! CreateTopics: forwarded to the controller, answered when it is (`ForwardingManager`).

use crate::controller::ControllerRequest;
use crate::wire::messages::create_topics::{CreateTopicsRequest, CreateTopicsResponse};

use super::Broker;
use super::connections::RequestId;
use super::context::Context;
use super::lifecycle::ControllerCall;

impl Broker {
    pub(super) fn handle_create_topics(&mut self, request: RequestId, body: CreateTopicsRequest) {
        let call = ControllerCall::CreateTopics(request);
        self.call_controller(ControllerRequest::CreateTopics(body), call, request.cause);
    }

    pub(super) fn topics_created(&mut self, cx: &mut Context<'_>, request: RequestId, response: &CreateTopicsResponse) {
        self.respond(cx, request, response);
    }
}
