//! Where skills come from, as a user writes it.

use std::fmt;

use serde::{Deserialize, Serialize};
use skillwire_core::RelPath;

/// Endings of archives.
const ARCHIVES: [&str; 3] = [".tar.gz", ".tgz", ".zip"];

/// Hosts whose addresses are those of repositories.
const FORGES: [&str; 4] = [
    "https://github.com/",
    "https://gitlab.com/",
    "https://codeberg.org/",
    "https://bitbucket.org/",
];

/// What stands between a repository and a ref in an address that was copied from a browser.
const TREE_MARKS: [&str; 4] = ["/-/tree/", "/tree/", "/src/branch/", "/blob/"];

/// Where skills come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SourceAddress {
    /// A git repository.
    Repository(RepositoryAddress),
    /// An archive: a file of this machine, or a URL.
    Archive {
        /// The path or the URL.
        place: String,
    },
    /// A web origin that offers skills below `/.well-known/`.
    Web {
        /// The origin, without a path.
        origin: String,
    },
    /// A folder of this machine.
    Folder {
        /// The path.
        path: String,
    },
    /// A skill of a server, by its handle.
    Served {
        /// The handle.
        handle: String,
    },
}

/// A repository, and where in it skills are looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryAddress {
    /// The address for `git`.
    pub url: String,
    /// How the user wrote the repository, without ref and path.
    pub written: String,
    /// A branch, a tag or a commit; `None` is the branch that the repository shows first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The folder in the repository; `None` is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Why a text is not the address of a source; it continues "the source".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSource {
    /// It is empty or holds something that no address has.
    #[error("is empty, begins with `-`, or holds a space or a control character")]
    Text,
    /// The owner, the repository or the path cannot be one.
    #[error("has an owner, repository or path that cannot be one: `{0}`")]
    Repository(String),
    /// Nothing tells what is at the URL.
    #[error("is a URL of which nothing tells whether it is a repository, an archive or a server")]
    UnknownUrl,
    /// A ref or path was given to a source that has none.
    #[error("is not a repository, so it has no {0}")]
    NotARepository(&'static str),
    /// A ref or path was given twice.
    #[error("names a {0} already")]
    Twice(&'static str),
}

impl SourceAddress {
    /// Parses what a user wrote; `forge` is the address below which `owner/repo` is found.
    pub fn parse(text: &str, forge: &str) -> Result<Self, InvalidSource> {
        let forbidden = |c: char| c.is_control() || c.is_whitespace();
        if text.is_empty() || text.starts_with('-') || text.contains(forbidden) {
            return Err(InvalidSource::Text);
        }
        let is_path = text == "."
            || text == ".."
            || ["./", "../", "/"].iter().any(|start| text.starts_with(start));
        if is_path && !is_archive(text) {
            return Ok(Self::Folder { path: text.to_owned() });
        }
        if let Some((scheme, rest)) = text.split_once("://")
            && !scheme.contains(':')
        {
            return Self::parse_url(text, scheme, rest, forge);
        }
        if is_archive(text) {
            return Ok(Self::Archive { place: text.to_owned() });
        }
        if let Some((before, path)) = text.split_once(':') {
            if !before.contains('@') || before.contains('/') {
                return Ok(Self::Served { handle: text.to_owned() });
            }
            let (path, reference) = split_reference(path);
            let url = format!("{before}:{path}");
            return Ok(Self::Repository(RepositoryAddress {
                written: url.clone(),
                url,
                reference,
                path: None,
            }));
        }
        let has_host = |known: &&&str| {
            let host = known.strip_prefix("https://").unwrap_or(known);
            text.get(..host.len()).is_some_and(|start| start.eq_ignore_ascii_case(host))
        };
        if let Some(known) = FORGES.iter().find(has_host) {
            let rest = &text[known.len() - "https://".len()..];
            return Self::parse(&format!("{known}{rest}"), forge);
        }
        if text.contains('/') {
            let below = below_forge(text, forge)?;
            let written = below.written.trim_start_matches('/').to_owned();
            return Ok(Self::Repository(RepositoryAddress { written, ..below }));
        }
        Ok(Self::Served { handle: text.to_owned() })
    }

    fn parse_url(text: &str, scheme: &str, rest: &str, forge: &str) -> Result<Self, InvalidSource> {
        if let Some(scheme) = scheme.strip_prefix("git+") {
            let url = format!("{scheme}://{rest}");
            return repository_url(&url).map(Self::Repository);
        }
        if is_archive(rest.split(['?', '#']).next().unwrap_or_default()) {
            return Ok(Self::Archive { place: text.to_owned() });
        }
        let base = format!("{}/", forge.trim_end_matches('/'));
        let known = FORGES.iter().copied().chain([base.as_str()]);
        if let Some(known) = known.into_iter().find(|known| text.starts_with(known)) {
            let mut found = below_forge(&text[known.len()..], known)?;
            found.written = found.url.trim_end_matches(".git").to_owned();
            return Ok(Self::Repository(found));
        }
        if matches!(scheme, "ssh" | "file") || names_repository(rest) {
            return repository_url(text).map(Self::Repository);
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if path.is_empty() || path.starts_with(".well-known/") {
            return Ok(Self::Web { origin: format!("{scheme}://{authority}") });
        }
        Err(InvalidSource::UnknownUrl)
    }

    /// Writes the source for a user who finds `owner/repo` below `forge`: one below another forge is
    /// written as its whole URL.
    ///
    /// A project chooses its own forge, so the short form alone would let it pass off a repository of
    /// its own as one of an owner whom the user knows.
    pub fn for_user_of(&self, forge: &str) -> String {
        match self {
            Self::Repository(repository) if !repository.is_below(forge) => {
                let written = repository.url.clone();
                Self::Repository(RepositoryAddress { written, ..repository.clone() }).to_string()
            }
            other => other.to_string(),
        }
    }

    /// Adds a ref that was given beside the source.
    pub fn with_reference(self, reference: &str) -> Result<Self, InvalidSource> {
        match self {
            Self::Repository(found) if found.reference.is_none() => {
                Ok(Self::Repository(RepositoryAddress {
                    reference: Some(reference.to_owned()),
                    ..found
                }))
            }
            Self::Repository(_) => Err(InvalidSource::Twice("ref")),
            _ => Err(InvalidSource::NotARepository("ref")),
        }
    }

    /// Adds a folder in the repository that was given beside the source.
    pub fn with_path(self, path: &str) -> Result<Self, InvalidSource> {
        match self {
            Self::Repository(found) if found.path.is_none() => {
                let path = Some(folder_of(path)?);
                Ok(Self::Repository(RepositoryAddress { path, ..found }))
            }
            Self::Repository(_) => Err(InvalidSource::Twice("path")),
            _ => Err(InvalidSource::NotARepository("path")),
        }
    }
}

impl RepositoryAddress {
    /// Tells whether what was written leads to this repository where `owner/repo` is found below
    /// `forge`.
    fn is_below(&self, forge: &str) -> bool {
        let forge = forge.trim_end_matches('/');
        self.written.contains(':') || self.url == format!("{forge}/{}.git", self.written)
    }
}

/// Writes the source as a user would.
impl fmt::Display for SourceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repository(RepositoryAddress { written, reference, path, .. }) => {
                f.write_str(written)?;
                if let Some(path) = path {
                    write!(f, "/{path}")?;
                }
                reference.as_ref().map_or(Ok(()), |reference| write!(f, "@{reference}"))
            }
            Self::Archive { place: text }
            | Self::Web { origin: text }
            | Self::Folder { path: text }
            | Self::Served { handle: text } => f.write_str(text),
        }
    }
}

