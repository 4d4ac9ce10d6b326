//! Skills in memory.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use skillwire_core::{
    Code, Finding, RelPath, SKILL_FILE, Scheme, SkillPath, Strictness, is_ignored,
};

use crate::{
    assemble::{FileBlob, ParsedSkillFile, SkillAssembly},
    file_store::{FileStore, MemoryFiles},
    location::{SkillLocation, join_path},
    rules::{SecretAllowList, ServingRules},
    source::{GroupKey, InspectedSkill, ScanRequest, SkillSource, SourceChange, SourceUnavailable},
    survey::{SkillSurvey, survey},
    tree::{FileNode, SkillTree, TreeNode, relative},
};

/// A source of skills whose files are in memory; they are checked like those in directories.
#[derive(Debug, Default)]
pub struct MemorySource {
    label: String,
    rules: ServingRules,
    skills: Vec<MemorySkill>,
    reported: AtomicBool,
}

#[derive(Debug, Clone)]
struct MemorySkill {
    place: SkillLocation,
    tree: SkillTree,
    blobs: BTreeMap<String, FileBlob>,
}

/// Files that cannot be in one directory together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilesClash {
    /// The same path occurs twice.
    #[error("The file `{0}` occurs twice. Add each file once.")]
    Twice(RelPath),
    /// A path is a file and has files below it.
    #[error("`{0}` is both a file and a directory. Rename one of them.")]
    FileAndDirectory(RelPath),
}

impl MemorySource {
    /// Makes a source without skills; findings show the label before every path.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// Sets the scheme of the skills' URIs.
    #[must_use]
    pub fn scheme(mut self, scheme: Scheme) -> Self {
        self.rules.scheme = scheme;
        self
    }

    /// Sets how forgiving the source is about skills that break the format.
    #[must_use]
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.rules.strictness = strictness;
        self
    }

    /// Allows files whose name says that they hold a secret.
    #[must_use]
    pub fn allow_secret(mut self, allow: SecretAllowList) -> Self {
        self.rules.allow_secret = allow;
        self
    }

    /// Adds a skill with all its files, `SKILL.md` included.
    ///
    /// A `SKILL.md` further down makes a nested skill, as in a directory.
    pub fn add(
        &mut self,
        path: &SkillPath,
        files: impl IntoIterator<Item = (RelPath, Bytes)>,
    ) -> Result<(), FilesClash> {
        let mut segments: Vec<String> = path.segments().map(str::to_owned).collect();
        let directory = segments.pop();
        let origin = join_path(&self.label, &path.to_string());
        let place = SkillLocation { origin, above: segments, directory, alone: false };
        let mut skill = MemorySkill { place, tree: SkillTree::default(), blobs: BTreeMap::new() };
        for (path, bytes) in files {
            if !path.segments().any(is_ignored) {
                skill.add(&path, bytes)?;
            }
        }
        self.skills.push(skill);
        Ok(())
    }
}

/// Checks the files of one skill, and of the skills nested in it, with the rules of every source.
///
/// A source that gets files from a store of its own uses this. `label` is the operator's name for
/// that store, and findings show it before the path. An invalid path is reported as a finding, too.
pub fn inspect_files<P: AsRef<str>>(
    label: &str,
    path: &str,
    files: impl IntoIterator<Item = (P, Bytes)>,
) -> Vec<InspectedSkill> {
    let origin = join_path(label, path);
    let refused = |code: Code, message: String| {
        let findings = vec![Finding::new(code, &*origin, message)];
        vec![InspectedSkill { origin: origin.clone(), findings, skill: None }]
    };
    let skill_path = match SkillPath::parse(path) {
        Ok(path) => path,
        Err(error) => {
            return refused(Code::NameInvalid, format!("The path of the skill {error}."));
        }
    };
    let mut parsed = Vec::new();
    for (file, bytes) in files {
        let file = file.as_ref();
        match RelPath::parse(file) {
            Ok(path) => parsed.push((path, bytes)),
            Err(error) => {
                let message = format!("The path of the file `{}` {error}.", file.escape_debug());
                return refused(Code::Unreadable, message);
            }
        }
    }
    let mut source = MemorySource::new(label);
    match source.add(&skill_path, parsed) {
        Ok(()) => source.skills.iter().flat_map(|skill| skill.inspect(&source.rules)).collect(),
        Err(clash) => refused(Code::Unreadable, clash.to_string()),
    }
}

impl MemorySkill {
    fn add(&mut self, path: &RelPath, bytes: Bytes) -> Result<(), FilesClash> {
        let file =
            TreeNode::File(FileNode { size: bytes.len() as u64, hard_links: 1, stamp: None });
        match self.tree.nodes.insert(path.to_string(), file) {
            None => {}
            Some(TreeNode::Directory) => return Err(FilesClash::FileAndDirectory(path.clone())),
            Some(_) => return Err(FilesClash::Twice(path.clone())),
        }
        let mut above = path.parent();
        while let Some(directory) = above {
            let before = self.tree.nodes.insert(directory.to_string(), TreeNode::Directory);
            if matches!(before, Some(TreeNode::File(_))) {
                return Err(FilesClash::FileAndDirectory(directory));
            }
            above = directory.parent();
        }
        self.blobs.insert(path.to_string(), FileBlob::new(bytes));
        Ok(())
    }

    fn inspect(&self, rules: &ServingRules) -> Vec<InspectedSkill> {
        let surveys = survey(&self.tree, rules);
        let head = |dir: &str| self.blobs.get(&join_path(dir, SKILL_FILE));
        let heads: BTreeMap<&str, ParsedSkillFile> = surveys
            .keys()
            .filter_map(|dir| Some((*dir, ParsedSkillFile::check(&head(dir)?.bytes))))
            .collect();
        let assembly = SkillAssembly {
            location: &self.place,
            rules,
            surveys: &surveys,
            heads: &heads,
            failures: &[],
            blob: &|path| self.blobs.get(path),
            store: &|survey| self.held(survey),
        };
        let mut inspected = assembly.run();
        if !surveys.contains_key("") {
            inspected.push(self.without_skill_file());
        }
        inspected
    }

    /// The files of one skill of the tree.
    fn held(&self, survey: &SkillSurvey<'_>) -> Arc<dyn FileStore> {
        let file = |&(path, holder): &(&str, &str)| {
            let path = RelPath::parse(relative(path, survey.dir)).ok()?;
            Some((path, self.blobs.get(holder)?.bytes.clone()))
        };
        Arc::new(MemoryFiles::new(survey.files.iter().filter_map(file)))
    }

    fn without_skill_file(&self) -> InspectedSkill {
        let origin = self.place.origin.clone();
        let message = format!("The skill has no `{SKILL_FILE}`.");
        let finding = Finding::new(Code::NoSkillFound, &*origin, message)
            .help(format!("Add a file `{SKILL_FILE}`."));
        InspectedSkill { origin, findings: vec![finding], skill: None }
    }
}

impl SkillSource for MemorySource {
    fn scan(
        &self,
        _look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        // The skills never change, so only the first scan reports them.
        if !self.reported.swap(true, Ordering::SeqCst) {
            for skill in &self.skills {
                let key = GroupKey(skill.place.origin.as_str().into());
                report(SourceChange::Updated(key, skill.inspect(&self.rules)));
            }
        }
        Ok(Vec::new())
    }
}
