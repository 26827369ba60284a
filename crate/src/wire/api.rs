//! Every API of Kafka 4.3.0: name, versions, the listeners that have it, and whether this broker serves it yet.

use std::ops::RangeInclusive;

/// An API key as it stands on the wire; any number, known or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ApiKey(pub i16);

/// The APIs that this code speaks. To serve one more, add it here, to `SERVED` and to `messages::SCHEMAS`.
impl ApiKey {
    pub const PRODUCE: ApiKey = ApiKey(0);
    pub const FETCH: ApiKey = ApiKey(1);
    pub const LIST_OFFSETS: ApiKey = ApiKey(2);
    pub const METADATA: ApiKey = ApiKey(3);
    pub const FIND_COORDINATOR: ApiKey = ApiKey(10);
    pub const SASL_HANDSHAKE: ApiKey = ApiKey(17);
    pub const API_VERSIONS: ApiKey = ApiKey(18);
    pub const CREATE_TOPICS: ApiKey = ApiKey(19);
    pub const DELETE_TOPICS: ApiKey = ApiKey(20);
    pub const DELETE_RECORDS: ApiKey = ApiKey(21);
    pub const INIT_PRODUCER_ID: ApiKey = ApiKey(22);
    pub const OFFSET_FOR_LEADER_EPOCH: ApiKey = ApiKey(23);
    pub const DESCRIBE_ACLS: ApiKey = ApiKey(29);
    pub const CREATE_ACLS: ApiKey = ApiKey(30);
    pub const DELETE_ACLS: ApiKey = ApiKey(31);
    pub const DESCRIBE_CONFIGS: ApiKey = ApiKey(32);
    pub const ALTER_CONFIGS: ApiKey = ApiKey(33);
    pub const ALTER_REPLICA_LOG_DIRS: ApiKey = ApiKey(34);
    pub const DESCRIBE_LOG_DIRS: ApiKey = ApiKey(35);
    pub const SASL_AUTHENTICATE: ApiKey = ApiKey(36);
    pub const CREATE_PARTITIONS: ApiKey = ApiKey(37);
    pub const CREATE_DELEGATION_TOKEN: ApiKey = ApiKey(38);
    pub const RENEW_DELEGATION_TOKEN: ApiKey = ApiKey(39);
    pub const EXPIRE_DELEGATION_TOKEN: ApiKey = ApiKey(40);
    pub const DESCRIBE_DELEGATION_TOKEN: ApiKey = ApiKey(41);
    pub const ELECT_LEADERS: ApiKey = ApiKey(43);
    pub const INCREMENTAL_ALTER_CONFIGS: ApiKey = ApiKey(44);
    pub const ALTER_PARTITION_REASSIGNMENTS: ApiKey = ApiKey(45);
    pub const LIST_PARTITION_REASSIGNMENTS: ApiKey = ApiKey(46);
    pub const DESCRIBE_CLIENT_QUOTAS: ApiKey = ApiKey(48);
    pub const ALTER_CLIENT_QUOTAS: ApiKey = ApiKey(49);
    pub const DESCRIBE_USER_SCRAM_CREDENTIALS: ApiKey = ApiKey(50);
    pub const ALTER_USER_SCRAM_CREDENTIALS: ApiKey = ApiKey(51);
    pub const DESCRIBE_QUORUM: ApiKey = ApiKey(55);
    pub const ALTER_PARTITION: ApiKey = ApiKey(56);
    pub const UPDATE_FEATURES: ApiKey = ApiKey(57);
    pub const DESCRIBE_CLUSTER: ApiKey = ApiKey(60);
    pub const DESCRIBE_PRODUCERS: ApiKey = ApiKey(61);
    pub const BROKER_REGISTRATION: ApiKey = ApiKey(62);
    pub const BROKER_HEARTBEAT: ApiKey = ApiKey(63);
    pub const UNREGISTER_BROKER: ApiKey = ApiKey(64);
    pub const ALLOCATE_PRODUCER_IDS: ApiKey = ApiKey(67);
    pub const GET_TELEMETRY_SUBSCRIPTIONS: ApiKey = ApiKey(71);
    pub const PUSH_TELEMETRY: ApiKey = ApiKey(72);
    pub const LIST_CONFIG_RESOURCES: ApiKey = ApiKey(74);
    pub const DESCRIBE_TOPIC_PARTITIONS: ApiKey = ApiKey(75);