fn is_archive(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ARCHIVES.iter().any(|ending| lower.ends_with(ending))
}

/// Whether the path of a URL has the ending of a repository.
fn names_repository(rest: &str) -> bool {
    split_reference(rest).0.split('/').any(|name| {
        name.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && ending == "git")
    })
}

/// Splits a ref from the end: `repo@v1`, and not `user@host`.
fn split_reference(text: &str) -> (&str, Option<String>) {
    let name = text.rfind('/').map_or(0, |slash| slash + 1);
    if let Some(at) = text.rfind('@').filter(|at| *at > name && at + 1 < text.len()) {
        return (&text[..at], Some(text[at + 1..].to_owned()));
    }
    // A branch may have slashes, so the mark may stand before the last of them.
    let marked = text.split_once('@').filter(|(before, after)| {
        !before.contains("://") && before.contains('/') && !after.is_empty()
    });
    marked.map_or((text, None), |(before, after)| (before, Some(after.to_owned())))
}

/// Reads `owner/repo[/path][@ref]`, or what a browser shows of it.
fn below_forge(text: &str, forge: &str) -> Result<RepositoryAddress, InvalidSource> {
    let mark = TREE_MARKS.iter().find_map(|mark| text.split_once(mark));
    let (place, reference, path) = if let Some((place, rest)) = mark {
        let (reference, path) = rest.split_once('/').unwrap_or((rest, ""));
        // The page of a `SKILL.md` is that of its folder.
        let path = path.strip_suffix("SKILL.md").unwrap_or(path);
        (place.to_owned(), Some(reference.to_owned()), path.to_owned())
    } else {
        let (place, reference) = split_reference(text);
        let mut names = place.splitn(3, '/');
        let [owner, repository, path] =
            [names.next(), names.next(), names.next()].map(Option::unwrap_or_default);
        (format!("{owner}/{repository}"), reference, path.to_owned())
    };
    let invalid = || InvalidSource::Repository(text.to_owned());
    let place = place.trim_end_matches('/');
    let place = place.strip_suffix(".git").unwrap_or(place);
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(['-', '.'])
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
    };
    if !place.contains('/') || !place.split('/').all(is_name) {
        return Err(invalid());
    }
    let path = path.trim_matches('/');
    let path = if path.is_empty() { None } else { Some(folder_of(path)?) };
    let url = format!("{}/{place}.git", forge.trim_end_matches('/'));
    Ok(RepositoryAddress { url, written: place.to_owned(), reference, path })
}

