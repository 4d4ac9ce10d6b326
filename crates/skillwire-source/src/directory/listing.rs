//! Lists the directory of a skill: names, kinds, sizes and stamps, but no content.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    path::PathBuf,
    time::SystemTime,
};

use skillwire_core::{Code, Finding, is_ignored};

use super::{
    handle::{DirEntry, DirHandle, FileFacts, FileKind, facts_of},
    links,
    scan_error::ScanStopped,
    stamp::FileStamp,
};
use crate::{
    location::join_path,
    tree::{LinkNode, LinkTarget, SkillTree, TreeNode, TreeProblem},
};

/// How many levels of directories a scan follows.
pub(super) const MAX_DEPTH: usize = 64;

/// The most entries listed for one outermost skill; far fewer can be served.
const MAX_ENTRIES: usize = 20_000;

/// The most directories of one skill that are held open until it is read.
const MAX_HELD: usize = 16;

/// The most files of one skill that are held open until it is read.
const MAX_OPENED: usize = 8;

/// The directory of a skill.
#[derive(Clone, Copy)]
pub(super) struct SkillDir<'a> {
    pub(super) dir: &'a DirHandle,
    /// How many directories it lies below the root.
    pub(super) depth: usize,
    /// Its path without symbolic links.
    pub(super) absolute: &'a dyn Fn() -> PathBuf,
}

/// A listing, and whether something changed while it was made.
pub(super) struct SkillListing {
    pub(super) tree: SkillTree,
    /// A path that changed while the directory was listed.
    pub(super) disturbed: Option<String>,
    /// The directories that are still open, except the skill's own.
    held: Vec<ListedDir>,
    /// The files that are still open.
    opened: Vec<(String, File)>,
    /// The stamp of the skill's own directory before it was listed.
    stamp: Option<FileStamp>,
    /// Whether every directory is still open.
    all_held: bool,
}

struct ListedDir {
    path: String,
    dir: DirHandle,
    stamp: FileStamp,
}

/// Lists everything in a skill's directory.
///
/// `listed` has the entries of the directory and its stamp before, if the caller listed it already.
/// `eager` opens files instead of asking for their metadata by name: if they are read in any case,
/// that saves a system call for each.
pub(super) fn walk(
    skill_dir: SkillDir<'_>,
    listed: Option<(Vec<DirEntry>, FileStamp)>,
    eager: bool,
) -> Result<SkillListing, ScanStopped> {
    let walk = SkillListing {
        tree: SkillTree::default(),
        disturbed: None,
        held: Vec::new(),
        opened: Vec::new(),
        stamp: None,
        all_held: true,
    };
    let mut walker = ListingWalker { walk, left: MAX_ENTRIES, eager };
    if let Some((entries, stamp)) = listed {
        walker.walk.stamp = Some(stamp);
        walker.look_through(skill_dir.dir, "", skill_dir.depth, entries)?;
    } else {
        walker.walk.stamp = skill_dir.dir.own_facts().ok().map(|facts| facts.stamp);
        match skill_dir.dir.again() {
            Ok(again) => walker.visit(&again, "", skill_dir.depth)?,
            Err(error) => walker.unreadable("", error)?,
        }
    }
    let mut walk = walker.walk;
    if walk.tree.nodes.values().any(|node| matches!(node, TreeNode::Link(_))) {
        links::resolve_all(&mut walk.tree, &(skill_dir.absolute)());
    }
    Ok(walk)
}

impl SkillListing {
    /// Tells whether the whole listing is true at this moment.
    ///
    /// The stamp of a directory changes when a name in it is added, removed or replaced. A
    /// directory whose stamp is the same as before it was listed had the same names all the time,
    /// provided that the stamp is old enough for another change to show.
    pub(super) fn is_whole(&self, skill_dir: SkillDir<'_>, started: SystemTime) -> bool {
        let same = |dir: &DirHandle, before: FileStamp| {
            before.is_settled(started) && dir.own_facts().is_ok_and(|now| now.stamp == before)
        };
        self.all_held
            && self.disturbed.is_none()
            && self.tree.problems.is_empty()
            && self.stamp.is_some_and(|stamp| same(skill_dir.dir, stamp))
            && self.held.iter().all(|listed| same(&listed.dir, listed.stamp))
    }

    /// The directory at a path, if it is still open.
    pub(super) fn held(&self, path: &str) -> Option<&DirHandle> {
        self.held.iter().find(|listed| listed.path == path).map(|listed| &listed.dir)
    }

    /// The file at a path, if it is still open.
    pub(super) fn opened(&self, path: &str) -> Option<&File> {
        self.opened.iter().find(|(opened, _)| opened == path).map(|(_, file)| file)
    }
}

struct ListingWalker {
    walk: SkillListing,
    left: usize,
    eager: bool,
}

impl ListingWalker {
    fn visit(&mut self, dir: &DirHandle, path: &str, depth: usize) -> Result<(), ScanStopped> {
        match dir.entries(self.left) {
            Ok(Some(entries)) => self.look_through(dir, path, depth, entries),
            Ok(None) => {
                self.left = 0;
                self.too_many(path);
                Ok(())
            }
            Err(error) => self.unreadable(path, error),
        }
    }

