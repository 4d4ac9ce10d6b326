//! Checks names, kinds and sizes of a skill's files before any content is read.

use std::collections::BTreeMap;

use skillwire_core::{
    Code, Exemption, Finding, SKILL_FILE, Strictness,
    limits::{MAX_BYTES, MAX_FILES},
};

use crate::{
    location::join_path,
    rules::ServingRules,
    tree::{FileNode, LinkNode, LinkTarget, SkillTree, TreeNode, is_within},
};

/// What is known of one skill before its content is read.
#[derive(Debug)]
pub(crate) struct SkillSurvey<'a> {
    /// Its directory, relative to the tree.
    pub(crate) dir: &'a str,
    /// Each served file, with the file that holds its bytes: they differ for a symbolic link. Both
    /// are relative to the tree.
    pub(crate) files: Vec<(&'a str, &'a str)>,
    /// Its directories, relative to the tree.
    pub(crate) directories: Vec<&'a str>,
    /// Everything noteworthy; files are relative to the tree.
    pub(crate) findings: Vec<Finding>,
    bytes: u64,
}

/// Surveys every directory of a tree that has a `SKILL.md`.
pub(crate) fn survey<'a>(
    tree: &'a SkillTree,
    rules: &ServingRules,
) -> BTreeMap<&'a str, SkillSurvey<'a>> {
    tree.skill_directories()
        .into_iter()
        .map(|dir| (dir, SkillSurvey::of(tree, dir, rules)))
        .collect()
}

impl<'a> SkillSurvey<'a> {
    fn of(tree: &'a SkillTree, dir: &'a str, rules: &ServingRules) -> Self {
        let mut survey = Self {
            dir,
            files: Vec::new(),
            directories: Vec::new(),
            findings: Vec::new(),
            bytes: 0,
        };
        survey.check_skill_file(tree);
        for (path, node) in tree.inside(dir) {
            match node {
                TreeNode::File(file) => survey.file(path, path, file, rules),
                TreeNode::Link(link) => survey.link(path, link, tree, rules),
                TreeNode::Directory => survey.directories.push(path),
                TreeNode::Special => survey.special(path),
            }
        }
        let problems = tree.problems.iter().filter(|problem| is_within(&problem.path, dir));
        survey.findings.extend(problems.map(|problem| problem.finding.clone()));
        survey.check_limits();
        survey
    }

    /// Tells whether a finding already keeps the skill from being served.
    pub(crate) fn is_refused(&self, strictness: Strictness) -> bool {
        self.findings.iter().any(|finding| finding.skips(strictness))
    }

    /// Tells whether the skill is within the limits of files and bytes.
    pub(crate) fn is_within_limits(&self) -> bool {
        self.files.len() <= MAX_FILES && self.bytes <= MAX_BYTES
    }

    fn check_skill_file(&mut self, tree: &SkillTree) {
        let what = match tree.skill_file(self.dir) {
            None | Some(TreeNode::File(_)) => return,
            Some(TreeNode::Directory) => "a directory",
            Some(TreeNode::Link(_)) => "a symbolic link",
            Some(TreeNode::Special) => "a fifo, socket or device",
        };
        self.findings.push(
            Finding::new(
                Code::SkillFileNotAFile,
                join_path(self.dir, SKILL_FILE),
                format!("`{SKILL_FILE}` is {what}."),
            )
            .help(format!("Make `{SKILL_FILE}` a regular file.")),
        );
    }

    fn file(&mut self, path: &'a str, holder: &'a str, file: &FileNode, rules: &ServingRules) {
        self.files.push((path, holder));
        self.bytes = self.bytes.saturating_add(file.size);
        if rules.single_link && file.hard_links > 1 {
            let message = format!("The file has {} hard links.", file.hard_links);
            let finding = Finding::new(Code::HardLink, path, message)
                .help("Replace it with a copy.")
                .exempt_by(Exemption::HardLinks);
            self.findings.push(finding);
        }
    }

    fn link(
        &mut self,
        path: &'a str,
        link: &'a LinkNode,
        tree: &'a SkillTree,
        rules: &ServingRules,
    ) {
        let text = link.text.escape_debug();
        let (code, message) = match &link.leads {
            LinkTarget::File(target) if is_within(target, self.dir) => {
                if let Some(TreeNode::File(file)) = tree.nodes.get(target) {
                    self.file(path, target, file, rules);
                }
                self.findings.push(Finding::new(
                    Code::SymlinkInside,
                    path,
                    format!("The symbolic link to `{text}` is served as the file it leads to."),
                ));
                return;
            }
            LinkTarget::Directory(target) if is_within(target, self.dir) => {
                (Code::SymlinkBroken, format!("The symbolic link leads to the directory `{text}`."))
            }
            LinkTarget::Nowhere => (
                Code::SymlinkBroken,
                format!("The symbolic link leads to `{text}`, which does not exist."),
            ),
            LinkTarget::Circle => {
                (Code::SymlinkBroken, format!("The symbolic link to `{text}` leads in a circle."))
            }
            LinkTarget::File(_) | LinkTarget::Directory(_) | LinkTarget::Outside => (
                Code::SymlinkOutside,
                format!("The symbolic link leads to `{text}`, which is no part of the skill."),
            ),
        };
        self.findings.push(
            Finding::new(code, path, message)
                .help("Replace the link with a copy of what it should lead to, or remove it."),
        );
    }

    fn special(&mut self, path: &str) {
        // `check_skill_file` reports the `SKILL.md` itself.
        if path != join_path(self.dir, SKILL_FILE) {
            self.findings.push(
                Finding::new(Code::SpecialFile, path, "It is a fifo, socket or device.")
                    .help("Remove it from the skill: only regular files can be served."),
            );
        }
    }

    fn check_limits(&mut self) {
        let (files, bytes) = (self.files.len(), self.bytes);
        if files > MAX_FILES {
            self.findings.push(
                Finding::new(
                    Code::TooManyFiles,
                    self.dir,
                    format!("The skill has {files} files; at most {MAX_FILES} are allowed."),
                )
                .help("Remove files that the skill does not need, or split it."),
            );
        }
        if bytes > MAX_BYTES {
            self.findings.push(
                Finding::new(
                    Code::TooManyBytes,
                    self.dir,
                    format!(
                        "The files have {bytes} bytes together; at most {MAX_BYTES} are allowed."
                    ),
                )
                .help("Remove or shrink large files, or split the skill."),
            );
        }
    }
}
