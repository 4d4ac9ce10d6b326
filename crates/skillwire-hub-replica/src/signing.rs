//! Decisions that the hub signs: what it serves may be loaded, by those who trust its keys.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use serde_json::Value;
use skillwire_attest::{ContentDecision, Envelope, PublicKey, SigningKey};
use skillwire_core::{ContentId, SkillUri};
use skillwire_hub::Timestamp;

/// How long a decision holds unless the operator says otherwise.
const VALID_FOR: Duration = Duration::from_hours(7 * 24);

/// The keys that sign, and for how long.
#[derive(Debug)]
struct Signing {
    keys: Vec<SigningKey>,
    valid_for: Duration,
}

/// Signs decisions with the keys of a hub; clones share them, and they are replaced while the hub runs.
///
/// Nothing is kept: the same content, keys and period always give the same bytes, so that every replica
/// carries the same decision.
#[derive(Debug, Clone)]
pub struct DecisionSigner(Arc<ArcSwap<Signing>>);

impl Default for DecisionSigner {
    fn default() -> Self {
        Self::new(Vec::new(), None)
    }
}

/// What a decision is about.
#[derive(Debug, Clone)]
pub(crate) struct Admitted {
    pub(crate) content: ContentId,
    /// The URIs under which it is served.
    pub(crate) skills: Vec<SkillUri>,
    /// The rule that admitted it, in words.
    pub(crate) policy: String,
    pub(crate) at: Timestamp,
    /// When the decision ends, if it does by itself.
    pub(crate) until: Option<Timestamp>,
    pub(crate) provenance: BTreeMap<String, String>,
}

impl DecisionSigner {
    /// Signs with each of these keys; without any, the hub signs nothing.
    pub fn new(keys: Vec<SigningKey>, valid_for: Option<Duration>) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(Signing {
            keys,
            valid_for: valid_for.unwrap_or(VALID_FOR),
        })))
    }

    /// Signs with other keys from now on; tells whether anything changed. The hub that serves with this
    /// signer has to be told to load its skills again.
    pub fn replace(&self, keys: Vec<SigningKey>, valid_for: Option<Duration>) -> bool {
        let valid_for = valid_for.unwrap_or(VALID_FOR);
        let before = self.0.load();
        let ids =
            |keys: &[SigningKey]| keys.iter().map(|key| key.public().id()).collect::<Vec<_>>();
        if ids(&before.keys) == ids(&keys) && before.valid_for == valid_for {
            return false;
        }
        self.0.store(Arc::new(Signing { keys, valid_for }));
        true
    }

    /// Whether there is a key.
    pub fn signs(&self) -> bool {
        !self.0.load().keys.is_empty()
    }

    /// The public keys, for hosts that are to trust them.
    pub fn public_keys(&self) -> Vec<PublicKey> {
        self.0.load().keys.iter().map(|key| key.public().clone()).collect()
    }

    /// Returns the number of the period that a moment is in. Decisions are signed anew in each period.
    pub(crate) fn period(&self, now: SystemTime) -> u64 {
        let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        seconds / self.half().as_secs()
    }

    /// A decision holds for one to two periods of half the time that the operator chose.
    fn half(&self) -> Duration {
        (self.0.load().valid_for / 2).max(Duration::from_secs(1))
    }

    /// Signs that content may be loaded; `None` without a key.
    pub(crate) fn sign(&self, admitted: Admitted, now: SystemTime) -> Option<Value> {
        let signing = self.0.load();
        if signing.keys.is_empty() {
            return None;
        }
        let Admitted { content, skills, policy, at, until, provenance } = admitted;
        let end = UNIX_EPOCH + Duration::from_secs((self.period(now) + 2) * self.half().as_secs());
        let until =
            until.map(|at| UNIX_EPOCH + Duration::from_millis(at.as_millis().unsigned_abs()));
        let decision = ContentDecision {
            content,
            skills,
            policy,
            decided_at: UNIX_EPOCH + Duration::from_millis(at.as_millis().unsigned_abs()),
            expires: until.map_or(end, |until| until.min(end)),
            provenance,
        };
        let keys: Vec<&SigningKey> = signing.keys.iter().collect();
        let envelope = Envelope::sign(&decision.statement(), &keys).to_json();
        serde_json::from_str(&envelope).ok()
    }
}

#[cfg(test)]
mod tests {
    use skillwire_attest::{Signature, TrustedSigner};
    use skillwire_core::{Digest, RelPath};

    use super::*;

    fn admitted() -> Admitted {
        let file = (RelPath::skill_file(), Digest::of(b"one"), 3);
        Admitted {
            content: ContentId::of([file]).unwrap(),
            skills: vec![SkillUri::parse("skill://acme/refunds/SKILL.md").unwrap()],
            policy: "published".into(),
            at: Timestamp::from_millis(1_000),
            until: None,
            provenance: BTreeMap::new(),
        }
    }

    fn time(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_decision_is_the_same_within_a_period_and_holds_well_into_the_next() {
        let key = SigningKey::from_seed(&[1; 32]);
        let trusted = [TrustedSigner::key(key.public().clone())];
        let signer = DecisionSigner::new(vec![key], Some(Duration::from_secs(200)));
        let at = |now: u64| signer.sign(admitted(), time(now)).unwrap();
        assert_eq!(at(1_000), at(1_099));
        assert_ne!(at(1_099), at(1_100));
        let envelope = at(1_099).to_string();
        let vouched =
            Signature::parse(envelope.as_bytes()).unwrap().verify(&trusted, time(0)).unwrap();
        let holds = |now: u64| {
            let Admitted { content, skills, .. } = admitted();
            vouched.decision(&skills[0], content, time(now)).is_ok()
        };
        assert!(holds(1_199) && !holds(1_200));
        assert!(DecisionSigner::default().sign(admitted(), time(0)).is_none());
    }
}
