//! What an attacker would try.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use skillwire_attest::{
    Envelope, MAX_SIGNATURE_BYTES, PublicKey, Signature, SigningKey, Statement, Subject,
    TrustedSigner, skill_statement,
};
use skillwire_core::Digest;

use crate::vectors::{
    FILES, changed, code, ed25519, files, in_2026, signing_key, vector, vendor, verify,
    verify_files, with_statement,
};

const SIGNATURE: &str = vector!("ed25519.dsse.sig");

/// Signs a statement that the signer would never sign by accident.
fn signed(statement: &Value) -> String {
    let subjects = statement["subject"].as_array().unwrap().iter();
    let subjects = subjects.map(|subject| Subject {
        name: subject["name"].as_str().unwrap().to_owned(),
        digest: subject["digest"]["sha256"]
            .as_str()
            .map(|hex| format!("sha256:{hex}").parse().unwrap()),
        size: subject["annotations"]["size"].as_u64(),
    });
    let Value::Object(predicate) = statement["predicate"].clone() else { panic!("no object") };
    let predicate_type = statement["predicateType"].as_str().unwrap();
    let statement = Statement::new(subjects.collect(), predicate_type, predicate);
    Envelope::sign(&statement, &[&signing_key()]).to_json()
}

fn statement() -> Value {
    serde_json::from_slice(&skill_statement(&files(&FILES)).unwrap().to_bytes()).unwrap()
}

#[test]
fn every_truncation_is_refused() {
    for signature in [SIGNATURE.trim_end(), vector!("model-signing.sig").trim_end()] {
        for length in 0..signature.len() {
            assert!(Signature::parse(&signature.as_bytes()[..length]).is_err(), "{length}");
        }
        assert!(Signature::parse(signature.as_bytes()).is_ok());
    }
}

#[test]
fn a_statement_that_means_the_same_in_other_bytes_is_not_signed() {
    // The vector is indented; written without blanks it is another text.
    let compact = with_statement(SIGNATURE, |_| ());
    assert_eq!(code(verify(&compact, &ed25519(), in_2026())), "wrong_key");
    let reordered = with_statement(SIGNATURE, |statement| {
        statement["subject"].as_array_mut().unwrap().reverse();
    });
    assert_eq!(code(verify(&reordered, &ed25519(), in_2026())), "wrong_key");
    let compact = with_statement(vector!("model-signing.sig"), |_| ());
    assert_eq!(code(verify(&compact, &vendor(None), in_2026())), "bad_signature");
}

