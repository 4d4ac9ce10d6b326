//! Finds skills below a path and reads their files.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use skillwire_core::SKILL_FILE;
use skillwire_scan::{ScanReport, Silences, SkillFiles, UnseenReason};

use super::FolderSilences;
use crate::failure::Failure;

/// The file that silences are in.
const SILENCES: &str = "skillwire.toml";

/// The most bytes of one file that are read.
const MOST_FILE_BYTES: u64 = 8 << 20;

/// The most bytes of one skill that are read.
const MOST_SKILL_BYTES: u64 = 64 << 20;

/// The most files of one skill that are read.
const MOST_FILES: usize = 10_000;

/// How deep folders are looked into.
const MAX_DEPTH: usize = 32;

/// The skills below one path.
pub(super) struct ScanFolder {
    /// The path as the user typed it.
    argument: String,
    /// The same without symbolic links.
    root: PathBuf,
    skills: Vec<FoundSkill>,
}

/// The directory of a skill.
pub(super) struct FoundSkill {
    /// Its name in reports: a path that the user can open.
    name: String,
    directory: PathBuf,
    /// The directories of skills inside it, which are scanned on their own, in order.
    nested: Vec<PathBuf>,
}

impl ScanFolder {
    /// Looks for skills at and below a path. A path to a file stands for its folder.
    pub(super) fn open(argument: &str) -> Result<Self, Failure> {
        let unreadable = |error: io::Error| {
            Failure::usage(format!("`{}` cannot be read.", argument.escape_debug())).because(error)
        };
        let given = Path::new(argument);
        let folder = if given.is_file() { given.parent().unwrap_or(given) } else { given };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let root = folder.canonicalize().map_err(unreadable)?;
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        look(folder, &root, MAX_DEPTH, &mut seen, &mut found).map_err(unreadable)?;
        if found.is_empty() {
            let message =
                format!("There is no `{SKILL_FILE}` at or below `{}`.", argument.escape_debug());
            return Err(Failure::usage(message).hint("Name a skill or a folder of skills."));
        }
        found.sort();
        // In this order what is inside of a directory follows it: comparing each with each other one takes
        // longer than the scan of ten thousand skills.
        let mut directories: Vec<_> =
            found.iter().map(|(_, directory)| directory.clone()).collect();
        directories.sort();
        let skills = found.into_iter().map(|(name, directory)| {
            let after = directories.partition_point(|other| *other <= directory);
            let inside = directories[after..].iter().take_while(|it| it.starts_with(&directory));
            let nested = inside.cloned().collect();
            FoundSkill { name, directory, nested }
        });
        let skills = skills.collect();
        Ok(Self { argument: argument.to_owned(), root, skills })
    }

    /// How many skills there are.
    pub(super) fn len(&self) -> usize {
        self.skills.len()
    }

    /// The silences of the nearest `skillwire.toml`: in the folder, or in one above it up to the root of
    /// the repository. A file inside a skill belongs to the skill: its author cannot silence.
    pub(super) fn silences(&self) -> Result<FolderSilences, Failure> {
        let is_skill = self.root.join(SKILL_FILE).exists();
        for base in self.root.ancestors().skip(usize::from(is_skill)) {
            let path = base.join(SILENCES);
            let unusable = |error: Box<dyn std::error::Error + Send + Sync>| {
                Failure::usage(format!("`{}` cannot be used.", path.display()))
                    .because(error)
                    .hint("`skillwire scan PATH --silence RULE --reason TEXT` prints entries.")
            };
            match super::read_small(&path) {
                Ok(text) => {
                    let entries = Silences::parse(&text).map_err(|error| unusable(error.into()))?;
                    return Ok(FolderSilences { base: base.to_owned(), entries });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(unusable(error.into())),
            }
            if base.join(".git").exists() {
                break;
            }
        }
        let base = if is_skill { self.root.parent() } else { None };
        Ok(FolderSilences {
            base: base.unwrap_or(&self.root).to_owned(),
            entries: Silences::default(),
        })
    }

    /// Works on every skill, on every core; results come in the order of the skills.
    pub(super) fn each<T: Send>(&self, work: impl Fn(&FoundSkill) -> T + Sync) -> Vec<T> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(self.skills.len()).max(1);
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(self.skills.len()));
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some((index, skill)) = {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        self.skills.get(index).map(|skill| (index, skill))
                    } {
                        let result = work(skill);
                        if let Ok(mut done) = done.lock() {
                            done.push((index, result));
                        }
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_default();
        done.sort_by_key(|(index, _)| *index);
        tracing::debug!(path = self.argument, skills = done.len(), threads, "scanned");
        done.into_iter().map(|(_, result)| result).collect()
    }
}

