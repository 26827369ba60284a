//! AlterConfigs and IncrementalAlterConfigs on their way through the broker: what it answers itself, and what it checks
//! before the controller gets the rest (`kafka.server.ConfigAdminManager`, `RuntimeLoggerManager`).

use crate::controller::{
    APPEND, BROKER_LOGGER_RESOURCE, BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, ControllerRequest, DELETE,
    GROUP_RESOURCE, SET, SUBTRACT, TOPIC_RESOURCE, changed_list,
};
use crate::ordered::{BTreeMap, BTreeSet};
use crate::wire::ErrorCode;
use crate::wire::messages::configs::{
    AlterConfigsRequest, AlterConfigsResource, AlterConfigsResourceResponse, AlterConfigsResponse,
    IncrementalAlterConfigsRequest, IncrementalAlterConfigsResource, IncrementalAlterConfigsResponse,
    IncrementalAlterableConfig,
};

use super::Broker;
use super::config::{BROKER_KEYS, Type, check_broker_change};
use super::connections::RequestId;
use super::context::Context;
use super::lifecycle::ControllerCall;

/// The one logger that there is, under the name that Kafka gives its root.
pub(super) const ROOT_LOGGER: &str = "root";
/// What may be logged until somebody says otherwise.
pub(super) const DEFAULT_LOG_LEVEL: &str = "INFO";
const LOG_LEVELS: [&str; 6] = ["DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN"];

/// A request that waits for the controller's part of its answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AlterConfigsCall {
    request: RequestId,
    is_incremental: bool,
    /// For each resource of the request; those without an answer are with the controller.
    answers: Vec<Answer>,
}

/// The answer to one resource, if there is one yet.
#[derive(Debug, Clone, PartialEq)]
struct Answer {
    resource_type: i8,
    resource_name: String,
    outcome: Option<Outcome>,
}

/// What became of a resource: the error's code and Kafka's text.
type Outcome = (ErrorCode, Option<String>);
type Refusal = Outcome;

fn invalid<T>(text: impl Into<String>) -> Result<T, Refusal> {
    Err((ErrorCode::INVALID_REQUEST, Some(text.into())))
}

impl Broker {
    pub(super) fn handle_incremental_alter_configs(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        mut body: IncrementalAlterConfigsRequest,
    ) {
        let twice =
            given_twice(body.resources.iter().map(|resource| (resource.resource_type, &resource.resource_name)));
        let mut answers = Vec::new();
        for resource in &body.resources {
            let outcome = match twice.contains(&(resource.resource_type, resource.resource_name.clone())) {
                true => Some(more_than_once()),
                false => self.preprocess(resource, body.validate_only),
            };
            answers.push(Answer {
                resource_type: resource.resource_type,
                resource_name: resource.resource_name.clone(),
                outcome,
            });
        }
        let mut kept = answers.iter().map(|answer| answer.outcome.is_none());
        body.resources.retain(|_| kept.next().unwrap_or(false));
        let done = body.resources.is_empty();
        let call = AlterConfigsCall { request, is_incremental: true, answers };
        self.pass_on(cx, call, ControllerRequest::IncrementalAlterConfigs(body), done);
    }

    pub(super) fn handle_alter_configs(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        mut body: AlterConfigsRequest,
    ) {
        let twice =
            given_twice(body.resources.iter().map(|resource| (resource.resource_type, &resource.resource_name)));
        let mut answers = Vec::new();
        for resource in &body.resources {
            let outcome = match twice.contains(&(resource.resource_type, resource.resource_name.clone())) {
                true => Some(more_than_once()),
                false => self.preprocess_replacement(resource).err(),
            };
            answers.push(Answer {
                resource_type: resource.resource_type,
                resource_name: resource.resource_name.clone(),
                outcome,
            });
        }
        let mut kept = answers.iter().map(|answer| answer.outcome.is_none());
        body.resources.retain(|_| kept.next().unwrap_or(false));
        let done = body.resources.is_empty();
        let call = AlterConfigsCall { request, is_incremental: false, answers };
        self.pass_on(cx, call, ControllerRequest::AlterConfigs(body), done);
    }

