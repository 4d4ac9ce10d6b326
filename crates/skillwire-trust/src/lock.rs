//! The lock file: approved content for agents that run without a user, reviewed like code.

use std::{collections::BTreeMap, fmt};

use skillwire_core::{ContentSet, Digest, SkillResource, fingerprint};

use crate::{grants::Grants, origin::SkillId};

mod read;
#[cfg(test)]
mod tests;
mod write;

/// Skills whose exact content may be loaded without asking the user, with their grants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockFile {
    skills: BTreeMap<SkillId, Locked>,
}

/// The content of one locked skill, as digests, and its grants.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Locked {
    /// The files, in URI order.
    files: Vec<SkillResource>,
    frontmatter: Digest,
    grants: Grants,
}

impl Locked {
    fn fingerprint(&self, id: &SkillId) -> Digest {
        fingerprint(&id.uri, &self.files, &self.frontmatter)
    }

    fn mismatch(&self, content: &ContentSet) -> LockMismatch {
        let mut found = LockMismatch::Changed {
            added: Vec::new(),
            removed: Vec::new(),
            changed: Vec::new(),
            frontmatter: content.frontmatter_digest() != self.frontmatter,
        };
        let LockMismatch::Changed { added, removed, changed, .. } = &mut found else {
            return found;
        };
        let before = |file: &SkillResource| self.files.iter().find(|old| old.uri == file.uri);
        for file in content.files() {
            match before(file) {
                None => added.push(file.uri.to_string()),
                Some(old) if old != file => changed.push(file.uri.to_string()),
                Some(_) => {}
            }
        }
        let gone = self.files.iter().filter(|file| content.file(&file.uri).is_none());
        removed.extend(gone.map(|file| file.uri.to_string()));
        found
    }
}

impl LockFile {
    /// Parses a lock file; any invalid part is an error.
    pub fn parse(text: &str) -> Result<Self, InvalidLock> {
        read::lock(text)
    }

    /// Locks a skill with this content, in place of its previous content.
    ///
    /// If the content belongs to another skill, this locks nothing and returns `false`.
    pub fn insert(&mut self, id: &SkillId, content: &ContentSet, grants: Grants) -> bool {
        if content.skill() != &id.uri {
            return false;
        }
        let (files, frontmatter) = (content.files().to_vec(), content.frontmatter_digest());
        self.skills.insert(id.clone(), Locked { files, frontmatter, grants });
        true
    }

    /// Removes a skill; returns whether it was there.
    pub fn remove(&mut self, id: &SkillId) -> bool {
        self.skills.remove(id).is_some()
    }

    /// Returns the locked skills, with the fingerprints of their content.
    pub fn skills(&self) -> impl Iterator<Item = (&SkillId, Digest)> {
        self.skills.iter().map(|(id, locked)| (id, locked.fingerprint(id)))
    }

    /// Returns the grants of a skill, if this is the content that was locked for it.
    pub fn allows(&self, id: &SkillId, content: &ContentSet) -> Result<Grants, LockMismatch> {
        let locked = self.skills.get(id).ok_or(LockMismatch::NotLocked)?;
        if content.skill() != &id.uri {
            return Err(LockMismatch::NotLocked);
        }
        let same =
            locked.files == content.files() && locked.frontmatter == content.frontmatter_digest();
        if same { Ok(locked.grants.clone()) } else { Err(locked.mismatch(content)) }
    }
}

/// Writes the file: the same skills give the same bytes, with one line per file of a skill.
impl fmt::Display for LockFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write::lock(self, f)
    }
}

/// Why the lock does not allow a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockMismatch {
    /// The lock does not list the skill.
    NotLocked,
    /// The skill's files are only known as they were first seen, so a lock cannot list them.
    FirstSeen,
    /// The skill has no digests, so a lock cannot list it.
    NoDigests,
    /// The skill is listed with other content.
    Changed {
        /// Files that the lock does not have.
        added: Vec<String>,
        /// Files that only the lock has.
        removed: Vec<String>,
        /// Files whose bytes differ.
        changed: Vec<String>,
        /// Whether the frontmatter differs.
        frontmatter: bool,
    },
}

impl fmt::Display for LockMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Changed { added, removed, changed, frontmatter } = self else {
            return f.write_str(match self {
                Self::FirstSeen => "a skill whose files are only known as they were first seen",
                Self::NoDigests => "a skill without digests",
                _ => "the lock file does not list this skill",
            });
        };
        f.write_str("the lock file lists this skill with other content (")?;
        let counts = [("added", added), ("removed", removed), ("changed", changed)];
        let mut parts: Vec<String> = counts
            .iter()
            .filter(|(_, files)| !files.is_empty())
            .map(|(what, files)| match &files[..] {
                [file] => format!("`{file}` {what}"),
                _ => format!("{} files {what}", files.len()),
            })
            .collect();
        if *frontmatter {
            parts.push("frontmatter changed".to_owned());
        }
        write!(f, "{})", parts.join(", "))
    }
}

impl std::error::Error for LockMismatch {}

/// Why a text is not a lock file, as a clause that follows the file's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidLock(String);

impl InvalidLock {
    fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}
