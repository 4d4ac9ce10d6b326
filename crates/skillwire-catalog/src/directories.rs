//! Directories, derived from the files and skills below them.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use skillwire_core::{RelPath, ResourceUri, media_type, percent::decode_path};
use skillwire_source::{FileTree, RemoteChild, ResourceMetadata, Skill, SkillContent};

use crate::{listing::Page, snapshot::Snapshot};

/// A directory that a client requested.
#[derive(Debug)]
pub enum FoundDirectory<'a> {
    /// A directory of a skill with stable files, as the path within it; empty for its root.
    Stored(&'a Arc<Skill>, &'a FileTree, String),
    /// A directory of a generated skill, likewise.
    Generated(&'a Arc<Skill>, String),
    /// A directory above skills.
    Above(String),
}

/// The children of a directory as JSON, by their URI.
type DirectoryChildren = BTreeMap<String, String>;

impl Snapshot {
    /// Returns the directory with exactly this URI.
    pub fn directory(&self, uri: &str) -> Option<FoundDirectory<'_>> {
        if let Some((skill, rest)) = self.around(uri) {
            let path = match rest {
                None => Cow::Borrowed(""),
                // A trailing slash makes it another URI.
                Some("") => return None,
                Some(rest) => decode_path(rest)?,
            };
            return match &skill.content {
                SkillContent::Files(tree) => has_directory(tree, &path)
                    .then(|| FoundDirectory::Stored(skill, tree, path.into_owned())),
                SkillContent::Generated(_) => {
                    Some(FoundDirectory::Generated(skill, path.into_owned()))
                }
            };
        }
        let prefix = format!("{uri}/");
        let below = self.listed_skills().from((&prefix, ""), false).next()?;
        let is_above = below.uri.as_str().starts_with(&prefix) && ResourceUri::parse(uri).is_ok();
        is_above.then(|| FoundDirectory::Above(uri.to_owned()))
    }

    /// Returns the page of a directory's children that follows the child with the URI `after`.
    pub fn children_page(
        &self,
        directory: &FoundDirectory<'_>,
        after: Option<&str>,
        size: usize,
    ) -> Page<'_> {
        match directory {
            FoundDirectory::Above(uri) => Page::cut(size, self.children_above(uri, after)),
            FoundDirectory::Stored(skill, tree, path) => {
                let children = self.children_of(skill, tree, path);
                let rest =
                    children.into_iter().filter(|(key, _)| after.is_none_or(|a| key.as_str() > a));
                Page::cut(size, rest.map(|(key, json)| (key, Cow::Owned(json))))
            }
            FoundDirectory::Generated(..) => Page::default(),
        }
    }

    /// Steps from child to child; each step costs one search, no matter how many skills lie below
    /// it.
    fn children_above<'a>(
        &'a self,
        uri: &str,
        after: Option<&str>,
    ) -> impl Iterator<Item = (String, Cow<'a, str>)> {
        let prefix = format!("{uri}/");
        // `0` follows `/`, so this is past everything below the child.
        let mut from = after.map_or_else(|| prefix.clone(), |after| format!("{after}0"));
        std::iter::from_fn(move || {
            let next = self.listed_skills().from((&from, ""), false).next()?.uri.as_str();
            let child = next.strip_prefix(&prefix)?.split('/').next()?;
            let key = format!("{prefix}{child}");
            from = format!("{key}0");
            let uri = ResourceUri::parse(&key).ok()?;
            let json = ResourceMetadata::directory(&key, &uri.name()).to_json();
            Some((key, Cow::Owned(json)))
        })
    }

    fn children_of(&self, skill: &Skill, tree: &FileTree, path: &str) -> DirectoryChildren {
        let root = skill.uri.root();
        let mut children = DirectoryChildren::new();
        for file in below(tree, path) {
            let (child, is_directory) = split_child(file.path.as_str(), path);
            if is_directory {
                add_directory(root, &child, &mut children);
            } else {
                let uri = root.child(&file.path);
                let json = self.describe_file(&uri, file);
                children.insert(uri.to_string(), json);
            }
        }
        for directory in tree.empty_directories.iter().filter(|d| is_below(d.as_str(), path)) {
            let (child, _) = split_child(directory.as_str(), path);
            add_directory(root, &child, &mut children);
        }
        children
    }
}

/// Returns the children of a directory of a generated skill, given all files of the skill.
pub fn generated_children(skill: &Skill, path: &str, files: &[RelPath]) -> Vec<String> {
    let root = skill.uri.root();
    let mut children = DirectoryChildren::new();
    for file in files.iter().filter(|file| is_below(file.as_str(), path)) {
        let (child, is_directory) = split_child(file.as_str(), path);
        if is_directory {
            add_directory(root, &child, &mut children);
        } else {
            let uri = root.child(file);
            let json = describe_generated(skill, file, &uri);
            children.insert(uri.to_string(), json);
        }
    }
    children.into_values().collect()
}

/// Returns the children of a directory of a generated skill, as its remote server listed them.
pub fn remote_children(skill: &Skill, told: &[RemoteChild]) -> Vec<String> {
    let root = skill.uri.root();
    let mut children = DirectoryChildren::new();
    for child in told {
        if child.is_directory {
            add_directory(root, child.path.as_str(), &mut children);
        } else {
            let uri = root.child(&child.path);
            let json = describe_generated(skill, &child.path, &uri);
            children.insert(uri.to_string(), json);
        }
    }
    children.into_values().collect()
}

/// Describes a file whose content is not known here.
fn describe_generated(skill: &Skill, file: &RelPath, uri: &ResourceUri) -> String {
    if uri == skill.uri.file() {
        return skill.resource(false);
    }
    let mime_type = media_type::of(file.file_name(), b"");
    let (uri, name) = (uri.as_str(), file.file_name());
    ResourceMetadata { uri, name, description: None, mime_type, size: None }.to_json()
}

fn add_directory(root: &ResourceUri, path: &str, children: &mut DirectoryChildren) {
    if let Ok(path) = RelPath::parse(path) {
        let uri = root.child(&path);
        let json = ResourceMetadata::directory(uri.as_str(), path.file_name()).to_json();
        children.insert(uri.to_string(), json);
    }
}

/// Returns the path of the child of `directory` that leads to `path`, and whether it is a
/// directory.
fn split_child(path: &str, directory: &str) -> (String, bool) {
    let start = if directory.is_empty() { 0 } else { directory.len() + 1 };
    match path[start..].find('/') {
        Some(slash) => (path[..start + slash].to_owned(), true),
        None => (path.to_owned(), false),
    }
}

fn is_below(path: &str, directory: &str) -> bool {
    directory.is_empty() || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

/// Iterates over the files below a directory, at any depth.
fn below<'a>(
    tree: &'a FileTree,
    directory: &'a str,
) -> impl Iterator<Item = &'a skillwire_source::FileRecord> {
    tree.files.iter().filter(move |file| is_below(file.path.as_str(), directory))
}

fn has_directory(tree: &FileTree, path: &str) -> bool {
    path.is_empty()
        || below(tree, path).next().is_some()
        || tree
            .empty_directories
            .iter()
            .any(|directory| directory.as_str() == path || is_below(directory.as_str(), path))
}
