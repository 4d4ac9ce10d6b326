//! Listing the directory of a skill: names, kinds, sizes and stamps, but no content.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    path::PathBuf,
    time::SystemTime,
};

use skillwire_core::{Code, Finding, is_ignored};

use super::{
    handle::{Entry, Facts, Handle, Kind, facts_of},
    links,
    stamp::Stamp,
    stopped::Stopped,
};
use crate::{
    location::below,
    tree::{Leads, Link, Node, Problem, Tree},
};

/// The most directories below each other that a scan follows.
pub(super) const MAX_DEPTH: usize = 64;

/// The most entries listed for one outermost skill, which is far above what can be served.
const MAX_ENTRIES: usize = 20_000;

/// The most directories of one skill that are held open until it is read.
const MAX_HELD: usize = 16;

/// The most files of one skill that are held open until it is read.
const MAX_OPENED: usize = 8;

/// Where a skill's directory is.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) dir: &'a Handle,
    /// How many directories it lies below the root.
    pub(super) depth: usize,
    /// Its path without symbolic links.
    pub(super) absolute: &'a dyn Fn() -> PathBuf,
}

/// A listing, and whether something changed under it.
pub(super) struct Walk {
    pub(super) tree: Tree,
    /// Something that was there and then was not, or was something else.
    pub(super) disturbed: Option<String>,
    /// Some of the directories that were listed, by path, the first one excluded.
    held: Vec<Listed>,
    /// Some of the files that were listed, by path.
    opened: Vec<(String, File)>,
    /// Whether the first directory is as it was before it was listed.
    stamp: Option<Stamp>,
    /// Whether every directory is held.
    all_held: bool,
}

struct Listed {
    path: String,
    dir: Handle,
    stamp: Stamp,
}

/// Lists everything in a skill's directory.
///
/// `listed` is what the directory holds and the stamp it had before, when that is known already.
/// `eager` opens files instead of only asking what they are, as they will be read in any case.
pub(super) fn walk(
    site: Site<'_>,
    listed: Option<(Vec<Entry>, Stamp)>,
    eager: bool,
) -> Result<Walk, Stopped> {
    let walk = Walk {
        tree: Tree::default(),
        disturbed: None,
        held: Vec::new(),
        opened: Vec::new(),
        stamp: None,
        all_held: true,
    };
    let mut walker = Walker { walk, left: MAX_ENTRIES, eager };
    if let Some((entries, stamp)) = listed {
        walker.walk.stamp = Some(stamp);
        walker.look_through(site.dir, "", site.depth, entries)?;
    } else {
        walker.walk.stamp = site.dir.own_facts().ok().map(|facts| facts.stamp);
        match site.dir.again() {
            Ok(again) => walker.visit(&again, "", site.depth)?,
            Err(error) => walker.unreadable("", error)?,
        }
    }
    let mut walk = walker.walk;
    if walk.tree.nodes.values().any(|node| matches!(node, Node::Link(_))) {
        links::resolve_all(&mut walk.tree, &(site.absolute)());
    }
    Ok(walk)
}

impl Walk {
    /// Tells whether the listing was true as a whole at this moment.
    ///
    /// A directory changes when a name in it comes, goes or is replaced. One that is now as it was
    /// before it was listed held the same names all the while, provided that it last changed long
    /// enough ago for a further change to show.
    pub(super) fn is_whole(&self, site: Site<'_>, started: SystemTime) -> bool {
        let same = |dir: &Handle, before: Stamp| {
            before.is_settled(started) && dir.own_facts().is_ok_and(|now| now.stamp == before)
        };
        self.all_held
            && self.disturbed.is_none()
            && self.tree.problems.is_empty()
            && self.stamp.is_some_and(|stamp| same(site.dir, stamp))
            && self.held.iter().all(|listed| same(&listed.dir, listed.stamp))
    }

    /// The directory a file was listed in, when it is still open.
    pub(super) fn held(&self, path: &str) -> Option<&Handle> {
        self.held.iter().find(|listed| listed.path == path).map(|listed| &listed.dir)
    }

    /// A file as it was listed, when it is still open.
    pub(super) fn opened(&self, path: &str) -> Option<&File> {
        self.opened.iter().find(|(opened, _)| opened == path).map(|(_, file)| file)
    }
}

