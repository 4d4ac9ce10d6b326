//! An issuer whose tokens admit callers, and what its claims mean.

use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Map, Value};

use crate::{
    algorithm::Algorithm,
    code_flow::SignInClient,
    issuer_keys::{IssuerKeys, IssuerPlace, KeysUnavailable},
    token::{Expected, InvalidJwt, UnverifiedJwt},
};

/// The most groups of one token.
const MAX_GROUPS: usize = 1_000;

/// A claim, which may lie inside others: `realm_access.roles`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPath(Vec<String>);

impl ClaimPath {
    /// Parses names with dots between them. A claim whose own name has a dot, such as
    /// `https://example.com/groups`, is found as a whole first.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<String> = text.split('.').map(str::to_owned).collect();
        let usable = text.len() <= 200 && parts.iter().all(|part| !part.is_empty());
        usable.then_some(Self(parts))
    }

    fn find<'a>(&self, claims: &'a Map<String, Value>) -> Option<&'a Value> {
        if let Some(whole) = claims.get(&self.0.join(".")) {
            return Some(whole);
        }
        let (first, rest) = self.0.split_first()?;
        rest.iter().try_fold(claims.get(first)?, |value, name| value.get(name))
    }
}

/// What tokens of an issuer must say, and what their claims mean.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IssuerRules {
    /// The issuer, compared to the byte.
    pub issuer: String,
    /// Audiences that are accepted besides the address of the endpoint itself.
    pub audiences: Vec<String>,
    /// The algorithms that are accepted.
    pub algorithms: BTreeSet<Algorithm>,
    /// The claim that names the caller.
    pub subject: ClaimPath,
    /// The claim that names the caller's groups: a list, or names with spaces between them.
    pub groups: ClaimPath,
    /// A scope that tokens must have.
    pub required_scope: Option<String>,
    /// The program in whose name users sign in there, if they do.
    pub client: Option<SignInClient>,
}

impl IssuerRules {
    /// The usual claims, `sub` and `groups`, and every algorithm.
    pub fn new(issuer: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            audiences: Vec::new(),
            algorithms: Algorithm::ALL.into(),
            subject: ClaimPath(vec!["sub".to_owned()]),
            groups: ClaimPath(vec!["groups".to_owned()]),
            required_scope: None,
            client: None,
        }
    }

    /// Accepts audiences besides the address of the endpoint.
    #[must_use]
    pub fn with_audiences(mut self, audiences: impl IntoIterator<Item = String>) -> Self {
        self.audiences = audiences.into_iter().collect();
        self
    }
}

/// A caller, as a valid token names it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenCaller {
    /// Who it is.
    pub subject: String,
    /// The groups that the issuer puts it into.
    pub groups: BTreeSet<String>,
    /// When the token ends.
    pub expires: SystemTime,
}

impl TokenCaller {
    /// A caller for tests of programs that use this crate; no token names it.
    #[doc(hidden)]
    pub fn for_tests(subject: &str, groups: impl IntoIterator<Item = String>) -> Self {
        let groups = groups.into_iter().collect();
        Self { subject: subject.to_owned(), groups, expires: UNIX_EPOCH }
    }
}

