//! The admission of a bridge: clients get only the skills that the user approved.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use skillwire_host::Host;
use skillwire_trust::ListedSkill;

use super::view::BridgeView;
use crate::passing_on::admission::Admission;

/// Admits a skill if the current view shows it as approved with exactly this content. A skill that
/// its server changed after the approval is therefore denied until the user approves it again.
pub(crate) struct ApprovedOnly {
    pub(crate) host: Host,
    pub(crate) view: Arc<ArcSwap<BridgeView>>,
}

impl fmt::Debug for ApprovedOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApprovedOnly")
    }
}

impl Admission for ApprovedOnly {
    fn admits(&self, skill: &ListedSkill) -> bool {
        self.view.load().is_approved(&self.host, skill)
    }

    fn still_admits(&self, skill: &ListedSkill) -> bool {
        self.host.may_still_pass_on(skill)
    }

    fn holds_to_approval(&self) -> bool {
        true
    }
}
