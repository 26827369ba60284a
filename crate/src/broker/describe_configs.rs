//! DescribeConfigs and ListConfigResources: what is configured, and by whom (`kafka.server.ConfigHelper`).

use crate::controller::{
    BROKER_LOGGER_RESOURCE, BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE, check_topic_name,
};
use crate::wire::ErrorCode;
use crate::wire::messages::configs::{
    ConfigResource, DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult,
    DescribeConfigsResponse, DescribeConfigsResult, DescribeConfigsSynonym, ListConfigResourcesRequest,
    ListConfigResourcesResponse,
};

use super::Broker;
use super::alter_configs::ROOT_LOGGER;
use super::config::{
    BROKER_KEYS, BrokerConfigs, CLIENT_METRICS_KEYS, ConfigSource, GROUP_KEYS, Key, QUOTA_KEYS, Synonym, TOPIC_KEYS,
    broker_name_of, group_value, shown,
};
use super::connections::RequestId;
use super::context::Context;

/// Kafka's text for INVALID_REQUEST, which it gives where it has no better one.
const MALFORMED: &str = "This most likely occurs because of a request being malformed by the client library or the \
                         message was sent to an incompatible broker. See the broker logs for more details.";
/// The resources that can be listed, by the version that knew them first.
const LISTED: [(i8, i16); 5] = [
    (GROUP_RESOURCE, 1),
    (CLIENT_METRICS_RESOURCE, 0),
    (BROKER_LOGGER_RESOURCE, 1),
    (BROKER_RESOURCE, 1),
    (TOPIC_RESOURCE, 1),
];

type Described = Vec<DescribeConfigsResourceResult>;
type Refusal = (ErrorCode, String);

impl Broker {
    pub(super) fn handle_describe_configs(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        body: &DescribeConfigsRequest,
    ) {
        // One resource of a kind that nobody knows spoils the whole request.
        let is_known =
            |resource: &DescribeConfigsResource| LISTED.iter().any(|(kind, _)| *kind == resource.resource_type);
        let spoilt = !body.resources.iter().all(is_known);
        let describe = |resource: &DescribeConfigsResource| {
            let described = match spoilt {
                true => Err((ErrorCode::INVALID_REQUEST, MALFORMED.to_string())),
                false => self.describe(resource, body.include_synonyms),
            };
            let (configs, (error, text)) = match described {
                Ok(configs) => (configs, (ErrorCode::NONE, String::new())),
                Err(refusal) => (Vec::new(), refusal),
            };
            DescribeConfigsResult {
                error_code: error.0,
                error_message: Some(text),
                resource_type: resource.resource_type,
                resource_name: resource.resource_name.clone(),
                configs,
                ..Default::default()
            }
        };
        let results = body.resources.iter().map(describe).collect();
        self.respond(cx, request, &DescribeConfigsResponse { results, ..Default::default() });
    }

