//! DescribeCluster: which brokers are there (KIP-700, KIP-919; `AuthHelper.computeDescribeClusterResponse`).

use crate::broker::Broker;
use crate::broker::connections::RequestId;
use crate::broker::context::Context;
use crate::broker::metadata::ALL_CLUSTER_OPERATIONS;
use crate::wire::ErrorCode;
use crate::wire::messages::administration::describe_cluster::{
    DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse,
};

/// `EndpointType`.
const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

impl Broker {
    pub(in crate::broker) fn handle_describe_cluster(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        body: &DescribeClusterRequest,
    ) {
        let refusal = match body.endpoint_type {
            BROKERS => None,
            CONTROLLERS => {
                let text = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type \
                            CONTROLLER";
                Some((ErrorCode::MISMATCHED_ENDPOINT_TYPE, text.to_string()))
            }
            other => Some((ErrorCode::UNSUPPORTED_ENDPOINT_TYPE, format!("Unsupported endpoint type {other}"))),
        };
        let response = match refusal {
            Some((error, text)) => {
                DescribeClusterResponse { error_code: error.0, error_message: Some(text), ..Default::default() }
            }
            None => self.described_cluster(request, body),
        };
        self.respond(cx, request, &response);
    }

    fn described_cluster(&self, request: RequestId, body: &DescribeClusterRequest) -> DescribeClusterResponse {
        let known = self.image.brokers.values().filter(|broker| !broker.fenced || body.include_fenced_brokers);
        let brokers: Vec<DescribeClusterBroker> = known
            .filter_map(|broker| Some((broker, self.endpoint(broker, request.listener)?)))
            .map(|(broker, address)| DescribeClusterBroker {
                broker_id: broker.broker_id,
                host: address.host,
                port: i32::from(address.port),
                rack: broker.rack.clone(),
                is_fenced: broker.fenced,
                ..Default::default()
            })
            .collect();
        let mut response = DescribeClusterResponse {
            cluster_id: self.identity.cluster_id.clone(),
            // Kafka names any live broker: requests for the controller are forwarded by all of them.
            controller_id: brokers.iter().find(|broker| !broker.is_fenced).map_or(-1, |broker| broker.broker_id),
            brokers,
            ..Default::default()
        };
        if body.include_cluster_authorized_operations {
            response.cluster_authorized_operations = ALL_CLUSTER_OPERATIONS;
        }
        response
    }
}