/// Reads the URL of a repository: `…/x.git[/path][@ref]`.
fn repository_url(text: &str) -> Result<RepositoryAddress, InvalidSource> {
    let start = text.find("://").map_or(0, |at| at + 3);
    let first = text[start..].find('/').map_or(text.len(), |slash| start + slash);
    let (rest, reference) = split_reference(&text[first..]);
    let (repository, path) = match rest.split_once(".git/") {
        Some((repository, path)) => (format!("{repository}.git"), path.trim_matches('/')),
        None => (rest.trim_end_matches('/').to_owned(), ""),
    };
    let path = if path.is_empty() { None } else { Some(folder_of(path)?) };
    let url = format!("{}{repository}", &text[..first]);
    Ok(RepositoryAddress { written: url.clone(), url, reference, path })
}

fn folder_of(path: &str) -> Result<String, InvalidSource> {
    let path = path.trim_matches('/');
    let parsed = RelPath::parse(path).map_err(|_| InvalidSource::Repository(path.to_owned()))?;
    Ok(parsed.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORGE: &str = "https://forge.test";

    /// A repository as `URL path ref`.
    fn repository(text: &str) -> String {
        match SourceAddress::parse(text, FORGE) {
            Ok(SourceAddress::Repository(RepositoryAddress { url, reference, path, .. })) => {
                let [path, reference] =
                    [path, reference].map(|part| part.unwrap_or("-".to_owned()));
                format!("{url} {path} {reference}")
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn repositories_are_read_in_every_form_that_people_have() {
        for (text, read) in [
            ("acme/skills", "https://forge.test/acme/skills.git - -"),
            ("acme/skills@v1.2", "https://forge.test/acme/skills.git - v1.2"),
            ("acme/skills/a/pdf@v1", "https://forge.test/acme/skills.git a/pdf v1"),
            ("acme/skills@feature/x", "https://forge.test/acme/skills.git - feature/x"),
            ("https://github.com/acme/skills", "https://github.com/acme/skills.git - -"),
            ("https://github.com/acme/skills.git", "https://github.com/acme/skills.git - -"),
            (
                "https://github.com/acme/skills/tree/main/a/pdf",
                "https://github.com/acme/skills.git a/pdf main",
            ),
            (
                "https://github.com/acme/skills/blob/main/a/SKILL.md",
                "https://github.com/acme/skills.git a main",
            ),
            (
                "https://gitlab.com/acme/team/-/tree/main/a",
                "https://gitlab.com/acme/team.git a main",
            ),
            ("github.com/acme/skills", "https://github.com/acme/skills.git - -"),
            ("GitHub.com/acme/skills/a/pdf@v1", "https://github.com/acme/skills.git a/pdf v1"),
            ("gitlab.com/acme/team/-/tree/main/a", "https://gitlab.com/acme/team.git a main"),
            ("https://forge.test/acme/x", "https://forge.test/acme/x.git - -"),
            ("https://git.test/x.git@v2", "https://git.test/x.git - v2"),
            ("https://git.test/t/x.git/a/b@v2", "https://git.test/t/x.git a/b v2"),
            ("git+https://git.test/t/x@main", "https://git.test/t/x - main"),
            ("ssh://git@git.test/t/x.git", "ssh://git@git.test/t/x.git - -"),
            ("git@git.test:t/x.git", "git@git.test:t/x.git - -"),
            ("git@git.test:t/x.git@v3", "git@git.test:t/x.git - v3"),
            ("file:///srv/x.git", "file:///srv/x.git - -"),
        ] {
            assert_eq!(repository(text), read, "{text}");
        }
    }

    #[test]
    fn a_repository_below_another_forge_than_that_of_the_user_is_written_out() {
        for (text, forge, written) in [
            ("acme/skills/a/pdf@v1", FORGE, "acme/skills/a/pdf@v1"),
            ("acme/skills", "https://forge.test/", "acme/skills"),
            ("https://github.com/acme/skills@v1", FORGE, "https://github.com/acme/skills@v1"),
            (
                "acme/skills/a/pdf@v1",
                "https://github.com",
                "https://github.com/acme/skills.git/a/pdf@v1",
            ),
            ("acme/skills", "https://forge.test/evil", "https://forge.test/evil/acme/skills.git"),
            ("git@git.test:t/x.git@v3", "https://github.com", "git@git.test:t/x.git@v3"),
            ("./skills", "https://github.com", "./skills"),
        ] {
            let address = SourceAddress::parse(text, forge).unwrap();
            assert_eq!(address.for_user_of(FORGE), written);
            assert_eq!(address.for_user_of(&format!("{FORGE}/")), written);
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for text in [
            "acme/skills",
            "acme/skills/a/pdf@v1",
            "https://github.com/acme/skills@main",
            "https://git.test/x.git/a@v2",
            "file:///srv/x.git@v1",
            "git@git.test:t/x.git@v3",
            "./dist/pdf.tar.gz",
            "https://skills.test",
            "team:refunds",
        ] {
            let source = SourceAddress::parse(text, FORGE).unwrap();
            assert_eq!(source.to_string(), text);
            assert_eq!(SourceAddress::parse(&source.to_string(), FORGE).unwrap(), source);
        }
    }

    #[test]
    fn archives_origins_folders_and_handles_are_told_apart() {
        let kind = |text: &str| match SourceAddress::parse(text, FORGE) {
            Ok(SourceAddress::Repository(_)) => "repository",
            Ok(SourceAddress::Archive { .. }) => "archive",
            Ok(SourceAddress::Web { .. }) => "web",
            Ok(SourceAddress::Folder { .. }) => "folder",
            Ok(SourceAddress::Served { .. }) => "served",
            Err(_) => "refused",
        };
        for (text, expected) in [
            ("pdf.zip", "archive"),
            ("dist/pdf.TGZ", "archive"),
            ("https://x.test/pdf.tar.gz?x=1", "archive"),
            ("https://skills.test", "web"),
            ("https://skills.test/", "web"),
            ("http://127.0.0.1:80/.well-known/agent-skills/index.json", "web"),
            ("./skills", "folder"),
            ("/srv/skills", "folder"),
            ("..", "folder"),
            ("team:refunds", "served"),
            ("team:skill://a/b/SKILL.md", "served"),
            ("refunds", "served"),
            ("https://x.test/mcp", "refused"),
            ("", "refused"),
            ("-rf", "refused"),
            ("a b/c", "refused"),
            ("acme/../x", "refused"),
            ("acme/x/../../y", "refused"),
            ("-acme/x", "refused"),
            ("https://github.com/acme", "refused"),
            ("https://github.com/", "refused"),
            ("acme/", "refused"),
            ("acme/@v1", "refused"),
            ("acme/-x", "refused"),
            ("/", "folder"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn a_ref_or_path_beside_the_source_is_given_once_and_to_repositories_alone() {
        let parse = |text| SourceAddress::parse(text, FORGE).unwrap();
        let source = parse("acme/x").with_reference("v1").unwrap().with_path("a/").unwrap();
        assert_eq!(source.to_string(), "acme/x/a@v1");
        assert_eq!(parse("acme/x@v1").with_reference("v2"), Err(InvalidSource::Twice("ref")));
        assert_eq!(parse("acme/x/a").with_path("b"), Err(InvalidSource::Twice("path")));
        assert_eq!(parse("x.zip").with_path("b"), Err(InvalidSource::NotARepository("path")));
        assert!(parse("acme/x").with_path("../b").is_err());
    }
}
