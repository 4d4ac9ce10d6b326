//! Follows symbolic links between skills, as far as they may lead.
//!
//! The operating system never follows a link here. A link is resolved name by name through open
//! directories: each step opens one name of an open directory without following it, and `..` goes
//! back to the directory that was opened before. So what is reached lies below the folder that the
//! walk began in, whatever other processes rename or replace meanwhile.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    io,
    path::{Component, Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use skillwire_core::{Code, Exemption, Finding, is_ignored};

use super::{
    file_store::RootDir,
    handle::{DirHandle, FileKind},
};
use crate::{location::join_path, tree::relative};

/// The most links one link may lead through, as many as Linux allows.
const MAX_HOPS: usize = 40;

/// The most links that lie behind one another.
const MAX_NESTED: usize = 4;

/// The most links that one scan follows.
const MAX_LINKS: usize = 20_000;

/// How far links may lead: the folders that they must not leave, the narrowest first.
#[derive(Debug)]
pub(super) struct LinkBounds {
    folders: Vec<Arc<RootDir>>,
    anywhere: bool,
}

impl LinkBounds {
    /// Bounds of a folder: itself and the repository around it, or nothing if links may lead
    /// anywhere.
    pub(super) fn of(root: &Arc<RootDir>, anywhere: bool) -> Self {
        let mut folders = vec![Arc::clone(root)];
        let wider = if anywhere {
            root.path.ancestors().last()
        } else {
            root.path.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())
        };
        let wider = wider.filter(|wider| *wider != root.path);
        folders.extend(wider.map(|wider| Arc::new(RootDir::new(wider.to_owned()))));
        Self { folders, anywhere }
    }

    /// Lets go of the folders around the root. A scan opens those again that its links lead through.
    pub(super) fn release(&self) {
        self.folders.iter().skip(1).for_each(|folder| folder.release());
    }
}

/// A link that was followed to a directory.
#[derive(Debug)]
pub(super) struct FollowedLink {
    /// Its path below the root of the source, by which everything behind it is known.
    pub(super) path: String,
    /// The folder that the directory was reached through.
    pub(super) base: Arc<RootDir>,
    /// The path of the directory below that folder, without links.
    pub(super) target: String,
    /// The directory that holds the link, without links.
    holder: PathBuf,
    /// The link that it lies behind.
    outer: Option<Arc<FollowedLink>>,
}

impl FollowedLink {
    /// The path of the directory, without links.
    pub(super) fn real(&self) -> PathBuf {
        self.base.join(&self.target)
    }

    /// The path below the base of what is known at a path behind the link.
    pub(super) fn below_base(&self, path: &str) -> String {
        let inside = if path == self.path { "" } else { relative(path, &self.path) };
        join_path(&self.target, inside)
    }

    /// This link and those that it lies behind.
    fn chain(self: &Arc<Self>) -> impl Iterator<Item = &Arc<Self>> {
        std::iter::successors(Some(self), |link| link.outer.as_ref())
    }
}

/// Where a link leads.
pub(super) enum LinkDestination {
    /// To a directory.
    Directory(DirHandle, Arc<FollowedLink>),
    /// To a file, which is no skill.
    File,
    /// To something that is not scanned, for the reason of the finding.
    Nothing(Box<Finding>),
}

/// Why a link is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeadEnd {
    Outside,
    Nowhere,
    Circle,
    TooMany,
}

/// Follows the links of one scan.
#[derive(Debug)]
pub(super) struct LinkFollower<'a> {
    bounds: &'a LinkBounds,
    /// Whether folders are held open for later reads.
    hold: bool,
    left: AtomicUsize,
}

/// A link among the skills of a folder.
pub(super) struct LinkPlace<'a> {
    /// The open directory that holds it.
    pub(super) dir: &'a DirHandle,
    /// The path of that directory, without links.
    pub(super) holder: PathBuf,
    pub(super) name: &'a OsStr,
    /// The path of the link below the root.
    pub(super) path: &'a str,
    /// The link that it lies behind.
    pub(super) outer: Option<&'a Arc<FollowedLink>>,
}

