//! Kafka's clients as state machines: the producer and the consumer by assignment, the same code in page and native.
//!
//! In: [`Command`]s of a program, bytes of brokers, time. Out: requests as real Kafka frames, and [`Reply`]s with
//! Kafka's exception names and texts. Files follow Kafka's classes: `network` and `connections` are NetworkClient,
//! `metadata` is Metadata, `producer/` KafkaProducer with its accumulator and sender, `consumer/` KafkaConsumer with its
//! fetcher.

pub mod config;

use crate::node::{At, Effect, Input, Instant, Node};

pub use config::{ConfigError, ConsumerConfig, ProducerConfig};

/// A Kafka client: a producer or a consumer.
#[derive(Debug, Clone)]
pub struct Client {
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Producer(ProducerConfig),
    Consumer(ConsumerConfig),
}

impl Client {
    /// A producer. `name` becomes the client id where `client.id` is not set; `seed` feeds back-off jitter and the
    /// choice of partitions.
    pub fn producer(name: &str, config: ProducerConfig, seed: u64) -> Client {
        let _ = (name, seed);
        Client { kind: Kind::Producer(config) }
    }

    /// A consumer by assignment.
    pub fn consumer(name: &str, config: ConsumerConfig, seed: u64) -> Client {
        let _ = (name, seed);
        Client { kind: Kind::Consumer(config) }
    }
}

impl Node for Client {
    fn handle(&mut self, _at: At, _input: Input, _out: &mut Vec<Effect>) {
        match &self.kind {
            Kind::Producer(_) | Kind::Consumer(_) => {}
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        None
    }
}