/// Why a token is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotAdmitted {
    /// The token is not valid here.
    #[error(transparent)]
    Invalid(#[from] InvalidJwt),
    /// The token has no usable claim that names its caller.
    #[error("the token does not name its caller")]
    Nameless,
    /// The token lacks a scope.
    #[error("the token lacks the scope `{0}`")]
    Scope(String),
    /// The keys of the issuer cannot be had now.
    #[error("the keys of the issuer cannot be had now")]
    Unavailable(#[from] KeysUnavailable),
}

/// An issuer whose tokens admit callers.
#[derive(Debug)]
pub struct TrustedIssuer {
    rules: IssuerRules,
    keys: IssuerKeys,
}

impl TrustedIssuer {
    /// Trusts an issuer that the operator chose, which may be on a private network.
    pub fn new(rules: IssuerRules) -> Self {
        let keys = IssuerKeys::new(&rules.issuer, IssuerPlace::Anywhere);
        Self { rules, keys }
    }

    /// Returns the rules.
    pub fn rules(&self) -> &IssuerRules {
        &self.rules
    }

    /// Checks a token that is meant for `resource`, and returns its caller.
    pub async fn admit(
        &self,
        token: &str,
        resource: &str,
        now: SystemTime,
    ) -> Result<TokenCaller, NotAdmitted> {
        let audiences: Vec<&str> =
            self.rules.audiences.iter().map(String::as_str).chain([resource]).collect();
        let claims = self.claims(token, &audiences, now).await?;
        self.caller(&claims)
    }

    /// Checks a token that is meant for one of some audiences, and returns its claims.
    pub(crate) async fn claims(
        &self,
        token: &str,
        audiences: &[&str],
        now: SystemTime,
    ) -> Result<Map<String, Value>, NotAdmitted> {
        let expected = Expected {
            issuer: &self.rules.issuer,
            audiences,
            algorithms: &self.rules.algorithms,
            now,
        };
        // The issuer and the algorithm are looked at first: a token of another issuer must not make the
        // hub ask for keys.
        let read = UnverifiedJwt::read(token)?;
        read.could_be(expected)?;
        let keys = self.keys.keys(false).await?;
        match read.verify(&keys, expected) {
            // The issuer may have a new key.
            Err(InvalidJwt::UnknownKey) => {
                let keys = self.keys.keys(true).await?;
                Ok(UnverifiedJwt::read(token)?.verify(&keys, expected)?)
            }
            checked => Ok(checked?),
        }
    }

    fn caller(&self, claims: &Map<String, Value>) -> Result<TokenCaller, NotAdmitted> {
        if let Some(scope) = &self.rules.required_scope
            && !scopes(claims).any(|has| has == *scope)
        {
            return Err(NotAdmitted::Scope(scope.clone()));
        }
        self.named(claims)
    }

    /// Returns the caller that claims name.
    pub(crate) fn named(&self, claims: &Map<String, Value>) -> Result<TokenCaller, NotAdmitted> {
        let subject = self.rules.subject.find(claims).and_then(Value::as_str);
        let subject = subject.filter(|text| !text.is_empty()).ok_or(NotAdmitted::Nameless)?;
        let groups = self.rules.groups.find(claims).map(words).unwrap_or_default();
        let seconds = claims.get("exp").and_then(Value::as_u64).ok_or(InvalidJwt::Time)?;
        Ok(TokenCaller {
            subject: subject.to_owned(),
            groups: groups.into_iter().take(MAX_GROUPS).collect(),
            expires: UNIX_EPOCH + Duration::from_secs(seconds),
        })
    }
}

/// The scopes of a token: `scope` with spaces between them, or a list.
fn scopes(claims: &Map<String, Value>) -> impl Iterator<Item = String> {
    let found = ["scope", "scp"].into_iter().filter_map(|name| claims.get(name));
    found.flat_map(words).collect::<Vec<_>>().into_iter()
}

/// The words of a claim: a text with spaces between them, or a list of texts.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => text.split_whitespace().map(str::to_owned).collect(),
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn caller(rules: IssuerRules, claims: &Value) -> Result<TokenCaller, String> {
        let issuer = TrustedIssuer::new(rules);
        issuer.caller(claims.as_object().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn claims_name_the_caller_and_its_groups_as_the_operator_configured() {
        let mut rules = IssuerRules::new("https://login.example");
        let claims = json!({"sub": "u1", "email": "ana@example.com", "exp": 1_000,
            "groups": ["payments", 7, "sales"], "realm_access": {"roles": ["admin"]},
            "https://example.com/teams": "red blue"});
        let found = caller(rules.clone(), &claims).unwrap();
        assert_eq!(found.subject, "u1");
        assert_eq!(found.groups, ["payments".to_owned(), "sales".to_owned()].into());
        rules.subject = ClaimPath::parse("email").unwrap();
        rules.groups = ClaimPath::parse("realm_access.roles").unwrap();
        let found = caller(rules.clone(), &claims).unwrap();
        assert_eq!(
            (found.subject.as_str(), found.groups),
            ("ana@example.com", ["admin".to_owned()].into())
        );
        rules.groups = ClaimPath::parse("https://example.com/teams").unwrap();
        let found = caller(rules.clone(), &claims).unwrap();
        assert_eq!(found.groups, ["blue".to_owned(), "red".to_owned()].into());
        rules.subject = ClaimPath::parse("name").unwrap();
        assert_eq!(
            caller(rules.clone(), &claims).unwrap_err(),
            "the token does not name its caller"
        );
        rules.subject = ClaimPath::parse("groups").unwrap();
        assert!(caller(rules, &claims).is_err(), "a list names no caller");
    }

    #[test]
    fn a_required_scope_must_be_there() {
        let mut rules = IssuerRules::new("https://login.example");
        rules.required_scope = Some("skills".to_owned());
        let claims = |scope: Value| json!({"sub": "u1", "exp": 1_000, "scope": scope});
        assert!(caller(rules.clone(), &claims("openid skills".into())).is_ok());
        assert!(caller(rules.clone(), &claims(json!(["skills"]))).is_ok());
        let refused = caller(rules, &claims("openid skills2".into())).unwrap_err();
        assert_eq!(refused, "the token lacks the scope `skills`");
    }
}
