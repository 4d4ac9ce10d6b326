//! The acting window: the only way from a skill's files to a model.

mod for_model;
mod running;

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use parking_lot::Mutex;
use skillwire_core::{
    ContentSet, Digest, RelPath, ResourceUri, Resources, SkillEntry, SkillResource,
};
use skillwire_dialects::{Dialect, sep_2076::ArgumentValues};
use skillwire_trust::{
    Action, Answer, ApprovedBy, ApprovedSkill, Decision, Integrity, ListedSkill, Question, Reason,
    Refusal, Remedy, SkillId, VerifiedFile, reference,
};

pub use self::for_model::FileForModel;
use crate::host::Host;

/// Bytes of a file that a window returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// They match the skill's entry.
    Verified(VerifiedFile),
    /// They match what the host read first; the server does not say what they should be.
    FirstSeen(FirstSeen),
    /// No entry lists what they should be.
    Dynamic(DynamicContent),
}

/// Bytes that the host holds to what it read first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstSeen {
    pub(crate) file: VerifiedFile,
    pub(crate) new: bool,
}

impl FirstSeen {
    /// Returns the file, with the digest that the host holds it to.
    pub fn file(&self) -> &VerifiedFile {
        &self.file
    }

    /// Tells whether the host read and pinned the file just now.
    pub fn is_new(&self) -> bool {
        self.new
    }
}

impl FileContent {
    /// Returns the skill that the file belongs to.
    pub fn skill(&self) -> &SkillId {
        match self {
            Self::Verified(file) | Self::FirstSeen(FirstSeen { file, .. }) => file.skill(),
            Self::Dynamic(file) => &file.skill,
        }
    }

    /// Returns the URI of the file.
    pub fn uri(&self) -> &ResourceUri {
        match self {
            Self::Verified(file) | Self::FirstSeen(FirstSeen { file, .. }) => file.uri(),
            Self::Dynamic(file) => &file.uri,
        }
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &Bytes {
        match self {
            Self::Verified(file) | Self::FirstSeen(FirstSeen { file, .. }) => file.bytes(),
            Self::Dynamic(file) => &file.bytes,
        }
    }
}

/// Bytes of a skill without digests, read because the user agreed to that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamicContent {
    pub(crate) skill: SkillId,
    pub(crate) uri: ResourceUri,
    pub(crate) bytes: Bytes,
}

/// A call of an agent's own tool that runs code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The tool.
    pub tool: String,
    /// The input of the call, as text for the user.
    pub input: String,
}

/// A loaded skill, while its `SKILL.md` is in a model's context.
///
/// A window reads only files of the entry that the skill was loaded from, on the skill's own
/// server. It closes on [`Self::release`] or with the host, never by itself.
pub struct Window {
    host: Host,
    approved: ApprovedSkill,
    skill_file: FileContent,
    id: u64,
    open: AtomicBool,
    /// Bytes retrieved so far. Only a dynamic skill needs this, because no manifest bounds it.
    retrieved: AtomicU64,
    /// Files that were pinned through this window and that the entry does not list yet.
    pinned: Mutex<Vec<SkillResource>>,
}

impl Window {
    pub(crate) fn new(
        host: Host,
        approved: ApprovedSkill,
        skill_file: FileContent,
        id: u64,
    ) -> Self {
        let retrieved = u64::try_from(skill_file.bytes().len()).unwrap_or(u64::MAX);
        Self {
            host,
            approved,
            skill_file,
            id,
            open: AtomicBool::new(true),
            retrieved: AtomicU64::new(retrieved),
            pinned: Mutex::default(),
        }
    }

    /// Returns the id of the skill.
    pub fn skill(&self) -> &SkillId {
        self.approved.id()
    }

    /// Returns the entry that the skill was loaded from.
    pub fn entry(&self) -> &Arc<SkillEntry> {
        self.approved.entry()
    }

    /// Returns the content that the skill was loaded with, unless it is dynamic.
    pub fn content(&self) -> Option<ContentSet> {
        self.approved.content()
    }

    /// Returns one digest over that content.
    pub fn fingerprint(&self) -> Option<Digest> {
        self.approved.fingerprint()
    }

    /// Returns the source of the approval.
    pub fn approved_by(&self) -> ApprovedBy {
        self.approved.by()
    }

    /// Returns the values of its arguments that the skill was loaded with.
    pub fn argument_values(&self) -> Option<&ArgumentValues> {
        self.approved.listed().argument_values()
    }

    /// Returns the skill as it was listed when it was loaded.
    pub fn listed(&self) -> &ListedSkill {
        self.approved.listed()
    }

    /// Returns the dialect in which the server offers the skill.
    pub fn dialect(&self) -> Dialect {
        self.approved.listed().dialect()
    }

