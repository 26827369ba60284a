//! Which brokers hold the replicas of a new partition
//! (`org.apache.kafka.metadata.placement.StripedReplicaPlacer`): racks in turn, brokers within a rack in turn, unfenced
//! ones first, so that leaders and followers spread.

use crate::node::Rng;
use crate::ordered::BTreeMap;

/// A broker that could hold a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsableBroker {
    pub id: i32,
    pub rack: Option<String>,
    pub fenced: bool,
}

/// Brokers in turn. Within one epoch each comes once; every epoch begins one further.
#[derive(Debug, Clone, Default)]
struct BrokerList {
    brokers: Vec<i32>,
    index: usize,
    offset: usize,
    epoch: usize,
}

impl BrokerList {
    fn initialize(&mut self, rng: &mut Rng) {
        self.brokers.sort_unstable();
        self.offset = rng.below(self.brokers.len() as u64) as usize;
    }

    fn next(&mut self, epoch: usize) -> Option<i32> {
        if self.brokers.is_empty() {
            return None;
        }
        if self.epoch != epoch {
            self.epoch = epoch;
            self.index = 0;
            self.offset = (self.offset + 1) % self.brokers.len();
        }
        if self.index >= self.brokers.len() {
            return None;
        }
        let at = (self.index + self.offset) % self.brokers.len();
        self.index += 1;
        self.brokers.get(at).copied()
    }
}

#[derive(Debug, Clone, Default)]
struct Rack {
    fenced: BrokerList,
    unfenced: BrokerList,
}

impl Rack {
    fn next(&mut self, epoch: usize) -> Option<i32> {
        self.unfenced.next(epoch).or_else(|| self.fenced.next(epoch))
    }
}

/// Places the partitions of one topic.
#[derive(Debug, Clone)]
pub struct ReplicaPlacer {
    racks: Vec<Rack>,
    total: usize,
    unfenced: usize,
    epoch: usize,
    offset: usize,
}

impl ReplicaPlacer {
    pub fn new(brokers: &[UsableBroker], rng: &mut Rng) -> ReplicaPlacer {
        let mut racks: BTreeMap<Option<&str>, Rack> = BTreeMap::new();
        for broker in brokers {
            let rack = racks.entry(broker.rack.as_deref()).or_default();
            let list = if broker.fenced { &mut rack.fenced } else { &mut rack.unfenced };
            list.brokers.push(broker.id);
        }
        let mut racks: Vec<Rack> = racks.into_values().collect();
        for rack in &mut racks {
            rack.fenced.initialize(rng);
            rack.unfenced.initialize(rng);
        }
        let offset = rng.below(racks.len() as u64) as usize;
        let unfenced = brokers.iter().filter(|broker| !broker.fenced).count();
        ReplicaPlacer { racks, total: brokers.len(), unfenced, epoch: 0, offset }
    }

    /// The replicas of the topic's next partition, the leader first. The error is Kafka's text.
    pub fn place(&mut self, replication_factor: i16, rng: &mut Rng) -> Result<Vec<i32>, String> {
        let Some(factor) = usize::try_from(replication_factor).ok().filter(|factor| *factor > 0) else {
            return Err(format!(
                "Invalid replication factor {replication_factor}: the replication factor must be positive."
            ));
        };
        if self.unfenced == 0 {
            return Err("All brokers are currently fenced, or have all their log directories cordoned.".to_string());
        }
        if factor > self.total {
            return Err(format!(
                "The target replication factor of {factor} cannot be reached because only {} broker(s) are registered \
                 or some brokers have all their log directories cordoned.",
                self.total
            ));
        }
        // After one round of all brokers the lists are shuffled, so that partitions do not pair the same ones again.
        if self.epoch == self.unfenced && self.unfenced > 1 {
            self.shuffle(rng);
            self.epoch = 0;
        }
        if self.offset == self.racks.len() {
            self.offset = 0;
        }
        let replicas = self.next_replicas(factor);
        self.epoch += 1;
        self.offset += 1;
        Ok(replicas)
    }

    fn next_replicas(&mut self, factor: usize) -> Vec<i32> {
        let (epoch, racks) = (self.epoch, self.racks.len());
        let mut replicas = Vec::with_capacity(factor);
        // The leader: from the first rack in turn that has an unfenced broker left.
        let mut leader_rack = None;
        for step in 0..racks {
            let at = (self.offset + step) % racks;
            if let Some(leader) = self.racks.get_mut(at).and_then(|rack| rack.unfenced.next(epoch)) {
                replicas.push(leader);
                leader_rack = Some(at);
                break;
            }
        }
        // The others: one rack after the other, passing the leader's once. Every rack may run dry, so the number of
        // steps is bounded by the number of brokers in each.
        let mut at = self.offset;
        let mut steps = racks.saturating_mul(self.total + 1);
        while replicas.len() < factor && steps > 0 {
            if leader_rack == Some(at) {
                leader_rack = None;
            } else if let Some(replica) = self.racks.get_mut(at).and_then(|rack| rack.next(epoch)) {
                replicas.push(replica);
            }
            at = (at + 1) % racks;
            steps -= 1;
        }
        replicas
    }

    fn shuffle(&mut self, rng: &mut Rng) {
        shuffle(&mut self.racks, rng);
        for rack in &mut self.racks {
            shuffle(&mut rack.fenced.brokers, rng);
            shuffle(&mut rack.unfenced.brokers, rng);
        }
    }
}

fn shuffle<T>(list: &mut [T], rng: &mut Rng) {
    for last in (1..list.len()).rev() {
        list.swap(last, rng.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brokers(count: i32) -> Vec<UsableBroker> {
        (1..=count).map(|id| UsableBroker { id, rack: None, fenced: false }).collect()
    }

    #[test]
    fn leaders_and_followers_spread_evenly() {
        let mut rng = Rng::new(1);
        let mut placer = ReplicaPlacer::new(&brokers(3), &mut rng);
        let mut leads = BTreeMap::new();
        for _ in 0..12 {
            let replicas = placer.place(2, &mut rng).expect("enough brokers");
            assert_ne!(replicas[0], replicas[1]);
            *leads.entry(replicas[0]).or_insert(0) += 1;
        }
        assert_eq!(leads.into_values().collect::<Vec<_>>(), [4, 4, 4]);
    }

    #[test]
    fn more_replicas_than_brokers_is_refused_with_kafkas_text() {
        let mut rng = Rng::new(1);
        let error = ReplicaPlacer::new(&brokers(1), &mut rng).place(5, &mut rng).expect_err("one broker");
        assert_eq!(
            error,
            "The target replication factor of 5 cannot be reached because only 1 broker(s) are registered or some \
             brokers have all their log directories cordoned."
        );
    }

    #[test]
    fn one_broker_holds_every_partition_of_a_topic() {
        let mut rng = Rng::new(1);
        let mut placer = ReplicaPlacer::new(&brokers(1), &mut rng);
        for _ in 0..5 {
            assert_eq!(placer.place(1, &mut rng), Ok(vec![1]));
        }
    }
}
