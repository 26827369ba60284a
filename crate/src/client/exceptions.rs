//! Kafka's error codes as exceptions: class names, default messages and whether a client may try again (read from
//! org.apache.kafka.common.protocol.Errors and the classes of common.errors, 4.3.0).

use crate::node::Exception;

/// What a client may do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    No,
    /// Kafka's RetriableException.
    Yes,
    /// Kafka's InvalidMetadataException: retriable, and the metadata is out of date.
    RefreshMetadata,
}

struct Row {
    code: i16,
    class: &'static str,
    message: &'static str,
    retry: Retry,
}

macro_rules! codes {
    ($($name:ident = $code:literal;)*) => {
        /// The codes that clients know by name.
        pub(super) mod code {
            $(pub const $name: i16 = $code;)*
        }
    };
}

codes! {
    NONE = 0;
    UNKNOWN_SERVER_ERROR = -1;
    OFFSET_OUT_OF_RANGE = 1;
    CORRUPT_MESSAGE = 2;
    UNKNOWN_TOPIC_OR_PARTITION = 3;
    NOT_LEADER_OR_FOLLOWER = 6;
    REQUEST_TIMED_OUT = 7;
    REPLICA_NOT_AVAILABLE = 9;
    MESSAGE_TOO_LARGE = 10;
    NETWORK_EXCEPTION = 13;
    INVALID_TOPIC_EXCEPTION = 17;
    TOPIC_AUTHORIZATION_FAILED = 29;
    CLUSTER_AUTHORIZATION_FAILED = 31;
    UNSUPPORTED_VERSION = 35;
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45;
    DUPLICATE_SEQUENCE_NUMBER = 46;
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53;
    KAFKA_STORAGE_ERROR = 56;
    UNKNOWN_PRODUCER_ID = 59;
    FETCH_SESSION_ID_NOT_FOUND = 70;
    FENCED_LEADER_EPOCH = 74;
    UNKNOWN_LEADER_EPOCH = 75;
    OFFSET_NOT_AVAILABLE = 78;
    UNKNOWN_TOPIC_ID = 100;
    INCONSISTENT_TOPIC_ID = 103;
    REBOOTSTRAP_REQUIRED = 129;
}

/// The exception of a code, with its default message. Unknown codes are UNKNOWN_SERVER_ERROR, as in Kafka's clients.
pub(super) fn exception(code: i16) -> Exception {
    let row = row(code);
    Exception { class: row.class, message: row.message.to_owned() }
}

/// The exception of a code, with the message that came along, if one did.
pub(super) fn exception_with(code: i16, message: Option<&str>) -> Exception {
    let row = row(code);
    Exception { class: row.class, message: message.unwrap_or(row.message).to_owned() }
}

pub(super) fn retry(code: i16) -> Retry {
    row(code).retry
}

pub(super) fn is_retriable(code: i16) -> bool {
    retry(code) != Retry::No
}

fn row(code: i16) -> &'static Row {
    ROWS.iter().find(|row| row.code == code).unwrap_or(&UNKNOWN_SERVER_ERROR)
}

const UNKNOWN_SERVER_ERROR: Row = Row {
    code: -1,
    class: "UnknownServerException",
    message: "The server experienced an unexpected error when processing the request.",
    retry: Retry::No,
};

