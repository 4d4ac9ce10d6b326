//! What a source offers, and the files of the skills that were chosen.

use std::{collections::BTreeMap, fs, io::Read as _, path::Path, time::Duration};

use bytes::Bytes;
use skillwire_archive::{ArchiveFormat, ArchiveLimits, unpack_collection};
use skillwire_client::{ServerConfig, WebClient, WebOrigin, WellKnownOrigin};
use skillwire_core::{RelPath, SKILL_FILE, is_ignored, skill_file};
use skillwire_git::GitRepository;
use skillwire_install::{
    BundledFile, PinnedSource, RepositoryAddress, SkillBundle, SourceAddress, UnusableSkill,
    read_directory,
};
use skillwire_trust::{Reason, Refusal, ServerLabel};

use super::{repository, served};
use crate::{exit::Exit, failure::Failure, progress::WaitSpinner, report::printable};

/// The largest archive that is read.
const MOST_ARCHIVE_BYTES: u64 = 32 << 20;

/// How long an archive may take to arrive.
const PATIENCE: Duration = Duration::from_mins(2);

/// The deepest folder in which skills are looked for.
const MAX_DEPTH: usize = 6;

/// One skill that a source offers.
#[derive(Debug, Clone)]
pub(in crate::commands) struct OfferedSkill {
    /// Where the source has it; empty for the root.
    pub(super) folder: String,
    /// Its name, if its `SKILL.md` can be read.
    pub(super) name: Option<String>,
    pub(super) description: String,
    /// The text of its `SKILL.md`.
    pub(super) text: String,
}

impl OfferedSkill {
    fn new(folder: &str, head: &[u8]) -> Self {
        let checked = skill_file::check(head).0;
        let fields = checked.as_ref().map(|checked| &checked.frontmatter);
        Self {
            folder: folder.to_owned(),
            name: fields.map(|fields| fields.name().to_string()),
            description: fields.map_or_else(
                || "Its `SKILL.md` cannot be used.".to_owned(),
                |fields| fields.description().to_owned(),
            ),
            text: String::from_utf8_lossy(head).into_owned(),
        }
    }

    /// What the user calls it.
    pub(super) fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.folder)
    }
}

/// A source that was reached.
pub(in crate::commands) struct FetchedSource {
    address: SourceAddress,
    offered: Vec<OfferedSkill>,
    bytes: SourceBytes,
}

enum SourceBytes {
    /// Files are fetched when a skill is chosen.
    Repository(Box<GitRepository>),
    /// The files, by the folder of their skill.
    Held(BTreeMap<String, Vec<BundledFile>>),
}

impl FetchedSource {
    /// Reaches a source; `commit` asks for that commit instead of what the ref of a repository names.
    pub(in crate::commands) async fn open(
        address: &SourceAddress,
        commit: Option<&str>,
    ) -> Result<Self, Failure> {
        let (offered, bytes) = match address {
            SourceAddress::Repository(found) => of_repository(found, commit).await?,
            SourceAddress::Archive { place } => held(of_archive(place).await?),
            SourceAddress::Web { origin } => held(of_origin(origin).await?),
            SourceAddress::Folder { path } => held(of_folder(Path::new(path))?),
            _ => return Err(Failure::usage("A skill of a server is approved, and not fetched.")),
        };
        if offered.is_empty() {
            let message = format!("{} holds no skill.", printable(&address.to_string()));
            return Err(Failure::new(Exit::NotFound, message)
                .hint(format!("A skill is a folder with a `{SKILL_FILE}`.")));
        }
        Ok(Self { address: address.clone(), offered, bytes })
    }

    /// The skills that it offers, by folder.
    pub(in crate::commands) fn offered(&self) -> &[OfferedSkill] {
        &self.offered
    }

    /// Its repository, if it is one.
    pub(super) fn repository(&self) -> Option<&GitRepository> {
        match &self.bytes {
            SourceBytes::Repository(repository) => Some(repository),
            SourceBytes::Held(_) => None,
        }
    }

    /// Where exactly a skill of it was found.
    pub(in crate::commands) fn pinned(&self, folder: &str) -> PinnedSource {
        PinnedSource {
            address: self.address.clone(),
            commit: self.repository().map(|repository| repository.commit().to_string()),
            folder: folder.to_owned(),
        }
    }

    /// Fetches all files of a skill and checks them.
    pub(in crate::commands) async fn bundle(&self, folder: &str) -> Result<SkillBundle, Failure> {
        let files = match &self.bytes {
            SourceBytes::Held(held) => held.get(folder).cloned().unwrap_or_default(),
            SourceBytes::Repository(repository) => {
                let _waiting = WaitSpinner::new(format!("Fetching {}", printable(folder)));
                let address = self.address.to_string();
                let failed = |error| repository::failure(&address, folder, error);
                let files = repository.read_skill(folder).await.map_err(failed)?;
                let executable = repository.executable_files(folder);
                let bundled = |(path, bytes): (RelPath, Bytes)| {
                    let executable = executable.contains(&path);
                    BundledFile { path, bytes, executable }
                };
                files.into_iter().map(bundled).collect()
            }
        };
        SkillBundle::new(folder, files).map_err(|error| unusable(folder, error))
    }
}

