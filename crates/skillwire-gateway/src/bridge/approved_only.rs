//! Clients that know the Skills extension get the skills that the user approved.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use skillwire_trust::ListedSkill;

use super::view::BridgeView;
use crate::passing_on::admission::Admission;

/// Admits skills that the view shows as approved, with exactly that content.
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
