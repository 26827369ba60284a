//! A producer's configuration (Kafka's ProducerConfig and what KafkaProducer's constructor checks).

use super::no_effect::Check;
use super::reader::Reader;
use super::{CONNECTIONS_MAX_IDLE_MS, ConfigError, ConnectionConfig, KnownKey, no_effect};
use crate::client::producer::RoundRobinPartitioner;
use crate::node::Exception;
use crate::ordered::BTreeMap;
use crate::record::{Codec, Compression};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducerConfig {
    pub connection: ConnectionConfig,
    /// −1 for all.
    pub acks: i16,
    pub batch_size: i32,
    pub buffer_memory: i64,
    pub compression: Compression,
    pub delivery_timeout_ms: i64,
    /// Whether idempotence is on, after acks=0, acks=1 or retries=0 may have switched it off.
    pub idempotence: bool,
    pub linger_ms: i64,
    pub max_block_ms: i64,
    pub max_in_flight: i32,
    pub max_request_size: i32,
    pub metadata_max_idle_ms: i64,
    pub adaptive_partitioning: bool,
    pub partition_availability_timeout_ms: i64,
    pub ignore_keys: bool,
    /// partitioner.class is Kafka's RoundRobinPartitioner rather than the built-in one.
    pub round_robin: bool,
    pub retries: i32,
    /// Keys that were set and do nothing here.
    pub no_effect: Vec<&'static str>,
}

impl ProducerConfig {
    /// Reads Kafka's keys. `bootstrap.servers` is the only one without a default.
    pub fn parse(given: &BTreeMap<String, String>) -> Result<ProducerConfig, ConfigError> {
        read(given).map(|(config, _)| config)
    }

    /// Every key that a producer knows.
    pub fn known_keys() -> Vec<KnownKey> {
        let given = BTreeMap::from([("bootstrap.servers".to_owned(), "localhost:9092".to_owned())]);
        read(&given).map(|(_, known)| known).unwrap_or_default()
    }
}

fn read(given: &BTreeMap<String, String>) -> Result<(ProducerConfig, Vec<KnownKey>), ConfigError> {
    let mut keys = Reader::new(given);
    let acks = keys.one_of("acks", "all", &["all", "-1", "0", "1"])?;
    let retries = keys.int("retries", i32::MAX, 0..=i32::MAX)?;
    let max_in_flight = keys.int("max.in.flight.requests.per.connection", 5, 1..=i32::MAX)?;
    let idempotence_wanted = keys.boolean("enable.idempotence", true)?;
    let compression = compression(&mut keys)?;
    let two_phase_commit = keys.boolean("transaction.two.phase.commit.enable", false)?;
    keys.int("transaction.timeout.ms", 60_000, i32::MIN..=i32::MAX)?;
    let round_robin = partitioner_class(&mut keys)?;
    let transactional_id = keys.optional("transactional.id");
    if transactional_id.as_deref() == Some("") {
        return Err(ConfigError::invalid("transactional.id", "", "String must be non-empty"));
    }
    let connection = ConnectionConfig::read(&mut keys, "producer", CONNECTIONS_MAX_IDLE_MS)?;
    let interceptors = keys.string("interceptor.classes", "");
    let delivery_timeout_ms: i64 = keys.int("delivery.timeout.ms", 120_000, 0..=i32::MAX)?.into();
    let mut config = ProducerConfig {
        acks: match acks.as_str() {
            "0" => 0,
            "1" => 1,
            _ => -1,
        },
        // 0 switches batching off, which is done by batches that one record fills (KafkaProducer).
        batch_size: keys.int("batch.size", 16_384, 0..=i32::MAX)?.max(1),
        buffer_memory: keys.long("buffer.memory", 33_554_432, 0..=i64::MAX)?,
        compression,
        delivery_timeout_ms,
        idempotence: idempotence_wanted,
        linger_ms: keys.long("linger.ms", 5, 0..=i64::MAX)?,
        max_block_ms: keys.long("max.block.ms", 60_000, 0..=i64::MAX)?,
        max_in_flight,
        max_request_size: keys.int("max.request.size", 1_048_576, 0..=i32::MAX)?,
        metadata_max_idle_ms: keys.long("metadata.max.idle.ms", 300_000, 5000..=i64::MAX)?,
        adaptive_partitioning: keys.boolean("partitioner.adaptive.partitioning.enable", true)?,
        partition_availability_timeout_ms: keys.long("partitioner.availability.timeout.ms", 0, 0..=i64::MAX)?,
        ignore_keys: keys.boolean("partitioner.ignore.keys", false)?,
        round_robin,
        retries,
        no_effect: Vec::new(),
        connection,
    };
    let idempotence_given = keys.is_given("enable.idempotence");
    let delivery_given = keys.is_given("delivery.timeout.ms");
    let timeout_given = keys.is_given("transaction.timeout.ms");
    let (no_effect, known) = keys.finish(&[no_effect::BOTH, no_effect::PRODUCER])?;
    config.no_effect = no_effect;
    check_idempotence(&mut config, idempotence_given)?;
    if transactional_id.is_some() && !config.idempotence {
        let text = "Cannot set a transactional.id without also enabling idempotence.";
        return Err(ConfigError::config(text.to_owned()));
    }
    if two_phase_commit && timeout_given {
        let text = "Cannot set transaction.timeout.ms when transaction.two.phase.commit.enable is set to true. \
                    Transactions will not expire with two-phase commit enabled.";
        return Err(ConfigError::config(text.to_owned()));
    }
    if let Some(id) = transactional_id {
        return Err(ConfigError::NotServed { key: "transactional.id", value: id });
    }
    super::no_classes("producer", &interceptors)?;
    let least = config.linger_ms.saturating_add(config.connection.request_timeout_ms).min(i32::MAX.into());
    if config.delivery_timeout_ms < least {
        if delivery_given {
            let message =
                "delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms".to_owned();
            return Err(ConfigError::construction("producer", Exception::new("ConfigException", message)));
        }
        config.delivery_timeout_ms = least;
    }
    Ok((config, known))
}