struct Walker {
    walk: Walk,
    left: usize,
    eager: bool,
}

impl Walker {
    fn visit(&mut self, dir: &Handle, path: &str, depth: usize) -> Result<(), Stopped> {
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
        dir: &Handle,
        path: &str,
        depth: usize,
        entries: Vec<Entry>,
    ) -> Result<(), Stopped> {
        let Some(left) = self.left.checked_sub(entries.len()) else {
            self.left = 0;
            self.too_many(path);
            return Ok(());
        };
        self.left = left;
        let mut directories = Vec::new();
        for Entry { name, kind } in entries {
            let Some(name) = self.utf8(path, name) else { continue };
            if is_ignored(&name) {
                continue;
            }
            let inner = below(path, &name);
            if kind == Some(Kind::Directory) {
                self.walk.tree.nodes.insert(inner, Node::Directory);
                directories.push(name);
                continue;
            }
            let opened =
                if kind == Some(Kind::File) { self.open(dir, &name, &inner) } else { None };
            match opened.map_or_else(|| dir.facts(OsStr::new(&name)), Ok) {
                Ok(facts) => {
                    let node = self.node(dir, &name, &inner, facts);
                    self.walk.tree.nodes.insert(inner, node);
                    if facts.kind == Kind::Directory {
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

    /// Opens a file and says what it is; what cannot be opened is asked for without.
    fn open(&mut self, dir: &Handle, name: &str, path: &str) -> Option<Facts> {
        if !self.eager || self.walk.opened.len() == MAX_OPENED {
            return None;
        }
        let file = dir.file(OsStr::new(name)).ok()?;
        let facts = facts_of(&file).ok().filter(|facts| facts.kind == Kind::File)?;
        self.walk.opened.push((path.to_owned(), file));
        Some(facts)
    }

    fn node(&mut self, dir: &Handle, name: &str, path: &str, facts: Facts) -> Node {
        match facts.kind {
            Kind::Directory => Node::Directory,
            Kind::File => Node::File(facts.file()),
            Kind::Link => {
                let text = dir.read_link(OsStr::new(name)).unwrap_or_else(|_| {
                    self.walk.disturbed.get_or_insert_with(|| path.to_owned());
                    PathBuf::new()
                });
                // Where it leads is known once everything is listed.
                let text = text.to_string_lossy().into_owned();
                Node::Link(Link { text, leads: Leads::Outside })
            }
            Kind::Special => Node::Special,
        }
    }

    fn descend(
        &mut self,
        dir: &Handle,
        path: &str,
        name: &str,
        depth: usize,
    ) -> Result<(), Stopped> {
        let inner = below(path, name);
        if depth > MAX_DEPTH {
            let message = format!("The directory is more than {MAX_DEPTH} directories deep.");
            let finding = Finding::new(Code::TooDeep, inner, message)
                .help("Flatten the skill; deeper directories are not served.");
            self.walk.tree.problems.push(Problem::new(finding));
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
                let still =
                    dir.facts(OsStr::new(name)).is_ok_and(|facts| facts.kind == Kind::Directory);
                if !still {
                    self.walk.disturbed.get_or_insert(inner.clone());
                }
                self.unreadable(&inner, error)
            }
        }
    }

    fn hold(&mut self, path: String, dir: Handle, stamp: Option<Stamp>) {
        match stamp {
            Some(stamp) if self.walk.held.len() < MAX_HELD => {
                self.walk.held.push(Listed { path, dir, stamp });
            }
            _ => self.walk.all_held = false,
        }
    }

    fn utf8(&mut self, path: &str, name: OsString) -> Option<String> {
        match name.into_string() {
            Ok(name) => Some(name),
            Err(name) => {
                let shown = below(path, &name.to_string_lossy());
                self.walk.tree.problems.push(Problem::new(name_not_utf8(shown)));
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
        self.walk.tree.problems.push(Problem::new(finding));
    }

    fn unreadable(&mut self, path: &str, error: io::Error) -> Result<(), Stopped> {
        let error = Stopped::unless(error)?;
        self.walk.tree.problems.push(Problem::new(unreadable(path, &error)));
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
