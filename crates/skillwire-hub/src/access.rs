//! Who may do what: roles in a namespace, scopes of a credential, and administrators.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use crate::{
    name::{NamespaceName, Subject},
    namespace::Namespace,
    refusal::Refusal,
};

/// What a caller wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// See a namespace, its skills and their files.
    Read,
    /// Publish versions.
    Publish,
    /// Move channels.
    Promote,
    /// Deprecate and yank versions, and take that back.
    Withdraw,
    /// Approve, reject and reopen versions that wait.
    Review,
    /// Revoke versions.
    Revoke,
    /// Grant roles, and change what the namespace requires.
    ManageNamespace,
    /// Create namespaces, protect them and set their quotas.
    ManageHub,
    /// Create and revoke tokens of others.
    ManageTokens,
    /// Search the audit log of the whole hub.
    ReadAudit,
    /// Collect garbage, back up, purge and revoke content everywhere.
    Operate,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 11] = [
        Self::Read,
        Self::Publish,
        Self::Promote,
        Self::Withdraw,
        Self::Review,
        Self::Revoke,
        Self::ManageNamespace,
        Self::ManageHub,
        Self::ManageTokens,
        Self::ReadAudit,
        Self::Operate,
    ];

    /// Returns the scope that a credential needs for it.
    pub fn scope(self) -> Scope {
        match self {
            Self::Read => Scope::Read,
            Self::Publish | Self::Promote | Self::Withdraw => Scope::Publish,
            Self::Review | Self::Revoke => Scope::Review,
            Self::ManageNamespace => Scope::Manage,
            Self::ManageHub | Self::ManageTokens | Self::ReadAudit | Self::Operate => Scope::Admin,
        }
    }

    /// Returns what the action is, continuing "may not".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Publish => "publish",
            Self::Promote => "move channels",
            Self::Withdraw => "deprecate or yank versions",
            Self::Review => "review versions",
            Self::Revoke => "revoke versions",
            Self::ManageNamespace => "manage the namespace",
            Self::ManageHub => "manage namespaces",
            Self::ManageTokens => "manage tokens",
            Self::ReadAudit => "read the audit log",
            Self::Operate => "operate the hub",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A role in one namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads.
    Reader,
    /// Publishes, moves channels, deprecates and yanks.
    Publisher,
    /// Decides about versions that wait, yanks and revokes.
    Reviewer,
    /// Does everything in the namespace.
    Owner,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Reader, Self::Publisher, Self::Reviewer, Self::Owner];

    /// Whether the role allows an action in its namespace.
    pub fn allows(self, action: Action) -> bool {
        use Action::{ManageNamespace, Promote, Publish, Read, Review, Revoke, Withdraw};
        match self {
            Self::Reader => action == Read,
            Self::Publisher => matches!(action, Read | Publish | Promote | Withdraw),
            Self::Reviewer => matches!(action, Read | Review | Withdraw | Revoke),
            Self::Owner => matches!(
                action,
                Read | Publish | Promote | Withdraw | Review | Revoke | ManageNamespace
            ),
        }
    }

    /// Returns the word for records and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Publisher => "publisher",
            Self::Reviewer => "reviewer",
            Self::Owner => "owner",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or(())
    }
}

/// What a credential may be used for, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Reading.
    Read,
    /// Publishing, moving channels, deprecating and yanking.
    Publish,
    /// Reviewing and revoking.
    Review,
    /// Managing namespaces that the subject owns.
    Manage,
    /// Everything that needs an administrator.
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 5] = [Self::Read, Self::Publish, Self::Review, Self::Manage, Self::Admin];

    /// Returns the word for records and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Publish => "publish",
            Self::Review => "review",
            Self::Manage => "manage",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or(())
    }
}

/// A caller after authentication: a subject, and what its credential is limited to.
///
/// An action is allowed if the credential has its scope and covers the namespace, and if the subject is
/// an administrator or has a role there. What is not allowed is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caller {
    /// Who acts.
    pub subject: Subject,
    /// Whether the subject administers the hub.
    pub administrator: bool,
    /// What the credential may be used for.
    pub scopes: BTreeSet<Scope>,
    /// The namespaces the credential is limited to; `None` is every namespace.
    pub namespaces: Option<BTreeSet<NamespaceName>>,
    /// Roles from the configuration or from claims, beside those that namespaces grant.
    pub roles: BTreeMap<NamespaceName, BTreeSet<Role>>,
    /// The groups that the configuration or claims put the subject into, such as `group:payments`.
    pub groups: BTreeSet<Subject>,
}

impl Caller {
    /// A subject whose credential has every scope but that of administrators.
    pub fn new(subject: Subject) -> Self {
        let scopes = Scope::ALL.into_iter().filter(|scope| *scope != Scope::Admin).collect();
        Self {
            subject,
            administrator: false,
            scopes,
            namespaces: None,
            roles: BTreeMap::new(),
            groups: BTreeSet::new(),
        }
    }

    /// A caller without a credential: it reads what everyone may read.
    pub fn anonymous() -> Self {
        Self::new(Subject::everyone()).with_scopes([Scope::Read])
    }

    /// A subject that administers the hub, with every scope.
    pub fn administrator(subject: Subject) -> Self {
        let mut caller = Self::new(subject).with_scopes(Scope::ALL);
        caller.administrator = true;
        caller
    }

