//! Resources that are offered besides the files of skills.

use std::{any::Any, fmt, sync::Arc};

/// What was read of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceReply {
    /// The members of the result, as the text of a JSON object. How long it may be kept is decided
    /// anew, and so are members that say which era and server a result has.
    pub verbatim: Box<str>,
}

/// A resource whose changes are announced until the last clone of this value is dropped.
#[derive(Clone)]
pub struct FollowedResource(Arc<dyn Any + Send + Sync>);

impl FollowedResource {
    /// Holds what ends the announcements when it is dropped.
    pub fn new(guard: impl Any + Send + Sync) -> Self {
        Self(Arc::new(guard))
    }
}

impl fmt::Debug for FollowedResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FollowedResource")
    }
}

impl PartialEq for FollowedResource {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for FollowedResource {}
