//! Incremental fetch sessions (KIP-227): what a client fetches is remembered here, so that it sends only what changed
//! and hears only of partitions with news (`org.apache.kafka.server.FetchManager`, `FetchSessionCacheShard`).
//!
//! In: a Fetch request's session id, epoch, partitions; later what was read. Out: the partitions to read, and which of
//! them the answer names.

use crate::node::{Duration, Instant, Rng};
use crate::ordered::BTreeMap;
use crate::wire::messages::fetch::{FetchPartition, FetchRequest, PartitionData};
use crate::wire::{ErrorCode, Uuid};

use super::fetch::FIRST_BY_ID;

/// `FetchMetadata`: no session, the epoch that asks for a new one, and the one that wants none.
const INVALID_SESSION_ID: i32 = 0;
const INITIAL_EPOCH: i32 = 0;
const FINAL_EPOCH: i32 = -1;

/// The cache is cut into shards, each with its own ids and its part of the slots (KAFKA-9401). Fewer slots than shards
/// means no sessions at all, as in Kafka.
const SHARDS: i32 = 8;
const IDS_PER_SHARD: i32 = i32::MAX / SHARDS;
/// A session this old, or unused for this long, may have to go (`MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`).
const EVICTION: Duration = Duration(120_000_000);

/// A partition that is to be read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    /// Empty where topics go by id.
    pub topic: String,
    /// Zero where topics go by name.
    pub topic_id: Uuid,
    pub fetch: FetchPartition,
}

impl Asked {
    fn key(&self) -> CachedKey {
        (self.topic.clone(), self.topic_id, self.fetch.partition)
    }
}

type CachedKey = (String, Uuid, i32);

/// How a Fetch is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FetchContext {
    /// Everything is answered, and no session comes of it.
    Sessionless,
    /// Everything is answered, and a session begins if there is a slot for it.
    Full { privileged: bool, uses_topic_ids: bool },
    /// Only news is answered, if the session is still in this epoch.
    Incremental { session_id: i32, epoch: i32 },
}

/// What the client was told last of a partition.
#[derive(Debug, Clone)]
struct Cached {
    asked: Asked,
    high_watermark: i64,
    log_start_offset: i64,
}

#[derive(Debug, Clone)]
struct FetchSession {
    privileged: bool,
    uses_topic_ids: bool,
    /// The epoch that the next request must have.
    epoch: i32,
    created: Instant,
    last_used: Instant,
    /// Partitions when it was last used, and whether it was old enough then to make room for any other.
    size: usize,
    was_old: bool,
    /// By place: they are read in this order, and one that gave records goes to the end.
    partitions: BTreeMap<u64, Cached>,
    places: BTreeMap<CachedKey, u64>,
    next_place: u64,
}

impl FetchSession {
    fn add(&mut self, cached: Cached) {
        self.places.insert(cached.asked.key(), self.next_place);
        self.partitions.insert(self.next_place, cached);
        self.next_place += 1;
    }

    fn remove(&mut self, key: &CachedKey) -> Option<Cached> {
        self.partitions.remove(&self.places.remove(key)?)
    }

    fn update(&mut self, asked: Vec<Asked>, body: &FetchRequest) {
        for asked in asked {
            match self.places.get(&asked.key()).and_then(|place| self.partitions.get_mut(place)) {
                Some(cached) => cached.asked = asked,
                None => self.add(Cached { asked, high_watermark: -1, log_start_offset: -1 }),
            }
        }
        for topic in &body.forgotten_topics_data {
            for partition in &topic.partitions {
                self.remove(&(topic.topic.clone(), topic.topic_id, *partition));
            }
        }
    }

    fn touch(&mut self, now: Instant) {
        self.last_used = now;
        self.size = self.partitions.len();
        self.was_old = now.since(self.created) > EVICTION;
    }

