//! Exponential back-off with jitter (org.apache.kafka.common.utils.ExponentialBackoff, KIP-580), in whole numbers.

use crate::node::Rng;

/// ±20 % everywhere in Kafka's clients; in millionths, since no float may reach a node's state.
const JITTER_MILLIONTHS: i128 = 200_000;
const MILLION: i128 = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExponentialBackoff {
    initial_ms: i64,
    max_ms: i64,
}

impl ExponentialBackoff {
    pub fn new(initial_ms: i64, max_ms: i64) -> ExponentialBackoff {
        ExponentialBackoff { initial_ms: initial_ms.min(max_ms), max_ms }
    }

    /// min(max, initial · 2^attempts · random(0.8 … 1.2)). Constant where max does not exceed initial.
    pub fn ms(&self, attempts: u32, rng: &mut Rng) -> i64 {
        if self.max_ms <= self.initial_ms {
            return self.initial_ms;
        }
        let doubled = i128::from(self.initial_ms) << attempts.min(63);
        let term = doubled.min(i128::from(self.max_ms));
        let factor = MILLION - JITTER_MILLIONTHS + i128::from(rng.below(2 * JITTER_MILLIONTHS as u64));
        (term * factor / MILLION).min(i128::from(self.max_ms)) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_off_doubles_within_a_fifth_and_never_exceeds_its_maximum() {
        let backoff = ExponentialBackoff::new(100, 1000);
        let mut rng = Rng::new(1);
        for (attempts, low, high) in
            [(0, 80, 120), (1, 160, 240), (2, 320, 480), (3, 640, 960), (4, 800, 1000), (70, 800, 1000)]
        {
            for _ in 0..100 {
                let ms = backoff.ms(attempts, &mut rng);
                assert!((low..=high).contains(&ms), "attempt {attempts}: {ms}");
            }
        }
    }

    #[test]
    fn a_maximum_below_the_initial_value_is_constant() {
        assert_eq!(ExponentialBackoff::new(100, 40).ms(5, &mut Rng::new(1)), 40);
    }
}
