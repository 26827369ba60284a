//! Kafka's clients as state machines: the producer, the consumer by assignment and the admin client, and a raw client
//! that sends what no client would; the same code in page and native.
//!
//! In: [`Command`]s of a program, bytes of brokers, time. Out: requests as real Kafka frames, and [`Reply`]s with
//! Kafka's exception names and texts. Files follow Kafka's classes: `network` and `connections` are NetworkClient,
//! `metadata` is Metadata, `producer/` KafkaProducer with its accumulator and sender, `consumer/` KafkaConsumer with its
//! fetcher.

mod admin;
mod backoff;
pub mod config;
mod connections;
mod consumer;
mod drive;
mod exceptions;
mod metadata;
mod network;
mod outbox;
mod plugins;
mod producer;
mod raw;

use self::admin::Admin;
use self::consumer::Consumer;
use self::outbox::Outbox;
use self::producer::Producer;
use self::raw::Raw;
use crate::node::{At, Effect, Input, Instant, Node, Rng};
#[cfg(doc)]
use crate::node::{Command, Reply};

pub use self::plugins::{
    Console, ConsumerInterceptor, ConsumerPlugins, Partitioner, Partitions, ProducerInterceptor, ProducerPlugins,
};
pub use self::producer::{RoundRobinPartitioner, murmur2, partition_for_key};
pub use config::{AdminConfig, ConfigError, ConsumerConfig, ProducerConfig};

/// A Kafka client: a producer, a consumer, an admin client or a raw one.
#[derive(Debug, Clone)]
pub struct Client {
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Producer(Box<Producer>),
    Consumer(Box<Consumer>),
    Admin(Box<Admin>),
    Raw(Box<Raw>),
}

impl Client {
    /// A producer. `name` becomes the client id where `client.id` is not set; `seed` feeds back-off jitter and the
    /// choice of partitions.
    pub fn producer(name: &str, config: ProducerConfig, seed: u64) -> Client {
        Client::producer_with(name, config, ProducerPlugins::default(), seed)
    }

    /// A producer with a partitioner or interceptors of its user.
    pub fn producer_with(name: &str, config: ProducerConfig, plugins: ProducerPlugins, seed: u64) -> Client {
        let client_id = client_id(name, &config.connection.client_id);
        Client { kind: Kind::Producer(Box::new(Producer::new(client_id, config, plugins, &Rng::new(seed)))) }
    }

    /// A consumer by assignment.
    pub fn consumer(name: &str, config: ConsumerConfig, seed: u64) -> Client {
        Client::consumer_with(name, config, ConsumerPlugins::default(), seed)
    }

    /// A consumer with interceptors of its user.
    pub fn consumer_with(name: &str, config: ConsumerConfig, plugins: ConsumerPlugins, seed: u64) -> Client {
        let client_id = client_id(name, &config.connection.client_id);
        Client { kind: Kind::Consumer(Box::new(Consumer::new(client_id, config, plugins, &Rng::new(seed)))) }
    }

    /// A client that creates topics.
    pub fn admin(name: &str, config: AdminConfig, seed: u64) -> Client {
        let client_id = client_id(name, &config.connection.client_id);
        Client { kind: Kind::Admin(Box::new(Admin::new(client_id, config, &Rng::new(seed)))) }
    }

    /// A client that sends Produce requests as they are told. It knows an admin client's keys.
    pub fn raw(name: &str, config: AdminConfig) -> Client {
        let client_id = client_id(name, &config.connection.client_id);
        Client { kind: Kind::Raw(Box::new(Raw::new(client_id, config))) }
    }
}

fn client_id(name: &str, configured: &str) -> String {
    if configured.is_empty() { name } else { configured }.to_owned()
}

impl Node for Client {
    fn handle(&mut self, at: At, input: Input, out: &mut Vec<Effect>) {
        let mut outbox = Outbox::new(at, out);
        match &mut self.kind {
            Kind::Producer(producer) => drive::drive(&mut **producer, input, &mut outbox),
            Kind::Consumer(consumer) => drive::drive(&mut **consumer, input, &mut outbox),
            Kind::Admin(admin) => drive::drive(&mut **admin, input, &mut outbox),
            Kind::Raw(raw) => raw.handle(input, &mut outbox),
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let ms = match &self.kind {
            Kind::Producer(producer) => producer.next_timeout_ms(),
            Kind::Consumer(consumer) => consumer.next_timeout_ms(),
            Kind::Admin(admin) => admin.next_timeout_ms(),
            Kind::Raw(raw) => raw.next_timeout_ms(),
        };
        // Clients count in whole milliseconds; what is overdue is due at once.
        ms.map(|ms| Instant(u64::try_from(ms).unwrap_or(0).saturating_mul(1000)))
    }
}