    /// Whether the client has to hear of this; notes what it then knows (`maybeUpdateResponseData`).
    fn is_news(&mut self, key: &CachedKey, data: &PartitionData) -> bool {
        let Some(cached) = self.places.get(key).and_then(|place| self.partitions.get_mut(place)) else { return false };
        let has_records = data.records.as_ref().is_some_and(|records| records.size_in_bytes() > 0);
        let failed = data.error_code != ErrorCode::NONE.0;
        let diverges = data.diverging_epoch.epoch >= 0;
        let moved = cached.high_watermark != data.high_watermark || cached.log_start_offset != data.log_start_offset;
        // After an error the partition is answered again as soon as it is well.
        cached.high_watermark = if failed { -1 } else { data.high_watermark };
        cached.log_start_offset = data.log_start_offset;
        if has_records && let Some(cached) = self.remove(key) {
            self.add(cached);
        }
        has_records || failed || diverges || moved || data.preferred_read_replica >= 0
    }
}

/// The sessions of one broker, by id.
#[derive(Debug, Clone)]
pub(super) struct FetchSessions {
    sessions: BTreeMap<i32, FetchSession>,
    slots_per_shard: usize,
    /// Where the newest session went, or would have gone.
    shard: i32,
    rng: Rng,
}

impl FetchSessions {
    /// `slots`: `max.incremental.fetch.session.cache.slots`.
    pub fn new(slots: usize, rng: Rng) -> FetchSessions {
        FetchSessions { sessions: BTreeMap::new(), slots_per_shard: slots / SHARDS as usize, shard: SHARDS - 1, rng }
    }

