//! Whether a foreign cluster is configured as an experiment wants it: every key that the experiment gives a node, by our
//! own admin client. A key that differs would make the run tell of something else.

use std::collections::BTreeMap;

use super::PlaceError;
use crate::broker::config::{BROKER_KEYS, shown};
use crate::client::{AdminConfig, Client};
use crate::experiment::{Experiment, Role};
use crate::native::client::NativeClient;
use crate::node::{AdminCommand, Command, ConfigEntry, ConfigResource, Reply};

const ANSWER_WITHIN: std::time::Duration = std::time::Duration::from_secs(10);

/// Asks each broker that the experiment configures.
pub async fn compare_keys(experiment: &Experiment, bootstrap: &str) -> Result<(), PlaceError> {
    let brokers = experiment.cluster.nodes.iter().filter(|node| node.roles.contains(&Role::Broker));
    for node in brokers.filter(|node| !node.config.is_empty()) {
        let found = configs_of(node.id, bootstrap).await?;
        for (key, wanted) in &node.config {
            compare(node.id, key, wanted, &found)?;
        }
    }
    Ok(())
}

fn compare(node: i32, key: &str, wanted: &str, found: &[ConfigEntry]) -> Result<(), PlaceError> {
    let kind = BROKER_KEYS.find(key).map(|key| key.kind);
    let as_shown = |value: &str| kind.map_or_else(|| value.to_owned(), |kind| shown(kind, value));
    let wanted = as_shown(wanted);
    let has = match found.iter().find(|entry| entry.name == key) {
        None => "is unknown".to_owned(),
        // Nobody is told what it is.
        Some(entry) if entry.is_sensitive => return Ok(()),
        Some(ConfigEntry { value: Some(value), .. }) if as_shown(value) == wanted => return Ok(()),
        Some(ConfigEntry { value: Some(value), .. }) => format!("is {value}"),
        Some(ConfigEntry { value: None, .. }) => "is not set".to_owned(),
    };
    Err(PlaceError::CannotDo(format!(
        "broker {node}: {key} is {wanted} in the experiment, and on the cluster it {has}: this place cannot stand for \
         that cluster"
    )))
}

/// What is in force on a broker.
async fn configs_of(node: i32, bootstrap: &str) -> Result<Vec<ConfigEntry>, PlaceError> {
    let failed = |why: &str| PlaceError::failed(&format!("cannot ask broker {node} for its configuration"), why);
    let keys = BTreeMap::from([("bootstrap.servers".to_owned(), bootstrap.to_owned())]);
    let config = AdminConfig::parse(&keys).map_err(|error| failed(&error.to_string()))?;
    let ask = move || {
        let mut admin = NativeClient::start(Client::admin("steplog", config, 0))?;
        let command = AdminCommand::DescribeConfigs { resource: ConfigResource::Broker(node) };
        std::io::Result::Ok(admin.ask(Command::Admin(command), ANSWER_WITHIN))
    };
    match tokio::task::spawn_blocking(ask).await {
        Ok(Ok(Some(Reply::Configs(entries)))) => Ok(entries),
        Ok(Ok(Some(Reply::Failed(exception)))) => Err(failed(&exception.to_string())),
        Ok(Ok(_)) => Err(failed("no answer within 10 s")),
        Ok(Err(error)) => Err(failed(&error.to_string())),
        Err(error) => Err(failed(&error.to_string())),
    }
}
