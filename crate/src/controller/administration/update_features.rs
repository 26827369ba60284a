//! UpdateFeatures: other levels come into force as records, all of a request or none (`FeatureControlManager`,
//! KIP-584, KIP-1022).

use crate::controller::MetadataRecord;
use crate::controller::active::Controller;
use crate::controller::features::{METADATA_VERSION, SUPPORTED_FEATURES};
use crate::wire::ErrorCode;
use crate::wire::messages::administration::update_features::{
    UpdatableFeatureResult, UpdateFeaturesRequest, UpdateFeaturesResponse,
};
use crate::wire::messages::metadata_records::FeatureLevelRecord;

/// `FeatureUpdate.UpgradeType`.
const UPGRADE: i8 = 1;
const UNSAFE_DOWNGRADE: i8 = 3;

const KRAFT_VERSION: &str = "kraft.version";
/// The last version that is answered feature by feature.
const LAST_WITH_RESULTS: i16 = 1;
/// The newest metadata.version that brought records of a new form, up to the one in force: going below it would lose
/// something (`MetadataVersion.checkIfMetadataChanged`). 30 and 23 did.
const CHANGED_METADATA: [i16; 2] = [30, 23];

impl Controller {
    pub(super) fn update_features(
        &self,
        body: &UpdateFeaturesRequest,
        version: i16,
        records: &mut Vec<MetadataRecord>,
    ) -> UpdateFeaturesResponse {
        let mut updates = Vec::new();
        for update in &body.feature_updates {
            if let Err(text) = self.check_update(&update.feature, update.max_version_level, update.upgrade_type) {
                return UpdateFeaturesResponse {
                    error_code: ErrorCode::INVALID_UPDATE_VERSION.0,
                    error_message: Some(format!(
                        "The update failed for all features since the following feature had an error: {text}"
                    )),
                    ..Default::default()
                };
            }
            if update.feature != KRAFT_VERSION {
                let record = FeatureLevelRecord {
                    name: update.feature.clone(),
                    feature_level: update.max_version_level,
                    ..Default::default()
                };
                updates.push(record.into());
            }
        }
        if !body.validate_only {
            records.append(&mut updates);
        }
        let results = body.feature_updates.iter().filter(|_| version <= LAST_WITH_RESULTS);
        UpdateFeaturesResponse {
            error_message: None,
            results: results
                .map(|update| UpdatableFeatureResult {
                    feature: update.feature.clone(),
                    // Kafka names the code here, not a text.
                    error_message: Some("NONE".to_string()),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        }
    }

    fn check_update(&self, name: &str, level: i16, upgrade_type: i8) -> Result<(), String> {
        let invalid = |why: String| Err(format!("Invalid update version {level} for feature {name}. {why}"));
        if !(UPGRADE..=UNSAFE_DOWNGRADE).contains(&upgrade_type) {
            return invalid("The controller does not support the given upgrade type.".to_string());
        }
        if level < 0 {
            return invalid("A feature version cannot be less than 0.".to_string());
        }
        let who = format!("Local controller {}", self.config.node_id);
        let Some(supported) = SUPPORTED_FEATURES.iter().find(|feature| feature.name == name) else {
            return invalid(format!("{who} does not support this feature."));
        };
        if !(supported.min..=supported.max).contains(&level) {
            return invalid(format!("{who} only supports versions {}-{}", supported.min, supported.max));
        }
        let current = self.image.feature_level(name);
        if level < current && upgrade_type == UPGRADE {
            let text = "Can't downgrade the version of this feature without setting the upgrade type to either safe or \
                        unsafe downgrade.";
            return invalid(text.to_string());
        }
        if level > current && upgrade_type != UPGRADE {
            return invalid("Can't downgrade to a newer version.".to_string());
        }
        if name == METADATA_VERSION && level < current {
            return check_metadata_downgrade(current, level, upgrade_type);
        }
        if name == KRAFT_VERSION && level != current {
            // The voters of this quorum are those of controller.quorum.voters.
            return invalid("The quorum has static voters.".to_string());
        }
        Ok(())
    }
}

fn check_metadata_downgrade(current: i16, level: i16, upgrade_type: i8) -> Result<(), String> {
    if !CHANGED_METADATA.iter().any(|changed| (level + 1..=current).contains(changed)) {
        return Ok(());
    }
    let why = if upgrade_type == UNSAFE_DOWNGRADE {
        "Unsafe metadata downgrade is not supported in this version."
    } else {
        "Refusing to perform the requested downgrade because it might delete metadata information."
    };
    Err(format!("Unsupported metadata.version downgrade from {current} to {level}. {why}"))
}
