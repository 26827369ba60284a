//! AlterUserScramCredentials (`ScramControlManager`, KIP-554): what a server must know to check a password that it is
//! never told. Nobody logs in here; the credentials are kept and listed.

use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256, Sha512};

use crate::controller::MetadataRecord;
use crate::controller::image::MetadataImage;
use crate::ordered::BTreeMap;
use crate::wire::ErrorCode;
use crate::wire::messages::administration::metadata_records::{
    RemoveUserScramCredentialRecord, UserScramCredentialRecord,
};
use crate::wire::messages::administration::scram::{
    AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse, AlterUserScramCredentialsResult,
    ScramCredentialUpsertion,
};

use super::{ApiError, refused};

/// `ScramMechanism`.
const SHA_256: i8 = 1;
const SHA_512: i8 = 2;
/// Both mechanisms want at least so many; more than the second number is refused as well.
const ITERATIONS_MIN: i32 = 4096;
const ITERATIONS_MAX: i32 = 16_384;

pub(super) fn alter(
    image: &MetadataImage,
    body: &AlterUserScramCredentialsRequest,
    records: &mut Vec<MetadataRecord>,
) -> AlterUserScramCredentialsResponse {
    let mut users: BTreeMap<&str, Result<MetadataRecord, ApiError>> = BTreeMap::new();
    for deletion in &body.deletions {
        let checked = check_user(&deletion.name, deletion.mechanism).and_then(|()| {
            let known = image.scram.contains_key(&(deletion.name.clone(), deletion.mechanism));
            let text = "Attempt to delete a user credential that does not exist";
            if known { Ok(()) } else { Err(refused(ErrorCode::RESOURCE_NOT_FOUND, text)) }
        });
        let record = RemoveUserScramCredentialRecord {
            name: deletion.name.clone(),
            mechanism: deletion.mechanism,
            ..Default::default()
        };
        note(&mut users, &deletion.name, checked.map(|()| record.into()));
    }
    for upsertion in &body.upsertions {
        note(&mut users, &upsertion.name, credential(upsertion).map(MetadataRecord::from));
    }
    let mut results = Vec::with_capacity(users.len());
    for (user, outcome) in users {
        let (error, text) = match outcome {
            Ok(record) => {
                records.push(record);
                (ErrorCode::NONE, None)
            }
            Err(refusal) => refusal,
        };
        results.push(AlterUserScramCredentialsResult {
            user: user.to_string(),
            error_code: error.0,
            error_message: text,
            ..Default::default()
        });
    }
    AlterUserScramCredentialsResponse { results, ..Default::default() }
}

/// A user may be altered once; the first error stays.
fn note<'a>(
    users: &mut BTreeMap<&'a str, Result<MetadataRecord, ApiError>>,
    user: &'a str,
    outcome: Result<MetadataRecord, ApiError>,
) {
    match users.get(user) {
        None => {
            users.insert(user, outcome);
        }
        Some(Ok(_)) => {
            let text = "A user credential cannot be altered twice in the same request";
            users.insert(user, Err(refused(ErrorCode::DUPLICATE_RESOURCE, text)));
        }
        Some(Err(_)) => {}
    }
}

fn check_user(name: &str, mechanism: i8) -> Result<(), ApiError> {
    if name.is_empty() {
        return Err(refused(ErrorCode::UNACCEPTABLE_CREDENTIAL, "Username must not be empty"));
    }
    if !(SHA_256..=SHA_512).contains(&mechanism) {
        return Err(refused(ErrorCode::UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"));
    }
    Ok(())
}

/// What RFC 5802 has a server keep of a salted password.
fn credential(upsertion: &ScramCredentialUpsertion) -> Result<UserScramCredentialRecord, ApiError> {
    check_user(&upsertion.name, upsertion.mechanism)?;
    if upsertion.iterations < ITERATIONS_MIN {
        return Err(refused(ErrorCode::UNACCEPTABLE_CREDENTIAL, "Too few iterations"));
    }
    if upsertion.iterations > ITERATIONS_MAX {
        return Err(refused(ErrorCode::UNACCEPTABLE_CREDENTIAL, "Too many iterations"));
    }
    let keyed = |text: &[u8]| match upsertion.mechanism {
        SHA_256 => mac::<Hmac<Sha256>>(&upsertion.salted_password, text),
        _ => mac::<Hmac<Sha512>>(&upsertion.salted_password, text),
    };
    let client_key = keyed(b"Client Key");
    let stored_key = match upsertion.mechanism {
        SHA_256 => Bytes::copy_from_slice(&Sha256::digest(&client_key)),
        _ => Bytes::copy_from_slice(&Sha512::digest(&client_key)),
    };
    Ok(UserScramCredentialRecord {
        name: upsertion.name.clone(),
        mechanism: upsertion.mechanism,
        salt: upsertion.salt.clone(),
        stored_key,
        server_key: keyed(b"Server Key"),
        iterations: upsertion.iterations,
        ..Default::default()
    })
}

/// A key of any length will do, so this cannot fail.
fn mac<M: Mac + KeyInit>(key: &[u8], text: &[u8]) -> Bytes {
    <M as KeyInit>::new_from_slice(key)
        .map(|mac| Bytes::copy_from_slice(&mac.chain_update(text).finalize().into_bytes()))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_signs_and_checks_as_in_rfc_7677() {
        // Section 3: user "user", password "pencil", here salted already (PBKDF2, 4096 iterations).
        let auth_message = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                            s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,\
                            r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let upsertion = ScramCredentialUpsertion {
            name: "user".into(),
            mechanism: SHA_256,
            iterations: ITERATIONS_MIN,
            salted_password: hex("c4a49510323ab4f952cac1fa99441939e78ea74d6be81ddf7096e87513dc615d"),
            ..Default::default()
        };
        let kept = credential(&upsertion).expect("a credential");
        // "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", the server's signature.
        let signature = hex("eabae24d1062db75a9451ff0b6ea7e98c8546549ff741e672d3251b2397de46e");
        assert_eq!(mac::<Hmac<Sha256>>(&kept.server_key, auth_message.as_bytes()), signature);
        // "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", the client's proof.
        let proof = hex("747cdb65aa56224e2352137e52d7bdcad6a0f738df30782caa69a2cfb0277554");
        let client_signature = mac::<Hmac<Sha256>>(&kept.stored_key, auth_message.as_bytes());
        let client_key: Vec<u8> = proof.iter().zip(&client_signature).map(|(a, b)| a ^ b).collect();
        assert_eq!(Sha256::digest(client_key).as_slice(), kept.stored_key);
    }

    fn hex(text: &str) -> Bytes {
        let pairs = (0..text.len()).step_by(2);
        pairs.map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex")).collect()
    }
}