#[test]
fn other_encodings_of_the_payload_are_refused() {
    let payload = |change: fn(&str) -> String| {
        changed(SIGNATURE, |value| {
            value["payload"] = change(value["payload"].as_str().unwrap()).into();
        })
    };
    for signature in [
        payload(|text| format!("{text}\n")),
        payload(|text| text.trim_end_matches('=').to_owned() + " "),
        payload(|text| text.replace('+', "-").replace('/', "_") + "_"),
        payload(|text| format!("{text}A")),
    ] {
        assert_eq!(code(verify(&signature, &ed25519(), in_2026())), "signature_malformed");
    }
    // Bytes at the end are signed as well.
    let longer =
        payload(|text| STANDARD.encode([STANDARD.decode(text).unwrap(), vec![b' ']].concat()));
    assert_eq!(code(verify(&longer, &ed25519(), in_2026())), "wrong_key");
    // The order of the envelope's own members says nothing.
    let value: Value = serde_json::from_str(SIGNATURE).unwrap();
    let (kind, payload, signatures) =
        (&value["payloadType"], &value["payload"], &value["signatures"]);
    let reordered =
        format!(r#"{{"signatures":{signatures},"payloadType":{kind},"payload":{payload}}}"#);
    assert_eq!(code(verify(&reordered, &ed25519(), in_2026())), "verified");
}

#[test]
fn a_member_that_is_there_twice_is_refused() {
    let twice = SIGNATURE.replacen('{', r#"{"payloadType": "text/plain", "#, 1);
    assert_eq!(code(verify(&twice, &ed25519(), in_2026())), "signature_malformed");
    // An envelope and a bundle in one would be read in two ways.
    let both = changed(vector!("model-signing.sig"), |value| {
        value["payloadType"] = "application/vnd.in-toto+json".into();
    });
    assert_eq!(code(verify(&both, &vendor(None), in_2026())), "signature_malformed");
}

#[test]
fn another_predicate_or_payload_type_is_not_about_files() {
    let mut other = statement();
    other["predicateType"] = "https://slsa.dev/provenance/v1".into();
    assert_eq!(code(verify(&signed(&other), &ed25519(), in_2026())), "wrong_predicate");
    let kind = changed(SIGNATURE, |value| value["payloadType"] = "text/plain".into());
    assert_eq!(code(verify(&kind, &ed25519(), in_2026())), "signature_unsupported");
}

#[test]
fn an_added_missing_or_changed_file_is_named() {
    let refused = |list: &[(&str, &str)]| {
        verify_files(SIGNATURE, &ed25519(), in_2026(), &files(list)).unwrap_err().to_string()
    };
    let mut added = FILES.to_vec();
    added.push(("scripts/other.sh", "x"));
    assert_eq!(refused(&added), "is for other content: 1 not signed (`scripts/other.sh`)");
    assert_eq!(refused(&FILES[..2]), "is for other content: 1 missing (`scripts/refund.sh`)");
    let mut other = FILES.to_vec();
    other[0].1 = "changed";
    assert_eq!(refused(&other), "is for other content: 1 changed (`SKILL.md`)");
    // The same bytes at another path are another file.
    let mut moved = FILES.to_vec();
    moved[2].0 = "scripts/Refund.sh";
    assert!(refused(&moved).contains("missing") && refused(&moved).contains("not signed"));
    assert!(refused(&[]).starts_with("is for other content: 3 missing"));
}

#[test]
fn a_signature_for_one_skill_says_nothing_of_another() {
    let other = [("SKILL.md", "---\nname: payouts\ndescription: Pays out.\n---\n")];
    let refused = verify_files(SIGNATURE, &ed25519(), in_2026(), &files(&other));
    assert_eq!(code(refused), "content_differs");
    let refused =
        verify_files(vector!("model-signing.sig"), &vendor(None), in_2026(), &files(&other));
    assert_eq!(code(refused), "content_differs");
}

#[test]
fn paths_that_leave_the_skill_or_mean_two_things_are_refused_even_if_they_are_signed() {
    for path in [
        "../SKILL.md",
        "/SKILL.md",
        "./SKILL.md",
        "a//b",
        "a/../SKILL.md",
        "",
        "scripts\\x",
        "a\nb",
        "a\0b",
        "a/",
    ] {
        let mut tricky = statement();
        tricky["subject"][0]["name"] = path.into();
        assert_eq!(
            code(verify(&signed(&tricky), &ed25519(), in_2026())),
            "signature_malformed",
            "{path:?}"
        );
    }
    let mut twice = statement();
    let again = twice["subject"][0].clone();
    twice["subject"].as_array_mut().unwrap().push(again);
    assert_eq!(code(verify(&signed(&twice), &ed25519(), in_2026())), "signature_malformed");
}

#[test]
fn an_identity_that_is_not_the_one_of_the_subjects_is_refused() {
    let mut other = statement();
    other["predicate"]["contentId"] = json!(Digest::of(b"other"));
    assert_eq!(code(verify(&signed(&other), &ed25519(), in_2026())), "signature_malformed");
    let mut unsized_file = statement();
    unsized_file["subject"][0].as_object_mut().unwrap().remove("annotations");
    assert_eq!(code(verify(&signed(&unsized_file), &ed25519(), in_2026())), "signature_malformed");
    let mut undigested = statement();
    undigested["subject"][0]["digest"] = json!({ "sha512": "00" });
    assert_eq!(code(verify(&signed(&undigested), &ed25519(), in_2026())), "signature_unsupported");
}

#[test]
fn the_hint_which_key_signed_decides_nothing() {
    let other = SigningKey::from_seed(&[1; 32]);
    let mut envelope =
        Envelope::sign(&skill_statement(&files(&FILES)).unwrap(), &[&other]).to_json();
    // It claims the trusted key.
    envelope = changed(&envelope, |value| {
        value["signatures"][0]["keyid"] = signing_key().public().id().to_string().into();
    });
    assert_eq!(code(verify(&envelope, &ed25519(), in_2026())), "wrong_key");
    let trusted = TrustedSigner::key(other.public().clone());
    assert_eq!(code(verify(&envelope, &trusted, in_2026())), "verified");
}

#[test]
fn a_key_of_one_kind_never_verifies_a_signature_of_another() {
    let p256 = TrustedSigner::key(PublicKey::parse(vector!("p256.pub.pem")).unwrap());
    for (signature, trusted) in [
        (SIGNATURE, &p256),
        (vector!("p256.sigstore.json"), &ed25519()),
        (vector!("model-signing.sig"), &ed25519()),
        (vector!("model-signing.sig"), &p256),
    ] {
        assert_eq!(code(verify(signature, trusted, in_2026())), "wrong_key");
    }
    // A trusted root needs a certificate: a key in the bundle names no one.
    let plain = verify(vector!("p256.sigstore.json"), &vendor(None), in_2026());
    assert_eq!(code(plain), "no_certificate");
    assert_eq!(code(verify(SIGNATURE, &vendor(None), in_2026())), "no_certificate");
}

#[test]
fn a_certificate_of_one_bundle_does_not_carry_over_to_another() {
    let other: Value = serde_json::from_str(vector!("model-signing.other-name.sig")).unwrap();
    let swapped = changed(vector!("model-signing.sig"), |value| {
        value["verificationMaterial"] = other["verificationMaterial"].clone();
    });
    assert_eq!(code(verify(&swapped, &vendor(None), in_2026())), "bad_signature");
    // Certificates in another order, without the middle one, or with one too many at the end.
    let chain = |change: fn(&mut Vec<Value>)| {
        let text = changed(vector!("model-signing.sig"), |value| {
            let chain = &mut value["verificationMaterial"]["x509CertificateChain"]["certificates"];
            change(chain.as_array_mut().unwrap());
        });
        code(verify(&text, &vendor(None), in_2026()))
    };
    assert_eq!(chain(|chain| chain.reverse()), "certificate_unusable");
    assert_eq!(
        chain(|chain| {
            chain.remove(1);
        }),
        "untrusted_root"
    );
    assert_eq!(chain(Vec::clear), "signature_malformed");
    assert_eq!(
        chain(|chain| {
            chain.truncate(2);
        }),
        "verified"
    );
    assert_eq!(
        chain(|chain| chain.extend(chain.clone().into_iter().cycle().take(9))),
        "signature_too_large"
    );
    assert_eq!(
        chain(|chain| chain[0]["rawBytes"] = STANDARD.encode([0x30, 0]).into()),
        "signature_malformed"
    );
}

#[test]
fn what_is_too_large_is_refused_before_it_is_worked_on() {
    let huge = vec![b' '; MAX_SIGNATURE_BYTES + 1];
    assert_eq!(Signature::parse(&huge).unwrap_err().code(), "signature_too_large");
    let many = changed(SIGNATURE, |value| {
        let one = value["signatures"][0].clone();
        value["signatures"] = vec![one; 17].into();
    });
    assert_eq!(code(verify(&many, &ed25519(), in_2026())), "signature_too_large");
    let mut subjects = statement();
    let one = subjects["subject"][0].clone();
    subjects["subject"] = vec![one; 20_001].into();
    assert_eq!(code(verify(&signed(&subjects), &ed25519(), in_2026())), "signature_too_large");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(Signature::parse(deep.as_bytes()).unwrap_err().code(), "signature_malformed");
    let none = changed(SIGNATURE, |value| value["signatures"] = json!([]));
    assert_eq!(code(verify(&none, &ed25519(), in_2026())), "signature_malformed");
}

#[test]
fn what_is_trusted_has_an_identity_that_changes_with_each_part_of_it() {
    let other = TrustedSigner::key(SigningKey::from_seed(&[1; 32]).public().clone());
    let ids = [ed25519(), other, vendor(None), vendor(Some("")), vendor(Some("a"))];
    let ids: std::collections::BTreeSet<_> = ids.iter().map(TrustedSigner::id).collect();
    assert_eq!(ids.len(), 5);
    assert_eq!(vendor(Some("a")).id(), vendor(Some("a")).id());
}

#[test]
fn without_a_trusted_signer_nothing_is_verified() {
    let signature = Signature::parse(SIGNATURE.as_bytes()).unwrap();
    assert_eq!(signature.verify(&[], in_2026()).unwrap_err().code(), "no_trusted_signer");
    // Of several, the one that made it counts; the refusal names the one that nearly fits.
    let several = [vendor(None), ed25519()];
    assert_eq!(signature.verify(&several, in_2026()).unwrap().trusted(), 1);
}
