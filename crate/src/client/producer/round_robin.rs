//! org.apache.kafka.clients.producer.RoundRobinPartitioner, with the order of partitions that it really has.

use crate::client::metadata::Metadata;
use crate::client::plugins::{Partitioner, Partitions};
use crate::node::ProducerRecord;
use crate::ordered::BTreeMap;

/// The next of the available partitions for every record, whatever its key.
#[derive(Debug, Clone, Default)]
pub struct RoundRobinPartitioner {
    /// Records so far, by topic.
    counters: BTreeMap<String, i32>,
}

impl RoundRobinPartitioner {
    /// Its name in `partitioner.class`.
    pub const CLASS: &str = "org.apache.kafka.clients.producer.RoundRobinPartitioner";
}

impl Partitioner for RoundRobinPartitioner {
    fn partition(&mut self, record: &ProducerRecord, partitions: Partitions<'_>) -> i32 {
        let counter = self.counters.entry(record.topic.clone()).or_default();
        let next = super::partitioner::to_positive(*counter);
        *counter = counter.wrapping_add(1);
        let available = i32::try_from(partitions.available.len()).unwrap_or(i32::MAX);
        let at = next.checked_rem(available).and_then(|at| partitions.available.get(usize::try_from(at).ok()?));
        at.copied().unwrap_or_else(|| next % partitions.count.max(1))
    }

    fn boxed(&self) -> Box<dyn Partitioner> {
        Box::new(self.clone())
    }
}

/// A topic's partitions that have a leader, in the order of Kafka's client: that of a java.util.HashMap over all
/// partitions that it knows. It is why three partitions may be taken as 0, 2, 1.
pub(super) fn available(metadata: &Metadata, topic: &str) -> Vec<i32> {
    let known: usize = metadata.topics().values().map(|topic| topic.partitions.len()).sum();
    let mut buckets = known.next_power_of_two();
    // A HashMap is at most three quarters full.
    if known > buckets / 4 * 3 {
        buckets *= 2;
    }
    let mask = u32::try_from(buckets - 1).unwrap_or(u32::MAX);
    let partitions = metadata.topics().get(topic).into_iter().flat_map(|topic| &topic.partitions);
    let mut available: Vec<(u32, i32)> = partitions
        .filter(|(_, known)| known.leader.is_some())
        .map(|(partition, _)| (bucket(topic, *partition, mask), *partition))
        .collect();
    available.sort_by_key(|(bucket, _)| *bucket);
    available.into_iter().map(|(_, partition)| partition).collect()
}

/// Where TopicPartition.hashCode puts a partition.
fn bucket(topic: &str, partition: i32, mask: u32) -> u32 {
    let of_topic = topic.encode_utf16().fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()));
    let hash = 31_u32.wrapping_add(partition as u32).wrapping_mul(31).wrapping_add(of_topic);
    (hash ^ (hash >> 16)) & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_partitions_of_p3_lie_in_the_order_that_was_recorded() {
        let mut order: Vec<i32> = (0..3).collect();
        order.sort_by_key(|partition| bucket("p3", *partition, 3));
        assert_eq!(order, [0, 2, 1]);
    }

    #[test]
    fn every_record_goes_to_the_next_available_partition_whatever_its_key() {
        let mut partitioner = RoundRobinPartitioner::default();
        let record = ProducerRecord { topic: "t".to_owned(), key: Some("k".into()), ..ProducerRecord::default() };
        let partitions = Partitions { count: 4, available: &[0, 2, 1] };
        let chosen: Vec<i32> = (0..5).map(|_| partitioner.partition(&record, partitions)).collect();
        assert_eq!(chosen, [0, 2, 1, 0, 2]);
        let none = Partitions { count: 4, available: &[] };
        assert_eq!(partitioner.partition(&record, none), 1, "without a leader it counts over all");
    }
}
