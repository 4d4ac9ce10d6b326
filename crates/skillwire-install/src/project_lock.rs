//! The part of a lock file that pins skills of sources: from where, at which commit, with which content.

use std::fmt;

use serde::{Deserialize, de::IgnoredAny};
use skillwire_core::{ContentId, SkillName, visible::QuotedToml as Quoted};

use crate::project::{InvalidProject, read_toml};

/// The most bytes that the file may have.
const MAX_BYTES: usize = 16 << 20;

/// One skill of a source, pinned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedSkill {
    /// The name of the skill.
    pub name: String,
    /// The source, as the project's file has it.
    pub from: String,
    /// The address of the repository.
    pub url: Option<String>,
    /// The commit of the repository.
    pub commit: Option<String>,
    /// The folder of the skill in the source; empty for its root.
    #[serde(default)]
    pub folder: String,
    /// The content.
    pub content: ContentId,
}

/// The skills of sources that a lock file pins, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectLock {
    skills: Vec<PinnedSkill>,
}

/// The tables of a lock file; those that are ignored here are read as approvals.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    source: Vec<PinnedSkill>,
    #[serde(default)]
    #[expect(dead_code, reason = "another reader reads it")]
    skill: Option<IgnoredAny>,
}

impl ProjectLock {
    /// Reads the pinned skills of a lock file of any version.
    pub fn parse(text: &str) -> Result<Self, InvalidProject> {
        let file: File = read_toml(text, MAX_BYTES)?;
        let mut lock = Self::default();
        for skill in file.source {
            if SkillName::parse(&skill.name).is_err() {
                let name = skill.name.escape_debug();
                return Err(InvalidProject::new(format!(
                    "names `{name}`, which is no skill's name"
                )));
            }
            if lock.find(&skill.name).is_some() {
                return Err(InvalidProject::new(format!("lists `{}` twice", skill.name)));
            }
            lock.insert(skill);
        }
        Ok(lock)
    }

    /// Returns the skills.
    pub fn skills(&self) -> &[PinnedSkill] {
        &self.skills
    }

    /// Returns the skill of a name.
    pub fn find(&self, name: &str) -> Option<&PinnedSkill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// Pins a skill in place of the one of that name.
    pub fn insert(&mut self, skill: PinnedSkill) {
        self.skills.retain(|other| other.name != skill.name);
        let at = self.skills.partition_point(|other| other.name < skill.name);
        self.skills.insert(at, skill);
    }
}

/// Writes the tables; the same skills give the same bytes.
impl fmt::Display for ProjectLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for PinnedSkill { name, from, url, commit, folder, content } in &self.skills {
            writeln!(f, "\n[[source]]\nname = {}\nfrom = {}", Quoted(name), Quoted(from))?;
            for (key, value) in [("url", url), ("commit", commit)] {
                if let Some(value) = value {
                    writeln!(f, "{key} = {}", Quoted(value))?;
                }
            }
            if !folder.is_empty() {
                writeln!(f, "folder = {}", Quoted(folder))?;
            }
            writeln!(f, "content = \"{content}\"")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinned(name: &str) -> PinnedSkill {
        PinnedSkill {
            name: name.to_owned(),
            from: "acme/skills@v1".to_owned(),
            url: Some("https://forge.test/acme/skills.git".to_owned()),
            commit: Some("a".repeat(40)),
            folder: "skills/\u{202e}pdf\"".to_owned(),
            content: ContentId::of([]).unwrap(),
        }
    }

    #[test]
    fn pinned_skills_are_read_as_they_were_written_and_every_character_is_seen() {
        let mut lock = ProjectLock::default();
        lock.insert(pinned("pdf"));
        lock.insert(PinnedSkill { url: None, commit: None, ..pinned("docx") });
        lock.insert(pinned("pdf"));
        let text = lock.to_string();
        assert!(!text.contains('\u{202e}'), "{text}");
        assert_eq!(ProjectLock::parse(&text).unwrap(), lock);
        assert_eq!(lock.skills().len(), 2);
    }

    #[test]
    fn older_lock_files_pin_no_source_and_mistakes_are_named() {
        let old = "version = 1\n\n[[skill]]\nserver = \"acme\"\nuri = \"x\"\n";
        assert_eq!(ProjectLock::parse(old).unwrap(), ProjectLock::default());
        let mut text = ProjectLock { skills: vec![pinned("pdf")] }.to_string();
        text = text.clone() + &text;
        assert!(ProjectLock::parse(&text).unwrap_err().to_string().contains("`pdf` twice"));
        let path = ProjectLock { skills: vec![pinned("../x")] }.to_string();
        assert!(ProjectLock::parse(&path).unwrap_err().to_string().contains("no skill's name"));
        assert!(ProjectLock::parse("[[source]]\nname = 1\n").is_err());
    }
}
