//! Sigstore bundles: an identity, a log, and a certificate that was valid for minutes.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use skillwire_attest::{Signer, SigningTime, SigstoreRoot, TrustedSigner};

use crate::vectors::{changed, code, in_2026, vector, verify, with_statement};

pub(crate) const IDENTITY: &str =
    "https://github.com/acme/skills/.github/workflows/publish.yml@refs/heads/main";
pub(crate) const ISSUER: &str = "https://token.actions.githubusercontent.com";
const BUNDLE: &str = vector!("sigstore.dsse.sigstore.json");
pub(crate) const ROOT: &str = vector!("sigstore.trusted_root.json");

fn workflow(root: &str, identity: &str, issuer: &str) -> TrustedSigner {
    TrustedSigner::keyless(Arc::new(SigstoreRoot::parse(root).unwrap()), identity, issuer)
}

fn trusted() -> TrustedSigner {
    workflow(ROOT, IDENTITY, ISSUER)
}

fn entry(bundle: &mut Value) -> &mut Value {
    &mut bundle["verificationMaterial"]["tlogEntries"][0]
}

fn code_of(change: impl FnOnce(&mut Value)) -> &'static str {
    code(verify(&changed(BUNDLE, change), &trusted(), in_2026()))
}

#[test]
fn identity_and_issuer_are_verified_at_the_time_that_the_log_proves() {
    for bundle in [BUNDLE, vector!("sigstore.intoto.sigstore.json")] {
        // Whatever the time is now, the certificate was valid when the log took the signature.
        for now in [in_2026(), SystemTime::UNIX_EPOCH] {
            let content = verify(bundle, &trusted(), now).unwrap();
            let logged = UNIX_EPOCH + Duration::from_mins(29_539_441);
            assert_eq!(content.time(), SigningTime::Logged(logged));
            let signer = Signer::Keyless { identity: IDENTITY.into(), issuer: ISSUER.into() };
            assert_eq!(*content.signer(), signer);
        }
    }
}

#[test]
fn another_identity_or_issuer_is_refused() {
    for (identity, issuer) in [
        ("https://github.com/acme/skills", ISSUER),
        ("", ISSUER),
        (IDENTITY, "https://accounts.example"),
        (IDENTITY, ""),
    ] {
        let refused = verify(BUNDLE, &workflow(ROOT, identity, issuer), in_2026());
        assert_eq!(code(refused), "wrong_identity", "{identity} {issuer}");
    }
}

#[test]
fn a_signature_that_was_logged_after_the_certificate_expired_is_refused() {
    let refused = verify(vector!("sigstore.late.sigstore.json"), &trusted(), in_2026());
    assert_eq!(code(refused), "certificate_expired");
}

#[test]
fn a_certificate_for_something_else_than_code_is_refused() {
    let refused = verify(vector!("sigstore.not-for-code.sigstore.json"), &trusted(), in_2026());
    assert_eq!(code(refused), "certificate_unusable");
}

#[test]
fn without_a_log_entry_or_a_signed_time_nothing_is_proven() {
    let none = |bundle: &mut Value| {
        bundle["verificationMaterial"]["tlogEntries"] = Value::Array(Vec::new());
    };
    assert_eq!(code_of(none), "log_entry_invalid");
    // An inclusion proof does not cover the time.
    let no_promise = |bundle: &mut Value| {
        entry(bundle).as_object_mut().unwrap().remove("inclusionPromise");
    };
    assert_eq!(code_of(no_promise), "log_entry_invalid");
    let no_time = |bundle: &mut Value| {
        entry(bundle).as_object_mut().unwrap().remove("integratedTime");
    };
    assert_eq!(code_of(no_time), "log_entry_invalid");
    // A promise without a proof is enough in the oldest version alone.
    let no_proof = |bundle: &mut Value| {
        entry(bundle).as_object_mut().unwrap().remove("inclusionProof");
    };
    assert_eq!(code_of(no_proof), "signature_malformed");
    let oldest = |bundle: &mut Value| {
        no_proof(bundle);
        bundle["mediaType"] = "application/vnd.dev.sigstore.bundle+json;version=0.1".into();
    };
    assert_eq!(code_of(oldest), "verified");
}

