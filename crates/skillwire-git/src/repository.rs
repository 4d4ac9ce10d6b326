//! A commit of a repository, and the files of its skills.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use skillwire_core::{Digest, RelPath, SKILL_FILE, is_ignored};
use tempfile::TempDir;

use crate::{
    command::GitRunner,
    error::GitError,
    options::GitOptions,
    source::{CommitId, GitRef, GitUrl},
    tree::{self, TreeEntry, TreeKind},
};

/// How a file begins that Git LFS put in the place of another.
const LARGE_FILE_BEGINNING: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The most bytes of a listing of a tree, for each file.
const TREE_LINE_BYTES: u64 = 4_096;

/// How many `SKILL.md` are fetched at once; together they have the bound of one skill.
const HEADS_AT_ONCE: usize = 100;

/// The longest path that a link may hold.
const MAX_LINK_BYTES: usize = 4_096;

/// The files of one skill, each with its path below the skill's folder.
pub type SkillFiles = Vec<(RelPath, Bytes)>;

/// One fetched commit; the fetched objects are removed when this is dropped.
#[derive(Debug)]
pub struct GitRepository {
    folder: TempDir,
    options: GitOptions,
    reference: GitRef,
    commit: CommitId,
    entries: Vec<TreeEntry>,
    redirected_to: Option<String>,
}

/// How `git` begins the line that says that a server sent it to another address.
const REDIRECTED: &str = "warning: redirecting to ";

impl GitRepository {
    /// Fetches a commit with its tree, and no file yet if the server can leave them out.
    #[tracing::instrument(skip_all, fields(%url, %reference))]
    pub async fn fetch(
        url: &GitUrl,
        reference: &GitRef,
        options: GitOptions,
    ) -> Result<Self, GitError> {
        if !options.protocols().contains(&url.protocol()) {
            return Err(GitError::Protocol(url.protocol()));
        }
        let folder = tempfile::Builder::new().prefix("skillwire-git-").tempdir();
        let folder = folder.map_err(GitError::io("Making a folder for the repository"))?;
        let git = GitRunner::new(folder.path(), &options);
        let quiet = |arguments: Vec<String>| {
            let git = &git;
            async move {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                git.run(&arguments, Vec::new(), TREE_LINE_BYTES).await
            }
        };
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        quiet(words("init --quiet --bare --template= .")).await?;
        let mut remote = words("config remote.origin.url");
        remote.push(url.as_str().to_owned());
        quiet(remote).await?;
        // Without `--quiet`, which would also leave out that the server redirects.
        let fetch = [
            "fetch",
            "--depth=1",
            "--no-tags",
            "--no-recurse-submodules",
            "--filter=blob:none",
            "origin",
            reference.as_str(),
        ];
        let (_, said) = git.run_heard(&fetch, Vec::new(), TREE_LINE_BYTES).await?;
        let redirected_to = redirection(&said);
        let commit =
            quiet(words("rev-parse --verify --end-of-options FETCH_HEAD^{commit}")).await?;
        let commit = std::str::from_utf8(&commit).ok().and_then(|id| CommitId::parse(id.trim()));
        let commit = commit.ok_or(GitError::Unexpected("rev-parse"))?;
        let most = options.limits.tree_files;
        let listing = git
            .run(
                &["ls-tree", "-r", "-z", "--full-tree", commit.as_str()],
                Vec::new(),
                (most as u64).saturating_mul(TREE_LINE_BYTES),
            )
            .await?;
        let entries = tree::parse(&listing, most)?;
        let reference = reference.clone();
        Ok(Self { folder, options, reference, commit, entries, redirected_to })
    }

    /// Returns the address that the server sent `git` to, if that is another than was asked for: the
    /// repository was renamed, or is now of another owner.
    pub fn redirected_to(&self) -> Option<&str> {
        self.redirected_to.as_deref()
    }

    /// Asks the server whether the ref is the name of a tag.
    pub async fn is_tag(&self) -> Result<bool, GitError> {
        let tag = format!("refs/tags/{}", self.reference);
        let git = GitRunner::new(self.folder.path(), &self.options);
        let listed = git
            .run(&["ls-remote", "--tags", "--refs", "origin", &tag], Vec::new(), TREE_LINE_BYTES)
            .await?;
        Ok(!listed.is_empty())
    }

