//! Log entries of the second version of Rekor, whose time a timestamp authority proves.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use skillwire_attest::{SigningTime, SigstoreRoot, TrustedSigner};

use crate::{
    sigstore::{IDENTITY, ISSUER, ROOT},
    vectors::{changed, code, in_2026, vector, verify},
};

const HASHED: &str = vector!("rekor2.hashed.sigstore.json");
const DSSE: &str = vector!("rekor2.dsse.sigstore.json");

fn trusted(root: &str) -> TrustedSigner {
    TrustedSigner::keyless(Arc::new(SigstoreRoot::parse(root).unwrap()), IDENTITY, ISSUER)
}

fn code_of(bundle: &str) -> &'static str {
    code(verify(bundle, &trusted(ROOT), in_2026()))
}

fn material(bundle: &mut Value) -> &mut Value {
    &mut bundle["verificationMaterial"]
}

fn stamp(bundle: &mut Value) -> &mut Value {
    &mut material(bundle)["timestampVerificationData"]["rfc3161Timestamps"][0]["signedTimestamp"]
}

#[test]
fn both_kinds_of_entries_are_verified_at_the_time_of_the_timestamp() {
    for bundle in [HASHED, DSSE] {
        let content = verify(bundle, &trusted(ROOT), in_2026()).unwrap();
        assert!(matches!(content.time(), SigningTime::Stamped(_)), "{content:?}");
    }
}

#[test]
fn without_a_timestamp_that_counts_nothing_proves_the_time() {
    let none = |bundle: &mut Value| {
        material(bundle).as_object_mut().unwrap().remove("timestampVerificationData");
    };
    assert_eq!(code_of(&changed(HASHED, none)), "log_entry_invalid");
    // A timestamp alone is no entry of a log.
    let no_entry = |bundle: &mut Value| material(bundle)["tlogEntries"] = Value::Array(Vec::new());
    assert_eq!(code_of(&changed(HASHED, no_entry)), "log_entry_invalid");
    let mut other: Value = serde_json::from_str(DSSE).unwrap();
    let swapped = changed(HASHED, |bundle| *stamp(bundle) = stamp(&mut other).clone());
    assert_eq!(code_of(&swapped), "timestamp_invalid");
}

#[test]
fn an_authority_that_is_not_trusted_or_not_in_use_proves_nothing() {
    assert_eq!(code_of(vector!("rekor2.other-authority.sigstore.json")), "timestamp_invalid");
    for end in ["2026-01-01T00:00:00Z", "2025-06-01T00:00:00Z"] {
        let ended = changed(ROOT, |root| {
            root["timestampAuthorities"][0]["validFor"]["end"] = end.into();
        });
        let refused = verify(HASHED, &trusted(&ended), in_2026());
        assert_eq!(code(refused), "timestamp_invalid", "{end}");
    }
    let log_ended = changed(ROOT, |root| {
        root["tlogs"][1]["publicKey"]["validFor"]["end"] = "2026-01-01T00:00:00Z".into();
    });
    assert_eq!(code(verify(HASHED, &trusted(&log_ended), in_2026())), "log_entry_invalid");
}

#[test]
fn a_certificate_that_had_expired_at_the_time_of_the_timestamp_is_refused() {
    assert_eq!(code_of(vector!("rekor2.late.sigstore.json")), "certificate_expired");
}

#[test]
fn no_changed_byte_of_a_timestamp_changes_the_time() {
    let time = verify(HASHED, &trusted(ROOT), in_2026()).unwrap().time();
    let bundle: Value = serde_json::from_str(HASHED).unwrap();
    let der = STANDARD.decode(stamp(&mut bundle.clone()).as_str().unwrap()).unwrap();
    let root = trusted(ROOT);
    let mut refused = 0;
    for place in (0..der.len()).step_by(7) {
        for bit in [0x01, 0x80] {
            let mut der = der.clone();
            der[place] ^= bit;
            let mut bundle = bundle.clone();
            *stamp(&mut bundle) = STANDARD.encode(&der).into();
            match verify(&bundle.to_string(), &root, in_2026()) {
                Ok(content) => assert_eq!(content.time(), time, "byte {place}"),
                Err(_) => refused += 1,
            }
        }
    }
    // What is not signed is the certificate that came along, which the trusted root has as well.
    assert!(refused > der.len() / 14, "{refused} of {}", der.len() * 2 / 7);
}

#[test]
fn each_changed_part_of_an_entry_is_noticed() {
    for (bundle, hash) in [(HASHED, "/hashedRekordV002/data"), (DSSE, "/dsseV002/payloadHash")] {
        let body = |change: &dyn Fn(&mut Value)| {
            changed(bundle, |bundle| {
                let entry = &mut material(bundle)["tlogEntries"][0];
                let body = STANDARD.decode(entry["canonicalizedBody"].as_str().unwrap()).unwrap();
                let mut body: Value = serde_json::from_slice(&body).unwrap();
                change(&mut body);
                entry["canonicalizedBody"] = STANDARD.encode(body.to_string()).into();
            })
        };
        let other_hash = body(&|body| {
            body["spec"].pointer_mut(hash).unwrap()["digest"] = STANDARD.encode([0; 32]).into();
        });
        assert_eq!(code_of(&other_hash), "log_entry_invalid");
        let other_algorithm = body(&|body| {
            body["spec"].pointer_mut(hash).unwrap()["algorithm"] = "MD5".into();
        });
        assert_eq!(code_of(&other_algorithm), "signature_unsupported");
        let other_kind = body(&|body| body["kind"] = "rpm".into());
        assert_eq!(code_of(&other_kind), "signature_unsupported");
        // A body that says the same in other words is not what the log has.
        let longer = body(&|body| body["spec"]["more"] = 1.into());
        assert_eq!(code_of(&longer), "log_entry_invalid");
    }
}