    /// Kafka's table row; `None` for a key that 4.3.0 does not know or has retired (4 to 7).
    pub fn api(self) -> Option<&'static Api> {
        let index = APIS.binary_search_by_key(&self.0, |api| api.key.0).ok()?;
        APIS.get(index)
    }

    /// Kafka's name; "unknown" for an unknown key.
    pub fn name(self) -> &'static str {
        self.api().map_or("unknown", |api| api.name)
    }
}

/// Which of a node's listeners a request came in on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenerKind {
    Broker,
    Controller,
}

/// One API of Kafka 4.3.0.
#[derive(Debug)]
pub struct Api {
    pub key: ApiKey,
    pub name: &'static str,
    /// The versions that 4.3.0 has a schema for.
    pub first_version: i16,
    pub last_version: i16,
    flexible_from: i16,
    listeners: u8,
}

impl Api {
    /// Whether this version has compact lengths and tagged fields, in body and header.
    pub fn is_flexible(&self, version: i16) -> bool {
        version >= self.flexible_from
    }

    pub fn is_on(&self, listener: ListenerKind) -> bool {
        match listener {
            ListenerKind::Broker => self.listeners & BROKER != 0,
            ListenerKind::Controller => self.listeners & CONTROLLER != 0,
        }
    }

    /// What ApiVersions of Kafka 4.3.0 says on this listener; `None` if it leaves the API out.
    pub fn advertised(&self, listener: ListenerKind) -> Option<RangeInclusive<i16>> {
        if !self.is_on(listener) || self.listeners == HIDDEN {
            return None;
        }
        Some(match self.key {
            // librdkafka takes a broker without Produce 0 for a very old one (KAFKA-18659).
            ApiKey::PRODUCE => 0..=self.last_version,
            // Version 6 (KIP-939) is unstable in 4.3.0.
            ApiKey::INIT_PRODUCER_ID => self.first_version..=5,
            _ => self.first_version..=self.last_version,
        })
    }

    /// What this code answers on this listener; `None` if the API is left to a later day. Produce 0 to 2 are
    /// advertised and not served, as in Kafka.
    pub fn served(&self, listener: ListenerKind) -> Option<RangeInclusive<i16>> {
        let served = match listener {
            ListenerKind::Broker => SERVED_BY_BROKER,
            ListenerKind::Controller => SERVED_BY_CONTROLLER,
        };
        if !self.is_on(listener) || !served.contains(&self.key) {
            return None;
        }
        // What is hidden is served in all its versions.
        let last = self.advertised(listener).map_or(self.last_version, |advertised| *advertised.end());
        Some(self.first_version..=last)
    }
}

/// All APIs of Kafka 4.3.0, by key.
pub fn all() -> &'static [Api] {
    APIS
}

const SERVED_BY_BROKER: &[ApiKey] = &[
    ApiKey::PRODUCE,
    ApiKey::FETCH,
    ApiKey::LIST_OFFSETS,
    ApiKey::METADATA,
    ApiKey::API_VERSIONS,
    ApiKey::CREATE_TOPICS,
    ApiKey::INIT_PRODUCER_ID,
    ApiKey::DELETE_TOPICS,
    ApiKey::CREATE_PARTITIONS,
    ApiKey::DESCRIBE_CONFIGS,
    ApiKey::ALTER_CONFIGS,
    ApiKey::INCREMENTAL_ALTER_CONFIGS,
    ApiKey::LIST_CONFIG_RESOURCES,
    ApiKey::FIND_COORDINATOR,
    ApiKey::SASL_HANDSHAKE,
    ApiKey::DELETE_RECORDS,
    ApiKey::OFFSET_FOR_LEADER_EPOCH,
    ApiKey::DESCRIBE_ACLS,
    ApiKey::CREATE_ACLS,
    ApiKey::DELETE_ACLS,
    ApiKey::ALTER_REPLICA_LOG_DIRS,
    ApiKey::DESCRIBE_LOG_DIRS,
    ApiKey::SASL_AUTHENTICATE,
    ApiKey::CREATE_DELEGATION_TOKEN,
    ApiKey::RENEW_DELEGATION_TOKEN,
    ApiKey::EXPIRE_DELEGATION_TOKEN,
    ApiKey::DESCRIBE_DELEGATION_TOKEN,
    ApiKey::ELECT_LEADERS,
    ApiKey::ALTER_PARTITION_REASSIGNMENTS,
    ApiKey::LIST_PARTITION_REASSIGNMENTS,
    ApiKey::DESCRIBE_CLIENT_QUOTAS,
    ApiKey::ALTER_CLIENT_QUOTAS,
    ApiKey::DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey::ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey::DESCRIBE_QUORUM,
    ApiKey::UPDATE_FEATURES,
    ApiKey::DESCRIBE_CLUSTER,
    ApiKey::DESCRIBE_PRODUCERS,
    ApiKey::UNREGISTER_BROKER,
    ApiKey::GET_TELEMETRY_SUBSCRIPTIONS,
    ApiKey::PUSH_TELEMETRY,
    ApiKey::DESCRIBE_TOPIC_PARTITIONS,
];