impl<'a> LinkFollower<'a> {
    pub(super) fn new(bounds: &'a LinkBounds, hold: bool) -> Self {
        Self { bounds, hold, left: AtomicUsize::new(MAX_LINKS) }
    }

    /// Follows a link; `shown` is what the operator calls it.
    pub(super) fn follow(&self, link: &LinkPlace<'_>, shown: String) -> LinkDestination {
        let Ok(text) = link.dir.read_link(link.name) else {
            return LinkDestination::Nothing(not_followed(
                shown,
                Path::new(""),
                DeadEnd::Nowhere,
                true,
            ));
        };
        let mut reason = DeadEnd::Outside;
        for base in &self.bounds.folders {
            match self.resolve(base, link, &text) {
                Ok(Some((dir, target))) => {
                    let real = base.join(&target);
                    if let Some(dead_end) = self.refuse(link, &real) {
                        reason = dead_end;
                        break;
                    }
                    let followed = FollowedLink {
                        path: link.path.to_owned(),
                        base: Arc::clone(base),
                        target,
                        holder: link.holder.clone(),
                        outer: link.outer.cloned(),
                    };
                    return LinkDestination::Directory(dir, Arc::new(followed));
                }
                Ok(None) => return LinkDestination::File,
                // A wider folder may have it.
                Err(DeadEnd::Outside) => {}
                Err(dead_end) => {
                    reason = dead_end;
                    break;
                }
            }
        }
        LinkDestination::Nothing(not_followed(shown, &text, reason, self.bounds.anywhere))
    }

    /// Refuses a target that would be scanned without end.
    fn refuse(&self, link: &LinkPlace<'_>, real: &Path) -> Option<DeadEnd> {
        let mut outer = link.outer.into_iter().flat_map(FollowedLink::chain);
        if link.holder.starts_with(real) || outer.any(|outer| outer.holder.starts_with(real)) {
            return Some(DeadEnd::Circle);
        }
        let nested = link.outer.map_or(0, |outer| outer.chain().count());
        let take = |left: usize| left.checked_sub(1);
        let affords = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        (nested >= MAX_NESTED || !affords).then_some(DeadEnd::TooMany)
    }

    /// Resolves the text of a link below a folder; `None` if it leads to a file.
    fn resolve(
        &self,
        base: &Arc<RootDir>,
        link: &LinkPlace<'_>,
        text: &Path,
    ) -> Result<Option<(DirHandle, String)>, DeadEnd> {
        let above = link.holder.strip_prefix(&base.path).map_err(|_| DeadEnd::Outside)?;
        let bottom = base.open().map_err(|_| DeadEnd::Nowhere)?;
        if self.hold {
            base.hold(&bottom);
        }
        let mut walk = LinkWalk { base: &base.path, bottom, opened: Vec::new() };
        for component in above.components() {
            walk.enter(component.as_os_str())?;
        }
        let mut left = parts(text);
        let mut hops = 1;
        while let Some(part) = left.pop_front() {
            match part {
                LinkPart::Root(absolute) => {
                    let inside = absolute.strip_prefix(&base.path);
                    walk.opened.clear();
                    left = parts(inside.map_err(|_| DeadEnd::Outside)?);
                }
                LinkPart::Parent => {
                    walk.opened.pop().ok_or(DeadEnd::Outside)?;
                }
                LinkPart::Name(name) => match walk.kind(&name)? {
                    FileKind::Directory => walk.enter(&name)?,
                    FileKind::Link => {
                        hops += 1;
                        if hops > MAX_HOPS {
                            return Err(DeadEnd::Circle);
                        }
                        let next = walk.top().read_link(&name).map_err(|_| DeadEnd::Nowhere)?;
                        left = parts_before(&next, left);
                    }
                    FileKind::File if left.is_empty() => return Ok(None),
                    FileKind::File | FileKind::Special => return Err(DeadEnd::Nowhere),
                },
            }
        }
        walk.finish().map(Some)
    }
}

/// The open directories from the folder down to where a walk is.
struct LinkWalk<'a> {
    base: &'a Path,
    bottom: Arc<DirHandle>,
    opened: Vec<(String, DirHandle)>,
}