    fn look_through(
        &mut self,
        dir: &DirHandle,
        path: &str,
        depth: usize,
        entries: Vec<DirEntry>,
    ) -> Result<(), ScanStopped> {
        let Some(left) = self.left.checked_sub(entries.len()) else {
            self.left = 0;
            self.too_many(path);
            return Ok(());
        };
        self.left = left;
        let mut directories = Vec::new();
        for DirEntry { name, kind } in entries {
            let Some(name) = self.utf8(path, name) else { continue };
            if is_ignored(&name) {
                continue;
            }
            let inner = join_path(path, &name);
            if kind == Some(FileKind::Directory) {
                self.walk.tree.nodes.insert(inner, TreeNode::Directory);
                directories.push(name);
                continue;
            }
            let opened =
                if kind == Some(FileKind::File) { self.open(dir, &name, &inner) } else { None };
            match opened.map_or_else(|| dir.facts(OsStr::new(&name)), Ok) {
                Ok(facts) => {
                    let node = self.node(dir, &name, &inner, facts);
                    self.walk.tree.nodes.insert(inner, node);
                    if facts.kind == FileKind::Directory {
                        directories.push(name);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.walk.disturbed.get_or_insert(inner);
                }
                Err(error) => self.unreadable(&inner, error)?,
            }
        }
        directories.sort_unstable();
        directories.iter().try_for_each(|name| self.descend(dir, path, name, depth + 1))
    }

    /// Opens a file and returns its metadata; `None` if the caller has to ask by name.
    fn open(&mut self, dir: &DirHandle, name: &str, path: &str) -> Option<FileFacts> {
        if !self.eager || self.walk.opened.len() == MAX_OPENED {
            return None;
        }
        let file = dir.file(OsStr::new(name)).ok()?;
        let facts = facts_of(&file).ok().filter(|facts| facts.kind == FileKind::File)?;
        self.walk.opened.push((path.to_owned(), file));
        Some(facts)
    }

    fn node(&mut self, dir: &DirHandle, name: &str, path: &str, facts: FileFacts) -> TreeNode {
        match facts.kind {
            FileKind::Directory => TreeNode::Directory,
            FileKind::File => TreeNode::File(facts.file()),
            FileKind::Link => {
                let text = dir.read_link(OsStr::new(name)).unwrap_or_else(|_| {
                    self.walk.disturbed.get_or_insert_with(|| path.to_owned());
                    PathBuf::new()
                });
                // `links` finds the target once everything is listed.
                let text = text.to_string_lossy().into_owned();
                TreeNode::Link(LinkNode { text, leads: LinkTarget::Outside })
            }
            FileKind::Special => TreeNode::Special,
        }
    }

    fn descend(
        &mut self,
        dir: &DirHandle,
        path: &str,
        name: &str,
        depth: usize,
    ) -> Result<(), ScanStopped> {
        let inner = join_path(path, name);
        if depth > MAX_DEPTH {
            let message = format!("The directory is more than {MAX_DEPTH} directories deep.");
            let finding = Finding::new(Code::TooDeep, inner, message)
                .help("Flatten the skill; deeper directories are not served.");
            self.walk.tree.problems.push(TreeProblem::new(finding));
            return Ok(());
        }
        match dir.directory(OsStr::new(name)) {
            Ok(opened) => {
                let before = opened.own_facts().map(|facts| facts.stamp);
                self.visit(&opened, &inner, depth)?;
                self.hold(inner, opened, before.ok());
                Ok(())
            }
            Err(error) => {
                let still = dir
                    .facts(OsStr::new(name))
                    .is_ok_and(|facts| facts.kind == FileKind::Directory);
                if !still {
                    self.walk.disturbed.get_or_insert(inner.clone());
                }
                self.unreadable(&inner, error)
            }
        }
    }

    fn hold(&mut self, path: String, dir: DirHandle, stamp: Option<FileStamp>) {
        match stamp {
            Some(stamp) if self.walk.held.len() < MAX_HELD => {
                self.walk.held.push(ListedDir { path, dir, stamp });
            }
            _ => self.walk.all_held = false,
        }
    }

    fn utf8(&mut self, path: &str, name: OsString) -> Option<String> {
        match name.into_string() {
            Ok(name) => Some(name),
            Err(name) => {
                let shown = join_path(path, &name.to_string_lossy());
                self.walk.tree.problems.push(TreeProblem::new(name_not_utf8(shown)));
                None
            }
        }
    }

    fn too_many(&mut self, path: &str) {
        let message = format!(
            "The skill has more than {MAX_ENTRIES} files and directories; the rest was not looked at."
        );
        let finding = Finding::new(Code::TooManyFiles, path, message)
            .help("Remove files that the skill does not need, or split it.");
        self.walk.tree.problems.push(TreeProblem::new(finding));
    }

    fn unreadable(&mut self, path: &str, error: io::Error) -> Result<(), ScanStopped> {
        let error = ScanStopped::unless(error)?;
        self.walk.tree.problems.push(TreeProblem::new(unreadable(path, &error)));
        Ok(())
    }
}

/// The finding about a name that is not UTF-8.
pub(super) fn name_not_utf8(file: String) -> Finding {
    Finding::new(Code::FileNameNotUtf8, file, "The name is not UTF-8, so no URI can carry it.")
        .help("Rename it.")
}

/// The finding about a file or directory that cannot be read.
pub(super) fn unreadable(file: &str, error: &io::Error) -> Finding {
    Finding::new(Code::Unreadable, file, format!("It cannot be read: {error}."))
        .help("Let the server's user read it, or move it out of the skill.")
}
