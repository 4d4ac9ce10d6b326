//! The lock file: approved content for agents that run without a user, reviewed like code.

use std::{collections::BTreeMap, fmt};

use skillwire_core::{ContentSet, Digest, SkillResource, fingerprint};

use crate::{
    grants::Grants,
    label::ServerLabel,
    origin::{Origin, SkillId},
};

mod read;
#[cfg(test)]
mod tests;
mod write;

/// Skills whose exact content may be loaded without asking the user, with their grants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockFile {
    /// The addresses of the servers that skills come from, by label.
    servers: BTreeMap<String, String>,
    skills: BTreeMap<SkillId, LockedSkill>,
    /// Public keys whose signed decisions about skills of a server count.
    trust_keys: BTreeMap<ServerLabel, Vec<String>>,
}

/// The content of one locked skill, as digests, and its grants.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LockedSkill {
    /// The files, in URI order.
    files: Vec<SkillResource>,
    frontmatter: Digest,
    grants: Grants,
}

impl LockedSkill {
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
        let files = content.files().to_vec();
        let frontmatter = content.frontmatter_digest();
        self.skills.insert(id.clone(), LockedSkill { files, frontmatter, grants });
        true
    }

    /// Removes a skill; returns whether it was there.
    pub fn remove(&mut self, id: &SkillId) -> bool {
        self.skills.remove(id).is_some()
    }

    /// Notes the address of a server, by which another user finds the server whatever its label is there.
    pub fn set_server(&mut self, label: &ServerLabel, address: impl Into<String>) {
        self.servers.insert(label.to_string(), address.into());
    }

    /// Returns the labels of servers that this lock file was written with, and their addresses.
    pub fn servers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.servers.iter().map(|(label, address)| (label.as_str(), address.as_str()))
    }

    /// Returns the same lock for a user who calls servers otherwise: `own` gives the user's label of an
    /// address. Skills of a server that the user does not have keep the label, if it is free there, and
    /// are left out otherwise: the label means another server.
    #[must_use]
    pub fn relabelled(
        self,
        own: impl Fn(&str) -> Option<ServerLabel>,
        is_taken: impl Fn(&str) -> bool,
    ) -> Self {
        let mut result = Self::default();
        let mut labels = BTreeMap::new();
        for (label, address) in self.servers {
            let new = match own(&address) {
                Some(own) => Some(own.to_string()),
                None => (!is_taken(&label)).then(|| label.clone()),
            };
            if let Some(new) = &new {
                result.servers.insert(new.clone(), address);
            }
            labels.insert(label, new);
        }
        // A label without an address stays as it is.
        let relabel = |label: &ServerLabel| match labels.get(label.as_str()) {
            None => Some(label.clone()),
            Some(new) => new.as_deref().and_then(|new| ServerLabel::parse(new).ok()),
        };
        for (mut id, locked) in self.skills {
            if let Origin::Server(label) = &id.origin {
                let Some(new) = relabel(label) else { continue };
                id.origin = Origin::Server(new);
            }
            result.skills.insert(id, locked);
        }
        let keys = self.trust_keys.into_iter();
        result.trust_keys =
            keys.filter_map(|(label, keys)| Some((relabel(&label)?, keys))).collect();
        result
    }

    /// Tells whether both lock the same skills with the same grants and trust the same keys, whatever
    /// addresses they know.
    pub fn has_skills_of(&self, other: &Self) -> bool {
        self.skills == other.skills && self.trust_keys == other.trust_keys
    }

    /// The version of the format that this file needs.
    fn version(&self) -> u32 {
        let newer = !self.servers.is_empty() || !self.trust_keys.is_empty();
        read::VERSIONS[usize::from(newer)]
    }

    /// Returns the locked skills, with the fingerprints of their content.
    pub fn skills(&self) -> impl Iterator<Item = (&SkillId, Digest)> {
        self.skills.iter().map(|(id, locked)| (id, locked.fingerprint(id)))
    }

    /// Trusts these public keys, as the user wrote them, for decisions about skills of a server that
    /// the lock does not list.
    pub fn trust(&mut self, server: ServerLabel, keys: Vec<String>) {
        self.trust_keys.insert(server, keys);
    }

    /// Returns the public keys whose signed decisions count, by server.
    pub fn trust_keys(&self) -> &BTreeMap<ServerLabel, Vec<String>> {
        &self.trust_keys
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
