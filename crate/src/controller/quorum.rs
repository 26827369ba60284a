//! The metadata log and its quorum of one (`org.apache.kafka.raft.KafkaRaftClient`, with a single voter).
//!
//! A voter alone elects itself in the next epoch at each start, writes a LeaderChange control record first, and commits
//! what it has flushed: with one voter, the majority is its own disk.

use std::fmt;

use bytes::Bytes;

use crate::disk::{Disk, DiskError, FileId, read_file};
use crate::log::{AppendError, Log, LogConfig, LogError, OpenOptions, PartitionMetadata, ReadError};
use crate::node::{EffectKind, FlushToken, Outbox};
use crate::record::{Batch, BatchBuilder, BatchError, Batches, ControlRecordType, ProducerIdentity, RecordError};
use crate::wire::messages::control_records::{LeaderChangeMessage, LeaderChangeVoter};
use crate::wire::{Uuid, WireError, encode};

use super::MetadataRecord;

pub const METADATA_TOPIC: &str = "__cluster_metadata";
const DIRECTORY: &str = "__cluster_metadata-0";
const QUORUM_STATE: &str = "__cluster_metadata-0/quorum-state";
/// Flush tokens of the metadata log have this bit, those of partitions do not.
pub const FLUSH_TOKEN_BIT: u64 = 1 << 63;
/// How much of the log is read at once when it is replayed.
const READ_BYTES: u64 = 1 << 20;

/// Why the metadata log cannot be read or written; the node cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuorumError {
    Disk(DiskError),
    Log(LogError),
    Append(AppendError),
    Read(ReadError),
    /// A committed batch or record of the log is not as a controller writes it.
    Corrupt {
        offset: i64,
        why: String,
    },
}

impl fmt::Display for QuorumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the metadata log: ")?;
        match self {
            QuorumError::Disk(error) => error.fmt(f),
            QuorumError::Log(error) => error.fmt(f),
            QuorumError::Append(error) => error.fmt(f),
            QuorumError::Read(error) => error.fmt(f),
            QuorumError::Corrupt { offset, why } => write!(f, "offset {offset}: {why}"),
        }
    }
}

impl std::error::Error for QuorumError {}

macro_rules! from_error {
    ($($error:ty => $variant:ident),*) => {$(
        impl From<$error> for QuorumError {
            fn from(error: $error) -> QuorumError {
                QuorumError::$variant(error)
            }
        }
    )*};
}

from_error!(DiskError => Disk, LogError => Log, AppendError => Append, ReadError => Read);

fn corrupt(offset: i64, why: impl fmt::Display) -> QuorumError {
    QuorumError::Corrupt { offset, why: why.to_string() }
}

/// An fsync under way: all files of it, and the end of the log when it was asked for.
#[derive(Debug, Clone)]
struct Flushing {
    waiting_for: Vec<FlushToken>,
    up_to: i64,
}

#[derive(Debug, Clone)]
pub struct QuorumLog {
    node_id: i32,
    log: Log,
    epoch: i32,
    high_watermark: i64,
    flushing: Option<Flushing>,
    next_token: u64,
}

impl QuorumLog {
    /// Opens the log, cutting a torn tail. All of it is read: nothing is committed before it is flushed again.
    pub fn open(disk: &mut dyn Disk, node_id: i32, now_ms: i64) -> Result<QuorumLog, QuorumError> {
        let options = OpenOptions { clean_shutdown: false, recovery_point: 0, log_start_offset: 0, now_ms };
        let (log, _) = Log::open(disk, DIRECTORY, log_config(), options)?.run(disk)?;
        PartitionMetadata { topic_id: Uuid::METADATA_TOPIC.to_string() }.write(disk, DIRECTORY)?;
        let epoch = last_epoch(disk)?.max(log.leader_epochs().latest().map_or(0, |latest| latest.epoch));
        Ok(QuorumLog { node_id, log, epoch, high_watermark: 0, flushing: None, next_token: 0 })
    }

    /// Every metadata record of the log with its offset; control records are passed over.
    pub fn read_all(&self, disk: &dyn Disk) -> Result<Vec<(i64, MetadataRecord)>, QuorumError> {
        let end = self.log.log_end_offset();
        let mut records = Vec::new();
        let mut offset = self.log.log_start_offset();
        while offset < end {
            let read = self.log.read(disk, offset, READ_BYTES, end, true)?;
            let bytes = match read.records {
                Some(slice) => slice.to_bytes()?,
                None => break,
            };
            let before = offset;
            for batch in Batches::new(bytes) {
                let batch = batch.map_err(|error: BatchError| corrupt(offset, error))?;
                offset = batch.next_offset();
                if !batch.is_control_batch() {
                    decode_batch(&batch, &mut records)?;
                }
            }
            if offset == before {
                return Err(corrupt(offset, "a batch cannot be read as a whole"));
            }
        }
        Ok(records)
    }

