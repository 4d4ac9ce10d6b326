//! Looking up skills that no source has reported yet.

use std::time::Duration;

use skillwire_core::SkillUri;

use crate::file_store::BoxFuture;

/// Looks up a skill that a client asked for by URI and that the catalogue does not have.
///
/// A server that forwards other servers implements this: those servers may have skills that they
/// do not list.
pub trait SkillLookup: Send + Sync + std::fmt::Debug {
    /// The URIs under which the catalogue may list the skill that the client calls `uri`.
    ///
    /// The caller uses an alias only if exactly one of them is in the catalogue.
    fn aliases(&self, uri: &SkillUri) -> Vec<SkillUri>;

    /// Asks for the skill at a URI of the catalogue; `None` if there is no server to ask.
    ///
    /// A skill that is found is also reported by its source, so that the catalogue has it soon
    /// after.
    fn look_up(&self, uri: &SkillUri) -> Option<BoxFuture<LookupOutcome>>;

    /// How long, and by whom, an answer made from what is known now may be cached.
    fn cache_policy(&self) -> CachePolicy;
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
pub struct CachePolicy {
    /// The longest time for which it may be cached; `None` sets no limit.
    pub max_age: Option<Duration>,
    /// Whether only the client that it was made for may cache it.
    pub private: bool,
}
