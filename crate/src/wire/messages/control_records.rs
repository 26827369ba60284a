//! The values of the control records that the quorum itself writes (their keys name the type).

use crate::wire::Uuid;
use crate::wire::schema::message;

message! {
    /// The first record of a leader's epoch in the metadata log.
    pub struct LeaderChangeMessage: data, versions 0..=1, flexible 0.. {
        version: i16,
        leader_id: i32,
        voters: Vec<LeaderChangeVoter>,
        granting_voters: Vec<LeaderChangeVoter>,
    }

    /// A voter as the leader knew it.
    pub struct LeaderChangeVoter {
        voter_id: i32,
        voter_directory_id: Uuid [1..],
    }

    /// The first record of a snapshot.
    pub struct SnapshotHeaderRecord: data, versions 0..=0, flexible 0.. {
        version: i16,
        last_contained_log_timestamp: i64,
    }

    /// The last record of a snapshot.
    pub struct SnapshotFooterRecord: data, versions 0..=0, flexible 0.. {
        version: i16,
    }

    /// The version of the quorum protocol in force (KIP-853).
    pub struct KRaftVersionRecord: data, versions 0..=0, flexible 0.. {
        version: i16,
        k_raft_version: i16,
    }

    /// The quorum's voters (KIP-853).
    pub struct VotersRecord: data, versions 0..=0, flexible 0.. {
        version: i16,
        voters: Vec<Voter>,
    }

    /// A voter.
    pub struct Voter {
        voter_id: i32,
        voter_directory_id: Uuid,
        endpoints: Vec<Endpoint>,
        k_raft_version_feature: KRaftVersionFeature,
    }

    /// Where a voter listens.
    pub struct Endpoint {
        name: String,
        host: String,
        port: u16,
    }

    /// The quorum protocol versions that a voter can work with.
    pub struct KRaftVersionFeature {
        min_supported_version: i16,
        max_supported_version: i16,
    }
}