fn unusable(folder: &str, error: UnusableSkill) -> Failure {
    let place =
        if folder.is_empty() { "The skill".to_owned() } else { format!("`{}`", printable(folder)) };
    let message = format!("{place} cannot be installed.");
    match error {
        UnusableSkill::Findings(findings) => {
            let worst = findings.iter().max_by_key(|finding| finding.level);
            let said = worst.map_or_else(
                || format!("It has no `{SKILL_FILE}` that can be read."),
                |finding| {
                    let said = printable(&finding.message);
                    format!("{} [{}]", said.trim_end_matches('.'), finding.code)
                },
            );
            Failure::new(Exit::Findings, message)
                .because(said)
                .hint("`skillwire check DIR` says everything that is wrong with a skill.")
        }
        other => Failure::new(Exit::Verification, message).because(other),
    }
}

fn held(skills: BTreeMap<String, Vec<BundledFile>>) -> (Vec<OfferedSkill>, SourceBytes) {
    let head = |files: &Vec<BundledFile>| {
        let head = files.iter().find(|file| file.path == RelPath::skill_file());
        head.map_or_else(Bytes::new, |head| head.bytes.clone())
    };
    let offered = skills.iter().map(|(folder, files)| OfferedSkill::new(folder, &head(files)));
    (offered.collect(), SourceBytes::Held(skills))
}

