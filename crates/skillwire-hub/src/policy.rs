//! What decides whether a caller sees a skill: facts about the skill, classes of callers, and a policy
//! over both.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use serde::Serialize;

use crate::{
    access::{Action, Caller, Role},
    name::{NamespaceName, SkillId, Subject},
    namespace::Namespace,
};

/// What a policy may ask about one skill as it is served.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct SkillFacts {
    /// The skill; its namespace is that of an upstream, if the skill comes from one.
    pub skill: SkillId,
    /// The state of its version, such as `approved` or `deprecated`.
    pub state: String,
    /// Where it comes from: `hub` for what was published here, else the label of an upstream.
    pub origin: String,
    /// Signers whose signature over exactly its files is valid, as the operator calls them.
    pub signed_by: BTreeSet<String>,
    /// Whether it has files that can be run.
    pub has_scripts: bool,
    /// Whether its content is generated and has no digests.
    pub dynamic: bool,
    /// How bad the worst finding of the scanner is: `none`, `info`, `low`, `medium`, `high`, `critical`,
    /// or `unknown` if it was not scanned.
    pub worst_finding: String,
    /// The days since it was published or approved.
    pub age: u64,
}

impl SkillFacts {
    /// A skill that was published here just now, with nothing that speaks against it.
    pub fn new(skill: SkillId) -> Self {
        Self {
            skill,
            state: "approved".to_owned(),
            origin: "hub".to_owned(),
            signed_by: BTreeSet::new(),
            has_scripts: false,
            dynamic: false,
            worst_finding: "unknown".to_owned(),
            age: 0,
        }
    }
}

/// Callers that no rule tells apart: they see the same skills.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[non_exhaustive]
pub struct CallerClass {
    /// The subject, if the policy names it.
    pub subject: Option<Subject>,
    /// The groups that the policy names, such as `group:payments`.
    pub groups: BTreeSet<Subject>,
    /// The roles in each namespace, as far as the credential allows their use.
    pub roles: BTreeMap<NamespaceName, BTreeSet<Role>>,
    /// The namespaces that the credential is limited to; `None` is every namespace.
    pub limited_to: Option<BTreeSet<NamespaceName>>,
}

impl CallerClass {
    /// Finds the class of a caller; `None` if its credential may not be used for reading at all.
    pub fn of(
        caller: &Caller,
        namespaces: &[Namespace],
        policy: &dyn AccessPolicy,
    ) -> Option<Self> {
        if !caller.scopes.contains(&Action::Read.scope()) {
            return None;
        }
        let covered = |name: &NamespaceName| {
            caller.namespaces.as_ref().is_none_or(|only| only.contains(name))
        };
        let mut roles = BTreeMap::new();
        for namespace in namespaces.iter().filter(|namespace| covered(&namespace.name)) {
            let here: BTreeSet<Role> = caller.roles_in(namespace).collect();
            if !here.is_empty() {
                roles.insert(namespace.name.clone(), here);
            }
        }
        let named = |subject: &&Subject| policy.names(subject);
        Some(Self {
            subject: Some(&caller.subject).filter(named).cloned(),
            groups: caller.groups.iter().filter(named).cloned().collect(),
            roles,
            limited_to: caller.namespaces.clone(),
        })
    }

    /// Whether the credential covers a namespace at all.
    pub fn covers(&self, namespace: &NamespaceName) -> bool {
        self.limited_to.as_ref().is_none_or(|only| only.contains(namespace))
    }

    /// Whether a role lets the class read a namespace.
    pub fn reads_by_role(&self, namespace: &NamespaceName) -> bool {
        let mut roles = self.roles.get(namespace).into_iter().flatten();
        roles.any(|role| role.allows(Action::Read))
    }
}

/// What a policy decided, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyDecision {
    /// Whether the class sees the skill.
    pub allowed: bool,
    /// The rules that decided; none if no rule allowed it.
    pub rules: Vec<String>,
    /// Problems of rules that could not be evaluated, which then do not count.
    pub problems: Vec<String>,
}

/// Decides which classes of callers see which skills.
///
/// A decision may cost a while, so that it is taken once for each class and each group of skills that the
/// policy cannot tell apart, and remembered.
pub trait AccessPolicy: Send + Sync + fmt::Debug {
    /// Whether a rule names this subject or group, so that its callers form a class of their own.
    fn names(&self, subject: &Subject) -> bool;

    /// Whether a rule depends on the age of a skill, so that decisions change by themselves.
    fn depends_on_age(&self) -> bool;

    /// Returns the facts that decisions depend on, as one text: skills with the same text are decided about
    /// alike.
    fn key(&self, facts: &SkillFacts) -> Box<str>;

    /// Whether a class might see a skill of a namespace about which nothing else is known yet.
    fn could_show(&self, class: &CallerClass, namespace: &NamespaceName) -> bool {
        let _ = (class, namespace);
        true
    }

    /// Decides whether a class sees a skill. The credential's limits are checked by the caller.
    fn decide(&self, class: &CallerClass, facts: &SkillFacts) -> PolicyDecision;
}

/// The policy of a hub without rules of its own: roles decide.
#[derive(Debug, Clone, Copy, Default)]
pub struct RolesDecide;

/// The name of the rule that roles are.
pub const ROLES_RULE: &str = "roles";

impl AccessPolicy for RolesDecide {
    fn names(&self, _: &Subject) -> bool {
        false
    }

