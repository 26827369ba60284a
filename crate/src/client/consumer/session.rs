//! Incremental fetch sessions (KIP-227; org.apache.kafka.clients.FetchSessionHandler): after a first full request only
//! what changed is sent, and only what has news is answered.

use crate::node::TopicPartition;
use crate::ordered::BTreeMap;
use crate::wire::messages::fetch::{FetchPartition, FetchTopic, ForgottenTopic};
use crate::wire::{ErrorCode, Uuid};

const INVALID_SESSION_ID: i32 = 0;
const INITIAL_EPOCH: i32 = 0;

/// What is asked of one partition.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub topic_id: Uuid,
    pub fetch: FetchPartition,
}

#[derive(Debug, Clone, Default)]
pub(super) struct FetchSession {
    id: i32,
    epoch: i32,
    partitions: BTreeMap<TopicPartition, Wanted>,
}

/// What goes into the next request.
#[derive(Debug, Clone)]
pub(super) struct NextFetch {
    pub session_id: i32,
    pub session_epoch: i32,
    pub topics: Vec<FetchTopic>,
    pub forgotten: Vec<ForgottenTopic>,
    /// Some topic has no id: the request must go by names.
    pub by_name: bool,
}

impl FetchSession {
    fn is_full(&self) -> bool {
        self.epoch == INITIAL_EPOCH || self.id == INVALID_SESSION_ID
    }

    /// The next request for exactly these partitions, in this order.
    pub fn next(&mut self, wanted: Vec<(TopicPartition, Wanted)>) -> NextFetch {
        let by_name = wanted.iter().any(|(_, wanted)| wanted.topic_id.is_zero());
        let mut forgotten = Vec::new();
        let mut send = wanted.clone();
        if !self.is_full() {
            for (partition, old) in &self.partitions {
                let new = wanted.iter().find(|(other, _)| other == partition).map(|(_, wanted)| wanted);
                // A topic that was made again is another topic.
                if new.is_none_or(|new| new.topic_id != old.topic_id) {
                    forgotten.push(ForgottenTopic {
                        topic: partition.topic.clone(),
                        topic_id: old.topic_id,
                        partitions: vec![partition.partition],
                        ..Default::default()
                    });
                }
            }
            send.retain(|(partition, wanted)| self.partitions.get(partition) != Some(wanted));
        }
        self.partitions = wanted.into_iter().collect();
        NextFetch { session_id: self.id, session_epoch: self.epoch, topics: by_topic(send), forgotten, by_name }
    }

    /// The partition that an answer means.
    pub fn partition(&self, topic: &str, topic_id: Uuid, index: i32) -> Option<TopicPartition> {
        let is_it = |(partition, wanted): &(&TopicPartition, &Wanted)| {
            let same_topic = if topic_id.is_zero() { partition.topic == topic } else { wanted.topic_id == topic_id };
            partition.partition == index && same_topic
        };
        self.partitions.iter().find(is_it).map(|(partition, _)| partition.clone())
    }

    pub fn fetch_offset(&self, partition: &TopicPartition) -> Option<i64> {
        self.partitions.get(partition).map(|wanted| wanted.fetch.fetch_offset)
    }

    /// Takes an answer in. False if its partitions are not to be used: the next request is a full one.
    pub fn answered(&mut self, error: ErrorCode, session_id: i32, answered: &[Option<TopicPartition>]) -> bool {
        if error.is_error() {
            if error == ErrorCode::FETCH_SESSION_ID_NOT_FOUND {
                self.id = INVALID_SESSION_ID;
            }
            self.epoch = INITIAL_EPOCH;
            return false;
        }
        let has_extra = answered.iter().any(Option::is_none);
        if self.is_full() {
            let omits = answered.len() != self.partitions.len();
            self.id = INVALID_SESSION_ID;
            self.epoch = INITIAL_EPOCH;
            if has_extra || omits {
                return false;
            }
            if session_id != INVALID_SESSION_ID {
                (self.id, self.epoch) = (session_id, INITIAL_EPOCH + 1);
            }
            return true;
        }
        if has_extra {
            self.epoch = INITIAL_EPOCH;
            return false;
        }
        if session_id == INVALID_SESSION_ID {
            (self.id, self.epoch) = (INVALID_SESSION_ID, INITIAL_EPOCH);
        } else {
            // After 2147483647 comes 1: 0 would mean a new session.
            self.epoch = self.epoch.checked_add(1).unwrap_or(1);
        }
        true
    }

