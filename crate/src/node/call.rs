//! What a program asks of a node, and what it hears back. The Rust API, the experiments' programs and the page all
//! speak this.

use bytes::Bytes;

use super::{Address, Duration, RawAnswer, RawProduce};

/// Names one command; given by whoever gives the command, unique within the node's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct CallId(pub u64);

impl CallId {
    /// Of replies that no command asked for: what a client's plugins print when they are configured.
    pub const NONE: CallId = CallId(u64::MAX);
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct TopicPartition {
    pub topic: String,
    pub partition: i32,
}

/// What a producer is asked to send (Kafka's ProducerRecord).
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct ProducerRecord {
    pub topic: String,
    pub partition: Option<i32>,
    /// Milliseconds since the epoch; the client's clock if absent.
    pub timestamp: Option<i64>,
    pub key: Option<Bytes>,
    pub value: Option<Bytes>,
    pub headers: Vec<(String, Option<Bytes>)>,
}

/// What a consumer returns (Kafka's ConsumerRecord).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ConsumerRecord {
    pub partition: TopicPartition,
    pub offset: i64,
    pub timestamp: i64,
    pub leader_epoch: i32,
    pub key: Option<Bytes>,
    pub value: Option<Bytes>,
    pub headers: Vec<(String, Option<Bytes>)>,
}

/// A topic to create (Kafka's NewTopic).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct NewTopic {
    pub name: String,
    pub partitions: i32,
    pub replication_factor: i16,
    /// Kafka's own topic keys.
    pub configs: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub enum SeekTo {
    Offset(i64),
    Beginning,
    End,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub enum Command {
    /// To a server: controlled shutdown (SIGTERM). Ends in `Exit`.
    Shutdown,
    /// To a producer, consumer or raw client: wait until the topic's metadata is known. Replies: `Partitions` or `Failed`.
    PartitionsFor { topic: String },
    /// To a producer. Replies: `Returned` when `send()` returns, and `Acked` or `Failed` when the callback fires. An
    /// ApiException inside `send()` itself fires the callback first, as in KafkaProducer; any other is thrown, and
    /// `Threw` is the only reply.
    Send(ProducerRecord),
    /// To a producer. Reply: `Done` once every record sent before has had its callback.
    Flush,
    /// To any client. Reply: `Done`. Records that are still unsent after `timeout` fail.
    Close { timeout: Duration },
    /// To a consumer: replaces the assignment; positions by auto.offset.reset. Reply: `Done`.
    Assign { partitions: Vec<TopicPartition> },
    /// To a consumer. Reply: `Done`, or `Failed` if the partition is not assigned.
    Seek { partition: TopicPartition, to: SeekTo },
    /// To a consumer. Reply: `Polled`, with no records after `timeout`.
    Poll { timeout: Duration },
    /// To a consumer: the end offset of each partition (ListOffsets, latest). Reply: `Offsets` or `Failed`.
    EndOffsets { partitions: Vec<TopicPartition> },
    /// To an admin client. It is sent again until a broker is there to answer, at most for `default.api.timeout.ms`.
    Admin(AdminCommand),
    /// To a raw client: the request as it stands, once. Reply: `Produced`, or `Failed` if no node was there to be asked.
    ProduceRaw(RawProduce),
}

/// What an admin client is asked (methods of Kafka's Admin). Reply: `Done` if nothing else is said, or `Failed` with the
/// first error.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub enum AdminCommand {
    /// Done also when a topic exists already.
    CreateTopics {
        topics: Vec<NewTopic>,
    },
    DeleteTopics {
        topics: Vec<String>,
    },
    /// `total` counts the partitions that are there already.
    CreatePartitions {
        topic: String,
        total: i32,
    },
    /// Reply: `Cluster`.
    DescribeCluster,
    /// Reply: `Configs`.
    DescribeConfigs {
        resource: ConfigResource,
    },
    /// Sets keys, or with `None` deletes them.
    AlterConfigs {
        resource: ConfigResource,
        changes: Vec<(String, Option<String>)>,
    },
}

impl AdminCommand {
    /// As Kafka's client calls it in its texts.
    pub fn name(&self) -> &'static str {
        match self {
            AdminCommand::CreateTopics { .. } => "createTopics",
            AdminCommand::DeleteTopics { .. } => "deleteTopics",
            AdminCommand::CreatePartitions { .. } => "createPartitions",
            AdminCommand::DescribeCluster => "describeCluster",
            AdminCommand::DescribeConfigs { .. } => "describeConfigs",
            AdminCommand::AlterConfigs { .. } => "incrementalAlterConfigs",
        }
    }
}

/// Whose configuration (Kafka's ConfigResource).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub enum ConfigResource {
    Topic(String),
    Broker(i32),
    /// What counts for every broker that has no value of its own.
    ClusterDefault,
}

/// A key and its value (Kafka's ConfigEntry); a sensitive value is never told.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ConfigEntry {
    pub name: String,
    pub value: Option<String>,
    pub is_sensitive: bool,
}

/// A broker as its cluster lists it (Kafka's Node).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ClusterNode {
    pub id: i32,
    pub address: Address,
}

/// Kafka's RecordMetadata. With acks=0 the offset is −1.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RecordMetadata {
    pub partition: TopicPartition,
    pub offset: i64,
    pub timestamp: i64,
}

/// An exception of Kafka's clients: its simple class name, e.g. `TimeoutException`, its exact message, and what caused
/// it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Exception {
    pub class: &'static str,
    pub message: String,
    pub cause: Option<Box<Exception>>,
}

impl Exception {
    pub fn new(class: &'static str, message: String) -> Exception {
        Exception { class, message, cause: None }
    }

    #[must_use]
    pub fn caused_by(self, cause: Exception) -> Exception {
        Exception { cause: Some(Box::new(cause)), ..self }
    }

    /// This exception, its cause, and so on.
    pub fn chain(&self) -> impl Iterator<Item = &Exception> {
        std::iter::successors(Some(self), |exception| exception.cause.as_deref())
    }
}

impl std::fmt::Display for Exception {
    /// `Class: message`, without the causes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.class, self.message)
    }
}

/// A record batch as it lay in a fetch response, for readers who want to see the file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FetchedBatch {
    pub partition: TopicPartition,
    pub bytes: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub enum Reply {
    /// `send()` returned to its caller. The callback comes by itself.
    Returned,
    Acked(RecordMetadata),
    Failed(Exception),
    /// `send()` threw to its caller: there is no callback, and nothing was sent.
    Threw(Exception),
    /// A line that a plugin of the client printed: during this call, or for its record.
    Printed(String),
    /// How many partitions the topic has.
    Partitions(i32),
    /// `batches` are those from which `records` were taken, each once, in fetch order.
    Polled {
        records: Vec<ConsumerRecord>,
        batches: Vec<FetchedBatch>,
    },
    Offsets(Vec<(TopicPartition, i64)>),
    Produced(RawAnswer),
    /// The brokers of a cluster.
    Cluster(Vec<ClusterNode>),
    Configs(Vec<ConfigEntry>),
    Done,
}
