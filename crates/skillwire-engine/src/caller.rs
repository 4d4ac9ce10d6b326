//! The client behind a request.

use skillwire_catalog::ViewId;

/// The party a request comes from, as far as the server knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caller {
    /// The name the operator gave the caller's token; empty without tokens.
    pub name: String,
    /// What the caller may see.
    pub view: ViewId,
}

impl Caller {
    /// Tells whether answers are for this caller alone: others have other rights, or none.
    ///
    /// That holds for every caller with a token, also for one that may see everything: a shared
    /// cache must not show its answers to callers that may not.
    pub fn is_distinguished(&self) -> bool {
        !self.name.is_empty() || self.view != ViewId::EVERYTHING
    }
}
