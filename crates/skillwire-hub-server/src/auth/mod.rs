//! Who sends a request: the holder of a token, a workflow of CI, or the operator of this machine.

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use http::{HeaderMap, header};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use skillwire_hub::{Caller, Provenance, Role, Scope, TokenSecret};
use skillwire_hub_store::HubStore;

use skillwire_hub_replica::{AccessHandle, IssuerRefusal};
use skillwire_jwt::{
    Algorithm, Expected, InvalidJwt, IssuerKeys, IssuerPlace, KeysUnavailable, UnverifiedJwt,
    may_be_asked,
};
use skillwire_server::http::{ProtectedResource, TokenRefusal};

use crate::api::{Problem, ProblemKind};

/// The most issuers whose keys are kept.
const MAX_ISSUERS: usize = 100;

/// A caller, and what vouches for it.
#[derive(Debug, Clone)]
pub(crate) struct Authenticated {
    pub(crate) caller: Caller,
    pub(crate) provenance: Provenance,
    /// Whether it came from a program with access to the hub's own files.
    local: bool,
}

impl Authenticated {
    /// Whether the sender is a program with access to the hub's own files.
    pub(crate) fn is_operator(&self) -> bool {
        self.local
    }
}

/// Marks a request that comes from a program with access to the hub's own files; the API treats its
/// sender as an administrator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalOperator;

/// Finds out who sends a request.
pub(crate) struct Authenticator {
    store: HubStore,
    /// What tokens of CI must be meant for.
    audience: String,
    /// Issuers that may be on a private network, because the operator named them.
    private_issuers: Vec<String>,
    /// What the operator configured about callers.
    access: AccessHandle,
    /// The address of the API, which tokens of issuers must be meant for.
    resource: ProtectedResource,
    issuers: Mutex<BTreeMap<String, Arc<IssuerKeys>>>,
}

impl Authenticator {
    pub(crate) fn new(
        store: HubStore,
        audience: String,
        private_issuers: Vec<String>,
        access: AccessHandle,
        resource: ProtectedResource,
    ) -> Self {
        Self { store, audience, private_issuers, access, resource, issuers: Mutex::default() }
    }

    /// Refuses an issuer whose documents the hub would never ask for.
    pub(crate) fn check_issuer(&self, issuer: &str) -> Result<(), Problem> {
        if may_be_asked(issuer, self.place(issuer)) {
            return Ok(());
        }
        Err(ProblemKind::Malformed.because(
            "An issuer must have an `https` address of the public internet. The operator of the hub can allow \
             others with `private-issuers` in `hub.toml`.",
        ))
    }

    fn place(&self, issuer: &str) -> IssuerPlace {
        let named = self.private_issuers.iter().any(|named| named == issuer);
        if named { IssuerPlace::Anywhere } else { IssuerPlace::Public }
    }

    /// Returns the sender of a request; one without a credential is anonymous.
    pub(crate) async fn authenticate(
        &self,
        headers: &HeaderMap,
        local: bool,
    ) -> Result<Authenticated, Problem> {
        if local {
            let subject = "operator".parse().map_err(internal)?;
            let provenance = Provenance { method: Some("local".into()), ..Provenance::default() };
            let caller = Caller::administrator(subject);
            return Ok(Authenticated { caller, provenance, local: true });
        }
        let Some(token) = bearer(headers)? else {
            let caller = self.access.now().apply(Caller::anonymous());
            return Ok(Authenticated { caller, provenance: Provenance::default(), local: false });
        };
        if let Ok(secret) = token.parse::<TokenSecret>() {
            let record = self.store.authenticate(&secret).await?;
            let record = record.ok_or_else(|| {
                ProblemKind::Unauthorized.because("The token is unknown, expired or revoked.")
            })?;
            let access = self.access.now();
            if access.blocked.contains(&record.subject) {
                return Err(
                    ProblemKind::Unauthorized.because("The caller of the token is not admitted.")
                );
            }
            let provenance = Provenance { method: Some("token".into()), ..Provenance::default() };
            return Ok(Authenticated {
                caller: access.apply(record.caller()),
                provenance,
                local: false,
            });
        }
        match self.of_issuer(token, headers).await? {
            Some(authenticated) => Ok(authenticated),
            None => self.workflow(token).await,
        }
    }

    /// Authenticates a user by the token of a configured issuer; `None` if another issuer issued it.
    async fn of_issuer(
        &self,
        token: &str,
        headers: &HeaderMap,
    ) -> Result<Option<Authenticated>, Problem> {
        let resource = self.resource.resource(headers).unwrap_or_default();
        let refused = match self.access.admit(token, &resource).await {
            Ok((caller, _)) => {
                let provenance =
                    Provenance { method: Some("oauth".into()), ..Provenance::default() };
                return Ok(Some(Authenticated { caller, provenance, local: false }));
            }
            Err(IssuerRefusal::OtherIssuer) => return Ok(None),
            Err(refused) => refused,
        };
        Err(match TokenRefusal::from(refused) {
            TokenRefusal::Scope(detail) => ProblemKind::Forbidden.because(detail),
            TokenRefusal::Unavailable(detail) => ProblemKind::Unavailable.because(detail),
            TokenRefusal::Invalid(detail) => ProblemKind::Unauthorized.because(detail),
            _ => ProblemKind::Unauthorized.because("The token is not valid."),
        })
    }

