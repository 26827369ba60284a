//! FindCoordinator: who keeps the state of a group, a transactional id or a share partition: the leader of that
//! partition of an internal topic to which the key's hash leads (`KafkaApis.getCoordinator`). An internal topic is made
//! the first time somebody asks.

use crate::controller::ControllerRequest;
use crate::wire::messages::create_topics::{CreatableTopic, CreatableTopicConfig, CreateTopicsRequest};
use crate::wire::messages::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
use crate::wire::{ErrorCode, Uuid};

use super::Broker;
use super::connections::RequestId;
use super::context::Context;
use super::lifecycle::ControllerCall;

/// The first version that asks for several keys at once (KIP-699), and the first that may ask for share partitions.
const FIRST_BATCHED: i16 = 4;
const FIRST_WITH_SHARE_KEYS: i16 = 6;

/// `FindCoordinatorRequest.CoordinatorType`.
const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;
const SHARE: i8 = 2;

/// An internal topic, and the server's keys that shape it.
struct InternalTopic {
    name: &'static str,
    partitions: &'static str,
    replication_factor: &'static str,
    /// A config of the topic with its value, or with the server's key that has the value.
    configs: &'static [(&'static str, Setting)],
}

enum Setting {
    Is(&'static str),
    Of(&'static str),
}

use Setting::{Is, Of};

static INTERNAL_TOPICS: [InternalTopic; 3] = [
    InternalTopic {
        name: "__consumer_offsets",
        partitions: "offsets.topic.num.partitions",
        replication_factor: "offsets.topic.replication.factor",
        configs: &[
            ("cleanup.policy", Is("compact")),
            ("compression.type", Is("producer")),
            ("segment.bytes", Of("offsets.topic.segment.bytes")),
        ],
    },
    InternalTopic {
        name: "__transaction_state",
        partitions: "transaction.state.log.num.partitions",
        replication_factor: "transaction.state.log.replication.factor",
        configs: &[
            ("unclean.leader.election.enable", Is("false")),
            ("compression.type", Is("uncompressed")),
            ("cleanup.policy", Is("compact")),
            ("min.insync.replicas", Of("transaction.state.log.min.isr")),
            ("segment.bytes", Of("transaction.state.log.segment.bytes")),
        ],
    },
    InternalTopic {
        name: "__share_group_state",
        partitions: "share.coordinator.state.topic.num.partitions",
        replication_factor: "share.coordinator.state.topic.replication.factor",
        configs: &[
            ("cleanup.policy", Is("delete")),
            ("compression.type", Is("uncompressed")),
            ("segment.bytes", Of("share.coordinator.state.topic.segment.bytes")),
            ("min.insync.replicas", Of("share.coordinator.state.topic.min.isr")),
            ("retention.ms", Is("-1")),
        ],
    },
];

impl Broker {
    pub(super) fn handle_find_coordinator(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        body: &FindCoordinatorRequest,
    ) {
        let keys = if request.api_version < FIRST_BATCHED {
            std::slice::from_ref(&body.key)
        } else {
            body.coordinator_keys.as_slice()
        };
        let mut found: Vec<Coordinator> =
            keys.iter().map(|key| self.coordinator(request, body.key_type, key)).collect();
        let is_malformed = !(GROUP..=SHARE).contains(&body.key_type);
        let mut response = FindCoordinatorResponse::default();
        if request.api_version < FIRST_BATCHED {
            let Some(one) = found.pop() else { return };
            let text = match ErrorCode(one.error_code) {
                ErrorCode::NONE => "NONE",
                ErrorCode::COORDINATOR_NOT_AVAILABLE => "The coordinator is not available.",
                _ => INVALID_REQUEST_TEXT,
            };
            (response.error_code, response.error_message) = (one.error_code, Some(text.to_string()));
            (response.node_id, response.host, response.port) = (one.node_id, one.host, one.port);
        } else {
            if is_malformed {
                found.iter_mut().for_each(|one| one.error_message = Some(INVALID_REQUEST_TEXT.to_string()));
            }
            response.coordinators = found;
        }
        self.respond(cx, request, &response);
    }

    fn coordinator(&mut self, request: RequestId, key_type: i8, key: &str) -> Coordinator {
        let found = self.coordinator_address(request, key_type, key);
        let nobody = Coordinator { key: key.to_string(), node_id: -1, port: -1, ..Default::default() };
        match found {
            Ok((node_id, address)) => {
                Coordinator { node_id, host: address.host, port: i32::from(address.port), ..nobody }
            }
            Err(error) => Coordinator { error_code: error.0, ..nobody },
        }
    }

    fn coordinator_address(
        &mut self,
        request: RequestId,
        key_type: i8,
        key: &str,
    ) -> Result<(i32, crate::node::Address), ErrorCode> {
        let hash = match key_type {
            GROUP | TRANSACTION => java_hash(key),
            SHARE if request.api_version >= FIRST_WITH_SHARE_KEYS && is_share_key(key) => java_hash(key),
            _ => return Err(ErrorCode::INVALID_REQUEST),
        };
        let internal = INTERNAL_TOPICS.get(key_type.unsigned_abs() as usize).ok_or(ErrorCode::INVALID_REQUEST)?;
        let Some(topic) = self.image.topic(internal.name) else {
            if self.auto_creating.insert(internal.name.to_string()) {
                self.create_internal(request, internal);
            }
            return Err(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        };
        let partitions = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX).max(1);
        let partition = hash.checked_abs().unwrap_or(0) % partitions;
        let leader = topic.partitions.get(&partition).and_then(|partition| self.image.brokers.get(&partition.leader));
        let leader = leader.filter(|broker| !broker.fenced).ok_or(ErrorCode::COORDINATOR_NOT_AVAILABLE)?;
        let address = self.endpoint(leader, request.listener).ok_or(ErrorCode::COORDINATOR_NOT_AVAILABLE)?;
        Ok((leader.broker_id, address))
    }

    fn create_internal(&mut self, request: RequestId, internal: &InternalTopic) {
        let value = |key: &str| self.config.value(key).unwrap_or_default().to_string();
        let configs = internal.configs.iter().map(|(name, setting)| {
            let value = match setting {
                Is(value) => (*value).to_string(),
                Of(key) => value(key),
            };
            CreatableTopicConfig { name: (*name).to_string(), value: Some(value), ..Default::default() }
        });
        let topic = CreatableTopic {
            name: internal.name.to_string(),
            num_partitions: value(internal.partitions).parse().unwrap_or(-1),
            replication_factor: value(internal.replication_factor).parse().unwrap_or(-1),
            configs: configs.collect(),
            ..Default::default()
        };
        let body = CreateTopicsRequest { topics: vec![topic], ..Default::default() };
        let call = ControllerCall::AutoCreate { topic: internal.name.to_string() };
        self.call_controller(ControllerRequest::CreateTopics(body), call, request.cause);
    }
}

const INVALID_REQUEST_TEXT: &str = "This most likely occurs because of a request being malformed by the client library \
                                    or the message was sent to an incompatible broker. See the broker logs for more \
                                    details.";

/// `group:topic id:partition`; the group may have colons of its own (`SharePartitionKey.getInstance`).
fn is_share_key(key: &str) -> bool {
    let mut parts = key.rsplitn(3, ':');
    let partition = parts.next().is_some_and(|part| part.parse::<i32>().is_ok());
    let topic_id = parts.next().is_some_and(|part| part.parse::<Uuid>().is_ok());
    partition && topic_id && parts.next().is_some_and(|group| !group.trim().is_empty())
}

/// `String.hashCode` of Java, over UTF-16 code units.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_hashes_as_in_java() {
        assert_eq!(java_hash(""), 0);
        assert_eq!(java_hash("a"), 97);
        assert_eq!(java_hash("Aa"), java_hash("BB"));
        assert_eq!(java_hash("polygenelubricants"), i32::MIN);
    }

    #[test]
    fn a_share_key_names_group_topic_id_and_partition() {
        assert!(is_share_key("a:group:9AbUFuMCTsmEjEvHk8IsxQ:0"));
        for wrong in
            ["bad", "g:9AbUFuMCTsmEjEvHk8IsxQ", "g:topic:0", "g:9AbUFuMCTsmEjEvHk8IsxQ:x", ":9AbUFuMCTsmEjEvHk8IsxQ:0"]
        {
            assert!(!is_share_key(wrong), "{wrong}");
        }
    }
}
