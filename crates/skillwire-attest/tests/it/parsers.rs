//! No bytes make a parser panic, and no change of a signed statement is verified.

use proptest::prelude::*;
use skillwire_attest::{PublicKey, RootCertificates, Signature, SigningKey, SigstoreRoot};

use crate::vectors::{ed25519, in_2026, vector, vendor, verify};

const SEEDS: [&str; 7] = [
    vector!("rekor2.dsse.sigstore.json"),
    vector!("rekor2.hashed.sigstore.json"),
    vector!("ed25519.dsse.sig"),
    vector!("model-signing.sig"),
    vector!("sigstore.dsse.sigstore.json"),
    vector!("sigstore.intoto.sigstore.json"),
    vector!("p256.sigstore.json"),
];

fn parse_everything(bytes: &[u8]) {
    let trusted = [ed25519(), vendor(None)];
    if let Ok(signature) = Signature::parse(bytes) {
        let _ = signature.verify(&trusted, in_2026());
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = SigstoreRoot::parse(text);
        let _ = PublicKey::parse(text);
        let _ = SigningKey::from_pem(text);
        let _ = RootCertificates::from_pem(text);
    }
    let _ = PublicKey::from_spki(bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        parse_everything(&bytes);
    }

    #[test]
    fn any_change_of_a_vector_is_read_or_refused(
        seed in 0..SEEDS.len(),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = SEEDS[seed].as_bytes().to_vec();
        for (place, byte) in places {
            let length = bytes.len();
            bytes[place.index(length)] = byte;
        }
        parse_everything(&bytes);
    }

    #[test]
    fn a_changed_character_of_payload_or_signature_is_never_verified(
        place in any::<prop::sample::Index>(),
        by in 1_u8..64,
    ) {
        const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let text = vector!("ed25519.dsse.sig");
        let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
        for member in ["payload", "sig"] {
            let holder = if member == "sig" { &mut value["signatures"][0] } else { &mut value };
            let mut bytes = holder[member].as_str().unwrap().as_bytes().to_vec();
            let place = place.index(bytes.len());
            let Some(digit) = ALPHABET.iter().position(|byte| *byte == bytes[place]) else { continue };
            bytes[place] = ALPHABET[(digit + usize::from(by)) % 64];
            let before = holder[member].take();
            holder[member] = String::from_utf8(bytes).unwrap().into();
            prop_assert!(verify(&value.to_string(), &ed25519(), in_2026()).is_err());
            let holder = if member == "sig" { &mut value["signatures"][0] } else { &mut value };
            holder[member] = before;
        }
    }
}
