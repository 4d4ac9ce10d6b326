//! The card that a user sees before they decide about a skill.

use std::{fmt, str::FromStr, sync::Arc};

use skillwire_core::{
    ContentDiff, Digest, InvalidDigest, RelPath, Resources, SkillEntry, SkillResource,
};
use skillwire_dialects::{Dialect, SkillArgument};

use crate::{
    grants::{Grants, requested_tools},
    integrity::Integrity,
    listed::ListedSkill,
    origin::SkillId,
    signature::SignatureCheck,
    standing::Standing,
};

/// Everything a user should see before they decide about a skill. Each interface (a terminal, a
/// form, a page) renders it in its own way and leaves nothing out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ApprovalCard {
    /// The skill.
    pub skill: SkillId,
    /// The entry that its origin lists.
    pub entry: Arc<SkillEntry>,
    /// The digest of the content that would be approved; `None` for a skill whose files have no
    /// digests.
    pub content: Option<Digest>,
    /// The tools that the skill asks for in `allowed-tools`.
    pub requested_tools: Vec<String>,
    /// The difference from the approved content, if there was an approval.
    pub changes: Option<ContentDiff>,
    /// How the server offers the skill.
    pub dialect: Dialect,
    /// What the bytes of its files are compared with.
    pub integrity: Integrity,
    /// The files that the server names and of which nothing was read.
    pub unread_files: Vec<RelPath>,
    /// The arguments that its instructions take. The server writes the instructions for each load.
    pub arguments: Vec<SkillArgument>,
    /// What the user would grant besides loading.
    pub proposed: Grants,
    /// What is known about its signature.
    pub signature: SignatureCheck,
    /// How often the user was asked about this skill before.
    pub asked_before: usize,
}

/// Identifies what a user was shown. An answer that arrives later, even in another process, counts
/// only if the user would be shown the same again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CardDigest(Digest);

impl ApprovalCard {
    /// Creates the card of a skill from its entry and its standing with the user.
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
            unread_files: unread_files(listed),
            arguments: listed.arguments().to_vec(),
            proposed: Grants::load_only(),
            signature: SignatureCheck::default(),
            asked_before: 0,
        }
    }

    /// Returns a digest over everything on the card except how often the user was asked.
    ///
    /// Another version of this program computes the same digest, so that an answer to a question of one
    /// version counts for the next.
    pub fn digest(&self) -> CardDigest {
        let mut parts = vec![
            self.skill.to_string(),
            serde_json::to_string(&*self.entry).unwrap_or_default(),
            self.dialect.code().to_owned(),
            self.integrity.code().to_owned(),
        ];
        let file = |sign: &str, file: &SkillResource| {
            format!("{sign} {} {} {}", file.uri, file.digest, file.size)
        };
        parts.extend(self.unread_files.iter().map(|path| format!("? {path}")));
        let arguments = self.arguments.iter();
        parts.extend(arguments.map(|argument| format!("{{}} {argument:?}")));
        // A card that proposes nothing has the digest that it had before cards proposed grants.
        if self.proposed != Grants::load_only() {
            let proposed = serde_json::to_string(&self.proposed).unwrap_or_default();
            parts.push(format!("grants {proposed}"));
        }
        if let Some(changes) = &self.changes {
            parts.push("changed".to_owned());
            parts.extend(changes.added.iter().map(|added| file("+", added)));
            parts.extend(changes.removed.iter().map(|removed| file("-", removed)));
            // The new version is part of the entry.
            parts.extend(changes.changed.iter().map(|(before, _)| file("~", before)));
            let fields = changes.frontmatter.iter();
            // A field that was not there before is nothing; one that was null is `null`.
            let before = |value: &Option<serde_json::Value>| {
                value.as_ref().map_or_else(String::new, serde_json::Value::to_string)
            };
            parts.extend(fields.flat_map(|field| [field.pointer.clone(), before(&field.before)]));
        }
        // A card that says nothing of a signature has the digest that earlier versions computed.
        if self.signature != SignatureCheck::NotAsked {
            parts.push(format!("signature {:?}", self.signature));
        }
        // The length in front of each part keeps apart two cards whose parts join to the same text.
        let text: Vec<String> =
            parts.iter().map(|part| format!("{} {part}\n", part.len())).collect();
        CardDigest(Digest::of(text.concat().as_bytes()))
    }
}

fn unread_files(listed: &ListedSkill) -> Vec<RelPath> {
    let Resources::Listed(read) = &listed.entry().resources else { return Vec::new() };
    let root = listed.id().uri.root();
    let others = listed.other_files().unwrap_or_default().into_iter().map(|(path, _)| path);
    let is_read = |path: &RelPath| {
        let uri = root.child(path);
        read.iter().any(|file| file.uri == uri)
    };
    others.filter(|path| !is_read(path)).collect()
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
