//! Reads `skills-lock.json`, in which `npx skills` notes the skills of a project.

use serde::Deserialize;
use std::collections::BTreeMap;

use crate::project::{InvalidProject, ProjectSource};

/// The most bytes that the file may have.
const MAX_BYTES: usize = 16 << 20;

/// The skills of a project that uses `npx skills`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NpxLock {
    /// The sources with the skills of each.
    pub sources: Vec<ProjectSource>,
    /// Skills that have no source that can be reached, with the kind of it.
    pub unreachable: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct File {
    version: u32,
    skills: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    source: String,
    #[serde(default)]
    source_type: String,
    source_url: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    skill_path: Option<String>,
}

impl NpxLock {
    /// Reads the file.
    pub fn parse(text: &str) -> Result<Self, InvalidProject> {
        if text.len() > MAX_BYTES {
            return Err(InvalidProject::new(format!("has more than {MAX_BYTES} bytes")));
        }
        let file: File = serde_json::from_str(text).map_err(|error| {
            InvalidProject::new(format!("is not a lock of `npx skills`: {error}"))
        })?;
        if file.version != 1 {
            let problem = format!("has version {}, which this program does not know", file.version);
            return Err(InvalidProject::new(problem));
        }
        let mut lock = Self::default();
        for (name, entry) in file.skills {
            let Some(source) = entry.source() else {
                lock.unreachable.push((name, entry.source_type));
                continue;
            };
            let same = |known: &&mut ProjectSource| {
                (&known.from, &known.reference, &known.path)
                    == (&source.from, &source.reference, &source.path)
            };
            match lock.sources.iter_mut().find(same) {
                Some(known) => known.skills.push(name),
                None => lock.sources.push(ProjectSource { skills: vec![name], ..source }),
            }
        }
        Ok(lock)
    }
}

impl Entry {
    /// The source, as a user of this program would write it.
    fn source(&self) -> Option<ProjectSource> {
        let place = self.source_url.as_deref().unwrap_or(&self.source);
        // The path is that of the `SKILL.md`.
        let folder = self.skill_path.as_deref().unwrap_or_default();
        let folder = folder.strip_suffix("SKILL.md").unwrap_or(folder).trim_matches('/');
        let is_repository = matches!(self.source_type.as_str(), "github" | "gitlab" | "git");
        if !is_repository && self.source_type != "well-known" {
            return None;
        }
        // Any URL is one of a repository here, whatever its ending.
        let is_plain_url = is_repository && place.contains("://");
        let from = if is_plain_url { format!("git+{place}") } else { place.to_owned() };
        let source = ProjectSource {
            from,
            reference: self.reference.clone().filter(|_| is_repository),
            path: Some(folder.to_owned()).filter(|path| is_repository && !path.is_empty()),
            skills: Vec::new(),
        };
        source.address("https://github.com").ok().map(|_| source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skills_of_npx_are_read_with_their_sources() {
        let lock = NpxLock::parse(
            r#"{
  "version": 1,
  "skills": {
    "docx": {"source": "acme/skills", "ref": "v1", "sourceType": "github", "computedHash": "0"},
    "pdf": {"source": "acme/skills", "ref": "v1", "sourceType": "github", "computedHash": "0"},
    "deep": {"source": "acme/more", "sourceType": "github", "skillPath": "a/deep/SKILL.md", "computedHash": "0"},
    "own": {"source": "own", "sourceUrl": "https://git.test/own", "sourceType": "git", "computedHash": "0"},
    "web": {"source": "https://skills.test", "sourceType": "well-known", "computedHash": "0"},
    "dep": {"source": "dep", "sourceType": "node_modules", "computedHash": "0"}
  }
}"#,
        )
        .unwrap();
        let sources: Vec<String> = lock
            .sources
            .iter()
            .map(|source| {
                let address = source.address("https://forge.test").unwrap();
                format!("{address} {}", source.skills.join(","))
            })
            .collect();
        assert_eq!(
            sources,
            [
                "acme/more/a/deep deep",
                "acme/skills@v1 docx,pdf",
                "https://git.test/own own",
                "https://skills.test web",
            ]
        );
        assert_eq!(lock.unreachable, [("dep".to_owned(), "node_modules".to_owned())]);
        assert!(NpxLock::parse("{\"version\": 9, \"skills\": {}}").is_err());
        assert!(NpxLock::parse("[]").is_err());
    }
}
