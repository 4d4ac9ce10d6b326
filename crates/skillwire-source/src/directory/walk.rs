//! Listing the directory of a skill: names, kinds, sizes and stamps, but no content.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};
use skillwire_core::{
    file_rules::is_ignored,
    finding::{Code, Finding},
};

use super::{links, stamp::Stamp, stopped::Stopped};
use crate::{
    place::below,
    tree::{FileNode, Leads, Link, Node, Problem, Tree},
};

/// The most directories below each other that a scan follows.
pub(super) const MAX_DEPTH: usize = 64;

/// The most entries listed for one outermost skill, which is far above what can be served.
const MAX_ENTRIES: usize = 20_000;

/// A listing, and whether something changed under it.
pub(super) struct Walk {
    pub(super) tree: Tree,
    /// Something that was there and then was not, or was something else.
    pub(super) disturbed: Option<String>,
}

/// Lists everything in a skill's directory, which lies `depth` directories below the root.
///
/// `absolute` is the directory's own path without symbolic links.
pub(super) fn walk(dir: &Dir, absolute: &Path, depth: usize) -> Result<Walk, Stopped> {
    let mut walker = Walker { tree: Tree::default(), disturbed: None, left: MAX_ENTRIES };
    walker.visit(dir, "", depth)?;
    links::resolve_all(&mut walker.tree, absolute);
    Ok(Walk { tree: walker.tree, disturbed: walker.disturbed })
}

struct Walker {
    tree: Tree,
    disturbed: Option<String>,
    left: usize,
}

impl Walker {
    fn visit(&mut self, dir: &Dir, path: &str, depth: usize) -> Result<(), Stopped> {
        let listed = match self.list(dir) {
            Ok(Some(listed)) => listed,
            Ok(None) => {
                self.too_many(path);
                return Ok(());
            }
            Err(error) => return self.unreadable(path, error),
        };
        let mut directories = Vec::new();
        for name in listed {
            let Some(name) = self.utf8(path, &name) else { continue };
            if is_ignored(&name) {
                continue;
            }
            let inner = below(path, &name);
            match dir.symlink_metadata(&name) {
                Ok(metadata) => {
                    let node = self.node(dir, &name, &inner, &metadata);
                    self.tree.nodes.insert(inner, node);
                    if metadata.is_dir() {
                        directories.push(name);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.disturbed.get_or_insert(inner);
                }
                Err(error) => self.unreadable(&inner, error)?,
            }
        }
        directories.sort_unstable();
        directories.iter().try_for_each(|name| self.descend(dir, path, name, depth + 1))
    }

    fn node(&mut self, dir: &Dir, name: &str, path: &str, metadata: &Metadata) -> Node {
        if metadata.is_dir() {
            Node::Directory
        } else if metadata.is_file() {
            Node::File(FileNode {
                size: metadata.len(),
                hard_links: hard_links(metadata),
                stamp: Some(Stamp::of(metadata)),
            })
        } else if metadata.is_symlink() {
            let text = dir.read_link_contents(name).unwrap_or_else(|_| {
                self.disturbed.get_or_insert_with(|| path.to_owned());
                PathBuf::new()
            });
            // Where it leads is known once everything is listed.
            Node::Link(Link { text: text.to_string_lossy().into_owned(), leads: Leads::Outside })
        } else {
            Node::Special
        }
    }

    fn descend(&mut self, dir: &Dir, path: &str, name: &str, depth: usize) -> Result<(), Stopped> {
        let inner = below(path, name);
        if depth > MAX_DEPTH {
            let message = format!("The directory is more than {MAX_DEPTH} directories deep.");
            let finding = Finding::new(Code::TooDeep, inner, message)
                .help("Flatten the skill; deeper directories are not served.");
            self.tree.problems.push(Problem::new(finding));
            return Ok(());
        }
        match dir.open_dir_nofollow(name) {
            Ok(opened) => self.visit(&opened, &inner, depth),
            Err(error) => {
                let still = dir.symlink_metadata(name).is_ok_and(|metadata| metadata.is_dir());
                if !still {
                    self.disturbed.get_or_insert(inner.clone());
                }
                self.unreadable(&inner, error)
            }
        }
    }

    /// The names in a directory, or nothing when there are more than may be listed.
    fn list(&mut self, dir: &Dir) -> io::Result<Option<Vec<OsString>>> {
        let mut names = Vec::new();
        for entry in dir.entries()? {
            if self.left == 0 {
                return Ok(None);
            }
            self.left -= 1;
            names.push(entry?.file_name());
        }
        Ok(Some(names))
    }

    fn utf8(&mut self, path: &str, name: &OsStr) -> Option<String> {
        let text = name.to_str().map(str::to_owned);
        if text.is_none() {
            let shown = below(path, &name.to_string_lossy());
            self.tree.problems.push(Problem::new(name_not_utf8(shown)));
        }
        text
    }

    fn too_many(&mut self, path: &str) {
        let message = format!(
            "The skill has more than {MAX_ENTRIES} files and directories; the rest was not looked at."
        );
        let finding = Finding::new(Code::TooManyFiles, path, message)
            .help("Remove files that the skill does not need, or split it.");
        self.tree.problems.push(Problem::new(finding));
    }

    fn unreadable(&mut self, path: &str, error: io::Error) -> Result<(), Stopped> {
        let error = Stopped::unless(error)?;
        self.tree.problems.push(Problem::new(unreadable(path, &error)));
        Ok(())
    }
}

/// Says that a file name is not text.
pub(super) fn name_not_utf8(file: String) -> Finding {
    Finding::new(Code::FileNameNotUtf8, file, "The name is not UTF-8, so no URI can carry it.")
        .help("Rename it.")
}

/// Says why a file or directory cannot be read.
pub(super) fn unreadable(file: &str, error: &io::Error) -> Finding {
    Finding::new(Code::Unreadable, file, format!("It cannot be read: {error}."))
        .help("Let the server's user read it, or move it out of the skill.")
}

#[cfg(unix)]
fn hard_links(metadata: &Metadata) -> u64 {
    cap_std::fs::MetadataExt::nlink(metadata)
}

/// Elsewhere the number of names is not known without opening the file.
#[cfg(not(unix))]
fn hard_links(_metadata: &Metadata) -> u64 {
    1
}