async fn of_repository(
    address: &RepositoryAddress,
    commit: Option<&str>,
) -> Result<(Vec<OfferedSkill>, SourceBytes), Failure> {
    let reference = commit.or(address.reference.as_deref());
    let fetched = repository::fetch(&address.url, reference).await?;
    let failed = |error| repository::failure(&address.url, reference.unwrap_or_default(), error);
    let below = |folder: &str| {
        address.path.as_deref().is_none_or(|path| {
            folder == path || folder.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let heads = fetched.read_skill_heads().await.map_err(failed)?;
    let offer = |folder: &String| {
        let head = heads.get(folder).cloned().unwrap_or_default();
        OfferedSkill::new(folder, &head)
    };
    let folders = fetched.skill_folders();
    let offered = folders.iter().filter(|folder| below(folder)).map(offer).collect::<Vec<_>>();
    if let (true, Some(path)) = (offered.is_empty() && !folders.is_empty(), &address.path) {
        let message = format!("{} has no skill in `{}`.", address.written, printable(path));
        return Err(Failure::new(Exit::NotFound, message).hint(format!(
            "It has skills in {}.",
            folders
                .iter()
                .take(5)
                .map(|it| format!("`{}`", printable(it)))
                .collect::<Vec<_>>()
                .join(", ")
        )));
    }
    Ok((offered, SourceBytes::Repository(Box::new(fetched))))
}

async fn of_archive(place: &str) -> Result<BTreeMap<String, Vec<BundledFile>>, Failure> {
    let bytes = if place.contains("://") { download(place).await? } else { read_file(place)? };
    let format = ArchiveFormat::sniff(&bytes).ok_or_else(|| {
        Refusal::new(Reason::ArchiveFormat)
            .file(place)
            .expected("a `.tar.gz` or `.zip` file")
            .actual("something that begins like neither")
    })?;
    let files =
        unpack_collection(format, &bytes, &ArchiveLimits::default()).map_err(|refused| {
            let file = refused.entry_name().map_or_else(
                || place.to_owned(),
                |entry| format!("{} in {place}", entry.escape_debug()),
            );
            Refusal::new(refused.reason().into())
                .file(file)
                .actual(refused.detail())
                .hint("Nothing was installed. Ask the author of the archive for another one.")
        })?;
    let files = files.into_iter().map(|file| BundledFile {
        path: file.path,
        bytes: file.bytes.into(),
        executable: file.executable,
    });
    Ok(skills_of_archive(files.collect()))
}

/// The skills of an archive, by their folders. What one folder wraps is as if the folder were not there:
/// it often has another name in each version. A skill inside another is part of that one.
fn skills_of_archive(files: Vec<BundledFile>) -> BTreeMap<String, Vec<BundledFile>> {
    let has_head = |files: &[BundledFile]| {
        let is_head = |file: &BundledFile| file.path == RelPath::skill_file();
        files.iter().any(is_head)
    };
    if has_head(&files) {
        return BTreeMap::from([(String::new(), files)]);
    }
    let files = unwrapped(files);
    if has_head(&files) {
        return BTreeMap::from([(String::new(), files)]);
    }
    let head = format!("/{SKILL_FILE}");
    let mut folders: Vec<String> = files
        .iter()
        .filter(|file| !file.path.segments().any(is_ignored))
        .filter_map(|file| file.path.as_str().strip_suffix(&head).map(str::to_owned))
        .collect();
    // A folder comes before those inside it.
    folders.sort_unstable_by_key(String::len);
    let mut skills: BTreeMap<String, Vec<BundledFile>> = BTreeMap::new();
    for folder in folders {
        let is_inside = |other: &String| {
            folder.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        if !skills.keys().any(is_inside) {
            let inside = files.iter().filter_map(|file| below(file, &folder)).collect();
            skills.insert(folder, inside);
        }
    }
    skills
}

/// The files without the one folder that holds all of them, if there is one. Files that no skill has,
/// and those that macOS adds, do not count.
fn unwrapped(files: Vec<BundledFile>) -> Vec<BundledFile> {
    let counts = |file: &&BundledFile| {
        !file.path.segments().any(|name| is_ignored(name) || name == "__MACOSX")
    };
    let top = |file: &BundledFile| file.path.segments().next().map(str::to_owned);
    let Some(wrapping) = files.iter().find(counts).and_then(top) else { return files };
    let inside: Vec<BundledFile> =
        files.iter().filter(counts).filter_map(|file| below(file, &wrapping)).collect();
    if inside.len() == files.iter().filter(counts).count() { inside } else { files }
}

/// A file by its path below a folder; none if it is not in it.
fn below(file: &BundledFile, folder: &str) -> Option<BundledFile> {
    let inside = file.path.as_str().strip_prefix(folder)?.strip_prefix('/')?;
    Some(BundledFile { path: RelPath::parse(inside).ok()?, ..file.clone() })
}

fn read_file(place: &str) -> Result<Bytes, Failure> {
    let mut bytes = Vec::new();
    fs::File::open(place)
        .and_then(|file| file.take(MOST_ARCHIVE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| {
            Failure::usage(format!("`{}` cannot be read.", printable(place))).because(error)
        })?;
    Ok(bytes.into())
}

async fn download(url: &str) -> Result<Bytes, Failure> {
    let scheme = url.find("://").map_or(0, |at| at + 3);
    let end = url[scheme..].find('/').map_or(url.len(), |slash| scheme + slash);
    let origin = WebOrigin::parse(&url[..end]).map_err(|error| {
        Failure::usage(format!("`{}` cannot be fetched: the address {error}.", printable(url)))
    })?;
    let _waiting = WaitSpinner::new(format!("Fetching {}", printable(url)));
    let fetched = WebClient::new(origin).get(url, MOST_ARCHIVE_BYTES, PATIENCE).await?;
    let fetched = fetched.ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("There is nothing at {}.", printable(url)))
    })?;
    Ok(fetched.bytes)
}

async fn of_origin(origin: &str) -> Result<BTreeMap<String, Vec<BundledFile>>, Failure> {
    let invalid = |error: skillwire_client::InvalidServer| {
        Failure::usage(format!("`{}` is not a web origin.", printable(origin))).because(error)
    };
    let config = ServerConfig::WellKnown(WellKnownOrigin::new(origin).map_err(invalid)?);
    let label = ServerLabel::parse("source")
        .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
    let _waiting = WaitSpinner::new(format!("Reading {}", printable(origin)));
    let skills = served::read_all(label, &config).await?;
    let bundled = |(path, bytes)| BundledFile { path, bytes, executable: false };
    Ok(skills
        .into_iter()
        .map(|skill| (skill.uri, skill.files.into_iter().map(bundled).collect()))
        .collect())
}

/// The skills at and below a folder; a skill inside another is part of that one.
fn of_folder(root: &Path) -> Result<BTreeMap<String, Vec<BundledFile>>, Failure> {
    let unreadable = |error| {
        Failure::usage(format!("`{}` cannot be read.", root.display()))
            .because(error)
            .hint("Name a folder that exists, or `OWNER/REPO` for a repository.")
    };
    let mut found = BTreeMap::new();
    let mut waiting = vec![(root.to_owned(), String::new(), 0)];
    while let Some((directory, shown, depth)) = waiting.pop() {
        if directory.join(SKILL_FILE).exists() {
            let files = read_directory(&directory)
                .map_err(|error| Failure::caused(Exit::Verification, error))?;
            found.insert(shown, files);
            continue;
        }
        if depth == MAX_DEPTH {
            continue;
        }
        for entry in fs::read_dir(&directory).map_err(unreadable)?.flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let Ok(name) = entry.file_name().into_string() else { continue };
            if is_folder && !name.starts_with('.') && !is_ignored(&name) {
                let shown = if shown.is_empty() { name } else { format!("{shown}/{name}") };
                waiting.push((entry.path(), shown, depth + 1));
            }
        }
    }
    Ok(found)
}
