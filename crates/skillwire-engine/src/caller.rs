//! The client behind a request.

use std::sync::Arc;

use skillwire_catalog::ViewId;

/// The sender of a request, as far as the server knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The name the operator gave the caller's token; empty without tokens.
    pub name: String,
    /// The view of the catalogue that the caller may see.
    pub view: ViewId,
    /// Whether the caller may run scripts, where the server runs any.
    pub may_run: bool,
    /// The name that the client gives itself. Any client can claim any name, so it may decide how
    /// an answer is worded, and never what a caller may do.
    pub client: Option<Arc<str>>,
}

/// The caller of a server without tokens: it has no name, sees everything and may run what the
/// server runs.
impl Default for Caller {
    fn default() -> Self {
        Self { name: String::new(), view: ViewId::default(), may_run: true, client: None }
    }
}

impl Caller {
    /// Tells whether answers are for this caller alone.
    ///
    /// This holds for every caller with a token, even for one that may see everything: a shared
    /// cache must not show its answers to callers that may not.
    pub fn is_distinguished(&self) -> bool {
        !self.name.is_empty() || self.view != ViewId::EVERYTHING
    }
}
