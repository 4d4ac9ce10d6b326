//! What a user is shown before they decide about a skill.

use std::{fmt, str::FromStr, sync::Arc};

use skillwire_core::{ContentDiff, Digest, InvalidDigest, SkillEntry, SkillResource};
use skillwire_dialects::Dialect;

use crate::{
    grants::requested_tools, integrity::Integrity, listed::ListedSkill, origin::SkillId,
    standing::Standing,
};

/// Everything a user should see before they decide about a skill. Each face (a terminal, a form, a
/// page) renders it in its own way and leaves nothing out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ApprovalCard {
    /// The skill.
    pub skill: SkillId,
    /// What its origin lists.
    pub entry: Arc<SkillEntry>,
    /// The content that would be approved; none for a skill whose files have no digests.
    pub content: Option<Digest>,
    /// What the skill asks for in `allowed-tools`.
    pub requested_tools: Vec<String>,
    /// How it differs from what was approved before, if anything was.
    pub changes: Option<ContentDiff>,
    /// How the server offers the skill.
    pub dialect: Dialect,
    /// What the bytes of its files are compared with.
    pub integrity: Integrity,
    /// How often the user was asked about this skill before.
    pub asked_before: usize,
}

/// Identifies what a user was shown, so that an answer given later, to another process even, counts
/// only if the same would be shown again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CardDigest(Digest);

impl ApprovalCard {
    /// Describes a skill as it is listed and as it stands with the user.
    pub fn new(listed: &ListedSkill, standing: &Standing) -> Self {
        let changes = match standing {
            Standing::Changed(changes) => Some((**changes).clone()),
            Standing::New | Standing::Approved(_) | Standing::Declined | Standing::Disabled => None,
        };
        Self {
            skill: listed.id().clone(),
            entry: Arc::clone(listed.entry()),
            content: listed.content().map(|content| content.fingerprint()),
            requested_tools: requested_tools(&listed.entry().frontmatter),
            changes,
            dialect: listed.dialect(),
            integrity: listed.integrity(),
            asked_before: 0,
        }
    }

    /// Identifies everything on the card but how often the user was asked.
    pub fn digest(&self) -> CardDigest {
        let mut parts = vec![
            self.skill.to_string(),
            serde_json::to_string(&*self.entry).unwrap_or_default(),
            self.dialect.code().to_owned(),
            format!("{:?}", self.integrity),
        ];
        let file = |sign: &str, file: &SkillResource| {
            format!("{sign} {} {} {}", file.uri, file.digest, file.size)
        };
        if let Some(changes) = &self.changes {
            parts.push("changed".to_owned());
            parts.extend(changes.added.iter().map(|added| file("+", added)));
            parts.extend(changes.removed.iter().map(|removed| file("-", removed)));
            // The new version is in the entry.
            parts.extend(changes.changed.iter().map(|(before, _)| file("~", before)));
            let fields = changes.frontmatter.iter();
            parts.extend(fields.map(|field| format!("{} {:?}", field.pointer, field.before)));
        }
        // The length of each part keeps two cards apart whose parts only join to the same text.
        let text: Vec<String> =
            parts.iter().map(|part| format!("{} {part}\n", part.len())).collect();
        CardDigest(Digest::of(text.concat().as_bytes()))
    }
}

impl fmt::Display for CardDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for CardDigest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}
