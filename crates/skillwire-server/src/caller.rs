//! Who is asking.

use skillwire_catalog::catalog::ViewId;

/// The party a request comes from, as far as the server knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caller {
    /// The name the operator gave the caller's token; empty without tokens.
    pub name: String,
    /// What the caller may see.
    pub view: ViewId,
}

impl Caller {
    /// Tells whether answers to this caller may differ from answers to others.
    pub fn is_restricted(&self) -> bool {
        self.view != ViewId::EVERYTHING
    }
}
