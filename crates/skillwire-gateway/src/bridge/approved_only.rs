//! What is passed on to clients that know the Skills extension: what the user approved.

use std::{fmt, sync::Arc};

use crate::passing_on::admission::Admission;
use arc_swap::ArcSwap;
use skillwire_trust::ListedSkill;

use super::view::BridgeView;

/// Passes on what stands as approved in the view, with exactly that content.
pub(crate) struct ApprovedOnly(pub(crate) Arc<ArcSwap<BridgeView>>);

impl fmt::Debug for ApprovedOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApprovedOnly")
    }
}

impl Admission for ApprovedOnly {
    fn admits(&self, skill: &ListedSkill) -> bool {
        self.0.load().is_approved(skill)
    }
}
