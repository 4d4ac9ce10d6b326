//! Finds the targets of symbolic links from a listing alone.
//!
//! No link is ever followed by the operating system. A link is resolved step by step through
//! directories whose every entry is known; the first step to anywhere else ends outside.

use std::{
    ffi::OsStr,
    path::{Component, Path, PathBuf},
};

use crate::tree::{LinkTarget, SkillTree, TreeNode};

/// The most links one link may lead through, as many as Linux allows.
const MAX_HOPS: usize = 40;

/// Resolves every link of a tree whose directory is at `absolute`, a path without links.
pub(super) fn resolve_all(tree: &mut SkillTree, absolute: &Path) {
    let resolved: Vec<(String, LinkTarget)> = tree
        .nodes
        .iter()
        .filter(|(_, node)| matches!(node, TreeNode::Link(_)))
        .map(|(path, _)| (path.clone(), LinkResolver { tree, absolute, hops: 0 }.resolve(path)))
        .collect();
    for (path, leads) in resolved {
        if let Some(TreeNode::Link(link)) = tree.nodes.get_mut(&path) {
            link.leads = leads;
        }
    }
}

struct LinkResolver<'a> {
    tree: &'a SkillTree,
    absolute: &'a Path,
    hops: usize,
}

/// What a path leads to.
enum LinkStep {
    /// A directory, by its absolute path without links.
    Directory(PathBuf),
    /// A file of the tree.
    File(String),
}

