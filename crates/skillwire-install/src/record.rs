//! What was installed: from where, with which content, and into which folders.

use std::{collections::BTreeSet, path::PathBuf};

use serde::{Deserialize, Serialize};
use skillwire_core::{ContentId, SkillName};

use crate::{placement::Placement, source::SourceAddress};

/// The only version of the format.
const VERSION: u32 = 1;

/// A source at one state: what was asked for, and what was found there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PinnedSource {
    /// What was asked for.
    pub address: SourceAddress,
    /// The commit of a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The folder of the skill in the source; empty for its root.
    pub folder: String,
}

/// For whom a skill is installed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstallScope {
    /// For the user, in every project.
    User,
    /// In one project.
    Project(PathBuf),
    /// For no agent: the host keeps it and offers it.
    Kept,
}

/// One installed skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstalledSkill {
    /// The name of the skill, and of its directory.
    pub name: String,
    /// For whom it is installed.
    pub scope: InstallScope,
    /// Where it came from.
    pub source: PinnedSource,
    /// What was installed.
    pub content: ContentId,
    /// When it was installed or updated, in RFC 3339.
    pub at: String,
    /// Whether a project names it, so that it goes when the project no longer does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub synced: bool,
    /// The directories that hold it.
    pub placements: Vec<Placement>,
}

impl InstalledSkill {
    /// Tells whether this is the skill of that name in that scope.
    pub fn is(&self, name: &str, scope: &InstallScope) -> bool {
        self.name == name && self.scope == *scope
    }
}

/// Everything that is installed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InstalledSkills {
    skills: Vec<InstalledSkill>,
}

/// Why a text does not say what is installed; it continues the name of the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRecords {
    /// It is not JSON of this shape.
    #[error("is not a record of installed skills")]
    Json(#[from] serde_json::Error),
    /// A later program wrote it.
    #[error("has version {0}, which this program does not know")]
    Version(u32),
    /// A name is not one of a skill.
    #[error("names `{0}`, which is not the name of a skill")]
    Name(String),
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    skills: Vec<InstalledSkill>,
}

impl InstalledSkills {
    /// Reads what [`text`](Self::text) wrote.
    pub fn parse(text: &str) -> Result<Self, InvalidRecords> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let Versioned { version } = serde_json::from_str(text)?;
        if version != VERSION {
            return Err(InvalidRecords::Version(version));
        }
        let File { skills, .. } = serde_json::from_str(text)?;
        // A name becomes part of a path.
        let wrong = skills.iter().find(|skill| SkillName::parse(&skill.name).is_err());
        match wrong {
            Some(wrong) => Err(InvalidRecords::Name(wrong.name.escape_debug().to_string())),
            None => Ok(Self { skills }),
        }
    }

    /// Writes the records.
    pub fn text(&self) -> String {
        let file = File { version: VERSION, skills: self.skills.clone() };
        let text = serde_json::to_string_pretty(&file);
        text.map_or_else(|_| String::new(), |text| text + "\n")
    }

    /// Returns the skills, by name.
    pub fn skills(&self) -> &[InstalledSkill] {
        &self.skills
    }

    /// Returns the skill of a name in a scope.
    pub fn find(&self, name: &str, scope: &InstallScope) -> Option<&InstalledSkill> {
        self.skills.iter().find(|skill| skill.is(name, scope))
    }

    /// Records a skill in place of the one of that name in that scope.
    pub fn insert(&mut self, skill: InstalledSkill) {
        self.remove(&skill.name, &skill.scope);
        let at = self
            .skills
            .partition_point(|other| (&other.name, &other.scope) < (&skill.name, &skill.scope));
        self.skills.insert(at, skill);
    }

    /// Forgets a skill; returns it.
    pub fn remove(&mut self, name: &str, scope: &InstallScope) -> Option<InstalledSkill> {
        let at = self.skills.iter().position(|skill| skill.is(name, scope))?;
        Some(self.skills.remove(at))
    }

    /// Notes that directories, outermost first, were made for skills that are still in them.
    pub fn hand_over(&mut self, made: &[PathBuf]) {
        for directory in made {
            let mut placements = self.skills.iter_mut().flat_map(|skill| &mut skill.placements);
            let inside = |placement: &&mut Placement| placement.directory.starts_with(directory);
            if let Some(placement) = placements.find(inside) {
                placement.made.push(directory.clone());
                placement.made.sort();
                placement.made.dedup();
            }
        }
    }

    /// Returns the contents that are installed.
    pub fn contents(&self) -> BTreeSet<ContentId> {
        self.skills.iter().map(|skill| skill.content).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PlacementMethod;

    fn skill(name: &str, scope: InstallScope) -> InstalledSkill {
        let address = SourceAddress::parse("acme/skills@v1", "https://forge.test").unwrap();
        InstalledSkill {
            name: name.to_owned(),
            scope,
            source: PinnedSource {
                address,
                commit: Some("a".repeat(40)),
                folder: "skills/pdf".to_owned(),
            },
            content: ContentId::of([]).unwrap(),
            at: "2026-01-01T00:00:00Z".to_owned(),
            synced: false,
            placements: vec![Placement {
                directory: "/home/me/.claude/skills/pdf".into(),
                agents: vec!["claude-code".to_owned()],
                method: PlacementMethod::Copy,
                made: Vec::new(),
            }],
        }
    }

    #[test]
    fn records_are_read_as_they_were_written_and_one_name_is_installed_once_in_a_scope() {
        let mut records = InstalledSkills::default();
        records.insert(skill("pdf", InstallScope::User));
        records.insert(skill("doc", InstallScope::Project("/src/a".into())));
        records.insert(skill("pdf", InstallScope::Kept));
        let mut newer = skill("pdf", InstallScope::User);
        newer.source.commit = None;
        records.insert(newer.clone());
        assert_eq!(InstalledSkills::parse(&records.text()).unwrap(), records);
        assert_eq!(records.skills().len(), 3);
        assert_eq!(records.find("pdf", &InstallScope::User), Some(&newer));
        assert!(records.remove("pdf", &InstallScope::User).is_some());
        assert!(records.find("pdf", &InstallScope::User).is_none());
    }

    #[test]
    fn later_versions_and_names_that_are_paths_are_refused() {
        let mut records = InstalledSkills::default();
        records.insert(skill("../x", InstallScope::User));
        assert!(matches!(InstalledSkills::parse(&records.text()), Err(InvalidRecords::Name(_))));
        let later = InstalledSkills::parse("{\"version\": 9, \"what\": 1}");
        assert!(matches!(later, Err(InvalidRecords::Version(9))));
        assert!(matches!(InstalledSkills::parse("["), Err(InvalidRecords::Json(_))));
    }
}