impl LinkWalk<'_> {
    fn top(&self) -> &DirHandle {
        self.opened.last().map_or(&self.bottom, |(_, dir)| dir)
    }

    fn kind(&self, name: &OsStr) -> Result<FileKind, DeadEnd> {
        self.top().facts(name).map(|facts| facts.kind).map_err(|_| DeadEnd::Nowhere)
    }

    /// Opens a directory in the current one, which must not be a link.
    fn enter(&mut self, name: &OsStr) -> Result<(), DeadEnd> {
        // A name that is not UTF-8 has no URI, and what lies in `.git` is no skill.
        let text = name.to_str().filter(|text| !is_ignored(text)).ok_or(DeadEnd::Outside)?;
        let dir = self.top().directory(name).map_err(|_| DeadEnd::Nowhere)?;
        self.opened.push((text.to_owned(), dir));
        Ok(())
    }

    /// The directory that was reached, and its path below the folder.
    fn finish(mut self) -> Result<(DirHandle, String), DeadEnd> {
        tracing::trace!(base = %self.base.display(), "followed a link");
        let names: Vec<String> = self.opened.iter().map(|(name, _)| name.clone()).collect();
        let dir = match self.opened.pop() {
            Some((_, dir)) => dir,
            None => self.bottom.again().map_err(|_| DeadEnd::Nowhere)?,
        };
        Ok((dir, names.join("/")))
    }
}

/// A part of the text of a link.
enum LinkPart {
    /// The text is an absolute path, with everything that is left of it.
    Root(PathBuf),
    Parent,
    Name(OsString),
}

fn parts(text: &Path) -> VecDeque<LinkPart> {
    parts_before(text, VecDeque::new())
}

/// The parts of a text, followed by others.
fn parts_before(text: &Path, after: VecDeque<LinkPart>) -> VecDeque<LinkPart> {
    if text.is_absolute() {
        let rest = after.into_iter().fold(text.to_owned(), |mut path, part| {
            match part {
                LinkPart::Root(absolute) => path = absolute,
                LinkPart::Parent => path.push(".."),
                LinkPart::Name(name) => path.push(name),
            }
            path
        });
        return VecDeque::from([LinkPart::Root(rest)]);
    }
    let own = text.components().filter_map(|component| match component {
        Component::ParentDir => Some(LinkPart::Parent),
        Component::Normal(name) => Some(LinkPart::Name(name.to_owned())),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    own.chain(after).collect()
}

/// The finding about a link that might lead to skills.
fn not_followed(shown: String, text: &Path, reason: DeadEnd, anywhere: bool) -> Box<Finding> {
    let text = text.to_string_lossy();
    let text = text.escape_debug();
    let (message, help) = match reason {
        DeadEnd::Outside if anywhere => (
            format!("The symbolic link leads to `{text}`, which cannot hold skills."),
            "Name the folder it should lead to.",
        ),
        DeadEnd::Outside => (
            format!(
                "The symbolic link leads to `{text}`, outside the folder and its repository, and is \
                 not followed."
            ),
            "Name the folder it leads to as a further folder.",
        ),
        DeadEnd::Nowhere => (
            format!("The symbolic link leads to `{text}`, which does not exist or cannot be read."),
            "Remove the link, or restore what it led to.",
        ),
        DeadEnd::Circle => (
            format!("The symbolic link to `{text}` leads in a circle."),
            "Remove the link: what lies there is found without it.",
        ),
        DeadEnd::TooMany => (
            format!("The symbolic link to `{text}` is one of too many, and is not followed."),
            "Name the folders that hold the skills instead.",
        ),
    };
    let leaves = matches!(reason, DeadEnd::Outside) && !anywhere;
    let finding = Finding::new(Code::SymlinkNotScanned, shown, message).help(help);
    Box::new(Finding { exemption: leaves.then_some(Exemption::FollowLinks), ..finding })
}

/// Tells whether opening a directory failed because a link stands in its place.
pub(super) fn may_be_link(error: &io::Error) -> bool {
    // ELOOP has another number on each system; it has no stable kind.
    #[cfg(unix)]
    let looped = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    #[cfg(not(unix))]
    let looped = true;
    looped || error.kind() == io::ErrorKind::NotADirectory
}
