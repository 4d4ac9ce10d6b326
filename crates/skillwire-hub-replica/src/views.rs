//! What each caller of a hub sees, before a channel turns it into skills.

use std::sync::Arc;

use skillwire_core::Digest;
use skillwire_hub::{Action, Caller, CallerClass, Namespace, Timestamp, TokenHash, TokenRecord};

use crate::access::{AccessHandle, HubAccess};

/// What a caller sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerSight {
    /// Everything: it operates the hub.
    Everything,
    /// What its class sees.
    Class(CallerClass),
    /// Nothing: its credential is not for reading.
    Nothing,
}

impl CallerSight {
    /// Finds out what a caller sees; the configuration was applied to it before.
    pub fn of(caller: &Caller, namespaces: &[Namespace], access: &HubAccess) -> Self {
        if caller.require_administrator(Action::Operate).is_ok() {
            return Self::Everything;
        }
        CallerClass::of(caller, namespaces, &*access.policy).map_or(Self::Nothing, Self::Class)
    }
}

/// The callers of a hub at one moment.
#[derive(Debug)]
pub(crate) struct CallerViews {
    /// The name of each caller with a token of the hub, the digest of its token, and what it sees.
    pub(crate) tokens: Vec<(String, Digest, CallerSight)>,
    /// What callers without a token see.
    pub(crate) public: CallerSight,
    /// When the first of these tokens ends, so that the table has to be made again.
    pub(crate) next_end: Option<Timestamp>,
    pub(crate) namespaces: Arc<[Namespace]>,
    pub(crate) access: AccessHandle,
}

impl CallerViews {
    pub(crate) fn new(
        tokens: &[(TokenRecord, TokenHash)],
        namespaces: Vec<Namespace>,
        now: Timestamp,
        handle: &AccessHandle,
    ) -> Self {
        let access = handle.now();
        let valid = tokens.iter().filter(|(record, _)| {
            record.is_valid(now) && !access.blocked.contains(&record.subject)
        });
        let next_end = valid.clone().filter_map(|(record, _)| record.expires_at).min();
        let sight = |caller: Caller| CallerSight::of(&access.apply(caller), &namespaces, &access);
        let mut callers: Vec<_> = valid
            .map(|(record, hash)| {
                // The name is shown in logs; the number tells two tokens of one subject apart.
                let name = format!("{}#{}", record.subject, record.id);
                let digest = Digest::from_bytes(*hash.digest().as_bytes());
                (name, digest, sight(record.caller()))
            })
            .collect();
        let anonymous = access.apply(Caller::anonymous());
        let public = sight(Caller::anonymous());
        // Where nothing is public, a caller without a token is asked for one.
        if namespaces.iter().any(|namespace| anonymous.may(Action::Read, namespace)) {
            callers.push(("anonymous".to_owned(), Digest::of(b""), public.clone()));
        }
        let (namespaces, access) = (namespaces.into(), handle.clone());
        Self { tokens: callers, public, next_end, namespaces, access }
    }

    /// What a caller of an issuer sees that was admitted before; `None` if it would not be any more.
    pub(crate) fn verified(&self, name: &str) -> Option<CallerSight> {
        let caller = self.access.known(name)?;
        Some(CallerSight::of(&caller, &self.namespaces, &self.access.now()))
    }
}

#[cfg(test)]
mod tests {
    use skillwire_hub::{Role, Scope, SkillFacts, Subject};

    use super::*;

    fn namespaces() -> Vec<Namespace> {
        let mut acme = Namespace::new("acme".parse().unwrap());
        acme.grant("ana".parse().unwrap(), Role::Reader);
        let mut open = Namespace::new("open".parse().unwrap());
        open.grant(Subject::everyone(), Role::Reader);
        vec![acme, open, Namespace::new("secret".parse().unwrap())]
    }

    #[test]
    fn a_caller_sees_the_namespaces_that_it_may_read() {
        let (all, access) = (namespaces(), HubAccess::default());
        let shows = |caller: &Caller, skill: &str| match CallerSight::of(caller, &all, &access) {
            CallerSight::Everything => true,
            CallerSight::Nothing => false,
            CallerSight::Class(class) => {
                let facts = SkillFacts::new(skill.parse().unwrap());
                class.covers(&facts.skill.namespace) && access.policy.decide(&class, &facts).allowed
            }
        };
        let ana = Caller::new("ana".parse().unwrap());
        for (skill, ana_sees, public) in
            [("acme/refunds", true, false), ("open/x", true, true), ("secret/x", false, false)]
        {
            assert_eq!(shows(&ana, skill), ana_sees, "{skill}");
            assert_eq!(shows(&Caller::anonymous(), skill), public, "{skill}");
        }
        let limited = ana.clone().limited_to(["open".parse().unwrap()]);
        assert!(!shows(&limited, "acme/refunds"));
        assert!(!shows(&ana.with_scopes([Scope::Publish]), "acme/refunds"));
        let admin = Caller::administrator("root".parse().unwrap());
        assert!(shows(&admin, "secret/x"));
        assert!(!shows(&admin.limited_to(["open".parse().unwrap()]), "secret/x"));
    }
}
