//! Folders made for one test, and short ways to ask what became of them.

use std::{fs, path::PathBuf};

use bytes::Bytes;
use skillwire_core::finding::{Code, Finding, Strictness};
use skillwire_source::{
    directory::{DirectoryOptions, DirectorySource},
    skill::{Content, FileTree, Skill},
    source::{Inspected, Scan, Source},
};
use tempfile::TempDir;

/// A folder called `skills` that is removed with the value.
pub(crate) struct Folder {
    outside: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = Self { outside: TempDir::new().unwrap() };
        fs::create_dir(folder.root()).unwrap();
        folder
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.outside.path().join("skills")
    }

    /// A path in the folder.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// A path beside the folder, where nothing may be read.
    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.outside.path().canonicalize().unwrap().join(path)
    }

    /// Writes a file and makes the directories above it.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn directory(&self, path: &str) -> &Self {
        fs::create_dir_all(self.path(path)).unwrap();
        self
    }

    /// Writes a good `SKILL.md` whose name is that of its directory.
    pub(crate) fn skill(&self, dir: &str) -> &Self {
        let name = dir.rsplit('/').next().unwrap();
        self.write(&format!("{dir}/SKILL.md"), skill_md(name))
    }

    #[cfg(unix)]
    pub(crate) fn link(&self, path: &str, target: impl AsRef<std::path::Path>) -> &Self {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
        self
    }

    pub(crate) fn source(&self) -> DirectorySource {
        self.source_with(options())
    }

    pub(crate) fn source_with(&self, options: DirectoryOptions) -> DirectorySource {
        DirectorySource::new(self.root(), options).unwrap()
    }

    pub(crate) fn scan(&self) -> Scan {
        self.source().scan().unwrap()
    }
}

/// Options under which the folder is called `skills`.
pub(crate) fn options() -> DirectoryOptions {
    DirectoryOptions { label: "skills".to_owned(), ..DirectoryOptions::default() }
}

pub(crate) fn strict() -> DirectoryOptions {
    DirectoryOptions { strictness: Strictness::Strict, ..options() }
}

pub(crate) fn skill_md(name: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Does things. Use when things are to be done.\n---\n# Body\n"
    )
}

/// The paths of the skills that are served, in order.
pub(crate) fn served(scan: &Scan) -> Vec<String> {
    let mut paths: Vec<_> = skills(scan).map(|skill| skill.path.to_string()).collect();
    paths.sort();
    paths
}

pub(crate) fn skills(scan: &Scan) -> impl Iterator<Item = &Skill> {
    scan.inspected.iter().filter_map(|inspected| inspected.skill.as_ref())
}

/// The skill served at a path.
pub(crate) fn skill<'a>(scan: &'a Scan, path: &str) -> &'a Skill {
    skills(scan).find(|skill| skill.path.to_string() == path).unwrap_or_else(|| {
        panic!("{path} is not served: {:?}", scan.inspected);
    })
}

/// What was found in the directory the operator knows by this name.
pub(crate) fn at<'a>(scan: &'a Scan, origin: &str) -> &'a Inspected {
    scan.inspected.iter().find(|inspected| inspected.origin == origin).unwrap_or_else(|| {
        panic!("nothing was inspected at {origin}: {:?}", scan.inspected);
    })
}

/// The codes that keep a skill from being served.
pub(crate) fn reasons(inspected: &Inspected) -> Vec<Code> {
    inspected.reasons(Strictness::Normal).map(|finding| finding.code).collect()
}

/// Asserts that a place is refused for exactly these reasons.
#[track_caller]
pub(crate) fn assert_refused(scan: &Scan, origin: &str, codes: &[Code]) {
    let inspected = at(scan, origin);
    assert!(inspected.skill.is_none(), "{origin} is served");
    assert_eq!(reasons(inspected), codes, "{:?}", inspected.findings);
}

/// The first finding of a code.
pub(crate) fn finding(inspected: &Inspected, code: Code) -> &Finding {
    let found = inspected.findings.iter().find(|finding| finding.code == code);
    found.unwrap_or_else(|| panic!("no {code}: {:?}", inspected.findings))
}

pub(crate) fn has(findings: &[Finding], code: Code) -> bool {
    findings.iter().any(|finding| finding.code == code)
}

pub(crate) fn tree(skill: &Skill) -> &FileTree {
    match &skill.content {
        Content::Files(tree) => tree,
        Content::Generated(_) => panic!("{} is generated", skill.path),
    }
}

/// The paths of a skill's files.
pub(crate) fn files(skill: &Skill) -> Vec<&str> {
    tree(skill).files.iter().map(|file| file.path.as_str()).collect()
}

pub(crate) fn bytes(skill: &Skill, path: &str) -> Bytes {
    let file = tree(skill).files.iter().find(|file| file.path.as_str() == path);
    file.unwrap_or_else(|| panic!("no {path}")).bytes.clone()
}
