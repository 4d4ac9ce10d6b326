//! The list of gateways that passed a skill on.
//!
//! Two gateways that follow each other would otherwise pass the same skill back and forth forever,
//! each time under a longer URI.

use serde_json::{Value, json};
use skillwire_trust::Origin;

/// The key of the gateway's note in the `_meta` of an entry.
///
/// The note says where the skill came from. Any server can write one, so it is no reason to trust
/// the skill.
pub(crate) const PROVENANCE: &str = "dev.skillwire/upstream";

/// The most gateways that may pass a skill on, this one included.
pub(crate) const MAX_HOPS: usize = 8;

/// The hexadecimal digits of a [`GatewayId`].
const ID_DIGITS: usize = 32;

/// A random id of a running gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayId(String);

/// The error when the system gives no random numbers, without which two gateways could share an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("The system gives no random numbers.")]
pub struct NoRandomness;

impl GatewayId {
    /// Makes a random id of 128 bits, so that no other gateway has the same.
    pub fn random() -> Result<Self, NoRandomness> {
        let mut bytes = [0; ID_DIGITS / 2];
        getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bytes))))
    }
}

/// The gateways that passed a skill on, the first one first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Provenance(Vec<String>);

impl Provenance {
    /// Reads the note of another gateway; anything else counts as no note.
    pub(crate) fn read(note: &Value) -> Self {
        let via = note.get("via").and_then(Value::as_array);
        let ids = via.into_iter().flatten().filter_map(Value::as_str);
        let is_id = |id: &&str| id.len() == ID_DIGITS && id.bytes().all(|b| b.is_ascii_hexdigit());
        Self(ids.filter(is_id).take(MAX_HOPS + 1).map(str::to_owned).collect())
    }

    /// Adds a gateway. Returns none if the list has it already, or has [`MAX_HOPS`] gateways.
    pub(crate) fn and(mut self, instance: &GatewayId) -> Option<Self> {
        if self.0.len() >= MAX_HOPS || self.0.contains(&instance.0) {
            return None;
        }
        self.0.push(instance.0.clone());
        Some(self)
    }

    /// Writes the note that the next gateway reads.
    pub(crate) fn note(&self, origin: &Origin) -> Value {
        json!({ "label": origin, "via": self.0 })
    }
}
