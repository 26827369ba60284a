//! What becomes of a partition when brokers come and go (`org.apache.kafka.controller.PartitionChangeBuilder`), with
//! eligible leader replicas (KIP-966).

use crate::wire::Uuid;
use crate::wire::messages::metadata_records::PartitionChangeRecord;

use super::image::{LEADER_UNCHANGED, NO_LEADER, PartitionRegistration, RecoveryState};

/// One partition, the ISR it is to have, and the rules that hold for it.
pub struct PartitionChange<'a> {
    pub topic_id: Uuid,
    pub partition_id: i32,
    pub partition: &'a PartitionRegistration,
    pub target_isr: Vec<i32>,
    /// The leader confirms that it has recovered from an unclean election.
    pub recovered: bool,
    /// `min.insync.replicas`, at most the number of replicas.
    pub min_isr: usize,
    pub elr_enabled: bool,
    /// `unclean.leader.election.enable`, or somebody asked for it.
    pub unclean_allowed: bool,
    /// The first of the assignment takes the lead if it may, whoever has it.
    pub preferred_first: bool,
    /// Its last stop was unclean: what it had acked may be gone.
    pub unclean_shutdown: Option<i32>,
}

struct Elected {
    leader: i32,
    unclean: bool,
}

impl PartitionChange<'_> {
    /// The record that brings the change about; `None` if nothing changes.
    pub fn build(mut self, is_acceptable_leader: impl Fn(i32) -> bool) -> Option<PartitionChangeRecord> {
        let mut record =
            PartitionChangeRecord { partition_id: self.partition_id, topic_id: self.topic_id, ..Default::default() };
        let mut target_elr = self.target_elr();
        self.elect(&mut record, &mut target_elr, is_acceptable_leader);
        // An unclean election has set the ISR: what was eligible before is no longer.
        if record.isr.is_some() || !self.elr_enabled {
            target_elr.clear();
        }
        if target_elr != self.partition.elr {
            record.eligible_leader_replicas = Some(target_elr);
        }
        let may_be_empty = self.elr_enabled;
        if record.isr.is_none()
            && (may_be_empty || !self.target_isr.is_empty())
            && self.target_isr != self.partition.isr
        {
            record.isr = Some(std::mem::take(&mut self.target_isr));
        }
        self.remember_last_leader(&mut record);
        if self.recovered && self.partition.recovery == RecoveryState::Recovering {
            record.leader_recovery_state = 0;
        }
        changes_something(&record).then_some(record)
    }

    /// Who is eligible besides the ISR: whoever was in the ISR when it fell below its minimum and has not lost data
    /// since.
    fn target_elr(&self) -> Vec<i32> {
        if !self.elr_enabled {
            return self.partition.elr.clone();
        }
        if self.target_isr.len() >= self.min_isr {
            return Vec::new();
        }
        let mut candidates: Vec<i32> = self.partition.elr.iter().chain(&self.partition.isr).copied().collect();
        candidates.retain(|replica| !self.target_isr.contains(replica) && Some(*replica) != self.unclean_shutdown);
        candidates.sort_unstable();
        candidates.dedup();
        candidates
    }

    fn elect(
        &mut self,
        record: &mut PartitionChangeRecord,
        target_elr: &mut Vec<i32>,
        is_acceptable_leader: impl Fn(i32) -> bool,
    ) {
        let elected = self.elect_any(target_elr, is_acceptable_leader);
        if elected.leader == self.partition.leader {
            return;
        }
        if target_elr.contains(&elected.leader) {
            self.target_isr = vec![elected.leader];
            target_elr.retain(|replica| *replica != elected.leader);
        }
        record.leader = elected.leader;
        if elected.unclean {
            record.isr = Some(vec![elected.leader]);
            if self.partition.recovery != RecoveryState::Recovering {
                record.leader_recovery_state = 1;
            }
        }
    }

    /// The present leader if it may stay, then the first that may lead in the order of assignment, then the one that
    /// led last, then (if allowed) anyone who is alive.
    fn elect_any(&self, target_elr: &[i32], is_acceptable_leader: impl Fn(i32) -> bool) -> Elected {
        let is_valid = |replica: i32| {
            let eligible =
                self.target_isr.contains(&replica) || (self.target_isr.is_empty() && target_elr.contains(&replica));
            eligible && is_acceptable_leader(replica)
        };
        let clean = |leader| Elected { leader, unclean: false };
        let unclean = |leader| Elected { leader, unclean: true };
        let preferred = self.partition.replicas.first().copied().filter(|_| self.preferred_first);
        if let Some(leader) = preferred.into_iter().chain([self.partition.leader]).find(|replica| is_valid(*replica)) {
            return clean(leader);
        }
        if let Some(leader) = self.partition.replicas.iter().copied().find(|replica| is_valid(*replica)) {
            return clean(leader);
        }
        if self.elr_enabled
            && target_elr.is_empty()
            && self.target_isr.is_empty()
            && let [last_leader] = self.partition.last_known_elr[..]
            && is_acceptable_leader(last_leader)
        {
            return unclean(last_leader);
        }
        if self.unclean_allowed
            && let Some(leader) = self.partition.replicas.iter().copied().find(|replica| is_acceptable_leader(*replica))
        {
            return unclean(leader);
        }
        clean(NO_LEADER)
    }

    /// In balanced recovery, LastKnownElr holds the one leader that a leaderless partition had last.
    fn remember_last_leader(&self, record: &mut PartitionChangeRecord) {
        if !self.elr_enabled {
            return;
        }
        if record.leader == NO_LEADER && self.partition.last_known_elr.is_empty() {
            record.last_known_elr = Some(vec![self.partition.leader]);
        } else if record.leader >= 0 && !self.partition.last_known_elr.is_empty() {
            record.last_known_elr = Some(Vec::new());
        }
    }
}

