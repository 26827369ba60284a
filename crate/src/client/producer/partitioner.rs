//! Which partition a record goes to when it names none: by its key's hash, or sticky and adaptive (KIP-480, KIP-794;
//! org.apache.kafka.clients.producer.internals.BuiltInPartitioner).

use crate::client::metadata::TopicMetadata;
use crate::node::Rng;

/// The partition of a key, over all partitions whether they have a leader or not.
pub fn partition_for_key(key: &[u8], partition_count: i32) -> i32 {
    to_positive(murmur2(key)) % partition_count.max(1)
}

pub(super) fn to_positive(number: i32) -> i32 {
    number & 0x7fff_ffff
}

/// Kafka's 32-bit MurmurHash2 with its own seed (org.apache.kafka.common.utils.Utils.murmur2).
pub fn murmur2(data: &[u8]) -> i32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    const R: u32 = 24;

    let mut h = SEED ^ data.len() as u32;
    let (blocks, tail) = data.as_chunks::<4>();
    for block in blocks {
        let mut k = u32::from_le_bytes(*block).wrapping_mul(M);
        k ^= k >> R;
        h = h.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !tail.is_empty() {
        for (i, byte) in tail.iter().enumerate() {
            h ^= u32::from(*byte) << (8 * i);
        }
        h = h.wrapping_mul(M);
    }
    h ^= h >> 13;
    h = h.wrapping_mul(M);
    h ^= h >> 15;
    h as i32
}

/// One topic's partition for records without a key: it stays until a batch's worth of bytes went there.
#[derive(Debug, Clone, Default)]
pub(super) struct StickyPartitioner {
    current: Option<i32>,
    produced_bytes: u64,
    /// Partitions with the running sum of their weights, once queues differ in length.
    load: Option<Vec<(u64, i32)>>,
}

impl StickyPartitioner {
    /// The current partition, chosen now if there is none.
    pub fn peek(&mut self, topic: &TopicMetadata, rng: &mut Rng) -> i32 {
        match self.current {
            Some(partition) => partition,
            None => self.switch(topic, rng),
        }
    }

    fn switch(&mut self, topic: &TopicMetadata, rng: &mut Rng) -> i32 {
        let partition = self.next(topic, rng);
        self.current = Some(partition);
        self.produced_bytes = 0;
        partition
    }

    fn next(&self, topic: &TopicMetadata, rng: &mut Rng) -> i32 {
        if let Some(load) = &self.load {
            let random = rng.below(load.last().map_or(0, |(sum, _)| *sum));
            return load.iter().find(|(sum, _)| random < *sum).map_or(0, |(_, partition)| *partition);
        }
        let available: Vec<i32> =
            topic.partitions.iter().filter(|(_, p)| p.leader.is_some()).map(|(index, _)| *index).collect();
        let choice = if available.is_empty() { topic.partitions.keys().copied().collect() } else { available };
        choice.get(rng.below(choice.len() as u64) as usize).copied().unwrap_or(0)
    }

    /// Counts bytes given to the current partition. Switches after `batch_size` if `enable_switch` (the last batch is
    /// full or gone), after twice that in any case. True if it switched.
    pub fn produced(
        &mut self,
        bytes: u64,
        batch_size: u64,
        enable_switch: bool,
        topic: &TopicMetadata,
        rng: &mut Rng,
    ) -> bool {
        self.produced_bytes += bytes;
        let switches =
            self.produced_bytes >= batch_size && enable_switch || self.produced_bytes >= batch_size.saturating_mul(2);
        if switches {
            self.switch(topic, rng);
        }
        switches
    }

    /// Learns how many batches wait for each partition with a leader: shorter queues are chosen more often. `None`, or
    /// equal queues for all `partition_count` partitions: uniform.
    pub fn update_load(&mut self, queues: Option<&[(i32, u64)]>, partition_count: usize) {
        self.load = queues.and_then(|queues| {
            if queues.is_empty() || partition_count < 2 {
                return None;
            }
            let longest = queues.iter().map(|(_, length)| *length).max()?;
            if queues.len() == partition_count && queues.iter().all(|(_, length)| *length == longest) {
                return None;
            }
            let mut sum = 0;
            Some(
                queues
                    .iter()
                    .map(|(partition, length)| {
                        sum += longest + 1 - length;
                        (sum, *partition)
                    })
                    .collect(),
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::ordered::BTreeMap;

    use super::*;
    use crate::client::metadata::PartitionMetadata;
    use crate::wire::Uuid;

    fn topic(leaders: &[Option<i32>]) -> TopicMetadata {
        let partition =
            |(i, leader): (i32, &Option<i32>)| (i, PartitionMetadata { leader: *leader, leader_epoch: None });
        TopicMetadata { id: Uuid::ZERO, partitions: (0..).zip(leaders).map(partition).collect::<BTreeMap<_, _>>() }
    }

    #[test]
    fn a_sticky_partition_stays_until_a_batch_is_full_and_has_a_leader() {
        let topic = topic(&[None, Some(1), None]);
        let mut rng = Rng::new(3);
        let mut sticky = StickyPartitioner::default();
        for _ in 0..20 {
            assert_eq!(sticky.peek(&topic, &mut rng), 1);
            assert!(!sticky.produced(99, 100, true, &topic, &mut rng));
            assert!(!sticky.produced(50, 100, false, &topic, &mut rng), "the last batch has room");
            assert!(sticky.produced(51, 100, false, &topic, &mut rng), "twice the size switches in any case");
        }
    }

    #[test]
    fn a_longer_queue_is_chosen_less_often() {
        let topic = topic(&[Some(1), Some(2)]);
        let mut sticky = StickyPartitioner::default();
        sticky.update_load(Some(&[(0, 3), (1, 0)]), 2);
        let mut rng = Rng::new(5);
        let mut chosen = [0, 0];
        for _ in 0..500 {
            let partition = sticky.next(&topic, &mut rng);
            chosen[partition as usize] += 1;
        }
        // Weights 1 and 4.
        assert!((60..140).contains(&chosen[0]), "{chosen:?}");
        sticky.update_load(Some(&[(0, 2), (1, 2)]), 2);
        assert_eq!(sticky.load, None);
    }
}