    /// Elects itself in the next epoch and says so, on disk first, then in the log.
    pub fn become_leader(&mut self, disk: &mut dyn Disk, now_ms: i64) -> Result<(), QuorumError> {
        self.epoch += 1;
        let state = format!(
            "{{\"clusterId\":\"\",\"leaderId\":{id},\"leaderEpoch\":{epoch},\"votedId\":-1,\"appliedOffset\":0,\
             \"currentVoters\":[{{\"voterId\":{id}}}],\"data_version\":0}}",
            id = self.node_id,
            epoch = self.epoch
        );
        disk.replace(QUORUM_STATE, state.as_bytes())?;
        let voters = vec![LeaderChangeVoter { voter_id: self.node_id, ..Default::default() }];
        let message = LeaderChangeMessage {
            leader_id: self.node_id,
            voters: voters.clone(),
            granting_voters: voters,
            ..Default::default()
        };
        let value = encode(&message, 0).map_err(|error: WireError| corrupt(self.end_offset(), error))?;
        let mut builder = BatchBuilder::at(self.end_offset(), self.epoch).control(true);
        builder.append(now_ms, Some(&ControlRecordType::LeaderChange.key()), Some(&value), std::iter::empty());
        self.write(disk, builder, now_ms)
    }

    /// Appends records as one batch: all of them survive a crash or none. Gives the first one's offset.
    pub fn append(&mut self, disk: &mut dyn Disk, records: &[MetadataRecord], now_ms: i64) -> Result<i64, QuorumError> {
        let base_offset = self.end_offset();
        let mut builder = BatchBuilder::at(base_offset, self.epoch);
        for record in records {
            let value = record.encode().map_err(|error| corrupt(base_offset, error))?;
            builder.append(now_ms, None, Some(&value), std::iter::empty());
        }
        self.write(disk, builder, now_ms)?;
        Ok(base_offset)
    }

    fn write(&mut self, disk: &mut dyn Disk, builder: BatchBuilder, now_ms: i64) -> Result<(), QuorumError> {
        let end = self.end_offset();
        let batch = Batch::new(builder.build(ProducerIdentity::NONE)).map_err(|error| corrupt(end, error))?;
        self.log.append_as_internal(disk, &batch, now_ms)?;
        Ok(())
    }

    /// Asks for an fsync of what is written and not yet committed, unless one is under way.
    pub fn request_flush(&mut self, outbox: &mut Outbox<'_>) {
        let up_to = self.end_offset();
        if self.flushing.is_some() || up_to == self.high_watermark {
            return;
        }
        let files: Vec<FileId> = self.log.files_to_flush(up_to);
        let mut waiting_for = Vec::with_capacity(files.len());
        for file in files {
            let token = FlushToken(FLUSH_TOKEN_BIT | self.next_token);
            self.next_token += 1;
            outbox.emit(EffectKind::Flush { file, token });
            waiting_for.push(token);
        }
        self.flushing = Some(Flushing { waiting_for, up_to });
    }

    /// One fsync has come to its end. Tells whether more is committed now.
    pub fn flushed(&mut self, token: FlushToken) -> bool {
        let Some(flushing) = &mut self.flushing else { return false };
        flushing.waiting_for.retain(|waiting| *waiting != token);
        if !flushing.waiting_for.is_empty() {
            return false;
        }
        self.high_watermark = flushing.up_to;
        self.log.mark_flushed(flushing.up_to);
        self.flushing = None;
        true
    }

    pub fn epoch(&self) -> i32 {
        self.epoch
    }

    pub fn end_offset(&self) -> i64 {
        self.log.log_end_offset()
    }

    pub fn high_watermark(&self) -> i64 {
        self.high_watermark
    }

    /// Flushes and closes the files.
    pub fn close(self, disk: &mut dyn Disk) -> Result<(), QuorumError> {
        self.log.close_clean(disk)?;
        Ok(())
    }
}

fn decode_batch(batch: &Batch<Bytes>, into: &mut Vec<(i64, MetadataRecord)>) -> Result<(), QuorumError> {
    let offset = batch.base_offset();
    for record in batch.records().map_err(|error: RecordError| corrupt(offset, error))? {
        let record = record.map_err(|error| corrupt(offset, error))?;
        let value = record.value.ok_or_else(|| corrupt(record.offset, "a record without value"))?;
        let value = batch.bytes().slice_ref(value);
        let decoded = MetadataRecord::decode(&value).map_err(|error| corrupt(record.offset, error))?;
        into.push((record.offset, decoded));
    }
    Ok(())
}

/// The epoch in `quorum-state`; 0 if there is none yet.
fn last_epoch(disk: &mut dyn Disk) -> Result<i32, QuorumError> {
    let bytes = match read_file(disk, QUORUM_STATE) {
        Ok(bytes) => bytes,
        Err(DiskError::NotFound { .. }) => return Ok(0),
        Err(error) => return Err(error.into()),
    };
    let malformed = || corrupt(-1, format!("{QUORUM_STATE}: expected \"leaderEpoch\":<a number>"));
    let text = std::str::from_utf8(&bytes).map_err(|_| malformed())?;
    let (_, rest) = text.split_once("\"leaderEpoch\":").ok_or_else(malformed)?;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().map_err(|_| malformed())
}

/// The metadata log's own settings (`MetadataLogConfig`): its batches are as large as a decision is.
fn log_config() -> LogConfig {
    LogConfig { max_message_bytes: 8 * 1024 * 1024, ..LogConfig::default() }
}
