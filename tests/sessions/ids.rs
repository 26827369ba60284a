//! Ids differ from run to run: those that Kafka gave are replaced by ours in what the recorded client sends next.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;
use steplog::wire::tree::{self, Label, Leaf};
use steplog::wire::{ApiKey, Uuid};

use crate::walk;

/// Where a batch has its length, checksum, what is summed, and its producer (KIP-98).
const BATCH_LENGTH_AT: usize = 8;
const CRC_AT: usize = 17;
const SUMMED_FROM: usize = 21;
const PRODUCER_ID_AT: usize = 43;
const PRODUCER_EPOCH_AT: usize = 51;

/// Recorded → ours.
#[derive(Default)]
pub struct Ids {
    topics: BTreeMap<Uuid, Uuid>,
    sessions: BTreeMap<i64, i64>,
    /// The last epoch of each fetch session: a recording leaves out fetches that found nothing, many times over.
    epochs: BTreeMap<i64, i32>,
    producers: BTreeMap<(i64, i64), (i64, i64)>,
}

impl Ids {
    /// Topics are matched by name, sessions and producers by the answer that gave them.
    pub fn learn(&mut self, key: ApiKey, theirs: &Value, ours: &Value) {
        let ours_by_name = topic_ids(ours);
        for (name, recorded) in topic_ids(theirs) {
            if let Some(id) = ours_by_name.get(&name) {
                self.topics.insert(recorded, *id);
            }
        }
        let number = |value: &Value, field: &str| value[field].as_i64();
        if key == ApiKey::FETCH
            && let (Some(recorded), Some(id)) = (number(theirs, "sessionId"), number(ours, "sessionId"))
            && self.sessions.insert(recorded, id) != Some(id)
        {
            self.epochs.insert(recorded, 0);
        }
        if key == ApiKey::INIT_PRODUCER_ID {
            let producer = |value: &Value| Some((number(value, "producerId")?, number(value, "producerEpoch")?));
            if let (Some(recorded), Some(id)) = (producer(theirs), producer(ours)) {
                self.producers.insert(recorded, id);
            }
        }
    }

    pub fn ours_in(&mut self, request: &Bytes) -> Vec<u8> {
        let mut bytes = request.to_vec();
        let (tree, _) = tree::request(request);
        for (at, node) in tree.nodes.iter().enumerate() {
            let end = node.end as usize;
            match (&node.label, &node.value) {
                (_, Leaf::Uuid(id)) => {
                    if let Some(id) = self.topics.get(id) {
                        bytes[end - 16..end].copy_from_slice(&id.0);
                    }
                }
                (Label::Field("session_id"), Leaf::Int(id)) => {
                    if let Some(id) = self.sessions.get(id).filter(|_| *id != 0) {
                        bytes[end - 4..end].copy_from_slice(&(*id as i32).to_be_bytes());
                    }
                    // The epoch is the next field; 0 and −1 do not continue a session.
                    if let Some(next) = tree.nodes.get(at + 1)
                        && matches!(next.value, Leaf::Int(epoch) if epoch > 0)
                        && let Some(epoch) = self.epochs.get_mut(id)
                    {
                        *epoch += 1;
                        let end = next.end as usize;
                        bytes[end - 4..end].copy_from_slice(&epoch.to_be_bytes());
                    }
                }
                (Label::Field("producer_id"), Leaf::Int(id)) => {
                    // The epoch is the next field.
                    let epoch = tree.nodes.get(at + 1).filter(|next| next.label == Label::Field("producer_epoch"));
                    if let Some((epoch_node, Leaf::Int(epoch))) = epoch.map(|next| (next, &next.value))
                        && let Some((id, epoch)) = self.producers.get(&(*id, *epoch))
                    {
                        bytes[end - 8..end].copy_from_slice(&id.to_be_bytes());
                        let end = epoch_node.end as usize;
                        bytes[end - 2..end].copy_from_slice(&(*epoch as i16).to_be_bytes());
                    }
                }
                (_, Leaf::Records { length }) => self.ours_in_batches(&mut bytes[end - *length as usize..end]),
                _ => {}
            }
        }
        bytes
    }

    /// Batches carry their producer, and a checksum over it.
    fn ours_in_batches(&self, mut records: &mut [u8]) {
        while records.len() > PRODUCER_EPOCH_AT + 2 {
            let length = u32::from_be_bytes(records[BATCH_LENGTH_AT..BATCH_LENGTH_AT + 4].try_into().expect("4 bytes"));
            let size = BATCH_LENGTH_AT + 4 + length as usize;
            if size > records.len() {
                return;
            }
            let (batch, rest) = records.split_at_mut(size);
            let id = i64::from_be_bytes(batch[PRODUCER_ID_AT..PRODUCER_ID_AT + 8].try_into().expect("8 bytes"));
            let epoch =
                i16::from_be_bytes(batch[PRODUCER_EPOCH_AT..PRODUCER_EPOCH_AT + 2].try_into().expect("2 bytes"));
            if let Some((id, epoch)) = self.producers.get(&(id, i64::from(epoch))) {
                batch[PRODUCER_ID_AT..PRODUCER_ID_AT + 8].copy_from_slice(&id.to_be_bytes());
                batch[PRODUCER_EPOCH_AT..PRODUCER_EPOCH_AT + 2].copy_from_slice(&(*epoch as i16).to_be_bytes());
                let crc = steplog::checksum::crc32c(&batch[SUMMED_FROM..]);
                batch[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_be_bytes());
            }
            records = rest;
        }
    }
}

fn topic_ids(answer: &Value) -> BTreeMap<String, Uuid> {
    let mut ids = BTreeMap::new();
    walk(answer, &mut |fields| {
        let name = ["name", "topicName", "topic"].iter().find_map(|name| fields.get(*name)?.as_str());
        let id: Option<Uuid> = fields.get("topicId").and_then(Value::as_str).and_then(|id| id.parse().ok());
        if let (Some(name), Some(id)) = (name, id.filter(|id| !id.is_zero())) {
            ids.insert(name.to_string(), id);
        }
    });
    ids
}
