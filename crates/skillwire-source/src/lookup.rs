//! Looking up skills that no source has reported yet.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use skillwire_core::{ResourceUri, SkillUri};

use crate::file_store::BoxFuture;

/// Looks up a skill that a client asked for by URI and that the catalogue does not have.
///
/// A server that forwards other servers implements this, since those servers may have skills that
/// they do not list, and so does a source with too many skills to list
/// ([`OnDemandSource`](crate::OnDemandSource)).
pub trait SkillLookup: Send + Sync + std::fmt::Debug {
    /// The URIs under which the catalogue may list the skill that the client calls `uri`.
    ///
    /// The caller uses an alias only if exactly one of them is in the catalogue.
    fn aliases(&self, _uri: &SkillUri) -> Vec<SkillUri> {
        Vec::new()
    }

    /// Asks for the skill at a URI of the catalogue; `None` if there is no server to ask.
    ///
    /// A skill that is found is also reported by its source, so that the catalogue has it soon
    /// after.
    fn look_up(&self, uri: &SkillUri) -> Option<BoxFuture<LookupOutcome>>;

    /// The skill that a file would belong to, if its URI tells that; the file may not exist.
    fn skill_of(&self, _uri: &ResourceUri) -> Option<SkillUri> {
        None
    }

    /// Values for a variable of one of the source's templates, best first; `None` if the template
    /// or the variable is not the source's.
    fn complete(
        &self,
        _template: &str,
        _variable: &str,
        _typed: &str,
        _known: &BTreeMap<String, String>,
    ) -> Option<BoxFuture<Vec<String>>> {
        None
    }

    /// How long, and by whom, an answer made from what is known now may be cached.
    fn cache_policy(&self) -> CachePolicy {
        CachePolicy::default()
    }
}

/// Several lookups as one; the first that has an answer gives it.
#[derive(Debug)]
pub struct SkillLookups(pub Vec<Arc<dyn SkillLookup>>);

impl SkillLookup for SkillLookups {
    fn aliases(&self, uri: &SkillUri) -> Vec<SkillUri> {
        self.0.iter().flat_map(|lookup| lookup.aliases(uri)).collect()
    }

    fn look_up(&self, uri: &SkillUri) -> Option<BoxFuture<LookupOutcome>> {
        let asked: Vec<_> = self.0.iter().filter_map(|lookup| lookup.look_up(uri)).collect();
        if asked.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            let mut outcome = LookupOutcome::NotFound;
            for asked in asked {
                match asked.await {
                    LookupOutcome::Found => return LookupOutcome::Found,
                    LookupOutcome::Failed => outcome = LookupOutcome::Failed,
                    LookupOutcome::NotFound => {}
                }
            }
            outcome
        }))
    }

    fn skill_of(&self, uri: &ResourceUri) -> Option<SkillUri> {
        self.0.iter().find_map(|lookup| lookup.skill_of(uri))
    }

    fn complete(
        &self,
        template: &str,
        variable: &str,
        typed: &str,
        known: &BTreeMap<String, String>,
    ) -> Option<BoxFuture<Vec<String>>> {
        self.0.iter().find_map(|lookup| lookup.complete(template, variable, typed, known))
    }

    fn cache_policy(&self) -> CachePolicy {
        CachePolicy::strictest(self.0.iter().map(|lookup| lookup.cache_policy()))
    }
}

/// The result of a [`SkillLookup`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookupOutcome {
    /// The skill exists, and its source reports it.
    Found,
    /// No skill at this URI may be served.
    NotFound,
    /// The server that was asked did not answer.
    Failed,
}

/// How clients may cache an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CachePolicy {
    /// The longest time for which it may be cached; `None` sets no limit.
    pub max_age: Option<Duration>,
    /// Whether only the client that it was made for may cache it.
    pub private: bool,
}

impl CachePolicy {
    /// Sets the longest time for which an answer may be cached.
    #[must_use]
    pub fn with_max_age(self, max_age: Duration) -> Self {
        Self { max_age: Some(max_age), ..self }
    }

    /// Sets whether only the client that an answer was made for may cache it.
    #[must_use]
    pub fn with_private(self, private: bool) -> Self {
        Self { private, ..self }
    }

    /// Returns the policy of an answer that is made from several parts.
    pub fn strictest(parts: impl IntoIterator<Item = Self>) -> Self {
        parts.into_iter().fold(Self::default(), |all, one| Self {
            max_age: [all.max_age, one.max_age].into_iter().flatten().min(),
            private: all.private || one.private,
        })
    }
}
