//! Where a skill stands with the user.

use skillwire_core::content_set::{ContentDiff, ContentSet};

use crate::{
    grants::Grants,
    listed::{Listed, Source},
    record::{Approval, Record},
};

/// Where a skill stands with the user.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// Nobody was asked.
    New,
    /// It may be loaded, with these grants.
    Approved(Grants),
    /// It was approved, and is something else now.
    Changed(Box<ContentDiff>),
    /// The user declined this content.
    Declined,
    /// The user switched it off.
    Disabled,
}

impl Standing {
    /// Compares what is remembered with what is listed.
    pub(crate) fn of(listed: &Listed, record: Option<&Record>) -> Self {
        if record.is_some_and(|record| record.disabled) {
            return Self::Disabled;
        }
        // Who puts a skill into a folder of this machine, or trusts a project, has approved it;
        // what else was granted to it is still bound to its content.
        let of_folder = listed.id().origin.server().is_none();
        let Some(record) = record else {
            return if of_folder { Self::Approved(Grants::load_only()) } else { Self::New };
        };
        let content = listed.content();
        if let (Some(content), Some(declined)) = (&content, record.declined)
            && declined == content.fingerprint()
        {
            return Self::Declined;
        }
        match (&record.approval, content) {
            (None, _) if of_folder => Self::Approved(Grants::load_only()),
            (None, _) => Self::New,
            // Its `SKILL.md` was not read yet; whoever uses the skill reads and compares it first.
            (Some(approval), None)
                if listed.source() == Source::Provisional && !approval.revoked =>
            {
                Self::Approved(approval.grants.clone())
            }
            (Some(approval), Some(content)) if listed.is_first_seen() => {
                if listed.is_covered_by(approval) {
                    return Self::Approved(approval.grants.clone());
                }
                Self::Changed(Box::new(seen_again(approval, &content)))
            }
            // An approval never covers what has no digests, and never comes back by itself.
            (Some(approval), None) => Self::Changed(Box::new(gone(approval))),
            (Some(approval), Some(content)) => {
                if !approval.revoked && approval.content == content {
                    return Self::Approved(approval.grants.clone());
                }
                let diff = approval.content.changes_to(&content);
                if diff.is_empty() && !approval.revoked {
                    Self::Approved(approval.grants.clone())
                } else if of_folder {
                    Self::Approved(Grants::load_only())
                } else {
                    Self::Changed(Box::new(diff))
                }
            }
        }
    }

    /// One word for listings and scripts.
    pub fn word(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Approved(_) => "approved",
            Self::Changed(_) => "changed",
            Self::Declined => "declined",
            Self::Disabled => "disabled",
        }
    }
}

/// How what was read now differs; files that were not read again are neither here nor gone.
fn seen_again(approval: &Approval, now: &ContentSet) -> ContentDiff {
    let mut diff = approval.content.changes_to(now);
    diff.removed.clear();
    diff
}

/// Every file is gone as far as digests can tell.
fn gone(approval: &Approval) -> ContentDiff {
    ContentDiff { removed: approval.content.files().to_vec(), ..ContentDiff::default() }
}
