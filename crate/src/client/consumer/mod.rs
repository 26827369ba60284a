//! The consumer by assignment.

use super::config::ConsumerConfig;
use super::outbox::Outbox;
use crate::node::{Input, Rng};

#[derive(Debug, Clone)]
pub(super) struct Consumer {
    config: ConsumerConfig,
}

impl Consumer {
    pub fn new(_client_id: String, config: ConsumerConfig, _rng: &Rng) -> Consumer {
        Consumer { config }
    }

    pub fn handle(&mut self, _input: Input, _outbox: &mut Outbox<'_>) {
        let _ = &self.config;
    }

    pub fn next_timeout_ms(&self) -> Option<i64> {
        None
    }
}
