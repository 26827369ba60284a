//! What only people's tools ask a broker: configurations, topics page by page, producers, sizes of logs, leader
//! elections, features, the quorum, quotas, and what Kafka says where no security is configured.
//!
//! In: requests of APIs that no client in a page sends; the page is built without the feature `administration`. Out: answers. What
//! changes the metadata goes to the controller ([`crate::controller::administration`]).

mod client_quotas;
mod cluster;
mod delete_records;
mod log_dirs;
mod security;
mod topics;

use crate::controller::ControllerRequest;
use crate::controller::administration::{AdministrationRequest, AdministrationResponse};
use crate::wire::ApiKey;

use super::Broker;
use super::connections::RequestId;
use super::context::Context;
use super::server::Body;

impl Broker {
    /// Hands a request to its chapter; `None` if its bytes are not what they should be, or nobody serves it.
    pub(super) fn dispatch_administration(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        key: ApiKey,
        body: &Body<'_>,
    ) -> Option<()> {
        match key {
            ApiKey::DESCRIBE_CONFIGS => body.read().map(|body| self.handle_describe_configs(cx, request, &body)),
            ApiKey::ALTER_CONFIGS => body.read().map(|body| self.handle_alter_configs(cx, request, body)),
            ApiKey::INCREMENTAL_ALTER_CONFIGS => {
                body.read().map(|body| self.handle_incremental_alter_configs(cx, request, body))
            }
            ApiKey::LIST_CONFIG_RESOURCES => {
                body.read().map(|body| self.handle_list_config_resources(cx, request, &body))
            }
            ApiKey::DELETE_RECORDS => body.read().map(|body| self.handle_delete_records(cx, request, &body)),
            ApiKey::DESCRIBE_CLUSTER => body.read().map(|body| self.handle_describe_cluster(cx, request, &body)),
            ApiKey::DESCRIBE_TOPIC_PARTITIONS => {
                body.read().map(|body| self.handle_describe_topic_partitions(cx, request, &body))
            }
            ApiKey::DESCRIBE_PRODUCERS => body.read().map(|body| self.handle_describe_producers(cx, request, &body)),
            ApiKey::DESCRIBE_LOG_DIRS => body.read().map(|body| self.handle_describe_log_dirs(cx, request, &body)),
            ApiKey::ALTER_REPLICA_LOG_DIRS => {
                body.read().map(|body| self.handle_alter_replica_log_dirs(cx, request, &body))
            }
            ApiKey::ELECT_LEADERS => {
                body.read().map(|body| self.administer(request, body, AdministrationRequest::ElectLeaders))
            }
            ApiKey::UPDATE_FEATURES => body.read().map(|body| {
                self.administer(request, (body, request.api_version), |(body, version)| {
                    AdministrationRequest::UpdateFeatures(body, version)
                });
            }),
            ApiKey::DESCRIBE_QUORUM => body.read().map(|body| {
                self.administer(request, (body, request.api_version), |(body, version)| {
                    AdministrationRequest::DescribeQuorum(body, version)
                });
            }),
            ApiKey::UNREGISTER_BROKER => {
                body.read().map(|body| self.administer(request, body, AdministrationRequest::UnregisterBroker))
            }
            ApiKey::ALTER_PARTITION_REASSIGNMENTS => body
                .read()
                .map(|body| self.administer(request, body, AdministrationRequest::AlterPartitionReassignments)),
            _ => self.dispatch_security(cx, request, key, body),
        }
    }

    /// Forwards a request to the controller; its answer is the client's.
    fn administer<M>(&mut self, request: RequestId, body: M, kind: fn(M) -> AdministrationRequest) {
        self.forward(request, ControllerRequest::Administration(kind(body)));
    }

    pub(super) fn administered(&mut self, cx: &mut Context<'_>, request: RequestId, response: &AdministrationResponse) {
        match response {
            AdministrationResponse::ElectLeaders(body) => self.respond(cx, request, body),
            AdministrationResponse::UpdateFeatures(body) => self.respond(cx, request, body),
            AdministrationResponse::DescribeQuorum(body) => self.respond(cx, request, body),
            AdministrationResponse::UnregisterBroker(body) => self.respond(cx, request, body),
            AdministrationResponse::AlterPartitionReassignments(body) => self.respond(cx, request, body),
            AdministrationResponse::AlterClientQuotas(body) => self.respond(cx, request, body),
            AdministrationResponse::AlterUserScramCredentials(body) => self.respond(cx, request, body),
        }
    }
}
