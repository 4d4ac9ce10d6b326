//! Who is admitted and what decides, as the operator configured it; replaced while the hub runs.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::SystemTime,
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use skillwire_hub::{Caller, ConfiguredAccess, RolesDecide, Scope, SharedPolicy, Subject};
use skillwire_jwt::{NotAdmitted, TokenCaller, TrustedIssuer, UnverifiedJwt};

/// The most classes of callers, each of which has a view of its own, unless the operator says otherwise.
const MOST_CLASSES: usize = 200;

/// The most callers of issuers that are remembered by name.
const MOST_CALLERS: usize = 20_000;

/// What the operator configured about callers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HubAccess {
    /// Groups and roles of subjects.
    pub configured: ConfiguredAccess,
    /// Subjects and groups that administer the hub with tokens of an issuer.
    pub administrators: BTreeSet<Subject>,
    /// Subjects that are not admitted, whatever their tokens say.
    pub blocked: BTreeSet<Subject>,
    /// The issuers whose tokens admit callers.
    pub issuers: Vec<Arc<TrustedIssuer>>,
    /// What decides which callers see which skills.
    pub policy: SharedPolicy,
    /// The most classes of callers.
    pub most_classes: usize,
}

impl Default for HubAccess {
    fn default() -> Self {
        Self {
            configured: ConfiguredAccess::default(),
            administrators: BTreeSet::new(),
            blocked: BTreeSet::new(),
            issuers: Vec::new(),
            policy: Arc::new(RolesDecide),
            most_classes: MOST_CLASSES,
        }
    }
}

impl HubAccess {
    /// Returns the issuers whose tokens admit callers.
    pub(crate) fn issuer_names(&self) -> Vec<String> {
        self.issuers.iter().map(|issuer| issuer.rules().issuer.clone()).collect()
    }

    /// Returns a caller with the groups and roles of the configuration.
    pub fn apply(&self, caller: Caller) -> Caller {
        self.configured.apply(caller)
    }

    /// Returns the caller that a token of an issuer names; `None` if it is blocked, or is no subject.
    pub fn caller(&self, token: &TokenCaller) -> Option<Caller> {
        let subject = Subject::parse(&token.subject).ok()?;
        // Trust boundary: a subject must stand neither for a group nor for everyone.
        if subject.is_group() || subject == Subject::everyone() || self.blocked.contains(&subject) {
            return None;
        }
        let groups: Vec<Subject> =
            token.groups.iter().filter_map(|group| Subject::group(group).ok()).collect();
        if groups.iter().any(|group| self.blocked.contains(group)) {
            return None;
        }
        Some(self.admit(Caller::new(subject).in_groups(groups)))
    }

    /// Returns a caller of an issuer with what the configuration gives it: groups, roles, and whether it
    /// administers the hub.
    pub fn admit(&self, caller: Caller) -> Caller {
        let mut caller = self.apply(caller);
        let is_named = |name: &Subject| self.administrators.contains(name);
        if is_named(&caller.subject) || caller.groups.iter().any(is_named) {
            caller.administrator = true;
            caller.scopes.insert(Scope::Admin);
        }
        caller
    }
}

/// Why a token of an issuer is refused.
#[derive(Debug)]
pub enum IssuerRefusal {
    /// No configured issuer issued it.
    OtherIssuer,
    /// The token, or the issuer, is not usable.
    NotAdmitted(NotAdmitted),
    /// The operator blocked the subject, or its name cannot be used.
    Blocked,
}

/// The configuration about callers, which is replaced while the hub runs; clones share it.
#[derive(Debug, Clone, Default)]
pub struct AccessHandle(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    current: ArcSwap<HubAccess>,
    /// What tokens said about callers of issuers, by their names, to decide again when roles change.
    callers: Mutex<HashMap<String, TokenCaller>>,
}

impl AccessHandle {
    /// Shares a configuration.
    pub fn new(access: HubAccess) -> Self {
        Self(Arc::new(Shared { current: ArcSwap::from_pointee(access), callers: Mutex::default() }))
    }

    /// Returns the configuration as it is now.
    pub fn now(&self) -> Arc<HubAccess> {
        self.0.current.load_full()
    }

    /// Replaces the configuration; the keys of issuers that stay are kept. The hub that serves with this
    /// handle has to be told to look at it.
    pub fn replace(&self, mut access: HubAccess) {
        let before = self.now();
        for issuer in &mut access.issuers {
            let known = before.issuers.iter().find(|old| old.rules() == issuer.rules());
            if let Some(known) = known {
                *issuer = Arc::clone(known);
            }
        }
        self.0.current.store(Arc::new(access));
    }

    /// Checks a token of a configured issuer, and returns what it says about its caller.
    pub async fn verify(&self, token: &str, resource: &str) -> Result<TokenCaller, IssuerRefusal> {
        let access = self.now();
        let read =
            UnverifiedJwt::read(token).map_err(|error| IssuerRefusal::NotAdmitted(error.into()))?;
        let named = read.issuer();
        let issuer = access.issuers.iter().find(|issuer| issuer.rules().issuer == named);
        let issuer = issuer.ok_or(IssuerRefusal::OtherIssuer)?;
        let admitted = issuer.admit(token, resource, SystemTime::now()).await;
        admitted.map_err(IssuerRefusal::NotAdmitted)
    }

    /// Admits the caller of a token of a configured issuer.
    pub async fn admit(
        &self,
        token: &str,
        resource: &str,
    ) -> Result<(Caller, SystemTime), IssuerRefusal> {
        let admitted = self.verify(token, resource).await?;
        // The configuration is looked at again: the subject may have been blocked while keys were fetched.
        let caller = self.now().caller(&admitted).ok_or(IssuerRefusal::Blocked)?;
        let expires = admitted.expires;
        let mut callers = self.0.callers.lock();
        if callers.len() >= MOST_CALLERS {
            callers.clear();
        }
        callers.insert(caller.subject.to_string(), admitted);
        Ok((caller, expires))
    }

    /// Returns a caller of an issuer that was admitted before, by the configuration of now.
    pub(crate) fn known(&self, name: &str) -> Option<Caller> {
        let token = self.0.callers.lock().get(name).cloned()?;
        self.now().caller(&token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(subject: &str, groups: &[&str]) -> TokenCaller {
        // Only this crate's tests need one without a token.
        let groups = groups.iter().map(|group| (*group).to_owned());
        TokenCaller::for_tests(subject, groups)
    }

    #[test]
    fn blocked_subjects_and_names_that_stand_for_others_are_not_admitted() {
        let access = HubAccess {
            blocked: ["eve".parse().unwrap(), "group:left".parse().unwrap()].into(),
            administrators: ["group:platform".parse().unwrap()].into(),
            ..HubAccess::default()
        };
        let caller = |subject: &str, groups: &[&str]| access.caller(&token(subject, groups));
        let ana = caller("ana", &["payments"]).unwrap();
        assert!(!ana.administrator && ana.groups.contains(&"group:payments".parse().unwrap()));
        for (subject, groups) in [
            ("eve", &[][..]),
            ("bob", &["left"]),
            ("group:payments", &[]),
            ("*", &[]),
            ("a b", &[]),
        ] {
            assert!(caller(subject, groups).is_none(), "{subject}");
        }
        let root = caller("root", &["platform"]).unwrap();
        assert!(root.administrator && root.scopes.contains(&Scope::Admin));
    }
}
