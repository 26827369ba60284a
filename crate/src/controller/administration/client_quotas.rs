//! AlterClientQuotas (`ClientQuotaControlManager`, KIP-546): checked, and written down as records. Nothing is throttled
//! by them here.

use crate::controller::MetadataRecord;
use crate::controller::image::{MetadataImage, QuotaEntityKey};
use crate::ordered::{BTreeMap, BTreeSet};
use crate::wire::ErrorCode;
use crate::wire::messages::administration::client_quotas::{
    AlterClientQuotasRequest, AlterClientQuotasResponse, QuotaAlteration, QuotaAlterationResult,
};
use crate::wire::messages::administration::metadata_records::{ClientQuotaRecord, QuotaEntityData};

use super::{ApiError, refused};

/// Quotas of users and clients, and those of addresses (`QuotaConfig`); whether they may have a fraction.
const USER_AND_CLIENT: &[(&str, bool)] = &[
    ("producer_byte_rate", false),
    ("consumer_byte_rate", false),
    ("request_percentage", true),
    ("controller_mutation_rate", true),
];
const ADDRESS: &[(&str, bool)] = &[("connection_creation_rate", false)];

/// Applies what is valid; a faulty entity is refused and leaves the others as they are.
pub(super) fn alter(
    image: &MetadataImage,
    body: &AlterClientQuotasRequest,
    records: &mut Vec<MetadataRecord>,
) -> AlterClientQuotasResponse {
    let mut seen = BTreeSet::new();
    let mut entries = Vec::new();
    for alteration in &body.entries {
        let entity = entity_of(alteration);
        let altered = if seen.insert(entity.clone()) {
            alter_entity(image, &entity, alteration)
        } else {
            Err(invalid(format!("Ignoring duplicate entity {}", in_words(&entity))))
        };
        let (error, text) = match altered {
            Ok(more) => {
                if !body.validate_only {
                    records.extend(more);
                }
                (ErrorCode::NONE, None)
            }
            Err(refusal) => refusal,
        };
        entries.push(QuotaAlterationResult {
            error_code: error.0,
            error_message: text,
            entity: alteration.entity.clone(),
            ..Default::default()
        });
    }
    AlterClientQuotasResponse { entries, ..Default::default() }
}

fn invalid(text: impl Into<String>) -> ApiError {
    refused(ErrorCode::INVALID_REQUEST, text)
}

fn entity_of(alteration: &QuotaAlteration) -> QuotaEntityKey {
    alteration.entity.iter().map(|part| (part.entity_type.clone(), part.entity_name.clone())).collect()
}

/// As Java prints a ClientQuotaEntity.
fn in_words(entity: &QuotaEntityKey) -> String {
    let parts: Vec<String> =
        entity.iter().map(|(kind, name)| format!("{kind}={}", name.as_deref().unwrap_or("null"))).collect();
    format!("ClientQuotaEntity(entries={{{}}})", parts.join(", "))
}

fn alter_entity(
    image: &MetadataImage,
    entity: &QuotaEntityKey,
    alteration: &QuotaAlteration,
) -> Result<Vec<MetadataRecord>, ApiError> {
    let mut wanted: BTreeMap<&str, Option<f64>> = BTreeMap::new();
    for op in &alteration.ops {
        if wanted.insert(&op.key, (!op.remove).then_some(op.value)).is_some() {
            let text =
                format!("Duplicate quota key {} not updating quota for this entity {}", op.key, in_words(entity));
            return Err(invalid(text));
        }
    }
    let keys = keys_for(entity)?;
    let current = image.client_quotas.get(entity);
    let mut records = Vec::new();
    for (key, value) in wanted {
        let known = current.and_then(|quotas| quotas.get(key)).copied();
        let record = |value: f64, remove: bool| ClientQuotaRecord {
            entity: entity
                .iter()
                .map(|(kind, name)| QuotaEntityData {
                    entity_type: kind.clone(),
                    entity_name: name.clone(),
                    ..Default::default()
                })
                .collect(),
            key: key.to_string(),
            value,
            remove,
            ..Default::default()
        };
        match value {
            None if known.is_some() => records.push(record(0.0, true).into()),
            None => {}
            Some(value) => {
                check_value(keys, key, value)?;
                if known != Some(value.to_bits()) {
                    records.push(record(value, false).into());
                }
            }
        }
    }
    Ok(records)
}

/// Which quotas an entity may have.
fn keys_for(entity: &QuotaEntityKey) -> Result<&'static [(&'static str, bool)], ApiError> {
    if entity.is_empty() {
        return Err(invalid("Invalid empty client quota entity"));
    }
    for (kind, name) in entity {
        if !matches!(kind.as_str(), "user" | "client-id" | "ip") {
            return Err(invalid(format!("Unhandled client quota entity type: {kind}")));
        }
        if name.as_deref() == Some("") {
            return Err(invalid(format!("Empty {kind} not supported")));
        }
    }
    match entity.get("ip") {
        None => Ok(USER_AND_CLIENT),
        Some(_) if entity.len() > 1 => {
            Err(invalid("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"))
        }
        // Kafka would ask the resolver for a name; a broker here knows addresses only.
        Some(Some(ip)) if ip.parse::<std::net::IpAddr>().is_err() => {
            Err(invalid(format!("{ip} is not a valid IP or resolvable host.")))
        }
        Some(_) => Ok(ADDRESS),
    }
}

fn check_value(keys: &[(&str, bool)], key: &str, value: f64) -> Result<(), ApiError> {
    let Some((_, fraction)) = keys.iter().find(|(known, _)| *known == key) else {
        return Err(invalid(format!("Invalid configuration key {key}")));
    };
    if value <= 0.0 {
        return Err(invalid(format!("Quota {key} must be greater than 0")));
    }
    if !fraction && (value % 1.0).abs() > 1e-6 {
        return Err(invalid(format!("{key} cannot be a fractional value.")));
    }
    Ok(())
}
