//! DescribeClientQuotas (`ClientQuotasImage.describe`, KIP-546).

use crate::broker::Broker;
use crate::broker::connections::RequestId;
use crate::broker::context::Context;
use crate::controller::QuotaEntityKey;
use crate::ordered::BTreeMap;
use crate::wire::ErrorCode;
use crate::wire::messages::administration::client_quotas::{
    DescribeClientQuotasRequest, DescribeClientQuotasResponse, QuotaEntity, QuotaEntry, QuotaFilterComponent,
    QuotaValue,
};

/// What a part of an entity must be: this name (null for the default), or any.
enum Wanted<'a> {
    Exactly(Option<&'a str>),
    Any,
}

impl Broker {
    pub(in crate::broker) fn handle_describe_client_quotas(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        body: &DescribeClientQuotasRequest,
    ) {
        let response = match wanted_parts(&body.components) {
            Ok(wanted) => self.quotas_that_match(&wanted, body.strict),
            Err((error, text)) => DescribeClientQuotasResponse {
                error_code: error.0,
                error_message: Some(text),
                entries: None,
                ..Default::default()
            },
        };
        self.respond(cx, request, &response);
    }

    fn quotas_that_match(&self, wanted: &BTreeMap<&str, Wanted<'_>>, strict: bool) -> DescribeClientQuotasResponse {
        let matches = |entity: &QuotaEntityKey| {
            let fits = |(kind, wanted): (&&str, &Wanted<'_>)| match (entity.get(*kind), wanted) {
                (Some(_), Wanted::Any) => true,
                (Some(name), Wanted::Exactly(wanted)) => name.as_deref() == *wanted,
                (None, _) => false,
            };
            (!strict || entity.len() == wanted.len()) && wanted.iter().all(fits)
        };
        let found = self.image.client_quotas.iter().filter(|(entity, _)| matches(entity));
        let entries = found.map(|(entity, quotas)| QuotaEntry {
            entity: entity
                .iter()
                .map(|(kind, name)| QuotaEntity {
                    entity_type: kind.clone(),
                    entity_name: name.clone(),
                    ..Default::default()
                })
                .collect(),
            values: quotas
                .iter()
                .map(|(key, bits)| QuotaValue { key: key.clone(), value: f64::from_bits(*bits), ..Default::default() })
                .collect(),
            ..Default::default()
        });
        DescribeClientQuotasResponse { entries: Some(entries.collect()), ..Default::default() }
    }
}

fn wanted_parts(components: &[QuotaFilterComponent]) -> Result<BTreeMap<&str, Wanted<'_>>, (ErrorCode, String)> {
    let invalid = |text: String| Err((ErrorCode::INVALID_REQUEST, text));
    let mut wanted = BTreeMap::new();
    for component in components {
        let kind = component.entity_type.as_str();
        if kind.is_empty() {
            return invalid("Invalid empty entity type.".to_string());
        }
        if wanted.contains_key(kind) {
            return invalid(format!("Entity type {kind} cannot appear more than once in the filter."));
        }
        if !matches!(kind, "ip" | "user" | "client-id") {
            return Err((ErrorCode::UNSUPPORTED_VERSION, format!("Unsupported entity type {kind}")));
        }
        let part = match (component.match_type, component.match_.as_deref()) {
            (0, Some(name)) => Wanted::Exactly(Some(name)),
            (0, None) => {
                return invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.".to_string());
            }
            (1, None) => Wanted::Exactly(None),
            (2, None) => Wanted::Any,
            (given @ 1..=2, Some(_)) => {
                let name = if given == 1 { "MATCH_TYPE_DEFAULT" } else { "MATCH_TYPE_SPECIFIED" };
                return invalid(format!("Request specified {name}, but also specified a match string."));
            }
            (other, _) => return invalid(format!("Unknown match type {other}")),
        };
        wanted.insert(kind, part);
    }
    if wanted.contains_key("ip") && wanted.len() > 1 {
        let text = "Invalid entity filter component combination. IP filter component should not be used with user or \
                    clientId filter component.";
        return invalid(text.to_string());
    }
    Ok(wanted)
}