fn changes_something(record: &PartitionChangeRecord) -> bool {
    record.isr.is_some()
        || record.leader != LEADER_UNCHANGED
        || record.leader_recovery_state >= 0
        || record.eligible_leader_replicas.is_some()
        || record.last_known_elr.is_some()
        || record.replicas.is_some()
        || record.directories.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(replicas: &[i32], isr: &[i32], leader: i32) -> PartitionRegistration {
        PartitionRegistration {
            replicas: replicas.to_vec(),
            isr: isr.to_vec(),
            leader,
            leader_epoch: 0,
            partition_epoch: 0,
            recovery: RecoveryState::Recovered,
            elr: Vec::new(),
            last_known_elr: Vec::new(),
            directories: Vec::new(),
        }
    }

    fn change<'a>(partition: &'a PartitionRegistration, target_isr: &[i32]) -> PartitionChange<'a> {
        PartitionChange {
            topic_id: Uuid([1; 16]),
            partition_id: 0,
            partition,
            target_isr: target_isr.to_vec(),
            recovered: false,
            min_isr: 1,
            elr_enabled: true,
            unclean_allowed: false,
            preferred_first: false,
            unclean_shutdown: None,
        }
    }

    #[test]
    fn a_lone_replica_that_was_killed_comes_back_by_electing_the_last_known_leader() {
        // Observed after SIGKILL and restart: two leader epochs further, elected uncleanly (KIP-966).
        let mut now = partition(&[1], &[1], 1);
        let gone = PartitionChange { unclean_shutdown: Some(1), ..change(&now, &[]) }.build(|_| false);
        let gone = gone.expect("leader lost");
        assert_eq!((gone.leader, gone.isr.as_deref()), (NO_LEADER, Some(&[][..])));
        assert_eq!(gone.last_known_elr.as_deref(), Some(&[1][..]));
        assert_eq!(gone.eligible_leader_replicas, None, "an unclean stop makes nobody eligible");
        (now.isr, now.leader, now.last_known_elr) = (Vec::new(), NO_LEADER, vec![1]);
        let back = change(&now, &[]).build(|_| true).expect("leader back");
        assert_eq!((back.leader, back.isr.as_deref(), back.leader_recovery_state), (1, Some(&[1][..]), 1));
        assert_eq!(back.last_known_elr.as_deref(), Some(&[][..]));
    }

    #[test]
    fn a_lone_replica_that_shut_down_is_eligible_and_comes_back_cleanly() {
        let mut now = partition(&[1], &[1], 1);
        let gone = change(&now, &[]).build(|_| false).expect("leader lost");
        assert_eq!(gone.eligible_leader_replicas.as_deref(), Some(&[1][..]));
        (now.isr, now.leader, now.elr, now.last_known_elr) = (Vec::new(), NO_LEADER, vec![1], vec![1]);
        let back = change(&now, &[]).build(|_| true).expect("leader back");
        assert_eq!((back.leader, back.isr.as_deref(), back.leader_recovery_state), (1, Some(&[1][..]), -1));
    }

    #[test]
    fn the_leader_stays_while_it_is_valid_and_nothing_is_written() {
        let now = partition(&[1, 2, 3], &[1, 2, 3], 2);
        assert_eq!(change(&now, &[1, 2, 3]).build(|_| true), None);
        let next = change(&now, &[1, 3]).build(|replica| replica != 2).expect("2 is gone");
        assert_eq!((next.leader, next.isr.as_deref()), (1, Some(&[1, 3][..])));
    }

    #[test]
    fn the_preferred_leader_takes_the_lead_back_only_if_it_is_asked_for_and_in_the_isr() {
        let now = partition(&[1, 2], &[1, 2], 2);
        assert_eq!(change(&now, &[1, 2]).build(|_| true), None);
        let asked = PartitionChange { preferred_first: true, ..change(&now, &[1, 2]) };
        assert_eq!(asked.build(|_| true).expect("1 leads").leader, 1);
        let now = partition(&[1, 2], &[2], 2);
        let asked = PartitionChange { preferred_first: true, ..change(&now, &[2]) };
        assert_eq!(asked.build(|_| true), None);
    }
}
