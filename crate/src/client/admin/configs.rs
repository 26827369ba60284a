//! Who is in the cluster, and configurations: what an admin client asks and hears.

use bytes::Bytes;

use super::requests::{done, or_failed, read};
use crate::client::network::{Network, Request, Sent, UnsupportedVersion};
use crate::client::outbox::Outbox;
use crate::node::{Address, AdminCommand, ClusterNode, ConfigEntry, ConfigResource, Reply};
use crate::wire::messages::administration::describe_cluster::{DescribeClusterRequest, DescribeClusterResponse};
use crate::wire::messages::configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource, IncrementalAlterConfigsResponse, IncrementalAlterableConfig,
};

/// `AlterConfigOp.OpType`.
const SET: i8 = 0;
const DELETE: i8 = 1;

pub(super) fn send(
    network: &mut Network,
    sent: Sent<'_>,
    request: Request,
    command: &AdminCommand,
    outbox: &mut Outbox<'_>,
) -> Result<(), UnsupportedVersion> {
    match command {
        AdminCommand::DescribeCluster => network.send(sent, request, |_| DescribeClusterRequest::default(), outbox),
        AdminCommand::DescribeConfigs { resource } => {
            let (resource_type, resource_name) = on_the_wire(resource);
            let resource = DescribeConfigsResource { resource_type, resource_name, ..Default::default() };
            let build = |_| DescribeConfigsRequest { resources: vec![resource], ..Default::default() };
            network.send(sent, request, build, outbox)
        }
        AdminCommand::AlterConfigs { resource, changes } => {
            let (resource_type, resource_name) = on_the_wire(resource);
            let change = |(name, value): &(String, Option<String>)| IncrementalAlterableConfig {
                name: name.clone(),
                config_operation: if value.is_some() { SET } else { DELETE },
                value: value.clone(),
                ..Default::default()
            };
            let configs = changes.iter().map(change).collect();
            let resource =
                IncrementalAlterConfigsResource { resource_type, resource_name, configs, ..Default::default() };
            let build = |_| IncrementalAlterConfigsRequest { resources: vec![resource], ..Default::default() };
            network.send(sent, request, build, outbox)
        }
        _ => Err(UnsupportedVersion),
    }
}

pub(super) fn reply(command: &AdminCommand, frame: &Bytes, version: i16) -> Option<Reply> {
    match command {
        AdminCommand::DescribeCluster => {
            let body: DescribeClusterResponse = read(frame, version)?;
            let nodes = body.brokers.into_iter().map(|broker| ClusterNode {
                id: broker.broker_id,
                address: Address { host: broker.host, port: u16::try_from(broker.port).unwrap_or(0) },
            });
            let nodes = nodes.collect();
            or_failed((body.error_code, body.error_message.as_deref()), Reply::Cluster(nodes))
        }
        AdminCommand::DescribeConfigs { .. } => {
            let body: DescribeConfigsResponse = read(frame, version)?;
            let result = body.results.into_iter().next()?;
            let entries = result.configs.into_iter().map(|config| ConfigEntry {
                name: config.name,
                value: config.value,
                is_sensitive: config.is_sensitive,
            });
            let message = result.error_message.filter(|message| !message.is_empty());
            or_failed((result.error_code, message.as_deref()), Reply::Configs(entries.collect()))
        }
        AdminCommand::AlterConfigs { .. } => {
            let body: IncrementalAlterConfigsResponse = read(frame, version)?;
            done(body.responses.iter().map(|resource| (resource.error_code, resource.error_message.as_deref())))
        }
        _ => None,
    }
}

fn on_the_wire(resource: &ConfigResource) -> (i8, String) {
    match resource {
        ConfigResource::Topic(name) => (2, name.clone()),
        ConfigResource::Broker(node) => (4, node.to_string()),
        ConfigResource::ClusterDefault => (4, String::new()),
    }
}
