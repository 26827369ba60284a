//! What a configuration may be (`ConfigurationControlManager`, `ControllerConfigurationValidator`).

use crate::broker::config::{ServerConfig, check_client_metrics, check_group_configs, check_topic_configs};
use crate::ordered::BTreeMap;
use crate::wire::ErrorCode;
use crate::wire::messages::metadata_records::ConfigRecord;

use super::MetadataRecord;
use super::image::{BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, MetadataImage, TOPIC_RESOURCE};
use super::topics::check_topic_name;

pub(super) const MIN_INSYNC_REPLICAS: &str = "min.insync.replicas";
/// A value goes into a record whose strings can be longer, and out in messages whose strings cannot.
const VALUE_BYTES_MAX: usize = i16::MAX as usize;

/// Whose configuration.
#[derive(Debug, Clone, Copy)]
pub struct Resource<'a> {
    pub kind: i8,
    pub name: &'a str,
}

/// Why a change is refused: code, and Kafka's text if it has one.
pub(super) type Refusal = (ErrorCode, Option<String>);
/// New values by key; `None` deletes.
pub(super) type Changes = Vec<(String, Option<String>)>;

/// Everything that a change of a configuration looks at.
pub struct ConfigControl<'a> {
    pub image: &'a MetadataImage,
    pub server: &'a ServerConfig,
}

impl ConfigControl<'_> {
    pub(super) fn current(&self, resource: Resource<'_>) -> Option<&BTreeMap<String, String>> {
        self.image.configs_of(resource.kind, resource.name)
    }

    /// The records of changes that pass every check.
    pub(super) fn checked(
        &self,
        resource: Resource<'_>,
        changes: Changes,
        is_new: bool,
    ) -> Result<Vec<MetadataRecord>, Refusal> {
        let config = |text: String| Err((ErrorCode::INVALID_CONFIG, Some(text)));
        let current = self.current(resource);
        let mut all = current.cloned().unwrap_or_default();
        let mut records = Vec::new();
        for (name, value) in changes {
            let before = current.and_then(|configs| configs.get(&name));
            // A broker's record is written even if nothing changes: it makes the broker read its files again.
            if before == value.as_ref() && resource.kind != BROKER_RESOURCE {
                continue;
            }
            if self.image.is_elr_enabled() && name == MIN_INSYNC_REPLICAS && resource.kind == BROKER_RESOURCE {
                if !resource.name.is_empty() {
                    return config(format!("Broker-level {name} cannot be altered while ELR is enabled."));
                }
                if value.is_none() {
                    return config(format!("Cluster-level {name} cannot be removed while ELR is enabled."));
                }
            }
            match &value {
                None => all.remove(&name),
                Some(value) if value.len() > VALUE_BYTES_MAX => {
                    return config(format!(
                        "The configuration value cannot be added because it exceeds the maximum value size of \
                         {VALUE_BYTES_MAX} bytes."
                    ));
                }
                Some(value) => all.insert(name.clone(), value.clone()),
            };
            records.push(MetadataRecord::from(ConfigRecord {
                resource_type: resource.kind,
                resource_name: resource.name.to_string(),
                name,
                value,
                ..Default::default()
            }));
        }
        self.check_rules(resource, &all)?;
        if !is_new {
            self.check_existence(resource)?;
        }
        Ok(records)
    }

    /// `ControllerConfigurationValidator`.
    fn check_rules(&self, resource: Resource<'_>, all: &BTreeMap<String, String>) -> Result<(), Refusal> {
        let request = |text: &str| Err((ErrorCode::INVALID_REQUEST, Some(text.to_string())));
        let invalid = |error: &dyn ToString| (ErrorCode::INVALID_CONFIG, Some(error.to_string()));
        let broker = self.image.broker_configs(self.server);
        match resource.kind {
            TOPIC_RESOURCE if resource.name.is_empty() => request("Default topic resources are not allowed."),
            TOPIC_RESOURCE => {
                check_topic_name(resource.name).map_err(|text| (ErrorCode::INVALID_TOPIC_EXCEPTION, Some(text)))?;
                check_topic_configs(all, broker).map_err(|error| invalid(&error))
            }
            BROKER_RESOURCE if resource.name.is_empty() => Ok(()),
            BROKER_RESOURCE => match resource.name.parse::<i32>() {
                Err(_) => request("Unable to parse broker name as a base 10 number."),
                Ok(id) if id < 0 => request("Invalid negative broker ID."),
                Ok(_) => Ok(()),
            },
            CLIENT_METRICS_RESOURCE => {
                check_client_metrics(resource.name, all).map_err(|(error, text)| (error, Some(text)))
            }
            GROUP_RESOURCE if resource.name.is_empty() => request("Default group resources are not allowed."),
            GROUP_RESOURCE => check_group_configs(all, broker).map_err(|error| invalid(&error)),
            _ => request("Unknown resource type UNKNOWN"),
        }
    }

    fn check_existence(&self, resource: Resource<'_>) -> Result<(), Refusal> {
        match resource.kind {
            TOPIC_RESOURCE if self.image.topic(resource.name).is_none() => {
                let text = format!("The topic '{}' does not exist.", resource.name);
                Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, Some(text)))
            }
            BROKER_RESOURCE if !resource.name.is_empty() => {
                let known = resource.name.parse().is_ok_and(|id: i32| self.image.brokers.contains_key(&id));
                let text = || Some(format!("No broker with id {} found.", resource.name));
                if known { Ok(()) } else { Err((ErrorCode::BROKER_ID_NOT_REGISTERED, text())) }
            }
            _ => Ok(()),
        }
    }
}