/// Adds the directories of skills at and below a path. Links between skills are followed once each:
/// installers leave skills as links.
fn look(
    shown: &Path,
    directory: &Path,
    depth: usize,
    seen: &mut BTreeSet<PathBuf>,
    found: &mut Vec<(String, PathBuf)>,
) -> io::Result<()> {
    if depth == 0 || !seen.insert(directory.to_owned()) {
        return Ok(());
    }
    let mut below = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.eq_ignore_ascii_case(SKILL_FILE) {
            found.push((shown.display().to_string(), directory.to_owned()));
        } else if !is_repository(&name.to_string_lossy()) {
            below.push(name);
        }
    }
    for name in below {
        let shown = shown.join(&name);
        let path = directory.join(&name);
        let Ok(target) = path.canonicalize() else { continue };
        if target.is_dir() {
            // A folder that cannot be listed is not a reason to leave out the others.
            let _ = look(&shown, &target, depth - 1, seen, found);
        }
    }
    Ok(())
}

fn is_repository(name: &str) -> bool {
    matches!(name, ".git" | ".hg" | ".svn")
}

impl FoundSkill {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Reads every file; what is not read is noted.
    pub(super) fn read(&self) -> SkillFiles {
        let mut files = SkillFiles::new();
        let mut budget = ReadBudget { bytes: MOST_SKILL_BYTES, files: MOST_FILES };
        self.read_folder(&self.directory, "", MAX_DEPTH, &mut files, &mut budget);
        files
    }

    fn read_folder(
        &self,
        directory: &Path,
        prefix: &str,
        depth: usize,
        files: &mut SkillFiles,
        budget: &mut ReadBudget,
    ) {
        let listed = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let (Ok(mut entries), true) = (listed, depth > 0) else {
            files.add_unread(format!("{prefix}."), None, UnseenReason::Unreadable);
            return;
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let path = format!("{prefix}{name}");
            let Ok(kind) = entry.file_type() else {
                files.add_unread(path, None, UnseenReason::Unreadable);
                continue;
            };
            if kind.is_symlink() {
                files.add_unread(path, None, UnseenReason::Link);
            } else if kind.is_dir() {
                if is_repository(&name) {
                    files.add_unread(format!("{path}/"), None, UnseenReason::Repository);
                } else if self.nested.binary_search(&entry.path()).is_err() {
                    self.read_folder(&entry.path(), &format!("{path}/"), depth - 1, files, budget);
                }
            } else if kind.is_file() {
                budget.read(&entry.path(), path, files);
            } else {
                files.add_unread(path, None, UnseenReason::Unreadable);
            }
        }
    }

    /// The path of a file relative to the folder of the silences.
    pub(super) fn beside_silences(&self, file: &str, silences: &FolderSilences) -> Option<String> {
        let path = self.directory.join(file);
        path.strip_prefix(&silences.base).ok().map(|path| path.display().to_string())
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}

/// What may still be read of one skill.
struct ReadBudget {
    bytes: u64,
    files: usize,
}

impl ReadBudget {
    fn read(&mut self, path: &Path, name: String, files: &mut SkillFiles) {
        let size = fs::symlink_metadata(path).map(|metadata| metadata.len()).ok();
        let fits = size.is_some_and(|size| size <= MOST_FILE_BYTES && size <= self.bytes);
        if !fits || self.files == 0 {
            files.add_unread(name, size, UnseenReason::TooLarge);
            return;
        }
        match fs::read(path) {
            Ok(bytes) => {
                self.files -= 1;
                self.bytes = self.bytes.saturating_sub(bytes.len() as u64);
                files.add(name, bytes);
            }
            Err(_) => files.add_unread(name, size, UnseenReason::Unreadable),
        }
    }
}

/// Takes findings out of the report on a skill that are silenced beside its folder. Silences that cannot be
/// read silence nothing.
pub(super) fn silence_beside(folder: &str, files: &SkillFiles, report: &mut ScanReport) {
    let Ok(skill) = ScanFolder::open(folder) else { return };
    let Ok(beside) = skill.silences() else { return };
    let digests = super::report::digests(files);
    beside.entries.apply(report, |file| {
        let path = skill.root.join(file);
        let path = path.strip_prefix(&beside.base).ok()?;
        Some((path.display().to_string(), *digests.get(file)?))
    });
}

impl FolderSilences {
    /// The path of a skill's folder relative to the folder of the silences.
    pub(super) fn base_of(&self, skill: &FoundSkill) -> String {
        let path = skill.directory().strip_prefix(&self.base).unwrap_or(skill.directory());
        path.display().to_string()
    }
}
