//! What inspecting a content shows, for reviewers and rules.

use std::{collections::BTreeSet, fmt};

use bytes::Bytes;
use skillwire_core::{Frontmatter, RelPath};
use skillwire_hub::ContentFacts;
use skillwire_trust::requested_tools;

/// The most bytes of a file in which links are looked for.
const MOST_TEXT: usize = 1 << 20;

/// The most links of one content.
const MOST_LINKS: usize = 500;

/// Endings of files that can be run.
const SCRIPTS: [&str; 12] =
    [".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".ps1", ".bat", ".exe"];

/// Commands that install packages, each with the word of its kind.
const INSTALLERS: [(&str, &str); 7] = [
    ("pip install ", "pypi"),
    ("pip3 install ", "pypi"),
    ("uvx ", "pypi"),
    ("npm install ", "npm"),
    ("npx ", "npm"),
    ("gem install ", "gem"),
    ("cargo install ", "cargo"),
];

/// Members of the frontmatter by which a skill asks a host for something.
const REQUESTS: [&str; 2] = ["hooks", "permissions"];

/// A finding of a scanner, the code and how bad it is in the scanner's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentFinding {
    /// The code of its rule.
    pub code: String,
    /// How bad it is.
    pub severity: String,
}

/// Looks at content: of upstreams, when it is fetched for its review, and of uploads.
pub trait InspectContent: Send + Sync + fmt::Debug {
    /// Returns the findings of a scanner, the worst first; `None` if there is no scanner, or
    /// it found nothing and did not see everything.
    fn inspect(&self, files: &[(RelPath, Bytes)]) -> Option<Vec<ContentFinding>>;

    /// Returns the trusted signers whose signature covers exactly these files, as the operator calls them.
    fn signers(&self, files: &[(RelPath, Bytes)]) -> BTreeSet<String> {
        let _ = files;
        BTreeSet::new()
    }
}

/// How bad the worst of some findings is, of which the worst comes first: `none` without any.
pub fn worst_of(findings: &[ContentFinding]) -> &str {
    findings.first().map_or("none", |worst| &worst.severity)
}

/// Whether the name of a file says that it can be run.
pub fn names_script(path: &RelPath) -> bool {
    let path = path.as_str();
    path.starts_with("scripts/") || SCRIPTS.iter().any(|ending| path.ends_with(ending))
}

/// Collects what can be told from the files of a skill.
pub(crate) fn facts_of(
    files: &[(RelPath, Bytes)],
    frontmatter: &Frontmatter,
    inspector: Option<&dyn InspectContent>,
) -> ContentFacts {
    let mut facts = ContentFacts::default();
    for (path, bytes) in files {
        let name = path.as_str();
        if names_script(path) || bytes.starts_with(b"#!") {
            facts.scripts.insert(name.to_owned());
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => {
                let end = text.floor_char_boundary(MOST_TEXT);
                links(&text[..end], &mut facts.links);
                packages(&text[..end], &mut facts.packages);
                if text.len() > end {
                    facts.findings.push("file-not-inspected-whole".to_owned());
                }
            }
            _ => drop(facts.binaries.insert(name.to_owned())),
        }
    }
    for tool in requested_tools(frontmatter) {
        facts.request_tool(&tool);
    }
    for name in REQUESTS {
        if let Some(value) = frontmatter.fields().get(name) {
            let asked = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let each = asked.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty());
            facts.requests.extend(each.map(|word| format!("{name}: {word}")));
        }
    }
    if let Some(inspector) = inspector {
        facts.signers = inspector.signers(files);
    }
    if let Some(found) = inspector.and_then(|inspector| inspector.inspect(files)) {
        facts.worst = Some(worst_of(&found).to_owned());
        facts.findings.extend(found.into_iter().map(|finding| finding.code));
    }
    facts
}

fn links(text: &str, into: &mut BTreeSet<String>) {
    for scheme in ["https://", "http://"] {
        for (at, _) in text.match_indices(scheme) {
            let rest = &text[at..];
            let ends = |c: char| c.is_whitespace() || "\"'<>()[]{}`|\\^".contains(c);
            let link = rest.split(ends).next().unwrap_or(rest).trim_end_matches(['.', ',', ';']);
            if link.len() > scheme.len() && into.len() < MOST_LINKS {
                into.insert(link.to_owned());
            }
        }
    }
}

fn packages(text: &str, into: &mut BTreeSet<String>) {
    for (command, kind) in INSTALLERS {
        for (at, _) in text.match_indices(command) {
            let line = text[at + command.len()..].lines().next().unwrap_or_default();
            let named = line.split_whitespace().find(|word| !word.starts_with('-'));
            if let Some(name) = named.filter(|_| into.len() < MOST_LINKS) {
                into.insert(format!("{kind}:{}", name.trim_matches(['`', '"', '\''])));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use skillwire_core::skill_file;

    use super::*;

    #[test]
    fn files_show_links_scripts_packages_and_requests() {
        let text = "---\nname: a\ndescription: Use it.\nallowed-tools: Bash Read\n---\nSee https://a.example/x. Run `pip install -q evil` now.\n";
        let frontmatter = skill_file::check(text.as_bytes()).0.unwrap().frontmatter;
        let path = |text: &str| RelPath::parse(text).unwrap();
        let files = [
            (path("SKILL.md"), Bytes::from(text)),
            (path("run"), Bytes::from("#!/bin/sh\n")),
            (path("a.bin"), Bytes::from_static(b"\xff\0")),
        ];
        let facts = facts_of(&files, &frontmatter, None);
        let of = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>();
        assert_eq!(of(&facts.links), ["https://a.example/x"]);
        assert_eq!(of(&facts.packages), ["pypi:evil"]);
        assert_eq!(of(&facts.scripts), ["run"]);
        assert_eq!(of(&facts.binaries), ["a.bin"]);
        assert_eq!(of(&facts.requests), ["allowed-tools: Bash", "allowed-tools: Read"]);
    }
}