const SERVED_BY_CONTROLLER: &[ApiKey] = &[
    ApiKey::FETCH,
    ApiKey::API_VERSIONS,
    ApiKey::CREATE_TOPICS,
    ApiKey::ALTER_PARTITION,
    ApiKey::BROKER_REGISTRATION,
    ApiKey::BROKER_HEARTBEAT,
    ApiKey::ALLOCATE_PRODUCER_IDS,
];

const BROKER: u8 = 1;
const CONTROLLER: u8 = 2;
const BOTH: u8 = BROKER | CONTROLLER;
/// Answered on the broker's listener yet not advertised, without a metrics receiver.
const HIDDEN: u8 = BROKER | 4;
const NEVER: i16 = i16::MAX;

const fn api(
    key: i16,
    name: &'static str,
    first_version: i16,
    last_version: i16,
    flexible_from: i16,
    listeners: u8,
) -> Api {
    Api { key: ApiKey(key), name, first_version, last_version, flexible_from, listeners }
}

static APIS: &[Api] = &[
    api(0, "Produce", 3, 13, 9, BROKER),
    api(1, "Fetch", 4, 18, 12, BOTH),
    api(2, "ListOffsets", 1, 11, 6, BROKER),
    api(3, "Metadata", 0, 13, 9, BROKER),
    api(8, "OffsetCommit", 2, 10, 8, BROKER),
    api(9, "OffsetFetch", 1, 10, 6, BROKER),
    api(10, "FindCoordinator", 0, 6, 3, BROKER),
    api(11, "JoinGroup", 0, 9, 6, BROKER),
    api(12, "Heartbeat", 0, 4, 4, BROKER),
    api(13, "LeaveGroup", 0, 5, 4, BROKER),
    api(14, "SyncGroup", 0, 5, 4, BROKER),
    api(15, "DescribeGroups", 0, 6, 5, BROKER),
    api(16, "ListGroups", 0, 5, 3, BROKER),
    api(17, "SaslHandshake", 0, 1, NEVER, BOTH),
    api(18, "ApiVersions", 0, 4, 3, BOTH),
    api(19, "CreateTopics", 2, 7, 5, BOTH),
    api(20, "DeleteTopics", 1, 6, 4, BOTH),
    api(21, "DeleteRecords", 0, 2, 2, BROKER),
    api(22, "InitProducerId", 0, 6, 2, BROKER),
    api(23, "OffsetForLeaderEpoch", 2, 4, 4, BROKER),
    api(24, "AddPartitionsToTxn", 0, 5, 3, BROKER),
    api(25, "AddOffsetsToTxn", 0, 4, 3, BROKER),
    api(26, "EndTxn", 0, 5, 3, BROKER),
    api(27, "WriteTxnMarkers", 1, 2, 1, BROKER),
    api(28, "TxnOffsetCommit", 0, 5, 3, BROKER),
    api(29, "DescribeAcls", 1, 3, 2, BOTH),
    api(30, "CreateAcls", 1, 3, 2, BOTH),
    api(31, "DeleteAcls", 1, 3, 2, BOTH),
    api(32, "DescribeConfigs", 1, 4, 4, BOTH),
    api(33, "AlterConfigs", 0, 2, 2, BOTH),
    api(34, "AlterReplicaLogDirs", 1, 2, 2, BROKER),
    api(35, "DescribeLogDirs", 1, 5, 2, BROKER),
    api(36, "SaslAuthenticate", 0, 2, 2, BOTH),
    api(37, "CreatePartitions", 0, 3, 2, BOTH),
    api(38, "CreateDelegationToken", 1, 3, 2, BOTH),
    api(39, "RenewDelegationToken", 1, 2, 2, BOTH),
    api(40, "ExpireDelegationToken", 1, 2, 2, BOTH),
    api(41, "DescribeDelegationToken", 1, 3, 2, BOTH),
    api(42, "DeleteGroups", 0, 2, 2, BROKER),
    api(43, "ElectLeaders", 0, 2, 2, BOTH),
    api(44, "IncrementalAlterConfigs", 0, 1, 1, BOTH),
    api(45, "AlterPartitionReassignments", 0, 1, 0, BOTH),
    api(46, "ListPartitionReassignments", 0, 0, 0, BOTH),
    api(47, "OffsetDelete", 0, 0, NEVER, BROKER),
    api(48, "DescribeClientQuotas", 0, 1, 1, BROKER),
    api(49, "AlterClientQuotas", 0, 1, 1, BOTH),
    api(50, "DescribeUserScramCredentials", 0, 0, 0, BOTH),
    api(51, "AlterUserScramCredentials", 0, 0, 0, BOTH),
    api(52, "Vote", 0, 2, 0, CONTROLLER),
    api(53, "BeginQuorumEpoch", 0, 1, 1, CONTROLLER),
    api(54, "EndQuorumEpoch", 0, 1, 1, CONTROLLER),
    api(55, "DescribeQuorum", 0, 2, 0, BOTH),
    api(56, "AlterPartition", 2, 3, 0, CONTROLLER),
    api(57, "UpdateFeatures", 0, 2, 0, BOTH),
    api(58, "Envelope", 0, 0, 0, CONTROLLER),
    api(59, "FetchSnapshot", 0, 1, 0, CONTROLLER),
    api(60, "DescribeCluster", 0, 2, 0, BOTH),
    api(61, "DescribeProducers", 0, 0, 0, BROKER),
    api(62, "BrokerRegistration", 0, 4, 0, CONTROLLER),
    api(63, "BrokerHeartbeat", 0, 2, 0, CONTROLLER),
    api(64, "UnregisterBroker", 0, 0, 0, BOTH),
    api(65, "DescribeTransactions", 0, 0, 0, BROKER),
    api(66, "ListTransactions", 0, 2, 0, BROKER),
    api(67, "AllocateProducerIds", 0, 0, 0, CONTROLLER),
    api(68, "ConsumerGroupHeartbeat", 0, 1, 0, BROKER),
    api(69, "ConsumerGroupDescribe", 0, 1, 0, BROKER),
    api(70, "ControllerRegistration", 0, 0, 0, CONTROLLER),
    api(71, "GetTelemetrySubscriptions", 0, 0, 0, HIDDEN),
    api(72, "PushTelemetry", 0, 0, 0, HIDDEN),
    api(73, "AssignReplicasToDirs", 0, 0, 0, CONTROLLER),
    api(74, "ListConfigResources", 0, 1, 0, BROKER),
    api(75, "DescribeTopicPartitions", 0, 0, 0, BROKER),
    api(76, "ShareGroupHeartbeat", 1, 1, 0, BROKER),
    api(77, "ShareGroupDescribe", 1, 1, 0, BROKER),
    api(78, "ShareFetch", 1, 2, 0, BROKER),
    api(79, "ShareAcknowledge", 1, 2, 0, BROKER),
    api(80, "AddRaftVoter", 0, 1, 0, BOTH),
    api(81, "RemoveRaftVoter", 0, 0, 0, BOTH),
    api(82, "UpdateRaftVoter", 0, 0, 0, CONTROLLER),
    api(83, "InitializeShareGroupState", 0, 0, 0, BROKER),
    api(84, "ReadShareGroupState", 0, 0, 0, BROKER),
    api(85, "WriteShareGroupState", 0, 1, 0, BROKER),
    api(86, "DeleteShareGroupState", 0, 0, 0, BROKER),
    api(87, "ReadShareGroupStateSummary", 0, 1, 0, BROKER),
    api(88, "StreamsGroupHeartbeat", 0, 0, 0, BROKER),
    api(89, "StreamsGroupDescribe", 0, 0, 0, BROKER),
    api(90, "DescribeShareGroupOffsets", 0, 1, 0, BROKER),
    api(91, "AlterShareGroupOffsets", 0, 0, 0, BROKER),
    api(92, "DeleteShareGroupOffsets", 0, 0, 0, BROKER),
];
