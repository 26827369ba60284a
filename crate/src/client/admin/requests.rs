//! What an admin client's calls are on the wire, and what their answers come to.

use bytes::Bytes;

#[cfg(feature = "administration")]
use super::configs;
use crate::client::exceptions;
use crate::client::network::{Network, Request, Sent, UnsupportedVersion};
use crate::client::outbox::Outbox;
use crate::node::{AdminCommand, CallId, ConfigResource, NewTopic, Reply};
use crate::wire::messages::create_partitions::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic,
};
use crate::wire::messages::create_topics::{
    CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse,
};
use crate::wire::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse};
use crate::wire::{ErrorCode, Message, decode_response};

/// The first version of DeleteTopics that tells names and ids apart.
const FIRST_DELETION_BY_ID: i16 = 6;

/// The node that must be asked; any other knows nothing of a broker's configuration.
pub(super) fn node_of(command: &AdminCommand) -> Option<i32> {
    match command {
        AdminCommand::DescribeConfigs { resource: ConfigResource::Broker(node) }
        | AdminCommand::AlterConfigs { resource: ConfigResource::Broker(node), .. } => Some(*node),
        _ => None,
    }
}

/// Sends a call to a node that is connected.
pub(super) fn send(
    network: &mut Network,
    sent: Sent<'_>,
    call: CallId,
    command: &AdminCommand,
    timeout_ms: i32,
    outbox: &mut Outbox<'_>,
) -> Result<(), UnsupportedVersion> {
    let request = Request::Admin(call);
    match command {
        AdminCommand::CreateTopics { topics } => {
            let topics = topics.iter().map(creatable).collect();
            let build = |_| CreateTopicsRequest { topics, timeout_ms, ..Default::default() };
            network.send(sent, request, build, outbox)
        }
        AdminCommand::DeleteTopics { topics } => {
            let by_name = |name: &String| DeleteTopicState { name: Some(name.clone()), ..Default::default() };
            let build = |version| match version < FIRST_DELETION_BY_ID {
                true => DeleteTopicsRequest { topic_names: topics.clone(), timeout_ms, ..Default::default() },
                false => DeleteTopicsRequest {
                    topics: topics.iter().map(by_name).collect(),
                    timeout_ms,
                    ..Default::default()
                },
            };
            network.send(sent, request, build, outbox)
        }
        AdminCommand::CreatePartitions { topic, total } => {
            let topic = CreatePartitionsTopic { name: topic.clone(), count: *total, ..Default::default() };
            let build = |_| CreatePartitionsRequest { topics: vec![topic], timeout_ms, ..Default::default() };
            network.send(sent, request, build, outbox)
        }
        #[cfg(feature = "administration")]
        command => configs::send(network, sent, request, command, outbox),
        #[cfg(not(feature = "administration"))]
        _ => Err(UnsupportedVersion),
    }
}

/// What an answer comes to; `None` if it cannot be read, or says that another try may help.
pub(super) fn reply(command: &AdminCommand, frame: &Bytes, version: i16) -> Option<Reply> {
    match command {
        AdminCommand::CreateTopics { .. } => {
            let body: CreateTopicsResponse = read(frame, version)?;
            let made = |error: i16| if error == ErrorCode::TOPIC_ALREADY_EXISTS.0 { 0 } else { error };
            done(body.topics.iter().map(|topic| (made(topic.error_code), topic.error_message.as_deref())))
        }
        AdminCommand::DeleteTopics { .. } => {
            let body: DeleteTopicsResponse = read(frame, version)?;
            done(body.responses.iter().map(|topic| (topic.error_code, topic.error_message.as_deref())))
        }
        AdminCommand::CreatePartitions { .. } => {
            let body: CreatePartitionsResponse = read(frame, version)?;
            done(body.results.iter().map(|topic| (topic.error_code, topic.error_message.as_deref())))
        }
        #[cfg(feature = "administration")]
        command => configs::reply(command, frame, version),
        #[cfg(not(feature = "administration"))]
        _ => None,
    }
}

pub(super) fn read<M: Message>(frame: &Bytes, version: i16) -> Option<M> {
    decode_response::<M>(frame, version).ok().map(|(_, body)| body)
}

/// Done, or the first failure.
pub(super) fn done<'a>(mut results: impl Iterator<Item = (i16, Option<&'a str>)>) -> Option<Reply> {
    let failed = results.find(|(error, _)| ErrorCode(*error).is_error());
    or_failed(failed.unwrap_or_default(), Reply::Done)
}

pub(super) fn or_failed((error, message): (i16, Option<&str>), reply: Reply) -> Option<Reply> {
    let error = ErrorCode(error);
    match error.is_error() {
        false => Some(reply),
        // Not for good: once more.
        true if error.is_retriable() && error != ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => None,
        true => Some(Reply::Failed(exceptions::exception_with(error, message))),
    }
}

fn creatable(topic: &NewTopic) -> CreatableTopic {
    let config = |(name, value): &(String, String)| CreatableTopicConfig {
        name: name.clone(),
        value: Some(value.clone()),
        ..Default::default()
    };
    CreatableTopic {
        name: topic.name.clone(),
        num_partitions: topic.partitions,
        replication_factor: topic.replication_factor,
        configs: topic.configs.iter().map(config).collect(),
        ..Default::default()
    }
}