impl LinkResolver<'_> {
    fn resolve(mut self, link: &str) -> LinkTarget {
        match self.link(link) {
            Ok(LinkStep::File(path)) => LinkTarget::File(path),
            Ok(LinkStep::Directory(path)) => match self.inside(&path) {
                Some(path) => LinkTarget::Directory(path),
                None => LinkTarget::Outside,
            },
            Err(leads) => leads,
        }
    }

    /// Follows the link at a path of the tree.
    fn link(&mut self, link: &str) -> Result<LinkStep, LinkTarget> {
        self.hops += 1;
        if self.hops > MAX_HOPS {
            return Err(LinkTarget::Circle);
        }
        let Some(TreeNode::Link(target)) = self.tree.nodes.get(link) else {
            return Err(LinkTarget::Nowhere);
        };
        let mut at = self.absolute.join(link);
        at.pop();
        let mut reached = LinkStep::Directory(at);
        let target = PathBuf::from(&target.text);
        if target.as_os_str().is_empty() {
            return Err(LinkTarget::Nowhere);
        }
        for component in target.components() {
            // Nothing can lie below a file.
            let LinkStep::Directory(at) = reached else { return Err(LinkTarget::Nowhere) };
            reached = self.step(at, component)?;
        }
        Ok(reached)
    }

    /// Takes one step from a directory. The path of a directory that it returns has no links.
    fn step(&mut self, mut at: PathBuf, component: Component<'_>) -> Result<LinkStep, LinkTarget> {
        match component {
            Component::CurDir => Ok(LinkStep::Directory(at)),
            Component::ParentDir => {
                at.pop();
                Ok(LinkStep::Directory(at))
            }
            Component::RootDir | Component::Prefix(_) => {
                Ok(LinkStep::Directory(PathBuf::from(component.as_os_str())))
            }
            Component::Normal(name) => self.enter(at, name),
        }
    }

    fn enter(&mut self, mut at: PathBuf, name: &OsStr) -> Result<LinkStep, LinkTarget> {
        at.push(name);
        // The path of the skill has no links, so the directories above it are known. Entries beside
        // them are not.
        if self.absolute.starts_with(&at) {
            return Ok(LinkStep::Directory(at));
        }
        let path = self.inside(&at).ok_or(LinkTarget::Outside)?;
        match self.tree.nodes.get(&path) {
            Some(TreeNode::Directory) => Ok(LinkStep::Directory(at)),
            Some(TreeNode::File(_)) => Ok(LinkStep::File(path)),
            Some(TreeNode::Link(_)) => self.link(&path),
            Some(TreeNode::Special) => Err(LinkTarget::Outside),
            None if path.split('/').any(skillwire_core::is_ignored) => Err(LinkTarget::Outside),
            None => Err(LinkTarget::Nowhere),
        }
    }

    /// The path relative to the tree, when it lies inside.
    fn inside(&self, path: &Path) -> Option<String> {
        let parts = path.strip_prefix(self.absolute).ok()?.components();
        let parts: Option<Vec<&str>> = parts.map(|part| part.as_os_str().to_str()).collect();
        Some(parts?.join("/"))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::tree::{FileNode, LinkNode};

    fn tree(links: &[(&str, &str)]) -> SkillTree {
        let file = || TreeNode::File(FileNode { size: 0, hard_links: 1, stamp: None });
        let mut nodes = std::collections::BTreeMap::from([
            ("a.md".to_owned(), file()),
            ("sub".to_owned(), TreeNode::Directory),
            ("sub/b.md".to_owned(), file()),
            ("pipe".to_owned(), TreeNode::Special),
        ]);
        for (path, text) in links {
            let link = LinkNode { text: (*text).to_owned(), leads: LinkTarget::Outside };
            nodes.insert((*path).to_owned(), TreeNode::Link(link));
        }
        let mut tree = SkillTree { nodes, problems: Vec::new() };
        resolve_all(&mut tree, Path::new("/srv/skills/pdf"));
        tree
    }

    fn leads(path: &str, text: &str) -> LinkTarget {
        let tree = tree(&[(path, text)]);
        let Some(TreeNode::Link(link)) = tree.nodes.get(path) else { panic!("{path}") };
        link.leads.clone()
    }

    #[test]
    fn links_inside_lead_to_their_file_v_32() {
        let file = |path: &str| LinkTarget::File(path.to_owned());
        assert_eq!(leads("l", "a.md"), file("a.md"));
        assert_eq!(leads("sub/l", "../a.md"), file("a.md"));
        assert_eq!(leads("sub/l", "./../sub/b.md"), file("sub/b.md"));
        assert_eq!(leads("l", "../pdf/a.md"), file("a.md"));
        assert_eq!(leads("l", "/srv/skills/pdf/sub/b.md"), file("sub/b.md"));
        assert_eq!(leads("l", "../../../../srv/skills/pdf/a.md"), file("a.md"));
    }

    #[test]
    fn links_that_leave_end_outside_v_31() {
        for text in ["/etc/passwd", "../other/a.md", "..", "../..", "/", "../pdf-extra/a.md"] {
            assert_eq!(leads("l", text), LinkTarget::Outside, "{text}");
        }
        // `../other` could be a link, so `../other/..` need not be the parent.
        assert_eq!(leads("l", "../other/../pdf/a.md"), LinkTarget::Outside);
    }

    #[test]
    fn links_to_ignored_and_special_files_end_outside_v_32() {
        assert_eq!(leads("l", ".git/config"), LinkTarget::Outside);
        assert_eq!(leads("l", "a.md~"), LinkTarget::Outside);
        assert_eq!(leads("l", "pipe"), LinkTarget::Outside);
    }

    #[test]
    fn broken_links_are_told_apart_v_33() {
        assert_eq!(leads("l", "nothing"), LinkTarget::Nowhere);
        assert_eq!(leads("l", "a.md/x"), LinkTarget::Nowhere);
        assert_eq!(leads("l", "l"), LinkTarget::Circle);
        assert_eq!(leads("l", "sub"), LinkTarget::Directory("sub".to_owned()));
        assert_eq!(leads("sub/l", ".."), LinkTarget::Directory(String::new()));
    }

    #[test]
    fn long_chains_and_mutual_links_end_v_33() {
        let names: Vec<_> = (0..60).map(|n| (format!("l{n}"), format!("l{}", n + 1))).collect();
        let mut links: Vec<(&str, &str)> =
            names.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        links.extend([("l60", "a.md"), ("x", "y"), ("y", "x")]);
        let tree = tree(&links);
        let of = |path: &str| match &tree.nodes[path] {
            TreeNode::Link(link) => link.leads.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(of("l60"), LinkTarget::File("a.md".to_owned()));
        assert_eq!(of("l21"), LinkTarget::File("a.md".to_owned()));
        assert_eq!(of("l20"), LinkTarget::Circle);
        assert_eq!(of("x"), LinkTarget::Circle);
    }
}
