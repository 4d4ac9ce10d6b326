//! Makes folders for tests, and queries the results of scans.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{Mutex, MutexGuard},
};

use bytes::Bytes;
use serde_json::Value;
use skillwire_core::{Code, Digest, Finding, Strictness};
use skillwire_source::{
    DirectoryOptions, DirectorySource, FileTree, GroupKey, InspectedSkill, ScanRequest, Skill,
    SkillContent, SkillSource, SourceChange, SourceUnavailable,
};
use tempfile::TempDir;

/// The current content of a source, collected from all its reports.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) inspected: Vec<InspectedSkill>,
    pub(crate) findings: Vec<Finding>,
}

/// A source with everything it reported so far.
#[derive(Debug)]
pub(crate) struct Kept<S> {
    pub(crate) source: S,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sites: BTreeMap<GroupKey, Vec<InspectedSkill>>,
    /// The keys that the last scan reported.
    news: Vec<String>,
    closely: bool,
}

impl<S: SkillSource> Kept<S> {
    pub(crate) fn new(source: S) -> Self {
        Self { source, state: Mutex::default() }
    }

    /// Scans everything, and returns the current content.
    pub(crate) fn scan(&self) -> Result<Scan, SourceUnavailable> {
        self.look(&ScanRequest::everything())
    }

    /// Scans what the request covers, and returns the current content.
    pub(crate) fn look(&self, look: &ScanRequest) -> Result<Scan, SourceUnavailable> {
        let mut guard = self.state();
        let state = &mut *guard;
        let closely = std::mem::take(&mut state.closely);
        let look = if closely { look.clone().force_read() } else { look.clone() };
        state.news.clear();
        let findings = self.source.scan(&look, &mut |report| state.hear(report))?;
        let inspected = state.sites.values().flatten().cloned().collect();
        Ok(Scan { inspected, findings })
    }

    /// The keys of the groups that the last scan reported, sorted; removed ones begin with `-`.
    pub(crate) fn news(&self) -> Vec<String> {
        let mut news = self.state().news.clone();
        news.sort();
        news
    }

    /// Makes the next scan read every file again.
    pub(crate) fn forget(&self) {
        self.state().closely = true;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    fn hear(&mut self, report: SourceChange) {
        match report {
            SourceChange::Updated(key, inspected) => {
                self.news.push(key.0.to_string());
                self.sites.insert(key, inspected);
            }
            SourceChange::Removed(key) => {
                self.news.push(format!("-{}", key.0));
                assert!(self.sites.remove(&key).is_some(), "{key:?} went before it was there");
            }
        }
    }
}

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

    /// A path beside the folder, which a scan must not read.
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

    pub(crate) fn source(&self) -> Kept<DirectorySource> {
        self.source_with(options())
    }

    pub(crate) fn source_with(&self, options: DirectoryOptions) -> Kept<DirectorySource> {
        self.source_at("", options)
    }

    /// A source of a folder inside.
    pub(crate) fn source_at(&self, path: &str, options: DirectoryOptions) -> Kept<DirectorySource> {
        Kept::new(DirectorySource::new(self.path(path), options).unwrap())
    }

    pub(crate) fn scan(&self) -> Scan {
        self.source().scan().unwrap()
    }
}

/// Options under which the folder is called `skills`.
pub(crate) fn options() -> DirectoryOptions {
    DirectoryOptions::default().label("skills".to_owned())
}

pub(crate) fn strict() -> DirectoryOptions {
    options().strictness(Strictness::Strict)
}

pub(crate) fn skill_md(name: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Does things. Use when things are to be done.\n---\n# Body\n"
    )
}

/// The paths of the skills that are served, in order.
pub(crate) fn served(scan: &Scan) -> Vec<String> {
    let mut paths: Vec<_> = skills(scan).map(Skill::path).collect();
    paths.sort();
    paths
}

pub(crate) fn skills(scan: &Scan) -> impl Iterator<Item = &Skill> {
    scan.inspected.iter().filter_map(|inspected| inspected.skill.as_deref())
}

/// The skill served at a path.
pub(crate) fn skill<'a>(scan: &'a Scan, path: &str) -> &'a Skill {
    skills(scan).find(|skill| skill.path() == path).unwrap_or_else(|| {
        panic!("{path} is not served: {:?}", scan.inspected);
    })
}

/// The result for the directory with this origin.
pub(crate) fn at<'a>(scan: &'a Scan, origin: &str) -> &'a InspectedSkill {
    scan.inspected.iter().find(|inspected| inspected.origin == origin).unwrap_or_else(|| {
        panic!("nothing was inspected at {origin}: {:?}", scan.inspected);
    })
}

/// The codes that keep a skill from being served.
pub(crate) fn reasons(inspected: &InspectedSkill) -> Vec<Code> {
    inspected.reasons(Strictness::Normal).map(|finding| finding.code).collect()
}

/// Asserts that a skill is refused for exactly these reasons.
#[track_caller]
pub(crate) fn assert_refused(scan: &Scan, origin: &str, codes: &[Code]) {
    let inspected = at(scan, origin);
    assert!(inspected.skill.is_none(), "{origin} is served");
    assert_eq!(reasons(inspected), codes, "{:?}", inspected.findings);
}

/// The first finding of a code.
pub(crate) fn finding(inspected: &InspectedSkill, code: Code) -> &Finding {
    let found = inspected.findings.iter().find(|finding| finding.code == code);
    found.unwrap_or_else(|| panic!("no {code}: {:?}", inspected.findings))
}

pub(crate) fn has(findings: &[Finding], code: Code) -> bool {
    findings.iter().any(|finding| finding.code == code)
}

pub(crate) fn tree(skill: &Skill) -> &FileTree {
    match &skill.content {
        SkillContent::Files(tree) => tree,
        SkillContent::Generated(_) => panic!("{} is generated", skill.uri),
    }
}

/// The paths of a skill's files.
pub(crate) fn files(skill: &Skill) -> Vec<&str> {
    tree(skill).files.iter().map(|file| file.path.as_str()).collect()
}

/// Reads a file through the store, and checks it against the published digest.
pub(crate) fn bytes(skill: &Skill, path: &str) -> Bytes {
    let tree = tree(skill);
    let file = tree.files.iter().find(|file| file.path.as_str() == path);
    let file = file.unwrap_or_else(|| panic!("no {path}"));
    let bytes = tree.store.read(&file.path, file.size).unwrap();
    assert_eq!((Digest::of(&bytes), bytes.len() as u64), (file.digest, file.size), "{path}");
    bytes
}

/// The entry of a skill.
pub(crate) fn entry(skill: &Skill) -> Value {
    serde_json::from_str(&skill.entry.text()).unwrap()
}

/// The URI, digest and size of each file in the entry of a skill.
pub(crate) fn listed(skill: &Skill) -> Vec<(String, Digest, u64)> {
    let entry = entry(skill);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let file = |file: &Value| {
        let digest = text(&file["digest"]).parse().unwrap();
        (text(&file["uri"]), digest, file["size"].as_u64().unwrap())
    };
    entry["resources"].as_array().unwrap().iter().map(file).collect()
}
