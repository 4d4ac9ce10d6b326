//! Signatures of plain keys.

use skillwire_attest::{
    Envelope, PublicKey, SIGNATURE_FILE, Signature, SignatureFormat, Signer, SigningKey,
    SigningTime, TrustedSigner, skill_statement,
};
use skillwire_core::RelPath;

use crate::vectors::{FILES, ed25519, files, in_2026, signing_key, vector, verify, verify_files};

#[test]
fn a_signature_of_another_implementation_is_verified() {
    let content = verify(vector!("ed25519.dsse.sig"), &ed25519(), in_2026()).unwrap();
    assert_eq!(content.content_id(), files(&FILES).content_id().unwrap());
    assert_eq!(content.time(), SigningTime::Unproven);
    assert_eq!(*content.signer(), Signer::Key(signing_key().public().id()));
}

#[test]
fn our_signature_is_the_same_each_time_and_is_verified() {
    let statement = skill_statement(&files(&FILES)).unwrap();
    let envelope = Envelope::sign(&statement, &[&signing_key()]).to_json();
    assert_eq!(envelope, Envelope::sign(&statement, &[&signing_key()]).to_json());
    assert!(verify(&envelope, &ed25519(), in_2026()).is_ok());
    let signature = Signature::parse(envelope.as_bytes()).unwrap();
    assert_eq!(signature.format(), SignatureFormat::Dsse);
}

#[test]
fn a_key_on_p_256_signs_a_bundle() {
    let key = PublicKey::parse(vector!("p256.pub.pem")).unwrap();
    let content =
        verify(vector!("p256.sigstore.json"), &TrustedSigner::key(key.clone()), in_2026());
    assert_eq!(*content.unwrap().signer(), Signer::Key(key.id()));
}

#[test]
fn two_keys_can_sign_one_statement_and_each_is_enough() {
    let (one, two) = (signing_key(), SigningKey::from_seed(&[9; 32]));
    let mut envelope = Envelope::sign(&skill_statement(&files(&FILES)).unwrap(), &[&one]);
    envelope.add_signature(&two);
    // A key that signs again does not sign twice.
    envelope.add_signature(&two);
    let text = envelope.to_json();
    assert_eq!(text.matches("keyid").count(), 2);
    for key in [&one, &two] {
        let trusted = TrustedSigner::key(key.public().clone());
        let content = verify(&text, &trusted, in_2026()).unwrap();
        assert_eq!(*content.signer(), Signer::Key(key.public().id()));
    }
}

#[test]
fn the_file_that_holds_the_signature_is_left_out() {
    let statement = skill_statement(&files(&FILES)).unwrap();
    let envelope = Envelope::sign(&statement, &[&signing_key()]).to_json();
    let mut served = FILES.to_vec();
    served.push((SIGNATURE_FILE, &envelope));
    let path = RelPath::parse(SIGNATURE_FILE).unwrap();
    let left = files(&served).without(&path);
    assert!(verify_files(&envelope, &ed25519(), in_2026(), &left).is_ok());
    // Without being left out it is a file that no one signed.
    assert!(verify_files(&envelope, &ed25519(), in_2026(), &files(&served)).is_err());
}

#[test]
fn keys_survive_each_of_their_forms_and_keep_their_identity() {
    let key = SigningKey::from_seed(&[3; 32]);
    let again = SigningKey::from_pem(&key.to_pem()).unwrap();
    assert_eq!(again.public(), key.public());
    for text in
        [key.public().to_pem(), key.public().to_line(), format!("{}\n", key.public().to_line())]
    {
        assert_eq!(PublicKey::parse(&text).unwrap().id(), key.public().id(), "{text}");
    }
    assert_eq!(signing_key().to_pem(), vector!("ed25519.key.pem"));
    assert_eq!(signing_key().public().to_pem(), vector!("ed25519.pub.pem"));
}

#[test]
fn what_is_no_usable_key_is_refused_and_a_private_key_is_never_shown() {
    for text in [
        "",
        "ed25519:",
        "ed25519:AAAA",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
    ] {
        assert!(PublicKey::parse(text).is_err(), "{text}");
        assert!(SigningKey::from_pem(text).is_err(), "{text}");
    }
    // A public key is no private one, and the other way round.
    assert!(SigningKey::from_pem(vector!("ed25519.pub.pem")).is_err());
    assert!(PublicKey::parse(vector!("ed25519.key.pem")).is_err());
    let shown = format!("{:?}", SigningKey::from_seed(&[0xab; 32]));
    assert!(!shown.contains("171") && !shown.to_lowercase().contains("abab"), "{shown}");
}
