//! What becomes of topics once they exist: more partitions, or their end (`ControllerApis`, `ReplicationControlManager`).

use crate::ordered::{BTreeMap, BTreeSet};
use crate::wire::messages::create_partitions::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic, CreatePartitionsTopicResult,
};
use crate::wire::messages::delete_topics::{DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse};
use crate::wire::messages::metadata_records::RemoveTopicRecord;
use crate::wire::{ErrorCode, Uuid};

use super::MetadataRecord;
use super::topics::{ALL_FENCED, TopicControl};

/// Records that one request may lead to (`QuorumController.MAX_RECORDS_PER_USER_OP`).
const RECORDS_PER_REQUEST_MAX: usize = 10_000;
const UNKNOWN_NAME: &str = "This server does not host this topic-partition.";
const UNKNOWN_ID: &str = "This server does not host this topic ID.";
/// The first version of DeleteTopics that knows TOPIC_DELETION_DISABLED.
const FIRST_WITH_DISABLED: i16 = 3;

/// Names or ids that were given once, and those given more often.
#[derive(Debug)]
struct Given<T> {
    once: BTreeSet<T>,
    twice: BTreeSet<T>,
}

impl<T: Ord + Clone> Given<T> {
    fn of(all: impl Iterator<Item = T>) -> Given<T> {
        let mut given = Given { once: BTreeSet::new(), twice: BTreeSet::new() };
        for item in all {
            if given.twice.contains(&item) || !given.once.insert(item.clone()) {
                given.once.remove(&item);
                given.twice.insert(item);
            }
        }
        given
    }
}

