//! Model-signing bundles with a vendor's root certificate.

use std::time::{Duration, UNIX_EPOCH};

use skillwire_attest::{RootCertificates, Signer, SigningTime, TrustedSigner};

use crate::vectors::{FILES, code, files, in_2026, vector, vendor, verify, verify_files};

const SUBJECT: &str = "CN=Acme Skills Signing 001,O=Acme Corporation";

#[test]
fn a_chain_of_three_certificates_leads_to_the_vendors_root() {
    let content = verify(vector!("model-signing.sig"), &vendor(None), in_2026()).unwrap();
    let Signer::Certificate { subject, .. } = content.signer() else { panic!("{content:?}") };
    assert_eq!(subject, SUBJECT);
    assert_eq!(content.content_id(), files(&FILES).content_id().unwrap());
    assert_eq!(content.time(), SigningTime::Unproven);
}

#[test]
fn an_identity_is_the_whole_subject_or_its_common_name_and_nothing_like_it() {
    for identity in [SUBJECT, "Acme Skills Signing 001"] {
        assert_eq!(
            code(verify(vector!("model-signing.sig"), &vendor(Some(identity)), in_2026())),
            "verified"
        );
        let other =
            verify(vector!("model-signing.other-name.sig"), &vendor(Some(identity)), in_2026());
        assert_eq!(code(other), "wrong_identity");
    }
    for identity in ["", "Acme", "acme skills signing 001", "Acme Skills Signing 001 "] {
        let other = verify(vector!("model-signing.sig"), &vendor(Some(identity)), in_2026());
        assert_eq!(code(other), "wrong_identity", "{identity}");
    }
}

#[test]
fn a_certificate_is_checked_as_of_now_because_nothing_proves_when_it_signed() {
    let at = |signature, seconds| {
        code(verify(signature, &vendor(None), UNIX_EPOCH + Duration::from_secs(seconds)))
    };
    let june = 1_780_272_000;
    assert_eq!(at(vector!("model-signing.expired.sig"), june), "certificate_expired");
    assert_eq!(at(vector!("model-signing.future.sig"), june), "certificate_not_yet_valid");
    // The same signatures on a day on which their certificates are valid.
    assert_eq!(at(vector!("model-signing.expired.sig"), 1_768_000_000), "verified");
    assert_eq!(at(vector!("model-signing.future.sig"), 1_796_600_000), "verified");
    // Before and after the root itself is valid.
    assert_eq!(at(vector!("model-signing.sig"), 0), "certificate_not_yet_valid");
    assert_eq!(at(vector!("model-signing.sig"), 4_000_000_000), "certificate_expired");
}

#[test]
fn a_root_with_the_same_name_and_another_key_is_another_root() {
    let refused = verify(vector!("model-signing.other-root.sig"), &vendor(None), in_2026());
    assert_eq!(code(refused), "untrusted_root");
    let other = RootCertificates::from_pem(vector!("model-signing.other-root.pem")).unwrap();
    let other = TrustedSigner::certificate(other, None);
    assert_eq!(code(verify(vector!("model-signing.sig"), &other, in_2026())), "untrusted_root");
    assert_eq!(
        code(verify(vector!("model-signing.other-root.sig"), &other, in_2026())),
        "verified"
    );
}

#[test]
fn a_certificate_that_is_not_for_signatures_signs_nothing() {
    let refused = verify(vector!("model-signing.not-for-signing.sig"), &vendor(None), in_2026());
    assert_eq!(code(refused), "certificate_unusable");
}

#[test]
fn other_hashes_and_methods_are_unsupported_and_not_skipped() {
    for signature in [vector!("model-signing.blake2b.sig"), vector!("model-signing.shards.sig")] {
        assert_eq!(code(verify(signature, &vendor(None), in_2026())), "signature_unsupported");
    }
}

#[test]
fn a_file_that_the_signer_ignored_is_a_file_that_no_one_signed() {
    let mut with_ignored = FILES.to_vec();
    with_ignored.push((".gitignore", "*.pyc\n"));
    let result =
        verify_files(vector!("model-signing.sig"), &vendor(None), in_2026(), &files(&with_ignored));
    assert_eq!(
        result.unwrap_err().to_string(),
        "is for other content: 1 not signed (`.gitignore`)"
    );
}