    fn depends_on_age(&self) -> bool {
        false
    }

    fn key(&self, facts: &SkillFacts) -> Box<str> {
        facts.skill.namespace.as_str().into()
    }

    fn could_show(&self, class: &CallerClass, namespace: &NamespaceName) -> bool {
        class.reads_by_role(namespace)
    }

    fn decide(&self, class: &CallerClass, facts: &SkillFacts) -> PolicyDecision {
        let allowed = class.reads_by_role(&facts.skill.namespace);
        let rules = if allowed { vec![ROLES_RULE.to_owned()] } else { Vec::new() };
        PolicyDecision { allowed, rules, problems: Vec::new() }
    }
}

/// Groups and roles that the configuration gives to subjects, beside those that claims and namespaces give.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfiguredAccess {
    /// The members of each group, which is named `group:NAME`.
    pub groups: BTreeMap<Subject, BTreeSet<Subject>>,
    /// Who has which role in which namespace: subjects, groups, or `*` for everyone.
    pub roles: BTreeMap<NamespaceName, BTreeMap<Role, BTreeSet<Subject>>>,
}

impl ConfiguredAccess {
    /// Sets the members of each group.
    #[must_use]
    pub fn with_groups(self, groups: BTreeMap<Subject, BTreeSet<Subject>>) -> Self {
        Self { groups, ..self }
    }

    /// Says who has which role in which namespace.
    #[must_use]
    pub fn with_roles(
        self,
        roles: BTreeMap<NamespaceName, BTreeMap<Role, BTreeSet<Subject>>>,
    ) -> Self {
        Self { roles, ..self }
    }
}

impl ConfiguredAccess {
    /// Adds the groups and roles of the configuration to a caller.
    #[must_use]
    pub fn apply(&self, mut caller: Caller) -> Caller {
        let of_config = self.groups.iter().filter(|(_, members)| members.contains(&caller.subject));
        let groups: Vec<Subject> = of_config.map(|(group, _)| group.clone()).collect();
        caller.groups.extend(groups);
        for (namespace, roles) in &self.roles {
            for (role, who) in roles {
                let is_meant = who.contains(&Subject::everyone())
                    || (!caller.subject.is_group() && who.contains(&caller.subject))
                    || caller.groups.iter().any(|group| who.contains(group));
                if is_meant {
                    caller = caller.with_role(namespace.clone(), *role);
                }
            }
        }
        caller
    }
}

/// A shared policy.
pub type SharedPolicy = Arc<dyn AccessPolicy>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;

    fn subject(text: &str) -> Subject {
        text.parse().unwrap()
    }

    fn namespaces() -> Vec<Namespace> {
        let mut acme = Namespace::new("acme".parse().unwrap());
        acme.grant(subject("group:payments"), Role::Reader);
        vec![acme, Namespace::new("beta".parse().unwrap())]
    }

    #[test]
    fn callers_that_no_rule_tells_apart_are_one_class() {
        let all = namespaces();
        let class = |caller: &Caller| CallerClass::of(caller, &all, &RolesDecide);
        let ana = Caller::new(subject("ana")).in_groups([subject("group:payments")]);
        let bea = Caller::new(subject("bea"))
            .in_groups([subject("group:payments"), subject("group:other")]);
        assert_eq!(class(&ana), class(&bea));
        assert_ne!(class(&ana), class(&Caller::new(subject("eve"))));
        assert_ne!(class(&ana), class(&ana.clone().limited_to(["beta".parse().unwrap()])));
        assert_eq!(class(&ana.clone().with_scopes([Scope::Publish])), None);
        let refunds = SkillFacts::new("acme/refunds".parse().unwrap());
        let decided = |caller: &Caller| RolesDecide.decide(&class(caller).unwrap(), &refunds);
        assert_eq!(decided(&ana).rules, [ROLES_RULE]);
        assert!(!decided(&Caller::new(subject("eve"))).allowed);
        assert!(!decided(&ana.limited_to(["beta".parse().unwrap()])).allowed);
    }

    #[test]
    fn the_configuration_gives_groups_and_roles() {
        let payments = subject("group:payments");
        let access = ConfiguredAccess {
            groups: [(payments.clone(), [subject("ana")].into())].into(),
            roles: [(
                "beta".parse().unwrap(),
                [
                    (Role::Publisher, [payments].into()),
                    (Role::Reader, [Subject::everyone()].into()),
                ]
                .into(),
            )]
            .into(),
        };
        let [_, beta] = &namespaces()[..] else { panic!() };
        let ana = access.apply(Caller::new(subject("ana")));
        assert!(ana.may(Action::Publish, beta));
        let eve = access.apply(Caller::new(subject("eve")));
        assert!(eve.may(Action::Read, beta) && !eve.may(Action::Publish, beta));
    }

    #[test]
    fn a_subject_that_calls_itself_a_group_is_not_in_it() {
        let all = namespaces();
        let impostor = Caller::new(subject("group:payments"));
        assert!(!impostor.may(Action::Read, &all[0]));
        let access = ConfiguredAccess {
            groups: BTreeMap::new(),
            roles: [(
                "beta".parse().unwrap(),
                [(Role::Owner, [subject("group:payments")].into())].into(),
            )]
            .into(),
        };
        assert!(!access.apply(impostor).may(Action::Read, &all[1]));
    }
}