const fn row_of(code: i16, class: &'static str, retry: Retry, message: &'static str) -> Row {
    Row { code, class, message, retry }
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row_of(1, "OffsetOutOfRangeException", Retry::No, "The requested offset is not within the range of offsets maintained by the server."),
    row_of(2, "CorruptRecordException", Retry::Yes, "This message has failed its CRC checksum, exceeds the valid size, has a null key for a compacted topic, or is otherwise corrupt."),
    row_of(3, "UnknownTopicOrPartitionException", Retry::RefreshMetadata, "This server does not host this topic-partition."),
    row_of(4, "InvalidFetchSizeException", Retry::No, "The requested fetch size is invalid."),
    row_of(5, "LeaderNotAvailableException", Retry::RefreshMetadata, "There is no leader for this topic-partition as we are in the middle of a leadership election."),
    row_of(6, "NotLeaderOrFollowerException", Retry::RefreshMetadata, "For requests intended only for the leader, this error indicates that the broker is not the current leader. For requests intended for any replica, this error indicates that the broker is not a replica of the topic partition."),
    row_of(7, "TimeoutException", Retry::Yes, "The request timed out."),
    row_of(8, "BrokerNotAvailableException", Retry::No, "The broker is not available."),
    row_of(9, "ReplicaNotAvailableException", Retry::RefreshMetadata, "The replica is not available for the requested topic-partition. Produce/Fetch requests and other requests intended only for the leader or follower return NOT_LEADER_OR_FOLLOWER if the broker is not a replica of the topic-partition."),
    row_of(10, "RecordTooLargeException", Retry::No, "The request included a message larger than the max message size the server will accept."),
    row_of(11, "ControllerMovedException", Retry::No, "The controller moved to another broker."),
    row_of(12, "OffsetMetadataTooLarge", Retry::No, "The metadata field of the offset request was too large."),
    row_of(13, "NetworkException", Retry::RefreshMetadata, "The server disconnected before a response was received."),
    row_of(14, "CoordinatorLoadInProgressException", Retry::Yes, "The coordinator is loading and hence can't process requests."),
    row_of(15, "CoordinatorNotAvailableException", Retry::Yes, "The coordinator is not available."),
    row_of(16, "NotCoordinatorException", Retry::Yes, "This is not the correct coordinator."),
    row_of(17, "InvalidTopicException", Retry::No, "The request attempted to perform an operation on an invalid topic."),
    row_of(18, "RecordBatchTooLargeException", Retry::No, "The request included message batch larger than the configured segment size on the server."),
    row_of(19, "NotEnoughReplicasException", Retry::Yes, "Messages are rejected since there are fewer in-sync replicas than required."),
    row_of(20, "NotEnoughReplicasAfterAppendException", Retry::Yes, "Messages are written to the log, but to fewer in-sync replicas than required."),
    row_of(21, "InvalidRequiredAcksException", Retry::No, "Produce request specified an invalid value for required acks."),
    row_of(22, "IllegalGenerationException", Retry::No, "Specified group generation id is not valid."),
    row_of(23, "InconsistentGroupProtocolException", Retry::No, "The group member's supported protocols are incompatible with those of existing members or first group member tried to join with empty protocol type or empty protocol list."),
    row_of(24, "InvalidGroupIdException", Retry::No, "The group id is invalid."),
    row_of(25, "UnknownMemberIdException", Retry::No, "The coordinator is not aware of this member."),
    row_of(26, "InvalidSessionTimeoutException", Retry::No, "The session timeout is not within the range allowed by the broker (as configured by group.min.session.timeout.ms and group.max.session.timeout.ms)."),
    row_of(27, "RebalanceInProgressException", Retry::No, "The group is rebalancing, so a rejoin is needed."),
    row_of(28, "InvalidCommitOffsetSizeException", Retry::No, "The committing offset data size is not valid."),
    row_of(29, "TopicAuthorizationException", Retry::No, "Topic authorization failed."),
    row_of(30, "GroupAuthorizationException", Retry::No, "Group authorization failed."),
    row_of(31, "ClusterAuthorizationException", Retry::No, "Cluster authorization failed."),
    row_of(32, "InvalidTimestampException", Retry::No, "The timestamp of the message is out of acceptable range."),
    row_of(33, "UnsupportedSaslMechanismException", Retry::No, "The broker does not support the requested SASL mechanism."),
    row_of(34, "IllegalSaslStateException", Retry::No, "Request is not valid given the current SASL state."),
    row_of(35, "UnsupportedVersionException", Retry::No, "The version of API is not supported."),
    row_of(36, "TopicExistsException", Retry::No, "Topic with this name already exists."),
    row_of(37, "InvalidPartitionsException", Retry::No, "Number of partitions is below 1."),
    row_of(38, "InvalidReplicationFactorException", Retry::No, "Replication factor is below 1 or larger than the number of available brokers."),
    row_of(39, "InvalidReplicaAssignmentException", Retry::No, "Replica assignment is invalid."),
    row_of(40, "InvalidConfigurationException", Retry::No, "Configuration is invalid."),
    row_of(41, "NotControllerException", Retry::Yes, "This is not the correct controller for this cluster."),
    row_of(42, "InvalidRequestException", Retry::No, "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. See the broker logs for more details."),
    row_of(43, "UnsupportedForMessageFormatException", Retry::No, "The message format version on the broker does not support the request."),
    row_of(44, "PolicyViolationException", Retry::No, "Request parameters do not satisfy the configured policy."),
    row_of(45, "OutOfOrderSequenceException", Retry::No, "The broker received an out of order sequence number."),
    row_of(46, "DuplicateSequenceException", Retry::No, "The broker received a duplicate sequence number."),
    row_of(47, "InvalidProducerEpochException", Retry::No, "Producer attempted to produce with an old epoch."),
    row_of(48, "InvalidTxnStateException", Retry::No, "The producer attempted a transactional operation in an invalid state."),
    row_of(49, "InvalidPidMappingException", Retry::No, "The producer attempted to use a producer id which is not currently assigned to its transactional id."),
    row_of(50, "InvalidTxnTimeoutException", Retry::No, "The transaction timeout is larger than the maximum value allowed by the broker (as configured by transaction.max.timeout.ms)."),
    row_of(51, "ConcurrentTransactionsException", Retry::Yes, "The producer attempted to update a transaction while another concurrent operation on the same transaction was ongoing."),
    row_of(52, "TransactionCoordinatorFencedException", Retry::No, "Indicates that the transaction coordinator sending a WriteTxnMarker is no longer the current coordinator for a given producer."),
    row_of(53, "TransactionalIdAuthorizationException", Retry::No, "Transactional Id authorization failed."),
    row_of(54, "SecurityDisabledException", Retry::No, "Security features are disabled."),
    row_of(55, "OperationNotAttemptedException", Retry::No, "The broker did not attempt to execute this operation. This may happen for batched RPCs where some operations in the batch failed, causing the broker to respond without trying the rest."),
    row_of(56, "KafkaStorageException", Retry::RefreshMetadata, "Disk error when trying to access log file on the disk."),
    row_of(57, "LogDirNotFoundException", Retry::No, "The user-specified log directory is not found in the broker config."),
    row_of(58, "SaslAuthenticationException", Retry::No, "SASL Authentication failed."),
    row_of(59, "UnknownProducerIdException", Retry::No, "This exception is raised by the broker if it could not locate the producer metadata associated with the producerId in question. This could happen if, for instance, the producer's records were deleted because their retention time had elapsed. Once the last records of the producerId are removed, the producer's metadata is removed from the broker, and future appends by the producer will return this exception."),
    row_of(60, "ReassignmentInProgressException", Retry::No, "A partition reassignment is in progress."),
    row_of(61, "DelegationTokenDisabledException", Retry::No, "Delegation Token feature is not enabled."),
    row_of(62, "DelegationTokenNotFoundException", Retry::No, "Delegation Token is not found on server."),
    row_of(63, "DelegationTokenOwnerMismatchException", Retry::No, "Specified Principal is not valid Owner/Renewer."),
    row_of(64, "UnsupportedByAuthenticationException", Retry::No, "Delegation Token requests are not allowed on PLAINTEXT/1-way SSL channels and on delegation token authenticated channels."),
    row_of(65, "DelegationTokenAuthorizationException", Retry::No, "Delegation Token authorization failed."),
    row_of(66, "DelegationTokenExpiredException", Retry::No, "Delegation Token is expired."),
    row_of(67, "InvalidPrincipalTypeException", Retry::No, "Supplied principalType is not supported."),
    row_of(68, "GroupNotEmptyException", Retry::No, "The group is not empty."),
    row_of(69, "GroupIdNotFoundException", Retry::No, "The group id does not exist."),
    row_of(70, "FetchSessionIdNotFoundException", Retry::Yes, "The fetch session ID was not found."),
    row_of(71, "InvalidFetchSessionEpochException", Retry::Yes, "The fetch session epoch is invalid."),
    row_of(72, "ListenerNotFoundException", Retry::RefreshMetadata, "There is no listener on the leader broker that matches the listener on which metadata request was processed."),
    row_of(73, "TopicDeletionDisabledException", Retry::No, "Topic deletion is disabled."),
    row_of(74, "FencedLeaderEpochException", Retry::RefreshMetadata, "The leader epoch in the request is older than the epoch on the broker."),
    row_of(75, "UnknownLeaderEpochException", Retry::Yes, "The leader epoch in the request is newer than the epoch on the broker."),
    row_of(76, "UnsupportedCompressionTypeException", Retry::No, "The requesting client does not support the compression type of given partition."),
    row_of(77, "StaleBrokerEpochException", Retry::No, "Broker epoch has changed."),
    row_of(78, "OffsetNotAvailableException", Retry::Yes, "The leader high watermark has not caught up from a recent leader election so the offsets cannot be guaranteed to be monotonically increasing."),
    row_of(79, "MemberIdRequiredException", Retry::No, "The group member needs to have a valid member id before actually entering a consumer group."),
    row_of(80, "PreferredLeaderNotAvailableException", Retry::RefreshMetadata, "The preferred leader was not available."),
    row_of(81, "GroupMaxSizeReachedException", Retry::No, "The group has reached its maximum size."),
    row_of(82, "FencedInstanceIdException", Retry::No, "The broker rejected this static consumer since another consumer with the same group.instance.id has registered with a different member.id."),
    row_of(83, "EligibleLeadersNotAvailableException", Retry::RefreshMetadata, "Eligible topic partition leaders are not available."),
    row_of(84, "ElectionNotNeededException", Retry::RefreshMetadata, "Leader election not needed for topic partition."),
    row_of(85, "NoReassignmentInProgressException", Retry::No, "No partition reassignment is in progress."),
    row_of(86, "GroupSubscribedToTopicException", Retry::No, "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."),
    row_of(87, "InvalidRecordException", Retry::No, "This record has failed the validation on broker and hence will be rejected."),
    row_of(88, "UnstableOffsetCommitException", Retry::Yes, "There are unstable offsets that need to be cleared."),
    row_of(89, "ThrottlingQuotaExceededException", Retry::Yes, "The throttling quota has been exceeded."),
    row_of(90, "ProducerFencedException", Retry::No, "There is a newer producer with the same transactionalId which fences the current one."),
    row_of(91, "ResourceNotFoundException", Retry::No, "A request illegally referred to a resource that does not exist."),
    row_of(92, "DuplicateResourceException", Retry::No, "A request illegally referred to the same resource twice."),
    row_of(93, "UnacceptableCredentialException", Retry::No, "Requested credential would not meet criteria for acceptability."),
    row_of(94, "InconsistentVoterSetException", Retry::No, "Indicates that the either the sender or recipient of a voter-only request is not one of the expected voters."),
    row_of(95, "InvalidUpdateVersionException", Retry::No, "The given update version was invalid."),
    row_of(96, "FeatureUpdateFailedException", Retry::No, "Unable to update finalized features due to an unexpected server error."),
    row_of(97, "PrincipalDeserializationException", Retry::No, "Request principal deserialization failed during forwarding. This indicates an internal error on the broker cluster security setup."),
    row_of(98, "SnapshotNotFoundException", Retry::No, "Requested snapshot was not found."),
    row_of(99, "PositionOutOfRangeException", Retry::No, "Requested position is not greater than or equal to zero, and less than the size of the snapshot."),
    row_of(100, "UnknownTopicIdException", Retry::RefreshMetadata, "This server does not host this topic ID."),
    row_of(101, "DuplicateBrokerRegistrationException", Retry::No, "This broker ID is already in use."),
    row_of(102, "BrokerIdNotRegisteredException", Retry::No, "The given broker ID was not registered."),
    row_of(103, "InconsistentTopicIdException", Retry::RefreshMetadata, "The log's topic ID did not match the topic ID in the request."),
    row_of(104, "InconsistentClusterIdException", Retry::No, "The clusterId in the request does not match that found on the server."),
    row_of(105, "TransactionalIdNotFoundException", Retry::No, "The transactionalId could not be found."),
    row_of(106, "FetchSessionTopicIdException", Retry::Yes, "The fetch session encountered inconsistent topic ID usage."),
    row_of(107, "IneligibleReplicaException", Retry::No, "The new ISR contains at least one ineligible replica."),
    row_of(108, "NewLeaderElectedException", Retry::No, "The AlterPartition request successfully updated the partition state but the leader has changed."),
    row_of(109, "OffsetMovedToTieredStorageException", Retry::No, "The requested offset is moved to tiered storage."),
    row_of(110, "FencedMemberEpochException", Retry::No, "The member epoch is fenced by the group coordinator. The member must abandon all its partitions and rejoin."),
    row_of(111, "UnreleasedInstanceIdException", Retry::No, "The instance ID is still used by another member in the consumer group. That member must leave first."),
    row_of(112, "UnsupportedAssignorException", Retry::No, "The assignor or its version range is not supported by the consumer group."),
    row_of(113, "StaleMemberEpochException", Retry::No, "The member epoch is stale. The member must retry after receiving its updated member epoch via the ConsumerGroupHeartbeat API."),
    row_of(114, "MismatchedEndpointTypeException", Retry::No, "The request was sent to an endpoint of the wrong type."),
    row_of(115, "UnsupportedEndpointTypeException", Retry::No, "This endpoint type is not supported yet."),
    row_of(116, "UnknownControllerIdException", Retry::No, "This controller ID is not known."),
    row_of(117, "UnknownSubscriptionIdException", Retry::No, "Client sent a push telemetry request with an invalid or outdated subscription ID."),
    row_of(118, "TelemetryTooLargeException", Retry::No, "Client sent a push telemetry request larger than the maximum size the broker will accept."),
    row_of(119, "InvalidRegistrationException", Retry::No, "The controller has considered the broker registration to be invalid."),
    row_of(120, "TransactionAbortableException", Retry::No, "The server encountered an error with the transaction. The client can abort the transaction to continue using this transactional ID."),
    row_of(121, "InvalidRecordStateException", Retry::No, "The record state is invalid. The acknowledgement of delivery could not be completed."),
    row_of(122, "ShareSessionNotFoundException", Retry::Yes, "The share session was not found."),
    row_of(123, "InvalidShareSessionEpochException", Retry::Yes, "The share session epoch is invalid."),
    row_of(124, "FencedStateEpochException", Retry::No, "The share coordinator rejected the request because the share-group state epoch did not match."),
    row_of(125, "InvalidVoterKeyException", Retry::No, "The voter key doesn't match the receiving replica's key."),
    row_of(126, "DuplicateVoterException", Retry::No, "The voter is already part of the set of voters."),
    row_of(127, "VoterNotFoundException", Retry::No, "The voter is not part of the set of voters."),
    row_of(128, "InvalidRegularExpression", Retry::No, "The regular expression is not valid."),
    row_of(129, "RebootstrapRequiredException", Retry::No, "Client metadata is stale. The client should rebootstrap to obtain new metadata."),
    row_of(130, "StreamsInvalidTopologyException", Retry::No, "The supplied topology is invalid."),
    row_of(131, "StreamsInvalidTopologyEpochException", Retry::No, "The supplied topology epoch is invalid."),
    row_of(132, "StreamsTopologyFencedException", Retry::No, "The supplied topology epoch is outdated."),
    row_of(133, "ShareSessionLimitReachedException", Retry::Yes, "The limit of share sessions has been reached."),
];