    fn describe(&self, resource: &DescribeConfigsResource, with_synonyms: bool) -> Result<Described, Refusal> {
        let name = resource.resource_name.as_str();
        let invalid = |text: &str| Err((ErrorCode::INVALID_REQUEST, text.to_string()));
        let mut configs = match resource.resource_type {
            TOPIC_RESOURCE => {
                check_topic_name(name).map_err(|text| (ErrorCode::INVALID_TOPIC_EXCEPTION, text))?;
                if self.image.topic(name).is_none() {
                    return Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, String::new()));
                }
                self.describe_topic(name)
            }
            BROKER_RESOURCE if name.is_empty() => self.describe_cluster_default(),
            BROKER_RESOURCE => {
                let node_id = self.config.node_id;
                if broker_id(name)? != node_id {
                    return invalid(&format!(
                        "Unexpected broker id, expected {node_id} or empty string, but received {name}"
                    ));
                }
                self.describe_broker()
            }
            BROKER_LOGGER_RESOURCE if name.is_empty() => return invalid("Broker id must not be empty"),
            BROKER_LOGGER_RESOURCE => {
                let node_id = self.config.node_id;
                if broker_id(name)? != node_id {
                    return invalid(&format!("Unexpected broker id, expected {node_id} but received {name}"));
                }
                vec![DescribeConfigsResourceResult {
                    name: ROOT_LOGGER.to_string(),
                    value: Some(self.log_level.clone()),
                    config_source: ConfigSource::Logger as i8,
                    documentation: Some(String::new()),
                    ..Default::default()
                }]
            }
            CLIENT_METRICS_RESOURCE if name.is_empty() => {
                return invalid("Client metrics subscription name must not be empty");
            }
            CLIENT_METRICS_RESOURCE => {
                let own = self.image.configs_of(CLIENT_METRICS_RESOURCE, name);
                let keys = CLIENT_METRICS_KEYS.keys().map(|key| {
                    let value = own.and_then(|own| own.get(key.name)).map(String::as_str);
                    let synonyms = value.map(|value| synonym(key.name, value, ConfigSource::ClientMetrics));
                    entry(&key, value.or(key.default), synonyms.into_iter().collect())
                });
                keys.collect()
            }
            GROUP_RESOURCE if name.is_empty() => return invalid("Group name must not be empty"),
            _ => self.describe_group(name),
        };
        if let Some(keys) = resource.configuration_keys.as_ref().filter(|keys| !keys.is_empty()) {
            configs.retain(|config| keys.contains(&config.name));
        }
        if !with_synonyms {
            configs.iter_mut().for_each(|config| config.synonyms.clear());
        }
        Ok(configs)
    }

    fn broker_configs(&self) -> BrokerConfigs<'_> {
        self.image.broker_configs(&self.config)
    }

    fn describe_topic(&self, topic: &str) -> Described {
        let layers = self.image.topic_configs(topic, &self.config);
        let all = layers.all().filter_map(|(name, value, source)| {
            let key = TOPIC_KEYS.find(name)?;
            let own =
                (source == ConfigSource::Topic).then(|| synonym(name, &shown(key.kind, &value), ConfigSource::Topic));
            let brokers = broker_name_of(name).map(|name| layers.broker.synonyms(name)).unwrap_or_default();
            Some(entry(&key, Some(&value), own.into_iter().chain(brokers).collect()))
        });
        all.collect()
    }

    fn describe_broker(&self) -> Described {
        let layers = self.broker_configs();
        let keys = BROKER_KEYS.keys().filter(|key| !key.is_internal());
        let known = keys.map(|key| {
            let mut entry = entry(&key, layers.value(key.name), layers.synonyms(key.name));
            entry.read_only = !key.is_dynamic();
            entry
        });
        let mut described: Described = known.collect();
        for name in layers.set_beside_the_known() {
            if !described.iter().any(|entry| entry.name == name) {
                described.push(unknown(name, layers.value(name), layers.synonyms(name)));
            }
        }
        described
    }

    fn describe_cluster_default(&self) -> Described {
        let layers = self.broker_configs();
        let set = layers.cluster.into_iter().flatten().map(|(name, value)| {
            let of_cluster = |synonym: &Synonym| synonym.source == ConfigSource::ClusterDefault;
            let synonyms: Vec<Synonym> = layers.synonyms(name).into_iter().filter(of_cluster).collect();
            match BROKER_KEYS.find(name) {
                Some(key) => {
                    let mut described = entry(&key, Some(value), synonyms);
                    described.value = described.value.and(Some(value.clone()));
                    described.read_only = !key.is_dynamic();
                    described
                }
                None => unknown(name, Some(value), synonyms),
            }
        });
        set.collect()
    }

    fn describe_group(&self, group: &str) -> Described {
        let own = self.image.configs_of(GROUP_RESOURCE, group);
        let layers = self.broker_configs();
        let keys = GROUP_KEYS.keys().map(|key| {
            let (value, broker_name) = group_value(&key, own, layers);
            let set = own.and_then(|own| own.get(key.name));
            let set = set.map(|value| synonym(key.name, &shown(key.kind, value), ConfigSource::Group));
            let default = match (broker_name, key.default) {
                (Some(name), _) => layers.synonyms(name),
                (None, Some(default)) => vec![synonym(key.name, default, ConfigSource::Default)],
                (None, None) => Vec::new(),
            };
            entry(&key, value.as_deref(), set.into_iter().chain(default).collect())
        });
        keys.collect()
    }

    pub(super) fn handle_list_config_resources(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        body: &ListConfigResourcesRequest,
    ) {
        let known: Vec<i8> =
            LISTED.iter().filter(|(_, first)| *first <= request.api_version).map(|(kind, _)| *kind).collect();
        let mut response = ListConfigResourcesResponse::default();
        if !body.resource_types.iter().all(|kind| known.contains(kind)) {
            response.error_code = ErrorCode::UNSUPPORTED_VERSION.0;
            self.respond(cx, request, &response);
            return;
        }
        let wanted = |kind: &i8| body.resource_types.is_empty() || body.resource_types.contains(kind);
        for kind in known.into_iter().filter(wanted) {
            let live = || self.image.brokers.values().filter(|broker| !broker.fenced);
            let names: Vec<String> = match kind {
                TOPIC_RESOURCE => self.image.topic_ids.keys().cloned().collect(),
                BROKER_RESOURCE | BROKER_LOGGER_RESOURCE => live().map(|broker| broker.broker_id.to_string()).collect(),
                _ => {
                    let of_kind = self.image.configs.keys().filter(|(of, _)| *of == kind);
                    of_kind.map(|(_, name)| name.clone()).collect()
                }
            };
            response.config_resources.extend(names.into_iter().map(|resource_name| ConfigResource {
                resource_name,
                resource_type: kind,
                ..Default::default()
            }));
        }
        self.respond(cx, request, &response);
    }
}

