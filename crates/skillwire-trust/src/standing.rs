//! The standing of a skill with the user.

use skillwire_core::{ContentDiff, ContentSet};

use crate::{
    grants::Grants,
    known::KnownSkill,
    listed::ListedSkill,
    record::{Approval, Record},
};

/// The standing of a skill with the user.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// The user has not decided.
    New,
    /// The skill may be loaded, with these grants.
    Approved(Grants),
    /// The user approved other content.
    Changed(Box<ContentDiff>),
    /// The user declined this content.
    Declined,
    /// The user switched the skill off.
    Disabled,
}

impl Standing {
    /// Compares the record with the entry.
    pub fn of(listed: &ListedSkill, record: Option<&Record>) -> Self {
        // Putting a skill into a folder of this machine, or trusting a project, approves loading
        // it. All other grants are still bound to its content.
        let of_folder = listed.id().origin.server().is_none();
        let unasked = || if of_folder { Self::Approved(Grants::load_only()) } else { Self::New };
        let Some(record) = record else { return unasked() };
        if record.disabled {
            return Self::Disabled;
        }
        let content = listed.content();
        if let (Some(content), Some(declined)) = (&content, record.declined)
            && declined == content.fingerprint()
        {
            return Self::Declined;
        }
        let Some(approval) = &record.approval else { return unasked() };
        // An approval never covers a skill without digests.
        let Some(content) = content else { return Self::Changed(Box::new(gone(approval))) };
        if listed.integrity().is_first_seen() {
            if listed.is_covered_by(approval) {
                return Self::Approved(approval.grants.clone());
            }
            return Self::Changed(Box::new(seen_again(approval, &content)));
        }
        // A withdrawn approval never returns by itself, not even with the old content.
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

    /// Compares the record with a listing, which may say less than an entry.
    ///
    /// A skill that the host has not read yet counts as approved while its approval stands: loading
    /// it reads its `SKILL.md` and compares that with the approval.
    pub fn of_known(skill: &KnownSkill, record: Option<&Record>) -> Self {
        let contradicted = match skill {
            KnownSkill::Listed(listed) => return Self::of(listed, record),
            KnownSkill::Unread(_) => false,
            KnownSkill::Contradicted(skill) => match skill.first() {
                KnownSkill::Listed(listed) => return Self::of(listed, record),
                KnownSkill::Unread(_) | KnownSkill::Contradicted(_) => true,
            },
        };
        let Some(record) = record else { return Self::New };
        match &record.approval {
            _ if record.disabled => Self::Disabled,
            None => Self::New,
            Some(approval) if approval.revoked || contradicted => {
                Self::Changed(Box::new(gone(approval)))
            }
            Some(approval) => Self::Approved(approval.grants.clone()),
        }
    }

    /// Returns one word for listings and scripts.
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

/// Compares the files that were read now with the approval; files that were not read again are left
/// out.
fn seen_again(approval: &Approval, now: &ContentSet) -> ContentDiff {
    let mut diff = approval.content.changes_to(now);
    diff.removed.clear();
    diff
}

/// Lists every approved file as removed, because there are no digests to compare.
fn gone(approval: &Approval) -> ContentDiff {
    ContentDiff { removed: approval.content.files().to_vec(), ..ContentDiff::default() }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::SystemTime};

    use serde_json::json;
    use skillwire_core::{
        ContentSet, Digest, Resources, SkillEntry,
        received::{self, EntryLimits},
    };
    use skillwire_dialects::{Dialect, FetchRoute, SkillOffer};

    use super::*;
    use crate::{
        integrity::ApprovalBinding, known::UnreadSkill, listed::EntrySource, origin::SkillId,
        testing::id,
    };

    /// The skill as its server lists it with a `SKILL.md` of these bytes.
    fn listed(id: &SkillId, text: &str) -> ListedSkill {
        let entry = json!({
            "uri": id.uri,
            "frontmatter": {"name": "refunds", "description": "Does it."},
            "resources": [
                {"uri": id.uri, "digest": Digest::of(text.as_bytes()), "size": text.len()},
            ],
        });
        let entry = received::read(&entry.to_string(), EntryLimits::default()).unwrap();
        ListedSkill::new(id.origin.clone(), Arc::new(entry), EntrySource::Named)
    }

    fn approved(listed: &ListedSkill, revoked: bool) -> Record {
        let content: ContentSet = listed.content().unwrap();
        let grants = Grants { execute: true, ..Grants::load_only() };
        let at = SystemTime::UNIX_EPOCH;
        let approval = Approval {
            content,
            grants,
            at,
            channel: None,
            revoked,
            binding: ApprovalBinding::Manifest,
            voucher: None,
        };
        Record { approval: Some(approval), ..Record::new(listed.id().clone()) }
    }

    #[test]
    fn other_content_is_changed_even_before_the_approval_is_withdrawn_hst_89() {
        let id = id("acme", "skill://acme/refunds/SKILL.md");
        let (one, two) = (listed(&id, "one"), listed(&id, "two"));
        let stands =
            |listed: &ListedSkill, record: &Record| Standing::of(listed, Some(record)).word();
        assert_eq!(stands(&one, &approved(&one, false)), "approved");
        assert_eq!(stands(&two, &approved(&one, false)), "changed");
        // The approval does not return with the old content.
        assert_eq!(stands(&one, &approved(&one, true)), "changed");
        assert_eq!(stands(&two, &approved(&one, true)), "changed");
    }

    #[test]
    fn a_skill_that_was_not_read_yet_stands_as_approved_until_it_is_withdrawn_hst_89() {
        let id = id("acme", "skill://acme/refunds/SKILL.md");
        let one = listed(&id, "one");
        let unread =
            Arc::new(SkillEntry { resources: Resources::Dynamic, ..(**one.entry()).clone() });
        let offer = Arc::new(SkillOffer::new(Dialect::Index, FetchRoute::Resources));
        let mentioned = UnreadSkill::new(id.origin.clone(), Arc::clone(&unread), offer).into();
        let stands =
            |skill: &KnownSkill, record: &Record| Standing::of_known(skill, Some(record)).word();
        assert_eq!(stands(&mentioned, &approved(&one, false)), "approved");
        assert_eq!(stands(&mentioned, &approved(&one, true)), "changed");
        assert_eq!(stands(&mentioned.contradicted(), &approved(&one, false)), "changed");
        // A skill that is dynamic is never covered.
        let dynamic = ListedSkill::new(id.origin, unread, EntrySource::Named).into();
        assert_eq!(stands(&dynamic, &approved(&one, false)), "changed");
    }

    #[test]
    fn a_folder_keeps_loading_and_loses_what_was_granted_to_other_content_hst_89() {
        let id = id("local", "skill://acme/refunds/SKILL.md");
        let (one, two) = (listed(&id, "one"), listed(&id, "two"));
        let stands = |listed: &ListedSkill, record: &Record| Standing::of(listed, Some(record));
        let whole = Grants { execute: true, ..Grants::load_only() };
        assert_eq!(stands(&one, &approved(&one, false)), Standing::Approved(whole));
        for (listed, revoked) in [(&two, false), (&two, true), (&one, true)] {
            let stands = stands(listed, &approved(&one, revoked));
            assert_eq!(stands, Standing::Approved(Grants::load_only()));
        }
    }
}
