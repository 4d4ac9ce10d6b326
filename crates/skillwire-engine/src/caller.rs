//! Who is asking.

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
    /// That is so for everybody with a token, also for one who may see everything: a shared cache
    /// must not show it to those who may not.
    pub fn is_distinguished(&self) -> bool {
        !self.name.is_empty() || self.view != ViewId::EVERYTHING
    }
}