fn broker_id(name: &str) -> Result<i32, Refusal> {
    name.parse().map_err(|_| (ErrorCode::INVALID_REQUEST, format!("Broker id must be an integer, but it is: {name}")))
}

fn synonym(name: &str, value: &str, source: ConfigSource) -> Synonym {
    Synonym { name: name.to_string(), value: value.to_string(), source }
}

/// A key whose value comes from the first of its synonyms, or by default.
fn entry(key: &Key, value: Option<&str>, synonyms: Vec<Synonym>) -> DescribeConfigsResourceResult {
    let is_sensitive = key.kind.is_sensitive();
    DescribeConfigsResourceResult {
        name: key.name.to_string(),
        value: value.filter(|_| !is_sensitive).map(|value| shown(key.kind, value)),
        config_source: synonyms.first().map_or(ConfigSource::Default, |first| first.source) as i8,
        is_sensitive,
        synonyms: synonyms
            .into_iter()
            .map(|synonym| DescribeConfigsSynonym {
                name: synonym.name,
                value: Some(synonym.value).filter(|_| !is_sensitive),
                source: synonym.source as i8,
                ..Default::default()
            })
            .collect(),
        config_type: key.kind as i8,
        ..Default::default()
    }
}

/// A key that is no broker's: a throttle, or one whose meaning nobody knows, which may be a password.
fn unknown(name: &str, value: Option<&str>, synonyms: Vec<Synonym>) -> DescribeConfigsResourceResult {
    if let Some(key) = QUOTA_KEYS.find(name) {
        return entry(&key, value, synonyms);
    }
    let hidden = synonyms.iter().map(|synonym| DescribeConfigsSynonym {
        name: synonym.name.clone(),
        source: synonym.source as i8,
        ..Default::default()
    });
    DescribeConfigsResourceResult {
        name: name.to_string(),
        read_only: true,
        config_source: synonyms.first().map_or(ConfigSource::Default, |first| first.source) as i8,
        is_sensitive: true,
        synonyms: hidden.collect(),
        ..Default::default()
    }
}