    /// Returns what the host compares the bytes of its files with.
    pub fn integrity(&self) -> Integrity {
        self.approved.listed().integrity()
    }

    /// Returns the `SKILL.md`, as the host verified it when it loaded the skill.
    pub fn skill_file(&self) -> &FileContent {
        &self.skill_file
    }

    /// Returns a number that no other window of this host has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Tells whether the window is open.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Reads a file by its path in the skill or by its URI.
    ///
    /// If the skill has a manifest, a file that the held entry does not list fails like one with
    /// the wrong bytes, and the host sends no request for it. Otherwise text in a skill could make
    /// the host fetch files that the user never approved. If files are held to the bytes that were
    /// read first, the first read of a file pins it.
    #[tracing::instrument(skip_all, fields(skill = %self.skill(), reference))]
    pub async fn read(&self, reference: &str) -> Result<FileContent, Refusal> {
        let read = self.read_unlogged(reference).await;
        let outcome = read.as_ref().map(|_| ()).map_err(|refusal| refusal.reason);
        self.host.log(&self.approved, Action::Read, outcome, Some(reference));
        read
    }

    async fn read_unlogged(&self, reference: &str) -> Result<FileContent, Refusal> {
        self.check_open()?;
        let candidates = reference::resolve(&self.skill().uri, reference)
            .map_err(|reason| self.refuse(reason, reference))?;
        match &self.entry().resources {
            Resources::Listed(files) if self.integrity().is_first_seen() => {
                self.read_first_seen(files, &candidates, reference).await
            }
            Resources::Listed(files) => {
                let listed = candidates.iter().find_map(|uri| find(files, uri));
                let listed = listed.ok_or_else(|| {
                    self.refuse(Reason::FileNotListed, reference)
                        .expected("a file in the manifest the skill was loaded with")
                        .hint("If the skill has new files, approve and load it again.")
                })?;
                if listed.uri == *self.skill().uri.file() {
                    return Ok(self.skill_file.clone());
                }
                let verified = self.host.fetch(self.approved.listed(), listed).await?;
                Ok(FileContent::Verified(verified))
            }
            Resources::Dynamic => {
                let uri = candidates
                    .first()
                    .ok_or_else(|| self.refuse(Reason::PathOutsideSkill, reference))?;
                self.read_dynamic(uri).await
            }
        }
    }

    /// Reads a pinned file, or pins it now.
    async fn read_first_seen(
        &self,
        files: &[SkillResource],
        candidates: &[ResourceUri],
        reference: &str,
    ) -> Result<FileContent, Refusal> {
        let held = |uri: &ResourceUri| {
            let pinned = self.pinned.lock();
            find(files, uri).or_else(|| pinned.iter().find(|file| file.uri == *uri)).cloned()
        };
        if let Some(file) = candidates.iter().find_map(held) {
            if file.uri == *self.skill().uri.file() {
                return Ok(self.skill_file.clone());
            }
            let file = self.host.fetch(self.approved.listed(), &file).await?;
            return Ok(FileContent::FirstSeen(FirstSeen { file, new: false }));
        }
        let uri = candidates.iter().find(|uri| self.approved.listed().may_have(uri));
        let uri = uri.ok_or_else(|| self.refuse(Reason::FileNotListed, reference))?;
        let most = self.host.policy().limits.bytes;
        let file = self.host.pin_first_read(&self.approved, uri, most).await?;
        let mut pinned = self.pinned.lock();
        pinned.push(file.listed().clone());
        Ok(FileContent::FirstSeen(FirstSeen { file, new: true }))
    }

    async fn read_dynamic(&self, uri: &ResourceUri) -> Result<FileContent, Refusal> {
        let most = self.host.policy().limits.bytes;
        let left = most.saturating_sub(self.retrieved.load(Ordering::Acquire));
        let bytes = self.host.read_unlisted(self.skill(), uri, left).await?;
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let total = self.retrieved.fetch_add(size, Ordering::AcqRel).saturating_add(size);
        if total > most {
            return Err(self
                .refuse(Reason::SkillTooLarge, uri.as_str())
                .expected(format!("at most {most} bytes in all"))
                .actual(format!("{total} bytes")));
        }
        let skill = self.skill().clone();
        Ok(FileContent::Dynamic(DynamicContent { skill, uri: uri.clone(), bytes }))
    }