    /// No answer came: the session is closed and a new one asked for.
    pub fn failed(&mut self) {
        self.epoch = INITIAL_EPOCH;
    }
}

/// Partitions of one topic that follow each other share an entry.
fn by_topic(partitions: Vec<(TopicPartition, Wanted)>) -> Vec<FetchTopic> {
    let mut topics: Vec<FetchTopic> = Vec::new();
    for (partition, wanted) in partitions {
        match topics.last_mut() {
            Some(topic) if topic.topic == partition.topic => topic.partitions.push(wanted.fetch),
            _ => topics.push(FetchTopic {
                topic: partition.topic,
                topic_id: wanted.topic_id,
                partitions: vec![wanted.fetch],
                ..Default::default()
            }),
        }
    }
    topics
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(partition: i32, offset: i64) -> (TopicPartition, Wanted) {
        let fetch = FetchPartition { partition, fetch_offset: offset, ..Default::default() };
        let at = TopicPartition { topic: "t".to_owned(), partition };
        (at, Wanted { topic_id: Uuid([7; 16]), fetch })
    }

    fn sent(next: &NextFetch) -> Vec<i32> {
        next.topics.iter().flat_map(|topic| &topic.partitions).map(|p| p.partition).collect()
    }

    #[test]
    fn a_session_sends_only_what_changed_and_forgets_what_left() {
        let mut session = FetchSession::default();
        let first = session.next(vec![wanted(0, 0), wanted(1, 0)]);
        assert_eq!((first.session_id, first.session_epoch, sent(&first)), (0, 0, vec![0, 1]));
        let both = [session.partition("", Uuid([7; 16]), 0), session.partition("", Uuid([7; 16]), 1)];
        assert!(session.answered(ErrorCode::NONE, 99, &both));
        let second = session.next(vec![wanted(0, 5), wanted(1, 0)]);
        assert_eq!((second.session_id, second.session_epoch, sent(&second)), (99, 1, vec![0]));
        assert!(session.answered(ErrorCode::NONE, 99, &[]));
        let third = session.next(vec![wanted(1, 0)]);
        assert_eq!((third.session_epoch, sent(&third)), (2, vec![]));
        assert_eq!(third.forgotten.iter().map(|f| f.partitions.clone()).collect::<Vec<_>>(), vec![vec![0]]);
    }

    #[test]
    fn an_unknown_session_or_a_lost_answer_leads_to_a_full_request() {
        let mut session = FetchSession::default();
        session.next(vec![wanted(0, 0)]);
        assert!(session.answered(ErrorCode::NONE, 99, &[session.partition("", Uuid([7; 16]), 0)]));
        session.next(vec![wanted(0, 0)]);
        session.failed();
        let closing = session.next(vec![wanted(0, 0)]);
        assert_eq!((closing.session_id, closing.session_epoch, sent(&closing)), (99, 0, vec![0]));
        assert!(!session.answered(ErrorCode::FETCH_SESSION_ID_NOT_FOUND, 0, &[]));
        let fresh = session.next(vec![wanted(0, 0)]);
        assert_eq!((fresh.session_id, fresh.session_epoch, sent(&fresh)), (0, 0, vec![0]));
    }

    #[test]
    fn a_broker_without_sessions_is_asked_in_full_each_time() {
        let mut session = FetchSession::default();
        for offset in 0..3 {
            let next = session.next(vec![wanted(0, offset)]);
            assert_eq!((next.session_id, next.session_epoch, sent(&next)), (0, 0, vec![0]));
            assert!(session.answered(ErrorCode::NONE, 0, &[session.partition("", Uuid([7; 16]), 0)]));
        }
    }
}