    /// Limits the credential to some scopes.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item = Scope>) -> Self {
        self.scopes = scopes.into_iter().collect();
        self
    }

    /// Limits the credential to some namespaces.
    #[must_use]
    pub fn limited_to(mut self, namespaces: impl IntoIterator<Item = NamespaceName>) -> Self {
        self.namespaces = Some(namespaces.into_iter().collect());
        self
    }

    /// Adds a role that the configuration or a claim gives.
    #[must_use]
    pub fn with_role(mut self, namespace: NamespaceName, role: Role) -> Self {
        self.roles.entry(namespace).or_default().insert(role);
        self
    }

    /// Puts the subject into groups.
    #[must_use]
    pub fn in_groups(mut self, groups: impl IntoIterator<Item = Subject>) -> Self {
        self.groups.extend(groups.into_iter().filter(Subject::is_group));
        self
    }

    /// Returns the roles of the caller in a namespace: its own, those of its groups, those of everyone,
    /// and those of the configuration.
    pub fn roles_in<'a>(&'a self, namespace: &'a Namespace) -> impl Iterator<Item = Role> + 'a {
        let configured = self.roles.get(&namespace.name).into_iter().flatten().copied();
        // Trust boundary: a subject that calls itself a group is in no group by that.
        let own = Some(&self.subject).filter(|subject| !subject.is_group());
        let everyone = Subject::everyone();
        let granted = own.into_iter().chain(&self.groups).map(Clone::clone).chain([everyone]);
        let granted = granted.flat_map(|who| namespace.grants.get(&who).into_iter().flatten());
        configured.chain(granted.copied())
    }

    /// Whether the caller may do something in a namespace.
    pub fn may(&self, action: Action, namespace: &Namespace) -> bool {
        if !self.credential_covers(action, Some(&namespace.name)) {
            return false;
        }
        if self.administrator {
            return true;
        }
        self.roles_in(namespace).any(|role| role.allows(action))
    }

    /// Refuses what the caller may not do in a namespace.
    ///
    /// A caller that may not even read the namespace learns nothing about it, not even that it exists.
    pub fn require(&self, action: Action, namespace: &Namespace) -> Result<(), Refusal> {
        if self.may(action, namespace) {
            Ok(())
        } else if self.may(Action::Read, namespace) {
            Err(Refusal::NotAllowed { action, namespace: Some(namespace.name.clone()) })
        } else {
            Err(Refusal::UnknownNamespace(namespace.name.clone()))
        }
    }

    /// Refuses what only administrators may do.
    pub fn require_administrator(&self, action: Action) -> Result<(), Refusal> {
        if self.administrator && self.credential_covers(action, None) {
            Ok(())
        } else {
            Err(Refusal::NotAllowed { action, namespace: None })
        }
    }

    /// Whether scopes and limits of the credential allow an action at all.
    fn credential_covers(&self, action: Action, namespace: Option<&NamespaceName>) -> bool {
        let limited = match (&self.namespaces, namespace) {
            (None, _) => false,
            (Some(only), Some(namespace)) => !only.contains(namespace),
            (Some(_), None) => true,
        };
        self.scopes.contains(&action.scope()) && !limited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace() -> Namespace {
        let mut namespace = Namespace::new("acme".parse().unwrap());
        namespace.grant("ana".parse().unwrap(), Role::Publisher);
        namespace.grant("rex".parse().unwrap(), Role::Reviewer);
        namespace.grant("olga".parse().unwrap(), Role::Owner);
        namespace
    }

    fn caller(subject: &str) -> Caller {
        Caller::new(subject.parse().unwrap())
    }

    #[test]
    fn a_role_allows_what_it_is_for_and_nothing_else() {
        let acme = namespace();
        assert!(caller("ana").may(Action::Publish, &acme));
        assert!(!caller("ana").may(Action::Review, &acme));
        assert!(caller("rex").may(Action::Revoke, &acme));
        assert!(!caller("rex").may(Action::Publish, &acme));
        assert!(caller("olga").may(Action::ManageNamespace, &acme));
        for role in Role::ALL {
            for action in [Action::ManageHub, Action::ManageTokens, Action::Operate] {
                assert!(!role.allows(action), "{role} {action}");
            }
        }
    }

    #[test]
    fn a_namespace_that_a_caller_may_not_read_is_unknown_to_it() {
        let acme = namespace();
        let refused = caller("eve").require(Action::Publish, &acme);
        assert_eq!(refused, Err(Refusal::UnknownNamespace(acme.name.clone())));
        let refused = caller("ana").require(Action::Review, &acme);
        assert!(matches!(refused, Err(Refusal::NotAllowed { .. })));
    }

    #[test]
    fn a_credential_limits_its_subject() {
        let acme = namespace();
        assert!(!caller("olga").with_scopes([Scope::Read]).may(Action::Publish, &acme));
        assert!(!caller("olga").limited_to(["beta".parse().unwrap()]).may(Action::Read, &acme));
        let admin = Caller::administrator("root".parse().unwrap());
        assert!(admin.may(Action::Publish, &acme));
        assert!(admin.require_administrator(Action::Operate).is_ok());
        let limited = admin.limited_to([acme.name.clone()]);
        assert!(limited.require_administrator(Action::Operate).is_err());
        assert!(limited.with_scopes([Scope::Read]).require(Action::Publish, &acme).is_err());
    }

    #[test]
    fn everyone_reads_what_is_granted_to_everyone() {
        let mut acme = namespace();
        assert!(!Caller::anonymous().may(Action::Read, &acme));
        acme.grant(Subject::everyone(), Role::Reader);
        assert!(Caller::anonymous().may(Action::Read, &acme));
        assert!(caller("eve").may(Action::Read, &acme));
        // An administrator's role cannot be claimed by the name alone.
        assert!(!Caller::anonymous().may(Action::Publish, &acme));
    }
}