    fn pass_on(&mut self, cx: &mut Context<'_>, call: AlterConfigsCall, rest: ControllerRequest, done: bool) {
        if done {
            self.configs_altered(cx, call, &[]);
        } else {
            let cause = call.request.cause;
            self.call_controller(rest, ControllerCall::AlterConfigs(call), cause);
        }
    }

    /// The controller's answers go where none is yet; both are in the order of the request.
    pub(super) fn configs_altered(
        &mut self,
        cx: &mut Context<'_>,
        call: AlterConfigsCall,
        controllers: &[AlterConfigsResourceResponse],
    ) {
        let mut controllers = controllers.iter();
        let responses = call.answers.into_iter().map(|answer| {
            let (error, error_message) = answer.outcome.unwrap_or_else(|| match controllers.next() {
                Some(response) => (ErrorCode(response.error_code), response.error_message.clone()),
                None => (ErrorCode::UNKNOWN_SERVER_ERROR, None),
            });
            AlterConfigsResourceResponse {
                error_code: error.0,
                error_message,
                resource_type: answer.resource_type,
                resource_name: answer.resource_name,
                ..Default::default()
            }
        });
        let responses = responses.collect();
        if call.is_incremental {
            self.respond(cx, call.request, &IncrementalAlterConfigsResponse { responses, ..Default::default() });
        } else {
            self.respond(cx, call.request, &AlterConfigsResponse { responses, ..Default::default() });
        }
    }

    /// The broker's own answer, or `None` for what the controller is to decide.
    fn preprocess(&mut self, resource: &IncrementalAlterConfigsResource, validate_only: bool) -> Option<Outcome> {
        let names = resource.configs.iter().map(|config| config.name.as_str());
        let nulls =
            resource.configs.iter().filter(|config| config.config_operation != DELETE && config.value.is_none());
        let checked = check_names(names, nulls.map(|config| config.name.as_str()));
        let checked = checked.and_then(|()| match resource.resource_type {
            BROKER_LOGGER_RESOURCE => {
                self.alter_loggers(resource, validate_only)?;
                // Nobody else hears of log levels.
                Err((ErrorCode::NONE, None))
            }
            BROKER_RESOURCE => {
                self.check_node_name(&resource.resource_name)?;
                let current = self.image.configs_of(BROKER_RESOURCE, &resource.resource_name);
                let mut proposed = current.cloned().unwrap_or_default();
                for change in &resource.configs {
                    propose(&mut proposed, change)?;
                }
                self.check_broker_configs(&resource.resource_name, &proposed)
            }
            TOPIC_RESOURCE | CLIENT_METRICS_RESOURCE | GROUP_RESOURCE => Ok(()),
            other => invalid(format!("Unknown resource type {other}")),
        });
        checked.err()
    }

    fn preprocess_replacement(&self, resource: &AlterConfigsResource) -> Result<(), Refusal> {
        let names = resource.configs.iter().map(|config| config.name.as_str());
        let nulls = resource.configs.iter().filter(|config| config.value.is_none());
        check_names(names, nulls.map(|config| config.name.as_str()))?;
        match resource.resource_type {
            BROKER_RESOURCE => {
                self.check_node_name(&resource.resource_name)?;
                let proposed = resource.configs.iter();
                let proposed = proposed.map(|config| (config.name.clone(), config.value.clone().unwrap_or_default()));
                self.check_broker_configs(&resource.resource_name, &proposed.collect())
            }
            TOPIC_RESOURCE | CLIENT_METRICS_RESOURCE | GROUP_RESOURCE => Ok(()),
            other => invalid(format!("Unknown resource type {other}")),
        }
    }

    /// Only this broker can say whether it could take such values.
    fn check_broker_configs(&self, broker: &str, proposed: &BTreeMap<String, String>) -> Result<(), Refusal> {
        check_broker_change(proposed, !broker.is_empty(), self.image.broker_configs(&self.config))
            .or_else(|error| invalid(error.to_string()))
    }