    /// Tells whether an earlier commit is part of the history of this one. If it is not, the history was
    /// rewritten, or the address leads to another repository.
    ///
    /// This fetches all commits, but none of their trees and files if the server can leave them out.
    #[tracing::instrument(skip_all, fields(commit = %self.commit, %earlier))]
    pub async fn descends_from(&self, earlier: &CommitId) -> Result<bool, GitError> {
        let git = GitRunner::new(self.folder.path(), &self.options);
        let run = async |arguments: &[&str]| git.run(arguments, Vec::new(), TREE_LINE_BYTES).await;
        let shallow = run(&["rev-parse", "--is-shallow-repository"]).await?;
        if shallow.starts_with(b"true") {
            let fetch = [
                "fetch",
                "--quiet",
                "--unshallow",
                "--no-tags",
                "--no-recurse-submodules",
                "--filter=tree:0",
                "origin",
                self.reference.as_str(),
            ];
            run(&fetch).await?;
        }
        // The empty address keeps `git` from asking the server for a commit that is not there.
        let ancestor = [
            "-c",
            "remote.origin.url=",
            "merge-base",
            "--is-ancestor",
            earlier.as_str(),
            self.commit.as_str(),
        ];
        match run(&ancestor).await {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the commit that the ref named.
    pub fn commit(&self) -> &CommitId {
        &self.commit
    }

    /// Returns the folders that hold a `SKILL.md`, in order; `""` is the root of the repository.
    ///
    /// A folder inside the folder of another skill is left out: it is part of that skill.
    pub fn skill_folders(&self) -> Vec<String> {
        let folder_of = |entry: &TreeEntry| match entry.path.rsplit_once('/') {
            None => (entry.path == SKILL_FILE).then(String::new),
            Some((folder, name)) => (name == SKILL_FILE).then(|| folder.to_owned()),
        };
        let found: BTreeSet<String> = self.entries.iter().filter_map(folder_of).collect();
        let is_inside = |folder: &str| {
            found.iter().any(|other| {
                other != folder && (other.is_empty() || folder.starts_with(&format!("{other}/")))
            })
        };
        found.iter().filter(|folder| !is_inside(folder)).cloned().collect()
    }

    /// Fetches the files of the skill in a folder; files that no skill serves, such as `.git*`, are
    /// left out.
    #[tracing::instrument(skip_all, fields(commit = %self.commit, folder))]
    pub async fn read_skill(&self, folder: &str) -> Result<SkillFiles, GitError> {
        let entries = self.entries_of(folder)?;
        let limits = self.options.limits;
        if entries.len() > limits.skill_files {
            let what = format!("The skill in `{folder}`");
            return Err(GitError::TooLarge {
                what,
                limit: limits.skill_files as u64,
                unit: "files",
            });
        }
        let wanted: BTreeSet<&str> = entries.values().map(|entry| entry.object.as_str()).collect();
        let blobs = self.blobs(&wanted, folder).await?;
        let bytes_of = |entry: &TreeEntry| {
            blobs.get(&entry.object).cloned().ok_or(GitError::Unexpected("cat-file"))
        };
        let mut files = SkillFiles::new();
        let mut left = limits.skill_bytes;
        for (path, entry) in &entries {
            let mut bytes = bytes_of(entry)?;
            if entry.kind == TreeKind::Link {
                bytes = bytes_of(linked(path, &bytes, &entries)?)?;
            }
            if bytes.starts_with(LARGE_FILE_BEGINNING) {
                return Err(GitError::LargeFile(path.clone()));
            }
            left =
                left.checked_sub(bytes.len() as u64).ok_or_else(|| too_many_bytes(self, folder))?;
            files.push((path.clone(), bytes));
        }
        Ok(files)
    }

    /// Fetches the `SKILL.md` of every folder that [`skill_folders`](Self::skill_folders) returns, and no
    /// other file. One that is a link is left out: only reading the whole skill tells where it leads.
    #[tracing::instrument(skip_all, fields(commit = %self.commit))]
    pub async fn read_skill_heads(&self) -> Result<BTreeMap<String, Bytes>, GitError> {
        let mut objects = BTreeMap::new();
        for folder in self.skill_folders() {
            let path = if folder.is_empty() {
                SKILL_FILE.to_owned()
            } else {
                format!("{folder}/{SKILL_FILE}")
            };
            let is_head = |entry: &&TreeEntry| entry.path == path && entry.kind == TreeKind::File;
            if let Some(entry) = self.entries.iter().find(is_head) {
                objects.insert(folder, entry.object.as_str());
            }
        }
        let folders: Vec<(&String, &&str)> = objects.iter().collect();
        let mut heads = BTreeMap::new();
        for part in folders.chunks(HEADS_AT_ONCE) {
            let wanted = part.iter().map(|(_, object)| **object).collect();
            let blobs = self.blobs(&wanted, "").await?;
            for (folder, object) in part {
                let bytes = blobs.get(**object).cloned();
                heads.insert((*folder).clone(), bytes.ok_or(GitError::Unexpected("cat-file"))?);
            }
        }
        Ok(heads)
    }

    /// Returns a digest that changes whenever a file of the skill in a folder does, without fetching any.
    pub fn fingerprint(&self, folder: &str) -> Result<Digest, GitError> {
        let line = |(path, entry): (RelPath, &TreeEntry)| {
            let TreeEntry { kind, executable, object, .. } = entry;
            format!("{kind:?} {executable} {object} {path}\n")
        };
        let text: String = self.entries_of(folder)?.into_iter().map(line).collect();
        Ok(Digest::of(text.as_bytes()))
    }

    /// Returns the files of the skill in a folder that their owner may run.
    pub fn executable_files(&self, folder: &str) -> BTreeSet<RelPath> {
        let entries = self.entries_of(folder).unwrap_or_default();
        entries.into_iter().filter(|(_, entry)| entry.executable).map(|(path, _)| path).collect()
    }

    /// The entries below a folder, by their path below it.
    fn entries_of(&self, folder: &str) -> Result<BTreeMap<RelPath, &TreeEntry>, GitError> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut entries = BTreeMap::new();
        for entry in &self.entries {
            let Some(path) = entry.path.strip_prefix(&prefix) else { continue };
            let path = RelPath::parse(path)
                .map_err(|_| GitError::Name(path.escape_debug().to_string()))?;
            if path.segments().any(is_ignored) {
                continue;
            }
            if entry.kind == TreeKind::Submodule {
                return Err(GitError::Submodule(path));
            }
            entries.insert(path, entry);
        }
        if entries.contains_key(&RelPath::skill_file()) {
            Ok(entries)
        } else {
            Err(GitError::NoSkill(folder.to_owned()))
        }
    }

    /// Fetches objects in one request, and reads them.
    async fn blobs(
        &self,
        wanted: &BTreeSet<&str>,
        folder: &str,
    ) -> Result<BTreeMap<String, Bytes>, GitError> {
        let git = GitRunner::new(self.folder.path(), &self.options);
        let mut ids = wanted.iter().copied().collect::<Vec<_>>().join("\n");
        ids.push('\n');
        let fetch = [
            "-c",
            "fetch.negotiationAlgorithm=noop",
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--filter=blob:none",
            "--stdin",
            "origin",
        ];
        // A server that ignored the filter sent the objects already, and may refuse to send single
        // ones. Reading then works without this request, and fails below otherwise.
        let fetched = git.run(&fetch, ids.clone().into_bytes(), TREE_LINE_BYTES).await;
        let most = self.options.limits.skill_bytes;
        // `cat-file` would fetch an object that is missing one by one; `GIT_NO_LAZY_FETCH` is not
        // known to every `git`, so an empty address keeps it from asking.
        let lines = (wanted.len() as u64).saturating_mul(128);
        let read = git
            .run(
                &["-c", "remote.origin.url=", "cat-file", "--batch"],
                ids.into_bytes(),
                most.saturating_add(lines),
            )
            .await;
        let output = match (read, fetched) {
            (Ok(output), _) => output,
            (Err(GitError::TooLarge { .. }), _) => return Err(too_many_bytes(self, folder)),
            (Err(_), Err(fetched)) => return Err(fetched),
            (Err(read), Ok(_)) => return Err(read),
        };
        objects(output.into())
    }
}

/// Finds the address in what `git` said while it fetched.
fn redirection(said: &str) -> Option<String> {
    let (_, rest) = said.split_once(REDIRECTED)?;
    rest.split_whitespace().next().map(|url| url.trim_end_matches('/').to_owned())
}

fn too_many_bytes(repository: &GitRepository, folder: &str) -> GitError {
    let what = format!("The skill in `{folder}`");
    GitError::TooLarge { what, limit: repository.options.limits.skill_bytes, unit: "bytes" }
}

/// Splits the output of `git cat-file --batch` into objects.
fn objects(output: Bytes) -> Result<BTreeMap<String, Bytes>, GitError> {
    let unexpected = || GitError::Unexpected("cat-file");
    let mut objects = BTreeMap::new();
    let mut rest = output;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(unexpected)?;
        let head = rest.split_to(end + 1);
        let head = std::str::from_utf8(&head).map_err(|_| unexpected())?;
        let words: Vec<&str> = head.trim_end().split(' ').collect();
        let [id, "blob", size] = words[..] else { return Err(unexpected()) };
        let size: usize = size.parse().map_err(|_| unexpected())?;
        if rest.len() <= size {
            return Err(unexpected());
        }
        let bytes = rest.split_to(size);
        // A line feed follows each object.
        let _ = rest.split_to(1);
        objects.insert(id.to_owned(), bytes);
    }
    Ok(objects)
}

/// Returns the file of the skill that a link leads to.
fn linked<'a>(
    link: &RelPath,
    target: &[u8],
    entries: &BTreeMap<RelPath, &'a TreeEntry>,
) -> Result<&'a TreeEntry, GitError> {
    let shown =
        String::from_utf8_lossy(&target[..target.len().min(200)]).escape_debug().to_string();
    let refused = || GitError::Link { path: link.clone(), target: shown.clone() };
    if target.len() > MAX_LINK_BYTES || target.starts_with(b"/") {
        return Err(refused());
    }
    let target = std::str::from_utf8(target).map_err(|_| refused())?;
    let mut segments: Vec<&str> = link.segments().collect();
    segments.pop();
    for segment in target.split('/') {
        match segment {
            "" | "." => {}
            // A link may lead up, but not out of the skill.
            ".." => drop(segments.pop().ok_or_else(refused)?),
            name => segments.push(name),
        }
    }
    let path = RelPath::parse(&segments.join("/")).map_err(|_| refused())?;
    // A link to a link is refused: a chain of them could be endless.
    let entry = entries.get(&path).filter(|entry| entry.kind == TreeKind::File);
    entry.copied().ok_or_else(refused)
}