    /// Lists the files and directories directly below a directory, from the held manifest, or from
    /// what an older server named along with the skill.
    ///
    /// The empty path is the skill's root. A dynamic skill has no manifest to answer from.
    pub fn list(&self, directory: &str) -> Result<Vec<Child>, Refusal> {
        self.check_open()?;
        if self.approved.content().is_none() {
            return Err(self.refuse(Reason::FileNotListed, directory).actual("no manifest"));
        }
        let others = self.approved.listed().other_files().unwrap_or_default();
        let paths = others.into_iter().map(|(path, _)| path).chain([RelPath::skill_file()]);
        let directory = match directory.trim_matches('/') {
            "" | "." => None,
            path => Some(reference::inside(path).map_err(|reason| self.refuse(reason, path))?),
        };
        let mut children = BTreeSet::new();
        for path in paths {
            let below = match &directory {
                None => Some(path),
                Some(directory) => path.strip_prefix(directory),
            };
            if let Some(below) = below {
                children.insert(child(&below));
            }
        }
        if let (Some(directory), true) = (&directory, children.is_empty()) {
            return Err(self.refuse(Reason::FileNotListed, directory.as_str()));
        }
        Ok(children.into_iter().collect())
    }

    /// Asks whether an agent's own tool may run code while it acts on this skill.
    ///
    /// Without the grant, the host asks the user about this one call.
    pub async fn may_run(&self, call: &ToolCall) -> Result<(), Refusal> {
        self.check_open()?;
        let outcome = if self.approved.grants().execute {
            Ok(())
        } else {
            let shown = format!("{} {}", call.tool, call.input);
            let question = Question::Execute { skill: self.skill().clone(), call: shown };
            match self.host.ask(&question).await {
                Answer::Yes(_) | Answer::Once(_) => Ok(()),
                Answer::No => Err(self.refuse(Reason::UserDeclined, &call.tool)),
                Answer::Unavailable => Err(self
                    .refuse(Reason::NotGranted, &call.tool)
                    .remedy(Remedy::GrantExecution(self.skill().clone()))),
            }
        };
        let logged = outcome.as_ref().copied().map_err(|refusal: &Refusal| refusal.reason);
        self.host.log(&self.approved, Action::Execute, logged, Some(&call.tool));
        outcome
    }

    /// Logs that a script was run, or why not; `detail` says which script, how, and with what
    /// result.
    pub fn log_run(&self, outcome: Result<(), Reason>, detail: &str) {
        self.host.log(&self.approved, Action::Run, outcome, Some(detail));
    }

    /// Tells whether the user's approval still covers the content of this window.
    ///
    /// It does not if the host has since seen other content at the origin, or if the user revoked
    /// the approval. The window itself does not check this: it serves what it holds until it is
    /// released.
    pub fn still_approved(&self) -> Result<(), Refusal> {
        match self.approved.by() {
            ApprovedBy::Once => Ok(()),
            ApprovedBy::User | ApprovedBy::Lock | ApprovedBy::Folder | ApprovedBy::Signer => {
                self.host.approved(self.approved.listed()).map(|_| ())
            }
        }
    }

    /// Returns the tools that the user granted; requests in the frontmatter have no effect.
    pub fn granted_tools(&self) -> &BTreeSet<String> {
        &self.approved.grants().tools
    }

    /// Returns what a compactor must keep while the window is open: the `SKILL.md` of the skill.
    pub fn pinned(&self) -> Option<&ResourceUri> {
        self.is_open().then(|| self.skill_file.uri())
    }

    /// Closes the window, because the skill's `SKILL.md` is no longer in the model's context.
    pub fn release(&self) {
        if self.open.swap(false, Ordering::AcqRel) {
            self.host.log(&self.approved, Action::Release, Ok(()), None);
        }
    }

    fn check_open(&self) -> Result<(), Refusal> {
        if self.is_open() {
            return Ok(());
        }
        Err(Refusal::new(Reason::WindowClosed).about(self.skill()).hint("Load the skill again."))
    }

    fn refuse(&self, reason: Reason, file: &str) -> Refusal {
        Refusal::new(reason).about(self.skill()).file(file.escape_debug())
    }
}

/// A direct child of a skill's directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Child {
    /// A directory.
    Directory(String),
    /// A file.
    File(String),
}

fn child(below: &RelPath) -> Child {
    let mut segments = below.segments();
    let first = segments.next().unwrap_or_default().to_owned();
    if segments.next().is_some() { Child::Directory(first) } else { Child::File(first) }
}

/// Finds a file in a manifest, which is sorted by URI.
pub(crate) fn find<'a>(files: &'a [SkillResource], uri: &ResourceUri) -> Option<&'a SkillResource> {
    let at = files.binary_search_by(|file| file.uri.cmp(uri)).ok()?;
    files.get(at)
}

/// Converts an outcome to its form in the log.
pub(crate) fn decision(outcome: Result<(), Reason>) -> (Decision, Option<Reason>) {
    match outcome {
        Ok(()) => (Decision::Allowed, None),
        Err(reason) => (Decision::Refused, Some(reason)),
    }
}
