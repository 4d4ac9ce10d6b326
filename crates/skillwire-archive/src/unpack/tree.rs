//! The tree that an archive describes, built entry by entry.
//!
//! No entry can write through a link to a place outside the skill: the tree keeps links apart from
//! files until it has all entries, and then resolves them against itself.

use std::{collections::BTreeMap, io::Read};

use skillwire_core::{
    RelPath,
    portable::{Names, NotPortable},
};

use super::ArchiveFile;
use crate::{
    limits::ArchiveLimits,
    refused::{ArchiveReason, RefusedArchive},
};

/// The most links that are followed from one link.
const MOST_HOPS: usize = 8;

/// The entry at a path.
enum ArchiveNode {
    File { bytes: Vec<u8>, executable: bool },
    Link(Box<str>),
}

/// The entries that have been read so far.
pub(super) struct ArchiveTree<'a> {
    limits: &'a ArchiveLimits,
    packed: usize,
    nodes: BTreeMap<RelPath, ArchiveNode>,
    names: Names,
    entries: usize,
    bytes: u64,
}

impl<'a> ArchiveTree<'a> {
    pub(super) fn new(limits: &'a ArchiveLimits, packed: usize) -> Self {
        let (nodes, names) = (BTreeMap::new(), Names::default());
        Self { limits, packed, nodes, names, entries: 0, bytes: 0 }
    }

    /// Adds a directory.
    pub(super) fn directory(&mut self, name: &[u8]) -> Result<(), RefusedArchive> {
        self.count()?;
        let text = text(name)?;
        let trimmed = text.trim_end_matches('/');
        // `./` is the skill's root. Tools that pack a folder often write an entry for it.
        if matches!(trimmed, "." | "") && text.starts_with('.') {
            return Ok(());
        }
        let path = self.path(trimmed)?;
        self.names.add_directory(&path).map_err(|error| not_portable(&path, &error))
    }

    /// Adds a file, and reads no more of it than the limits still allow.
    pub(super) fn file(
        &mut self,
        name: &[u8],
        executable: bool,
        content: &mut dyn Read,
    ) -> Result<(), RefusedArchive> {
        let path = self.new_path(name)?;
        let left = self.limits.bytes.saturating_sub(self.bytes);
        let mut bytes = Vec::new();
        content.take(left + 1).read_to_end(&mut bytes).map_err(|error| {
            RefusedArchive::unreadable(ArchiveReason::Broken, error).entry(path.as_str())
        })?;
        self.weigh(bytes.len())?;
        self.nodes.insert(path, ArchiveNode::File { bytes, executable });
        Ok(())
    }

    /// Adds a symbolic link.
    pub(super) fn link(&mut self, name: &[u8], target: &[u8]) -> Result<(), RefusedArchive> {
        let path = self.new_path(name)?;
        let target = text(target)?;
        if target.len() > self.limits.path {
            return Err(link(&path, "the link's target is too long"));
        }
        self.nodes.insert(path, ArchiveNode::Link(target.into()));
        Ok(())
    }

    /// Resolves the links and returns the files.
    pub(super) fn finish(mut self) -> Result<Vec<ArchiveFile>, RefusedArchive> {
        let links: Vec<_> = self
            .nodes
            .iter()
            .filter(|(_, node)| matches!(node, ArchiveNode::Link(_)))
            .map(|(path, _)| path.clone())
            .collect();
        let mut copies = Vec::with_capacity(links.len());
        for path in links {
            let target = self.target_of(&path)?;
            let Some(ArchiveNode::File { bytes, executable }) = self.nodes.get(&target) else {
                return Err(link(&path, "the link leads to nothing"));
            };
            let (bytes, executable) = (bytes.clone(), *executable);
            self.weigh(bytes.len())?;
            copies.push((path, ArchiveNode::File { bytes, executable }));
        }
        self.nodes.extend(copies);
        let files = self.nodes.into_iter().filter_map(|(path, node)| match node {
            ArchiveNode::File { bytes, executable } => {
                Some(ArchiveFile { path, bytes, executable })
            }
            ArchiveNode::Link(_) => None,
        });
        Ok(files.collect())
    }

