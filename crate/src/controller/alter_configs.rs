//! AlterConfigs and IncrementalAlterConfigs: what they change (`ConfigurationControlManager`).

use crate::broker::config::{BROKER_KEYS, TOPIC_KEYS, Table, Type};
use crate::ordered::BTreeMap;
use crate::wire::ErrorCode;
use crate::wire::messages::configs::{
    AlterConfigsRequest, AlterConfigsResourceResponse, IncrementalAlterConfigsRequest, IncrementalAlterableConfig,
};
use crate::wire::messages::metadata_records::ClearElrRecord;

use super::MetadataRecord;
use super::configs::{Changes, ConfigControl, MIN_INSYNC_REPLICAS, Refusal, Resource};
use super::image::{BROKER_RESOURCE, TOPIC_RESOURCE};

/// `AlterConfigOp.OpType`.
pub const SET: i8 = 0;
pub const DELETE: i8 = 1;
pub const APPEND: i8 = 2;
pub const SUBTRACT: i8 = 3;

impl ConfigControl<'_> {
    /// Single keys: the answers, and the records to write first.
    pub fn alter(
        &self,
        request: &IncrementalAlterConfigsRequest,
    ) -> (Vec<AlterConfigsResourceResponse>, Vec<MetadataRecord>) {
        let resources = request.resources.iter().map(|resource| {
            let of = Resource { kind: resource.resource_type, name: &resource.resource_name };
            (of, resource.configs.iter().map(|change| self.new_value(of, change)).collect())
        });
        self.apply(resources, request.validate_only)
    }

    /// Whole configurations: what is not named is deleted.
    pub fn replace(&self, request: &AlterConfigsRequest) -> (Vec<AlterConfigsResourceResponse>, Vec<MetadataRecord>) {
        let resources = request.resources.iter().map(|resource| {
            let of = Resource { kind: resource.resource_type, name: &resource.resource_name };
            let mut changes: Changes =
                resource.configs.iter().map(|config| (config.name.clone(), config.value.clone())).collect();
            let is_named = |name: &&String| resource.configs.iter().any(|config| config.name == **name);
            let others = self.current(of).into_iter().flat_map(BTreeMap::keys).filter(|name| !is_named(name));
            changes.extend(others.map(|name| (name.clone(), None)));
            (of, Ok(changes))
        });
        self.apply(resources, request.validate_only)
    }

    fn apply<'r>(
        &self,
        resources: impl Iterator<Item = (Resource<'r>, Result<Changes, Refusal>)>,
        validate_only: bool,
    ) -> (Vec<AlterConfigsResourceResponse>, Vec<MetadataRecord>) {
        let mut records = Vec::new();
        let mut responses = Vec::new();
        for (resource, changes) in resources {
            let checked = changes.and_then(|changes| self.checked(resource, changes, false));
            let (error, error_message) = match checked {
                Ok(more) => {
                    records.extend(more);
                    (ErrorCode::NONE, None)
                }
                Err(refusal) => refusal,
            };
            responses.push(AlterConfigsResourceResponse {
                error_code: error.0,
                error_message,
                resource_type: resource.kind,
                resource_name: resource.name.to_string(),
                ..Default::default()
            });
        }
        records.extend(self.cleared_elr(&records));
        if validate_only {
            records.clear();
        }
        (responses, records)
    }

    fn new_value(
        &self,
        resource: Resource<'_>,
        change: &IncrementalAlterableConfig,
    ) -> Result<(String, Option<String>), Refusal> {
        let name = change.name.clone();
        let given = change.value.as_deref().unwrap_or_default();
        let operation = match change.config_operation {
            SET => return Ok((name, change.value.clone())),
            DELETE => return Ok((name, None)),
            APPEND => "APPEND",
            SUBTRACT => "SUBTRACT",
            // Kafka stumbles over its own null here.
            _ => return Err((ErrorCode::UNKNOWN_SERVER_ERROR, None)),
        };
        let table: Option<Table> = match resource.kind {
            TOPIC_RESOURCE => Some(TOPIC_KEYS),
            BROKER_RESOURCE => Some(BROKER_KEYS),
            _ => None,
        };
        let Some(key) = table.and_then(|table| table.find(&name)).filter(|key| key.kind == Type::List) else {
            let text = format!("Can't {operation} to key {name} because its type is not LIST.");
            return Err((ErrorCode::INVALID_CONFIG, Some(text)));
        };
        let current = self.current(resource).and_then(|configs| configs.get(&name)).map(String::as_str);
        let current = current.or(key.default).unwrap_or_default();
        Ok((name, Some(changed_list(current, given, change.config_operation))))
    }

    /// Who was eligible under another minimum is not any more (KIP-966).
    fn cleared_elr(&self, records: &[MetadataRecord]) -> Vec<MetadataRecord> {
        if !self.image.is_elr_enabled() {
            return Vec::new();
        }
        let cleared = records.iter().filter_map(|record| match record {
            MetadataRecord::Config(config) if config.name == MIN_INSYNC_REPLICAS => {
                let topic_name = match config.resource_type {
                    TOPIC_RESOURCE => config.resource_name.clone(),
                    _ => String::new(),
                };
                Some(ClearElrRecord { topic_name, ..Default::default() }.into())
            }
            _ => None,
        });
        cleared.collect()
    }
}

/// A list with more elements, or with fewer.
pub fn changed_list(current: &str, given: &str, operation: i8) -> String {
    let mut elements: Vec<&str> = current.split(',').filter(|element| !element.is_empty()).collect();
    for element in given.split(',') {
        let place = elements.iter().position(|existing| *existing == element);
        match (operation, place) {
            (APPEND, None) => elements.push(element),
            (SUBTRACT, Some(place)) => {
                elements.remove(place);
            }
            _ => {}
        }
    }
    elements.join(",")
}