fn compression(keys: &mut Reader<'_>) -> Result<Compression, ConfigError> {
    let name = keys.one_of("compression.type", "none", &["none", "gzip", "snappy", "lz4", "zstd"])?;
    let default = |codec: Codec| codec.default_level();
    let gzip = keys.checked_int(Codec::Gzip.level_key(), default(Codec::Gzip), Check::GzipLevel)?;
    let lz4 = keys.int(Codec::Lz4.level_key(), default(Codec::Lz4), 1..=17)?;
    let zstd = keys.int(Codec::Zstd.level_key(), default(Codec::Zstd), -131_072..=22)?;
    let levels = [(Codec::Gzip, gzip), (Codec::Lz4, lz4), (Codec::Zstd, zstd)];
    let level = |key: &str| Some(levels.iter().find(|(codec, _)| codec.level_key() == key)?.1);
    Ok(Compression::named(&name, level).unwrap_or(Compression::NONE))
}

/// Kafka's own, by name; other partitioners are given to the client, since there are no classes to load here.
fn partitioner_class(keys: &mut Reader<'_>) -> Result<bool, ConfigError> {
    match keys.optional("partitioner.class").as_deref() {
        None => Ok(false),
        Some(RoundRobinPartitioner::CLASS) => Ok(true),
        Some(class) => {
            let why = format!("Class {class} could not be found.");
            Err(ConfigError::invalid("partitioner.class", class, &why))
        }
    }
}

/// Explicit idempotence refuses what contradicts it; idempotence by default gives way, but in-flight is checked all
/// the same (ProducerConfig.postProcessAndValidateIdempotenceConfigs).
fn check_idempotence(config: &mut ProducerConfig, given: bool) -> Result<(), ConfigError> {
    if !config.idempotence {
        return Ok(());
    }
    if config.retries == 0 {
        if given {
            let text = "Must set retries to non-zero when using the idempotent producer.";
            return Err(ConfigError::config(text.to_owned()));
        }
        config.idempotence = false;
    }
    if config.acks != -1 {
        if given {
            let text = "Must set acks to all in order to use the idempotent producer. \
                        Otherwise we cannot guarantee idempotence.";
            return Err(ConfigError::config(text.to_owned()));
        }
        config.idempotence = false;
    }
    if config.max_in_flight > 5 {
        return Err(ConfigError::config(format!(
            "To use the idempotent producer, max.in.flight.requests.per.connection must be set to at most 5. \
             Current value is {}.",
            config.max_in_flight
        )));
    }
    Ok(())
}
