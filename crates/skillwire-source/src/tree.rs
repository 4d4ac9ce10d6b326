//! The files and directories of an outermost skill: names, kinds and sizes, no content.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use skillwire_core::{Digest, Finding, SKILL_FILE};

use crate::{directory::stamp::FileStamp, location::join_path};

/// Everything below one directory; keys are `/`-separated paths relative to it.
///
/// Two equal trees mean that nothing was added, removed, changed or replaced in between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SkillTree {
    /// Files, directories and everything else, except ignored names.
    pub(crate) nodes: BTreeMap<String, TreeNode>,
    /// What makes the skills around it incomplete.
    pub(crate) problems: Vec<TreeProblem>,
}

impl SkillTree {
    /// A digest that is equal for equal trees. Keeping it instead of the tree saves memory.
    pub(crate) fn fingerprint(&self) -> Digest {
        let mut out = Vec::with_capacity(128 * self.nodes.len());
        let text = |text: &str, out: &mut Vec<u8>| {
            out.extend_from_slice(&text.len().to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        };
        for (path, node) in &self.nodes {
            text(path, &mut out);
            match node {
                TreeNode::File(file) => {
                    out.push(b'f');
                    out.extend_from_slice(&file.size.to_le_bytes());
                    out.extend_from_slice(&file.hard_links.to_le_bytes());
                    if let Some(stamp) = &file.stamp {
                        stamp.write(&mut out);
                    }
                }
                TreeNode::Directory => out.push(b'd'),
                TreeNode::Link(link) => {
                    out.push(b'l');
                    text(&link.text, &mut out);
                    // The target follows from the text and the other nodes.
                }
                TreeNode::Special => out.push(b's'),
            }
        }
        for problem in &self.problems {
            out.push(b'!');
            text(&problem.path, &mut out);
            text(problem.finding.code.as_str(), &mut out);
            text(&problem.finding.message, &mut out);
        }
        Digest::of(&out)
    }
}

/// Something that makes every skill around it incomplete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeProblem {
    /// The file or directory, relative to the tree.
    pub(crate) path: String,
    /// The finding, whose file is relative to the tree.
    pub(crate) finding: Finding,
}

impl TreeProblem {
    /// Makes a problem of a finding about a file of the tree.
    pub(crate) fn new(finding: Finding) -> Self {
        Self { path: finding.file.clone(), finding }
    }
}

/// A file or directory of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TreeNode {
    /// A regular file.
    File(FileNode),
    /// A directory.
    Directory,
    /// A symbolic link.
    Link(LinkNode),
    /// A fifo, socket or device.
    Special,
}

/// What is known of a regular file before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileNode {
    /// The number of bytes.
    pub(crate) size: u64,
    /// The number of names the file has.
    pub(crate) hard_links: u64,
    /// What changes when the file does; absent for a file in memory.
    pub(crate) stamp: Option<FileStamp>,
}

/// A symbolic link and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkNode {
    /// The text of the link, for messages.
    pub(crate) text: String,
    /// The target, relative to the tree.
    pub(crate) leads: LinkTarget,
}

/// Where a symbolic link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkTarget {
    /// To a regular file of the tree.
    File(String),
    /// To a directory of the tree; the tree itself is `""`.
    Directory(String),
    /// To nothing.
    Nowhere,
    /// Through too many links, which means in a circle.
    Circle,
    /// Out of the tree, or to something in it that is not served.
    Outside,
}

impl SkillTree {
    /// Everything inside a directory at any depth, with paths relative to the tree.
    pub(crate) fn inside<'a>(&'a self, dir: &str) -> impl Iterator<Item = (&'a str, &'a TreeNode)> {
        let bounds: (Bound<String>, Bound<String>) = if dir.is_empty() {
            (Bound::Unbounded, Bound::Unbounded)
        } else {
            // `0` follows `/` in ASCII, so this range is exactly the paths that begin with `dir/`.
            (Bound::Included(format!("{dir}/")), Bound::Excluded(format!("{dir}0")))
        };
        self.nodes.range(bounds).map(|(path, node)| (path.as_str(), node))
    }

    /// The directories that hold a `SKILL.md` of any kind, outer ones first.
    pub(crate) fn skill_directories<'a>(&'a self) -> BTreeSet<&'a str> {
        let of = |path: &'a String| {
            let dir = path.strip_suffix(SKILL_FILE)?;
            if dir.is_empty() { Some(dir) } else { dir.strip_suffix('/') }
        };
        self.nodes.keys().filter_map(of).collect()
    }

    /// The `SKILL.md` of a directory.
    pub(crate) fn skill_file(&self, dir: &str) -> Option<&TreeNode> {
        self.nodes.get(&join_path(dir, SKILL_FILE))
    }
}

/// Tells whether a path is a directory or lies inside it; everything lies inside `""`.
pub(crate) fn is_within(path: &str, dir: &str) -> bool {
    dir.is_empty()
        || path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path relative to a directory it lies inside.
pub(crate) fn relative<'a>(path: &'a str, dir: &str) -> &'a str {
    if dir.is_empty() {
        return path;
    }
    path.strip_prefix(dir).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_holds_what_is_below_it_and_not_what_only_begins_like_it_srv_44() {
        let nodes = ["pdf", "pdf-extra", "pdf-extra/a", "pdf/a", "pdf/b/c", "pdf0"];
        let nodes = nodes.map(|path| (path.to_owned(), TreeNode::Directory));
        let tree = SkillTree { nodes: nodes.into(), problems: Vec::new() };
        let inside: Vec<_> = tree.inside("pdf").map(|(path, _)| path).collect();
        assert_eq!(inside, ["pdf/a", "pdf/b/c"]);
        assert_eq!(tree.inside("").count(), 6);
        assert!(is_within("pdf", "pdf") && is_within("pdf/a", "pdf"));
        assert!(!is_within("pdf-extra", "pdf"));
    }

    #[test]
    fn skill_directories_come_outer_first() {
        let nodes = ["SKILL.md", "A/MY-SKILL.md", "A/B/SKILL.md", "A/SKILL.md"];
        let nodes = nodes.map(|path| (path.to_owned(), TreeNode::Directory));
        let tree = SkillTree { nodes: nodes.into(), problems: Vec::new() };
        let found: Vec<_> = tree.skill_directories().into_iter().collect();
        assert_eq!(found, ["", "A", "A/B"]);
    }
}
