//! Keys whose signed decisions the user takes instead of a question, by server.

use std::{collections::BTreeMap, time::SystemTime};

use serde_json::Value;
use skillwire_attest::{DECISION_META, PublicKey, Signature, TrustedSigner};
use skillwire_core::ContentSet;
use skillwire_trust::{DecisionKeys, Origin, ServerLabel, SignedDecision, SkillId, Voucher};

use crate::failure::Failure;

/// The largest decision that is read; one has about a kilobyte.
const MAX_BYTES: usize = 64 * 1024;

/// The trusted keys of each server.
#[derive(Debug)]
pub(crate) struct ServerKeys(BTreeMap<ServerLabel, Vec<TrustedSigner>>);

impl ServerKeys {
    /// Reads the keys as they are written in the configuration or in a lock file; `None` without any.
    ///
    /// A key that cannot be read is an error: the user would be asked, or refused, without a reason.
    pub(super) fn parse(
        written: &BTreeMap<ServerLabel, Vec<String>>,
    ) -> Result<Option<Self>, Failure> {
        let mut servers = BTreeMap::new();
        for (label, keys) in written.iter().filter(|(_, keys)| !keys.is_empty()) {
            let key = |text: &String| PublicKey::parse(text).map(TrustedSigner::key);
            let keys: Result<Vec<_>, _> = keys.iter().map(key).collect();
            let keys = keys.map_err(|error| {
                Failure::usage(format!(
                    "A trusted key of `{label}` cannot be used: the key {error}."
                ))
                .hint(format!("`skillwire server trust {label} FILE` sets the keys again."))
            })?;
            servers.insert(label.clone(), keys);
        }
        Ok((!servers.is_empty()).then_some(Self(servers)))
    }

    fn of(&self, origin: &Origin) -> &[TrustedSigner] {
        let keys = origin.server().and_then(|label| self.0.get(label));
        keys.map_or(&[], Vec::as_slice)
    }
}

impl DecisionKeys for ServerKeys {
    fn has_key_for(&self, origin: &Origin) -> bool {
        !self.of(origin).is_empty()
    }

    fn member(&self) -> &'static str {
        DECISION_META
    }

    fn verify(
        &self,
        skill: &SkillId,
        content: &ContentSet,
        carried: &Value,
        now: SystemTime,
    ) -> Result<SignedDecision, String> {
        let id = content.content_id().map_err(|error| format!("is for content that {error}"))?;
        let envelope = carried.to_string();
        if envelope.len() > MAX_BYTES {
            return Err(format!("has more than {MAX_BYTES} bytes"));
        }
        let keys = self.of(&skill.origin);
        let signature = Signature::parse(envelope.as_bytes()).map_err(|error| error.to_string())?;
        let verified = signature.verify(keys, now).map_err(|error| error.to_string())?;
        let decision = verified.decision(&skill.uri, id, now).map_err(|error| error.to_string())?;
        let voucher = Voucher {
            name: skill.origin.label().into(),
            signer: verified.signer().to_string().into(),
            trusted: keys[verified.trusted()].id(),
            until: Some(decision.expires),
        };
        Ok(SignedDecision {
            voucher,
            policy: decision.policy.into(),
            decided_at: decision.decided_at,
            provenance: decision.provenance,
        })
    }

    fn trusts(&self, origin: &Origin, voucher: &Voucher) -> bool {
        self.of(origin).iter().any(|key| key.id() == voucher.trusted)
    }
}