impl TopicControl<'_> {
    /// The answer, and the records to write first. Kafka shuffles its answers, so that their order tells nothing.
    pub fn delete(
        &mut self,
        request: &DeleteTopicsRequest,
        version: i16,
    ) -> (DeleteTopicsResponse, Vec<MetadataRecord>) {
        let mut responses = Vec::new();
        let mut answer = |name: Option<&str>, id: Uuid, error: ErrorCode, text: Option<&str>| {
            responses.push(DeletableTopicResult {
                name: name.map(str::to_string),
                topic_id: id,
                error_code: error.0,
                error_message: text.map(str::to_string),
                ..Default::default()
            });
        };
        let names = request.topic_names.iter().map(|name| (Some(name.as_str()), Uuid::ZERO));
        let asked: Vec<(Option<&str>, Uuid)> =
            names.chain(request.topics.iter().map(|topic| (topic.name.as_deref(), topic.topic_id))).collect();
        let invalid = ErrorCode::INVALID_REQUEST;
        if self.config.value("delete.topic.enable") == Some("false") {
            for (name, id) in asked {
                let (error, text) = match version < FIRST_WITH_DISABLED {
                    true => (invalid, "This version does not support topic deletion."),
                    false => (ErrorCode::TOPIC_DELETION_DISABLED, "Topic deletion is disabled."),
                };
                answer(name, id, error, Some(text));
            }
            return (DeleteTopicsResponse { responses, ..Default::default() }, Vec::new());
        }
        for (name, id) in &asked {
            match (name, id.is_zero()) {
                (None, true) => answer(None, *id, invalid, Some("Neither topic name nor id were specified.")),
                (Some(name), false) => {
                    answer(Some(name), *id, invalid, Some("You may not specify both topic name and topic id."));
                }
                _ => {}
            }
        }
        let names = Given::of(asked.iter().filter(|(_, id)| id.is_zero()).filter_map(|(name, _)| *name));
        let ids = Given::of(asked.iter().filter(|(name, id)| name.is_none() && !id.is_zero()).map(|(_, id)| *id));
        names.twice.iter().for_each(|name| answer(Some(name), Uuid::ZERO, invalid, Some("Duplicate topic name.")));
        ids.twice.iter().for_each(|id| answer(None, *id, invalid, Some("Duplicate topic id.")));
        let mut to_delete: BTreeMap<Uuid, &str> = BTreeMap::new();
        for id in &ids.once {
            match self.image.topic_by_id(*id) {
                Some(topic) => {
                    to_delete.insert(*id, &topic.name);
                }
                None => answer(None, *id, ErrorCode::UNKNOWN_TOPIC_ID, Some(UNKNOWN_ID)),
            }
        }
        for name in &names.once {
            match self.image.topic(name) {
                None => answer(Some(name), Uuid::ZERO, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, Some(UNKNOWN_NAME)),
                Some(topic) if ids.twice.contains(&topic.id) || to_delete.insert(topic.id, &topic.name).is_some() => {
                    to_delete.remove(&topic.id);
                    let text = "The provided topic name maps to an ID that was already supplied.";
                    answer(Some(name), topic.id, invalid, Some(text));
                }
                Some(_) => {}
            }
        }
        let mut records: Vec<MetadataRecord> = Vec::new();
        for (topic_id, name) in to_delete {
            answer(Some(name), topic_id, ErrorCode::NONE, None);
            records.push(RemoveTopicRecord { topic_id, ..Default::default() }.into());
        }
        (DeleteTopicsResponse { responses, ..Default::default() }, records)
    }

    /// The answer, and the records to write first.
    pub fn create_partitions(
        &mut self,
        request: &CreatePartitionsRequest,
    ) -> (CreatePartitionsResponse, Vec<MetadataRecord>) {
        let mut records = Vec::new();
        let result = |name: &str, error: ErrorCode, error_message: Option<String>| CreatePartitionsTopicResult {
            name: name.to_string(),
            error_code: error.0,
            error_message,
            ..Default::default()
        };
        let given = Given::of(request.topics.iter().map(|topic| topic.name.as_str()));
        let mut results: Vec<CreatePartitionsTopicResult> = Vec::new();
        for name in &given.twice {
            results.push(result(name, ErrorCode::INVALID_REQUEST, Some("Duplicate topic name.".to_string())));
        }
        for topic in request.topics.iter().filter(|topic| given.once.contains(topic.name.as_str())) {
            results.push(match self.add_partitions(topic, records.len()) {
                Ok(more) => {
                    records.extend(more);
                    result(&topic.name, ErrorCode::NONE, None)
                }
                Err((error, text)) => result(&topic.name, error, text),
            });
        }
        if request.validate_only {
            records.clear();
        }
        (CreatePartitionsResponse { results, ..Default::default() }, records)
    }

    fn add_partitions(
        &mut self,
        asked: &CreatePartitionsTopic,
        records_so_far: usize,
    ) -> Result<Vec<MetadataRecord>, (ErrorCode, Option<String>)> {
        let refuse = |error: ErrorCode, text: String| Err((error, Some(text)));
        let Some(topic) = self.image.topic(&asked.name) else {
            return Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, None));
        };
        let (topic_id, existing) = (topic.id, topic.partitions.len() as i32);
        let factor = topic.partitions.values().next().map_or(1, |partition| partition.replicas.len());
        if asked.count == existing {
            return refuse(ErrorCode::INVALID_PARTITIONS, format!("Topic already has {existing} partition(s)."));
        }
        if asked.count < existing {
            return refuse(
                ErrorCode::INVALID_PARTITIONS,
                format!(
                    "The topic {} currently has {existing} partition(s); {} would not be an increase.",
                    asked.name, asked.count
                ),
            );
        }
        let additional = asked.count - existing;
        let assignments = match &asked.assignments {
            Some(given) if given.len() as i32 != additional => {
                return refuse(
                    ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                    format!(
                        "Attempted to add {additional} additional partition(s), but only {} assignment(s) were \
                         specified.",
                        given.len()
                    ),
                );
            }
            // Kafka's list of records is full before they are all made, and that error has no text for clients.
            _ if records_so_far + additional as usize > RECORDS_PER_REQUEST_MAX => {
                return Err((ErrorCode::UNKNOWN_SERVER_ERROR, None));
            }
            Some(given) => {
                for (index, assignment) in (existing..).zip(given) {
                    self.check_manual_replicas(&assignment.broker_ids, Some(factor))
                        .map_err(|(error, text)| (error, Some(text)))?;
                    if !assignment.broker_ids.iter().any(|replica| self.is_active(*replica)) {
                        return refuse(
                            ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                            format!(
                                "All brokers specified in the manual partition assignment for partition {index} are \
                                 fenced or in controlled shutdown."
                            ),
                        );
                    }
                }
                given.iter().map(|assignment| assignment.broker_ids.clone()).collect()
            }
            None => self
                .place(additional, i16::try_from(factor).unwrap_or(i16::MAX))
                .map_err(|text| (ErrorCode::INVALID_REPLICATION_FACTOR, Some(text)))?,
        };
        if assignments.iter().any(|replicas| !replicas.iter().any(|replica| self.is_active(*replica))) {
            return refuse(
                ErrorCode::INVALID_REPLICATION_FACTOR,
                format!("Unable to replicate the partition {factor} time(s): {ALL_FENCED}"),
            );
        }
        let record = |(index, replicas)| self.partition_record(topic_id, index, replicas).into();
        Ok((existing..).zip(assignments).map(record).collect())
    }
}