#[test]
fn each_changed_part_of_a_log_entry_is_noticed() {
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 9] = [
        ("time", |entry| entry["integratedTime"] = "1772366461".into()),
        ("index", |entry| entry["logIndex"] = "1004".into()),
        ("promise", |entry| {
            entry["inclusionPromise"]["signedEntryTimestamp"] = STANDARD.encode([0; 70]).into();
        }),
        ("place in the tree", |entry| entry["inclusionProof"]["logIndex"] = "2".into()),
        ("size of the tree", |entry| entry["inclusionProof"]["treeSize"] = "6".into()),
        ("hash in the tree", |entry| {
            entry["inclusionProof"]["hashes"][0] = STANDARD.encode([7; 32]).into();
        }),
        ("root of the tree", |entry| {
            entry["inclusionProof"]["rootHash"] = STANDARD.encode([7; 32]).into();
        }),
        ("checkpoint", |entry| {
            let note = &mut entry["inclusionProof"]["checkpoint"]["envelope"];
            *note = note.as_str().unwrap().replacen("log.example", "log.other", 1).into();
        }),
        ("no checkpoint", |entry| {
            entry["inclusionProof"].as_object_mut().unwrap().remove("checkpoint");
        }),
    ];
    for (what, change) in changes {
        assert_eq!(code_of(|bundle| change(entry(bundle))), "log_entry_invalid", "{what}");
    }
    assert_eq!(
        code_of(|bundle| entry(bundle)["logId"]["keyId"] = STANDARD.encode([1; 32]).into()),
        "log_entry_invalid"
    );
}

#[test]
fn an_entry_for_another_signature_is_not_one_for_this() {
    let other: Value = serde_json::from_str(vector!("sigstore.late.sigstore.json")).unwrap();
    let swapped = |bundle: &mut Value| {
        bundle["verificationMaterial"]["tlogEntries"] =
            other["verificationMaterial"]["tlogEntries"].clone();
    };
    assert_eq!(code_of(swapped), "log_entry_invalid");
    // And the certificate of another signature does not fit the entry.
    let certificate = |bundle: &mut Value| {
        bundle["verificationMaterial"]["certificate"] =
            other["verificationMaterial"]["certificate"].clone();
    };
    assert_eq!(code_of(certificate), "log_entry_invalid");
    let statement = with_statement(BUNDLE, |statement| statement["predicate"]["x"] = 1.into());
    assert_eq!(code(verify(&statement, &trusted(), in_2026())), "log_entry_invalid");
}

#[test]
fn a_root_that_does_not_know_the_log_or_the_authority_trusts_nothing() {
    let other_log = changed(ROOT, |root| {
        root["tlogs"][0]["logId"]["keyId"] = STANDARD.encode([2; 32]).into();
    });
    let refused = verify(BUNDLE, &workflow(&other_log, IDENTITY, ISSUER), in_2026());
    assert_eq!(code(refused), "log_entry_invalid");
    let ended = changed(ROOT, |root| {
        let period = &mut root["certificateAuthorities"][0]["validFor"];
        period["end"] = "2026-01-01T00:00:00Z".into();
    });
    let refused = verify(BUNDLE, &workflow(&ended, IDENTITY, ISSUER), in_2026());
    assert_eq!(code(refused), "untrusted_root");
    let not_yet = changed(ROOT, |root| {
        root["tlogs"][0]["publicKey"]["validFor"]["start"] = "2026-05-01T00:00:00Z".into();
    });
    let refused = verify(BUNDLE, &workflow(&not_yet, IDENTITY, ISSUER), in_2026());
    assert_eq!(code(refused), "log_entry_invalid");
    for broken in ["{}", "[]", r#"{"mediaType": "x"}"#, &ROOT.replace("2025", "never")] {
        assert!(SigstoreRoot::parse(broken).is_err(), "{broken}");
    }
}

#[test]
fn a_signature_over_one_file_is_unsupported() {
    let message = |bundle: &mut Value| {
        bundle.as_object_mut().unwrap().remove("dsseEnvelope");
        bundle["messageSignature"] = serde_json::json!({ "signature": "AAAA" });
    };
    assert_eq!(code_of(message), "signature_unsupported");
    assert_eq!(
        code_of(|bundle| bundle["mediaType"] = "text/plain".into()),
        "signature_unsupported"
    );
}
