//! The file in which a project names the servers, sources and skills that it uses.

use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

use crate::source::{InvalidSource, SourceAddress};

/// The most bytes that the file may have.
const MAX_BYTES: usize = 1 << 20;

/// What a project uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectFile {
    /// The agents whose folders in the project get the skills; empty for those on the machine.
    pub agents: Vec<String>,
    /// Where `owner/repo` is found.
    pub forge: Option<String>,
    /// The servers.
    pub servers: Vec<ProjectServer>,
    /// The repositories, archives and origins.
    pub sources: Vec<ProjectSource>,
}

/// A server that a project uses.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectServer {
    /// What the project calls it; a user may call it otherwise.
    pub label: String,
    /// Its URL.
    pub url: Option<String>,
    /// Or the program that is the server, with its arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// The names or paths of its skills that the project uses; `*` is every skill.
    #[serde(default)]
    pub skills: Vec<String>,
}

/// A source that a project uses.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectSource {
    /// The source, as a user would write it.
    pub from: String,
    /// The branch, tag or commit, if `from` does not say it.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// The folder in the repository, if `from` does not say it.
    pub path: Option<String>,
    /// The names of its skills that the project uses; empty for every skill.
    #[serde(default)]
    pub skills: Vec<String>,
}

impl ProjectSource {
    /// Returns the address of the source; `forge` is where `owner/repo` is found.
    pub fn address(&self, forge: &str) -> Result<SourceAddress, InvalidSource> {
        let mut address = SourceAddress::parse(&self.from, forge)?;
        if let Some(reference) = &self.reference {
            address = address.with_reference(reference)?;
        }
        match &self.path {
            Some(path) => address.with_path(path),
            None => Ok(address),
        }
    }
}

/// Why a text is not the file of a project; it continues the name of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct InvalidProject {
    problem: String,
}

impl InvalidProject {
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into() }
    }
}

/// Reads a file of a project with at most so many bytes; the error names the line.
pub(crate) fn read_toml<T: DeserializeOwned>(text: &str, most: usize) -> Result<T, InvalidProject> {
    if text.len() > most {
        return Err(InvalidProject::new(format!("has more than {most} bytes")));
    }
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        InvalidProject::new(format!("is wrong in line {line}: {}", error.message()))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    project: ProjectTable,
    #[serde(default)]
    server: Vec<ProjectServer>,
    #[serde(default)]
    source: Vec<ProjectSource>,
    /// What `check` and `scan` read of the same file.
    #[serde(default)]
    #[expect(dead_code, reason = "other commands read it")]
    silence: Option<IgnoredAny>,
    #[serde(default)]
    #[expect(dead_code, reason = "other commands read it")]
    check: Option<IgnoredAny>,
    #[serde(default)]
    #[expect(dead_code, reason = "other commands read it")]
    scan: Option<IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct ProjectTable {
    #[serde(default)]
    agents: Vec<String>,
    forge: Option<String>,
}

impl ProjectFile {
    /// Reads the file.
    pub fn parse(text: &str) -> Result<Self, InvalidProject> {
        let file: File = read_toml(text, MAX_BYTES)?;
        for server in &file.server {
            if server.url.is_some() != server.command.is_empty() {
                let label = server.label.escape_debug();
                let problem = format!("must give the server `{label}` a `url` or a `command`");
                return Err(InvalidProject::new(problem));
            }
        }
        let mut labels: Vec<&str> = file.server.iter().map(|server| &*server.label).collect();
        labels.sort_unstable();
        if let Some(pair) = labels.windows(2).find(|pair| pair[0] == pair[1]) {
            let label = pair[0].escape_debug();
            return Err(InvalidProject::new(format!("names the server `{label}` twice")));
        }
        let ProjectTable { agents, forge } = file.project;
        Ok(Self { agents, forge, servers: file.server, sources: file.source })
    }

    /// Tells whether the project uses nothing.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.sources.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_sources_and_skills_are_read_beside_silences() {
        let file = ProjectFile::parse(
            "[project]\nagents = [\"codex\"]\n\n[[server]]\nlabel = \"team\"\n\
             url = \"https://skills.test/mcp\"\nskills = [\"*\"]\n\n[[source]]\n\
             from = \"acme/skills@v1\"\nskills = [\"pdf\"]\n\n[[silence]]\ncode = \"x\"\n\n[check]\n[scan]\n",
        )
        .unwrap();
        assert_eq!(file.agents, ["codex"]);
        assert_eq!(file.servers[0].url.as_deref(), Some("https://skills.test/mcp"));
        assert_eq!(file.sources[0].skills, ["pdf"]);
        assert!(ProjectFile::parse("[[silence]]\ncode = \"x\"\n").unwrap().is_empty());
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, words) in [
            ("[project]\nagent = []\n", "line 2: unknown field `agent`"),
            ("[[source]]\n", "missing field `from`"),
            ("[[server]]\nlabel = \"a\"\n", "a `url` or a `command`"),
            (
                "[[server]]\nlabel = \"a\"\nurl = \"u\"\ncommand = [\"c\"]\n",
                "a `url` or a `command`",
            ),
            (
                "[[server]]\nlabel = \"a\"\nurl = \"u\"\n[[server]]\nlabel = \"a\"\nurl = \"v\"\n",
                "the server `a` twice",
            ),
            ("what = 1\n", "unknown field `what`"),
        ] {
            let error = ProjectFile::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