    /// A broker by its number, or all of them by no name.
    fn check_node_name(&self, name: &str) -> Result<(), Refusal> {
        let node_id = self.config.node_id;
        match name.parse::<i32>() {
            _ if name.is_empty() => Ok(()),
            Err(_) => invalid(format!("Node id must be an integer, but it is: {name}")),
            Ok(id) if id != node_id => {
                invalid(format!("Unexpected broker id, expected {node_id}, but received {name}"))
            }
            Ok(_) => Ok(()),
        }
    }

    fn alter_loggers(
        &mut self,
        resource: &IncrementalAlterConfigsResource,
        validate_only: bool,
    ) -> Result<(), Refusal> {
        let config = |text: String| Err((ErrorCode::INVALID_CONFIG, Some(text)));
        let node_id = self.config.node_id;
        match resource.resource_name.parse::<i32>() {
            Err(_) => return invalid(format!("Node id must be an integer, but it is: {}", resource.resource_name)),
            Ok(id) if id != node_id => {
                return invalid(format!("Unexpected node id. Expected {node_id}, but received {id}"));
            }
            Ok(_) => {}
        }
        let mut level = None;
        for change in &resource.configs {
            let (logger, value) = (change.name.as_str(), change.value.as_deref().unwrap_or_default());
            let is_known = logger == ROOT_LOGGER;
            match change.config_operation {
                SET | DELETE if !is_known => return config(format!("Logger {logger} does not exist!")),
                SET if !LOG_LEVELS.contains(&value) => {
                    return config(format!(
                        "Cannot set the log level of {logger} to {value} as it is not a supported log level. Valid \
                         log levels are {}",
                        LOG_LEVELS.join(", ")
                    ));
                }
                SET => level = Some(value.to_string()),
                DELETE => return invalid("Removing the log level of the root logger is not allowed"),
                APPEND => return invalid("APPEND operation is not allowed for the BROKER_LOGGER resource"),
                SUBTRACT => return invalid("SUBTRACT operation is not allowed for the BROKER_LOGGER resource"),
                // Kafka stumbles over its own null here.
                _ => return Err((ErrorCode::UNKNOWN_SERVER_ERROR, None)),
            }
        }
        if let Some(level) = level.filter(|_| !validate_only) {
            self.log_level = level;
        }
        Ok(())
    }
}

fn given_twice<'a>(resources: impl Iterator<Item = (i8, &'a String)>) -> BTreeSet<(i8, String)> {
    let mut seen = BTreeSet::new();
    resources.map(|(kind, name)| (kind, name.clone())).filter(|resource| !seen.insert(resource.clone())).collect()
}

fn more_than_once() -> Outcome {
    (ErrorCode::INVALID_REQUEST, Some("Each resource must appear at most once.".to_string()))
}

fn check_names<'a>(
    mut names: impl Iterator<Item = &'a str>,
    nulls: impl Iterator<Item = &'a str>,
) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    if !names.all(|name| seen.insert(name)) {
        return invalid("Error due to duplicate config keys");
    }
    let nulls: Vec<&str> = nulls.collect();
    match nulls.as_slice() {
        [] => Ok(()),
        _ => invalid(format!("Null value not supported for : {}", nulls.join(", "))),
    }
}

/// `ConfigAdminManager.prepareIncrementalConfigs`.
fn propose(proposed: &mut BTreeMap<String, String>, change: &IncrementalAlterableConfig) -> Result<(), Refusal> {
    let config = |text: String| Err((ErrorCode::INVALID_CONFIG, Some(text)));
    let (name, given) = (change.name.as_str(), change.value.as_deref().unwrap_or_default());
    let operation = match change.config_operation {
        SET => {
            proposed.insert(name.to_string(), given.to_string());
            return Ok(());
        }
        DELETE => {
            proposed.remove(name);
            return Ok(());
        }
        APPEND => "append",
        SUBTRACT => "subtract",
        other => return invalid(format!("Unknown operations type {other}")),
    };
    let Some(key) = BROKER_KEYS.find(name) else {
        return config(format!("Unknown config name: {name}"));
    };
    if key.kind != Type::List {
        return config(format!("Config value {operation} is not allowed for config key: {name}"));
    }
    let current = proposed.get(name).map(String::as_str).or(key.default).unwrap_or_default();
    proposed.insert(name.to_string(), changed_list(current, given, change.config_operation));
    Ok(())
}