    /// Takes a request in: what is to be read for it, and how it is answered.
    pub fn begin(
        &mut self,
        version: i16,
        body: &mut FetchRequest,
        privileged: bool,
        now: Instant,
    ) -> Result<(FetchContext, Vec<Asked>), ErrorCode> {
        let uses_topic_ids = version >= FIRST_BY_ID;
        let asked = take_asked(body);
        let (session_id, epoch) = (body.session_id, body.session_epoch);
        if epoch == INITIAL_EPOCH || epoch == FINAL_EPOCH {
            // A full request ends the session that it names.
            self.sessions.remove(&session_id);
            let full = FetchContext::Full { privileged, uses_topic_ids };
            return Ok((if epoch == FINAL_EPOCH { FetchContext::Sessionless } else { full }, asked));
        }
        let session = self.sessions.get_mut(&session_id).ok_or(ErrorCode::FETCH_SESSION_ID_NOT_FOUND)?;
        if session.epoch != epoch {
            return Err(ErrorCode::INVALID_FETCH_SESSION_EPOCH);
        }
        if session.uses_topic_ids != uses_topic_ids {
            return Err(ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
        }
        let given = asked.clone();
        session.update(asked, body);
        if session.partitions.is_empty() {
            self.sessions.remove(&session_id);
            return Ok((FetchContext::Sessionless, given));
        }
        session.touch(now);
        session.epoch = next_epoch(epoch);
        let all = session.partitions.values().map(|cached| cached.asked.clone()).collect();
        Ok((FetchContext::Incremental { session_id, epoch: session.epoch }, all))
    }

    /// Turns what was read into what is answered: session id, error, and the data that the client must hear of.
    /// Each of `read` names its place in `asked`.
    pub fn finish(
        &mut self,
        context: FetchContext,
        asked: &[Asked],
        read: &mut Vec<(usize, PartitionData)>,
        now: Instant,
    ) -> (i32, ErrorCode) {
        match context {
            FetchContext::Sessionless => (INVALID_SESSION_ID, ErrorCode::NONE),
            FetchContext::Full { privileged, uses_topic_ids } => {
                self.shard = (self.shard + 1) % SHARDS;
                if !self.make_room(privileged, read.len(), now) {
                    return (INVALID_SESSION_ID, ErrorCode::NONE);
                }
                let mut session = FetchSession {
                    privileged,
                    uses_topic_ids,
                    epoch: next_epoch(INITIAL_EPOCH),
                    created: now,
                    last_used: now,
                    size: 0,
                    was_old: false,
                    partitions: BTreeMap::new(),
                    places: BTreeMap::new(),
                    next_place: 0,
                };
                for (at, data) in read.iter() {
                    let Some(asked) = asked.get(*at) else { continue };
                    session.add(Cached {
                        asked: asked.clone(),
                        high_watermark: data.high_watermark,
                        log_start_offset: data.log_start_offset,
                    });
                }
                session.touch(now);
                let id = self.new_id();
                self.sessions.insert(id, session);
                (id, ErrorCode::NONE)
            }
            FetchContext::Incremental { session_id, epoch } => {
                // One that made room for another meanwhile is still answered; its next request finds it gone.
                let Some(session) = self.sessions.get_mut(&session_id) else { return (session_id, ErrorCode::NONE) };
                if session.epoch != epoch {
                    read.clear();
                    return (session_id, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
                }
                read.retain(|(at, data)| asked.get(*at).is_some_and(|asked| session.is_news(&asked.key(), data)));
                (session_id, ErrorCode::NONE)
            }
        }
    }

    fn ids_of_shard(&self) -> std::ops::Range<i32> {
        let first = self.shard * IDS_PER_SHARD;
        first.max(INVALID_SESSION_ID + 1)..first + IDS_PER_SHARD
    }

    fn new_id(&mut self) -> i32 {
        let ids = self.ids_of_shard();
        loop {
            let id = ids.start + self.rng.below(u64::from((ids.end - ids.start).unsigned_abs())) as i32;
            if !self.sessions.contains_key(&id) {
                return id;
            }
        }
    }

    /// A slot in the shard, if need be that of a session that is stale, or old and smaller than the new one
    /// (`tryEvict`). A follower takes precedence over consumers.
    fn make_room(&mut self, privileged: bool, size: usize, now: Instant) -> bool {
        let in_shard: Vec<(&i32, &FetchSession)> = self.sessions.range(self.ids_of_shard()).collect();
        if in_shard.len() < self.slots_per_shard {
            return true;
        }
        let oldest = in_shard.iter().min_by_key(|(id, session)| (session.last_used, **id));
        let stale = oldest.filter(|(_, session)| now.since(session.last_used) > EVICTION);
        let may_go = |session: &FetchSession| session.was_old || (privileged && !session.privileged);
        let smallest = in_shard
            .iter()
            .filter(|(_, session)| may_go(session))
            .min_by_key(|(id, session)| (session.privileged, session.size, **id));
        let smaller =
            smallest.filter(|(id, session)| (privileged, size, 0) >= (session.privileged, session.size, **id));
        match stale.or(smaller).map(|(id, _)| **id) {
            Some(id) => self.sessions.remove(&id).is_some(),
            None => false,
        }
    }
}

/// After 2147483647 comes 1: 0 asks for a new session.
fn next_epoch(epoch: i32) -> i32 {
    epoch.checked_add(1).unwrap_or(1)
}

/// The partitions of a request in order. One that is named twice has its first place and its last wishes.
fn take_asked(body: &mut FetchRequest) -> Vec<Asked> {
    let mut places: BTreeMap<(String, Uuid, i32), usize> = BTreeMap::new();
    let mut all: Vec<Asked> = Vec::new();
    for topic in std::mem::take(&mut body.topics) {
        for fetch in topic.partitions {
            let asked = Asked { topic: topic.topic.clone(), topic_id: topic.topic_id, fetch };
            let place = *places.entry(asked.key()).or_insert(all.len());
            match all.get_mut(place) {
                Some(twice) => *twice = asked,
                None => all.push(asked),
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::messages::fetch::FetchTopic;

    const HOUR: Duration = Duration(3_600_000_000);

    fn request(session_id: i32, session_epoch: i32, partitions: &[i32]) -> FetchRequest {
        let partitions =
            partitions.iter().map(|partition| FetchPartition { partition: *partition, ..Default::default() });
        let topic = FetchTopic { topic: "t".into(), partitions: partitions.collect(), ..Default::default() };
        FetchRequest { session_id, session_epoch, topics: vec![topic], ..Default::default() }
    }

    /// Opens a session over so many partitions; 0 if it gets none.
    fn open(sessions: &mut FetchSessions, partitions: &[i32], privileged: bool, now: Instant) -> i32 {
        let (context, asked) = sessions.begin(12, &mut request(0, 0, partitions), privileged, now).expect("a context");
        let mut read = (0..asked.len()).map(|at| (at, PartitionData::default())).collect();
        sessions.finish(context, &asked, &mut read, now).0
    }

    /// Every shard has one slot.
    fn full_cache(partitions: &[i32]) -> FetchSessions {
        let mut sessions = FetchSessions::new(8, Rng::new(1));
        for _ in 0..8 {
            assert_ne!(open(&mut sessions, partitions, false, Instant(0)), 0);
        }
        sessions
    }

    #[test]
    fn a_full_cache_gives_no_session_until_one_is_stale() {
        let mut sessions = full_cache(&[0]);
        assert_eq!(open(&mut sessions, &[0, 1], false, Instant(0) + Duration::from_ms(120_000)), 0);
        assert_ne!(open(&mut sessions, &[0], false, Instant(0) + Duration::from_ms(120_001)), 0);
        assert_eq!(sessions.sessions.len(), 8);
    }

    #[test]
    fn a_follower_takes_the_slot_of_a_consumer_and_not_the_other_way_round() {
        let mut sessions = full_cache(&[0, 1, 2]);
        assert_ne!(open(&mut sessions, &[0], true, Instant(1)), 0);
        sessions.shard -= 1;
        assert_eq!(open(&mut sessions, &[0, 1, 2], false, Instant(2)), 0);
    }

    #[test]
    fn an_old_session_in_use_gives_way_only_to_one_with_more_partitions() {
        let mut sessions = FetchSessions::new(8, Rng::new(1));
        let id = open(&mut sessions, &[0, 1], false, Instant(0));
        let later = Instant(0) + HOUR;
        sessions.begin(12, &mut request(id, 1, &[]), false, later).expect("the session");
        sessions.shard -= 1;
        assert_eq!(open(&mut sessions, &[0, 1], false, later), 0);
        sessions.shard -= 1;
        assert_ne!(open(&mut sessions, &[0, 1, 2], false, later), 0);
        assert!(!sessions.sessions.contains_key(&id));
    }

    #[test]
    fn fewer_slots_than_shards_are_none() {
        let mut sessions = FetchSessions::new(7, Rng::new(1));
        assert_eq!(open(&mut sessions, &[0], false, Instant(0)), 0);
    }

    #[test]
    fn a_session_that_forgot_everything_is_closed() {
        let mut sessions = full_cache(&[0]);
        let id = *sessions.sessions.keys().next().expect("a session");
        let mut body = request(id, 1, &[]);
        let forgotten = crate::wire::messages::fetch::ForgottenTopic {
            topic: "t".into(),
            partitions: vec![0],
            ..Default::default()
        };
        body.forgotten_topics_data.push(forgotten);
        let (context, asked) = sessions.begin(12, &mut body, false, Instant(0)).expect("a context");
        assert_eq!((context, asked.len()), (FetchContext::Sessionless, 0));
        assert_eq!(
            sessions.begin(12, &mut request(id, 2, &[]), false, Instant(0)),
            Err(ErrorCode::FETCH_SESSION_ID_NOT_FOUND)
        );
    }

    #[test]
    fn an_answer_names_only_partitions_with_news_and_a_failed_one_again_when_it_is_well() {
        let mut sessions = FetchSessions::new(1000, Rng::new(1));
        let id = open(&mut sessions, &[0, 1], false, Instant(0));
        let mut answer = |epoch: i32, errors: [ErrorCode; 2]| -> Vec<usize> {
            let (context, asked) =
                sessions.begin(12, &mut request(id, epoch, &[]), false, Instant(0)).expect("a context");
            let data = errors.map(|error| PartitionData { error_code: error.0, ..Default::default() });
            let mut read = data.into_iter().enumerate().collect();
            sessions.finish(context, &asked, &mut read, Instant(0));
            read.into_iter().map(|(at, _)| at).collect()
        };
        assert_eq!(answer(1, [ErrorCode::NONE, ErrorCode::NOT_LEADER_OR_FOLLOWER]), [1]);
        assert_eq!(answer(2, [ErrorCode::NONE, ErrorCode::NONE]), [1]);
        assert_eq!(answer(3, [ErrorCode::NONE, ErrorCode::NONE]), [0usize; 0]);
    }
}
