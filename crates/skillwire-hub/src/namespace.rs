//! Namespaces: who has which role, what is required of publications, and how much room there is.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    access::Role,
    name::{NamespaceName, Subject},
    quota::{Quotas, Usage},
};

/// Whether versions wait for a reviewer before they are served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewPolicy {
    /// A publisher's version is served at once.
    #[default]
    None,
    /// A version waits until a reviewer who did not publish it approves it.
    Required,
}

/// A namespace and everything that decides who may do what in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Namespace {
    /// Its name.
    pub name: NamespaceName,
    /// Whether names like those of its skills wait for a reviewer elsewhere.
    pub protected: bool,
    /// Whether versions wait for a reviewer.
    pub review: ReviewPolicy,
    /// The most it may hold.
    pub quotas: Quotas,
    /// What it holds.
    pub usage: Usage,
    /// Who has which roles.
    pub grants: BTreeMap<Subject, BTreeSet<Role>>,
}

impl Namespace {
    /// A namespace without grants, with the default quotas.
    pub fn new(name: NamespaceName) -> Self {
        Self {
            name,
            protected: false,
            review: ReviewPolicy::None,
            quotas: Quotas::default(),
            usage: Usage::default(),
            grants: BTreeMap::new(),
        }
    }

    /// Protects its skills' names, or stops to.
    #[must_use]
    pub fn with_protected(mut self, protected: bool) -> Self {
        self.protected = protected;
        self
    }

    /// Sets whether versions wait for a reviewer.
    #[must_use]
    pub fn with_review(mut self, review: ReviewPolicy) -> Self {
        self.review = review;
        self
    }

    /// Sets the most it may hold.
    #[must_use]
    pub fn with_quotas(mut self, quotas: Quotas) -> Self {
        self.quotas = quotas;
        self
    }

    /// Gives a subject a role.
    pub fn grant(&mut self, subject: Subject, role: Role) {
        self.grants.entry(subject).or_default().insert(role);
    }
}
