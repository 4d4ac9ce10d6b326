//! Trusted publishing: claims of a workflow that stand for a publisher of a namespace.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::name::{NamespaceName, Subject};

/// What a claim must be: one text, or a beginning followed by `*`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClaimPattern(pub String);

impl ClaimPattern {
    /// Whether a claim's value is meant.
    pub fn matches(&self, value: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(beginning) => value.starts_with(beginning),
            None => value == self.0,
        }
    }
}

/// Workflows of one issuer that may publish into one namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedPublisher {
    /// Its number.
    pub id: u64,
    /// The namespace it may publish into.
    pub namespace: NamespaceName,
    /// The issuer of the tokens, compared to the byte.
    pub issuer: String,
    /// What each claim must be: repository, ref, workflow. All must match, and at least one is needed.
    pub claims: BTreeMap<String, ClaimPattern>,
    /// Who acts when it publishes.
    pub subject: Subject,
}

impl TrustedPublisher {
    /// Whether verified claims of a token are meant. Claims that are no texts never match.
    pub fn matches(
        &self,
        issuer: &str,
        claims: &serde_json::Map<String, serde_json::Value>,
    ) -> bool {
        let meant = |(name, pattern): (&String, &ClaimPattern)| {
            let value = claims.get(name).and_then(serde_json::Value::as_str);
            value.is_some_and(|value| pattern.matches(value))
        };
        self.issuer == issuer && !self.claims.is_empty() && self.claims.iter().all(meant)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn every_claim_must_match_and_none_at_all_matches_nothing() {
        let claims: Map<_, _> =
            [("repository", json!("acme/skills")), ("ref", json!("refs/heads/main"))]
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
        let mut publisher = TrustedPublisher {
            id: 1,
            namespace: "acme".parse().unwrap(),
            issuer: "https://issuer.example".into(),
            claims: BTreeMap::new(),
            subject: "ci@acme".parse().unwrap(),
        };
        assert!(!publisher.matches("https://issuer.example", &claims));
        publisher.claims.insert("repository".into(), ClaimPattern("acme/skills".into()));
        publisher.claims.insert("ref".into(), ClaimPattern("refs/heads/*".into()));
        assert!(publisher.matches("https://issuer.example", &claims));
        assert!(!publisher.matches("https://other.example", &claims));
        publisher.claims.insert("environment".into(), ClaimPattern("*".into()));
        assert!(!publisher.matches("https://issuer.example", &claims));
    }
}
