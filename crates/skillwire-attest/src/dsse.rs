//! DSSE envelopes: a payload, its type, and signatures over both.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use crate::{
    json::Members,
    key::SigningKey,
    not_verified::{NotVerified, at_most},
    statement::Statement,
};

/// The type of a payload that is an in-toto statement.
pub const IN_TOTO_PAYLOAD: &str = "application/vnd.in-toto+json";

/// The most signatures of one envelope. Each is tried with each trusted key.
const MAX_SIGNATURES: usize = 16;

/// The longest signature; one with ECDSA P-384 has some hundred bytes.
const MAX_SIGNATURE_VALUE: usize = 1_024;

/// An envelope: a payload with signatures, which need not be valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    payload_type: String,
    payload: Vec<u8>,
    signatures: Vec<EnvelopeSignature>,
}

/// One signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EnvelopeSignature {
    /// A hint which key to try. It is not signed, so only people look at it.
    key_id: String,
    value: Vec<u8>,
}

impl Envelope {
    /// Signs a statement with each of the keys. The same statement and keys always give the same
    /// envelope.
    pub fn sign(statement: &Statement, keys: &[&SigningKey]) -> Self {
        let mut envelope = Self {
            payload_type: IN_TOTO_PAYLOAD.to_owned(),
            payload: statement.to_bytes(),
            signatures: Vec::new(),
        };
        for key in keys {
            envelope.add_signature(key);
        }
        envelope
    }

    /// Adds the signature of one more key over the same payload; one that the key made before is
    /// replaced.
    pub fn add_signature(&mut self, key: &SigningKey) {
        let key_id = key.public().id().to_string();
        let value = key.sign(&self.signed_bytes());
        self.signatures.retain(|signature| signature.key_id != key_id);
        self.signatures.push(EnvelopeSignature { key_id, value });
    }

    /// Reads the members of an envelope.
    pub(crate) fn parse(map: &Map<String, Value>) -> Result<Self, NotVerified> {
        let members = Members::new(map, "the envelope");
        let payload_type = members.text("payloadType")?;
        if payload_type != IN_TOTO_PAYLOAD {
            let kind = payload_type.escape_debug();
            return Err(NotVerified::unsupported(format!("the payload type `{kind}`")));
        }
        let signatures = members.array("signatures")?;
        at_most("signatures", signatures.len(), MAX_SIGNATURES)?;
        if signatures.is_empty() {
            return Err(NotVerified::malformed("the envelope", "has no signature"));
        }
        Ok(Self {
            payload_type: payload_type.to_owned(),
            payload: members.base64("payload")?,
            signatures: signatures.iter().map(signature).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the signed payload, which says nothing until a signature over it is verified.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Returns the values of the signatures.
    pub(crate) fn signatures(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.signatures.iter().map(|signature| signature.value.as_slice())
    }

    /// Returns the bytes that a signature is over: the type and the payload, each with its length,
    /// so that no bytes can move from one to the other.
    pub(crate) fn signed_bytes(&self) -> Vec<u8> {
        let kind = &self.payload_type;
        let payload = &self.payload;
        let mut bytes = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
        bytes.extend_from_slice(payload);
        bytes
    }

    /// Writes the envelope as one line of JSON.
    pub fn to_json(&self) -> String {
        let signatures: Vec<Value> = self
            .signatures
            .iter()
            .map(|signature| {
                json!({ "keyid": signature.key_id, "sig": STANDARD.encode(&signature.value) })
            })
            .collect();
        let envelope = json!({
            "payloadType": self.payload_type,
            "payload": STANDARD.encode(&self.payload),
            "signatures": signatures,
        });
        format!("{envelope}\n")
    }
}

fn signature(value: &Value) -> Result<EnvelopeSignature, NotVerified> {
    let members = Members::of(value, "a signature")?;
    let key_id = match members.get("keyid") {
        Some(_) => members.text("keyid")?.to_owned(),
        None => String::new(),
    };
    let value = members.base64("sig")?;
    at_most("bytes in a signature", value.len(), MAX_SIGNATURE_VALUE)?;
    Ok(EnvelopeSignature { key_id, value })
}
