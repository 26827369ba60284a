//! Control records: what brokers and controllers write between the records of clients.

use bytes::Bytes;

use super::builder::{BatchBuilder, ProducerIdentity};
use super::records::Record;
use super::{NO_SEQUENCE, batch::Batch};

/// The type in a control record's key (org.apache.kafka.common.record.ControlRecordType).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlRecordType {
    Abort,
    Commit,
    LeaderChange,
    SnapshotHeader,
    SnapshotFooter,
    KraftVersion,
    KraftVoters,
}

impl ControlRecordType {
    const ALL: [ControlRecordType; 7] = [
        ControlRecordType::Abort,
        ControlRecordType::Commit,
        ControlRecordType::LeaderChange,
        ControlRecordType::SnapshotHeader,
        ControlRecordType::SnapshotFooter,
        ControlRecordType::KraftVersion,
        ControlRecordType::KraftVoters,
    ];

    /// The type of a control record; `None` for types that a later Kafka may bring, which readers skip.
    pub fn of(record: &Record<'_>) -> Option<ControlRecordType> {
        match *record.key? {
            [_, _, high, low, ..] => ControlRecordType::ALL.get(usize::from(u16::from_be_bytes([high, low]))).copied(),
            _ => None,
        }
    }

    /// The key: version 0, then the type.
    pub fn key(self) -> [u8; 4] {
        [0, 0, 0, self as u8]
    }
}

/// The end of a transaction, as it stands in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndTransactionMarker {
    pub committed: bool,
    pub coordinator_epoch: i32,
}

impl EndTransactionMarker {
    /// The marker in a control batch; `None` if it holds none.
    pub fn of<T: AsRef<[u8]>>(batch: &Batch<T>) -> Option<EndTransactionMarker> {
        let record = batch.records().ok()?.next()?.ok()?;
        let committed = match ControlRecordType::of(&record)? {
            ControlRecordType::Commit => true,
            ControlRecordType::Abort => false,
            _ => return None,
        };
        let coordinator_epoch = record.value?.get(2..6)?;
        Some(EndTransactionMarker {
            committed,
            coordinator_epoch: i32::from_be_bytes(std::array::from_fn(|i| coordinator_epoch[i])),
        })
    }
}

/// The batch that ends a transaction: 78 bytes, one record.
pub fn end_transaction_marker_batch(
    base_offset: i64,
    partition_leader_epoch: i32,
    timestamp: i64,
    producer_id: i64,
    producer_epoch: i16,
    marker: EndTransactionMarker,
) -> Bytes {
    let kind = if marker.committed { ControlRecordType::Commit } else { ControlRecordType::Abort };
    let mut value = [0; 6];
    value[2..].copy_from_slice(&marker.coordinator_epoch.to_be_bytes());
    let mut builder = BatchBuilder::at(base_offset, partition_leader_epoch).transactional(true).control(true);
    builder.append(timestamp, Some(&kind.key()), Some(&value), std::iter::empty());
    builder.build(ProducerIdentity { producer_id, producer_epoch, base_sequence: NO_SEQUENCE })
}