    /// The file that a link leads to, walked through the tree as a file system would.
    fn target_of(&self, from: &RelPath) -> Result<RelPath, RefusedArchive> {
        let mut at: Vec<&str> = from.segments().collect();
        let mut hops = 0;
        // The segments that are still to be walked, the next one last.
        let mut rest: Vec<&str> = Vec::new();
        loop {
            let here = (!at.is_empty()).then(|| at.join("/"));
            let path = here.as_deref().map(RelPath::parse).transpose();
            let path = path.map_err(|error| link(from, &format!("the target {error}")))?;
            match path.as_ref().and_then(|path| self.nodes.get_key_value(path)) {
                Some((path, ArchiveNode::File { .. })) => {
                    let through = || link(from, "the link leads through a file");
                    return rest.is_empty().then(|| path.clone()).ok_or_else(through);
                }
                Some((_, ArchiveNode::Link(target))) => {
                    hops += 1;
                    if hops > MOST_HOPS {
                        return Err(link(from, "the link leads in a circle"));
                    }
                    if target.starts_with('/') || target.contains('\\') {
                        return Err(link(from, "the link leads to an absolute path"));
                    }
                    at.pop();
                    rest.extend(target.split('/').rev().filter(|part| !matches!(*part, "" | ".")));
                }
                None => {}
            }
            match rest.pop() {
                Some("..") if at.pop().is_none() => {
                    return Err(link(from, "the link leads out of the skill"));
                }
                Some("..") => {}
                Some(segment) => at.push(segment),
                None if self.is_directory(&at) => {
                    return Err(link(from, "the link leads to a directory"));
                }
                None => return Err(link(from, "the link leads to nothing")),
            }
        }
    }

    fn is_directory(&self, at: &[&str]) -> bool {
        let starts = |path: &RelPath| at.iter().copied().eq(path.segments().take(at.len()));
        self.nodes.keys().any(starts)
    }

    /// Counts an entry and takes its name, which must be new.
    fn new_path(&mut self, name: &[u8]) -> Result<RelPath, RefusedArchive> {
        self.count()?;
        let path = self.path(text(name)?)?;
        self.names.add_file(&path).map_err(|error| not_portable(&path, &error))?;
        Ok(path)
    }

    fn count(&mut self) -> Result<(), RefusedArchive> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            let detail = format!("there are more than {} entries", self.limits.entries);
            return Err(RefusedArchive::new(ArchiveReason::TooMany, detail));
        }
        Ok(())
    }

    /// Counts unpacked bytes against the limits.
    fn weigh(&mut self, bytes: usize) -> Result<(), RefusedArchive> {
        self.bytes += bytes as u64;
        if !self.limits.allows_ratio(self.packed, self.bytes) {
            return Err(ratio(self.limits));
        }
        if self.bytes > self.limits.bytes {
            let detail = format!("more than {} bytes come out", self.limits.bytes);
            return Err(RefusedArchive::new(ArchiveReason::TooLarge, detail));
        }
        Ok(())
    }

    /// Reads a path, which must lie inside and not behind a link.
    fn path(&self, text: &str) -> Result<RelPath, RefusedArchive> {
        let refuse = |reason, detail: &str| RefusedArchive::new(reason, detail).entry(text);
        if text.len() > self.limits.path {
            let start: String = text.chars().take(64).collect();
            return Err(
                RefusedArchive::new(ArchiveReason::TooDeep, "the path is too long").entry(start)
            );
        }
        if text.starts_with('/') {
            return Err(refuse(ArchiveReason::Path, "the path is absolute"));
        }
        // `./a` and `a` are one file, and both spellings are common.
        let text = text.strip_prefix("./").unwrap_or(text);
        let path = RelPath::parse(text)
            .map_err(|error| refuse(ArchiveReason::Path, &format!("the path {error}")))?;
        if path.segments().count() > self.limits.depth {
            return Err(refuse(ArchiveReason::TooDeep, "the path is too deep"));
        }
        let mut above = path.parent();
        while let Some(directory) = above {
            if matches!(self.nodes.get(&directory), Some(ArchiveNode::Link(_))) {
                return Err(link(&path, "the path leads through a link"));
            }
            above = directory.parent();
        }
        Ok(path)
    }
}

/// The refusal of an archive that expands too much for its size.
pub(super) fn ratio(limits: &ArchiveLimits) -> RefusedArchive {
    let detail = format!("more than {} bytes come out of each packed byte", limits.ratio);
    RefusedArchive::new(ArchiveReason::Ratio, detail)
}

fn link(path: &RelPath, detail: &str) -> RefusedArchive {
    RefusedArchive::new(ArchiveReason::Link, detail).entry(path.as_str())
}

fn not_portable(path: &RelPath, error: &NotPortable) -> RefusedArchive {
    let reason = match error {
        NotPortable::Collide(..) => ArchiveReason::Twins,
        NotPortable::Reserved(_) => ArchiveReason::Path,
    };
    RefusedArchive::new(reason, error.to_string()).entry(path.as_str())
}

fn text(name: &[u8]) -> Result<&str, RefusedArchive> {
    std::str::from_utf8(name).map_err(|_| {
        RefusedArchive::new(ArchiveReason::Path, "the path is not UTF-8")
            .entry(String::from_utf8_lossy(name))
    })
}