    /// Authenticates a workflow of CI by the token of its identity provider.
    async fn workflow(&self, token: &str) -> Result<Authenticated, Problem> {
        let jwt = UnverifiedJwt::read(token).map_err(unauthorized)?;
        let issuer = jwt.issuer().to_owned();
        // Trust boundary: only issuers that an owner of a namespace named are ever asked for keys.
        let publishers = self.store.trusted_publishers_of(&issuer).await?;
        if publishers.is_empty() {
            return Err(unauthorized(InvalidJwt::Issuer(issuer)));
        }
        let claims = self.verified(token, jwt, &issuer).await?;
        let meant: Vec<_> = publishers
            .into_iter()
            .filter(|publisher| publisher.matches(&issuer, &claims))
            .collect();
        let Some(first) = meant.first() else {
            let detail = "The token is valid, but no namespace trusts a workflow with its claims.";
            return Err(ProblemKind::Unauthorized.because(detail));
        };
        let mut caller = Caller::new(first.subject.clone())
            .with_scopes([Scope::Read, Scope::Publish])
            .limited_to(meant.iter().map(|publisher| publisher.namespace.clone()));
        for publisher in &meant {
            caller = caller.with_role(publisher.namespace.clone(), Role::Publisher);
        }
        Ok(Authenticated { caller, provenance: provenance(&claims), local: false })
    }

    async fn verified(
        &self,
        token: &str,
        jwt: UnverifiedJwt<'_>,
        issuer: &str,
    ) -> Result<Map<String, Value>, Problem> {
        let unavailable = |error: KeysUnavailable| {
            tracing::warn!(issuer, %error, "the keys of an issuer cannot be had");
            ProblemKind::Unavailable
                .because("The keys of the token's issuer cannot be fetched now.")
        };
        let algorithms = Algorithm::ALL.into();
        let audiences = [self.audience.as_str()];
        let expected = Expected::new(issuer, &audiences, &algorithms, SystemTime::now());
        let known = self.issuer(issuer)?;
        let keys = known.keys(false).await.map_err(unavailable)?;
        match jwt.verify(&keys, expected) {
            // The issuer may have a new key.
            Err(InvalidJwt::UnknownKey) => {
                let keys = known.keys(true).await.map_err(unavailable)?;
                let again = UnverifiedJwt::read(token).and_then(|jwt| jwt.verify(&keys, expected));
                again.map_err(unauthorized)
            }
            checked => checked.map_err(unauthorized),
        }
    }

    fn issuer(&self, issuer: &str) -> Result<Arc<IssuerKeys>, Problem> {
        let mut issuers = self.issuers.lock();
        if let Some(known) = issuers.get(issuer) {
            return Ok(Arc::clone(known));
        }
        if issuers.len() >= MAX_ISSUERS {
            return Err(ProblemKind::Unavailable.because("The hub knows too many issuers."));
        }
        let known = Arc::new(IssuerKeys::new(issuer, self.place(issuer)));
        issuers.insert(issuer.to_owned(), Arc::clone(&known));
        Ok(known)
    }
}

/// The token in the header of a request.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let malformed = || ProblemKind::Unauthorized.because("`Authorization` must be `Bearer TOKEN`.");
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(malformed());
    }
    let (scheme, token) =
        value.to_str().ok().and_then(|value| value.split_once(' ')).ok_or_else(malformed)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(Some(token.trim())) } else { Err(malformed()) }
}

/// What the claims of the usual providers say about where a publication comes from.
fn provenance(claims: &Map<String, Value>) -> Provenance {
    let first = |names: &[&str]| {
        let texts = names.iter().filter_map(|name| claims.get(*name)?.as_str());
        texts.map(|text| text.chars().take(500).collect()).next()
    };
    Provenance {
        method: Some("oidc".to_owned()),
        source: first(&["repository", "project_path"]),
        revision: first(&["sha"]),
        workflow: first(&["workflow_ref", "job_workflow_ref", "ci_config_ref_uri"]),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
fn unauthorized(error: InvalidJwt) -> Problem {
    let mut detail = error.to_string();
    if let Some(first) = detail.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    ProblemKind::Unauthorized.because(format!("{detail}."))
}

fn internal(error: impl std::fmt::Display) -> Problem {
    tracing::error!(%error, "a request failed");
    ProblemKind::Internal.because("The hub failed; its log says why.")
}
