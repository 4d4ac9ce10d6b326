//! The skill that a document belongs to: its folder, and its files as the editor shows them.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use bytes::Bytes;
use skillwire_core::{
    Finding, RelPath, SKILL_FILE, is_ignored,
    limits::{MAX_BYTES, MAX_FILES},
};
use skillwire_source::inspect_files;

/// The most levels of folders above a document in which its `SKILL.md` is looked for.
const MOST_LEVELS: usize = 32;

/// The most entries of a skill's folder that are looked at, so that a misplaced `SKILL.md` in a
/// large folder does not keep the editor waiting.
const MOST_ENTRIES: usize = 4 * MAX_FILES;

/// The most files whose bytes are kept between two checks.
const MOST_KEPT: usize = 4 * MAX_FILES;

/// The folder of the skill that a file belongs to.
pub(crate) fn skill_folder(file: &Path) -> Option<PathBuf> {
    if file.file_name().is_some_and(|name| name.eq_ignore_ascii_case(SKILL_FILE)) {
        return file.parent().map(Path::to_owned);
    }
    let folders = file.ancestors().skip(1).take(MOST_LEVELS);
    folders.into_iter().find(|folder| folder.join(SKILL_FILE).is_file()).map(Path::to_owned)
}

/// Bytes of files as they were read last, so that a keystroke reads only what changed on disk.
#[derive(Debug, Default)]
pub(crate) struct FileCache(HashMap<PathBuf, (SystemTime, u64, Bytes)>);

impl FileCache {
    fn read(&mut self, path: &Path) -> io::Result<Bytes> {
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let changed = metadata.modified()?;
        let size = metadata.len();
        if let Some((at, length, bytes)) = self.0.get(path)
            && (*at, *length) == (changed, size)
        {
            return Ok(bytes.clone());
        }
        if size > MAX_BYTES {
            return Err(io::Error::other("it is larger than a skill may be"));
        }
        let bytes = Bytes::from(fs::read(path)?);
        if self.0.len() >= MOST_KEPT {
            self.0.clear();
        }
        self.0.insert(path.to_owned(), (changed, size, bytes.clone()));
        Ok(bytes)
    }
}

/// The files of one skill.
#[derive(Debug)]
pub(crate) struct SkillFiles {
    /// The skill's folder.
    pub(crate) folder: PathBuf,
    /// The files by their path in the skill, with the text of the editor where one is open.
    pub(crate) files: BTreeMap<RelPath, Bytes>,
}

impl SkillFiles {
    /// Reads the files of a skill; `open` has the texts that an editor shows.
    pub(crate) fn read(
        folder: &Path,
        open: &HashMap<PathBuf, String>,
        cache: &mut FileCache,
    ) -> io::Result<Self> {
        let mut skill = Self { folder: folder.to_owned(), files: BTreeMap::new() };
        let root = fs::canonicalize(folder)?;
        let mut waiting = vec![folder.to_owned()];
        let mut entries = 0;
        let mut bytes = 0;
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(&directory)? {
                let path = entry?.path();
                entries += 1;
                if entries > MOST_ENTRIES || bytes > MAX_BYTES {
                    return Ok(skill.with_open(open));
                }
                if path.file_name().and_then(|name| name.to_str()).is_none_or(is_ignored) {
                    continue;
                }
                // A link that leaves the skill is no part of it, and is not read.
                let Ok(target) = fs::canonicalize(&path) else { continue };
                if !target.starts_with(&root) {
                    continue;
                }
                let is_link = fs::symlink_metadata(&path)?.is_symlink();
                if target.is_dir() && !is_link {
                    waiting.push(path);
                } else if let (Some(relative), Ok(read)) =
                    (skill.relative(&path), cache.read(&target))
                {
                    bytes += read.len() as u64;
                    skill.files.insert(relative, read);
                }
            }
        }
        Ok(skill.with_open(open))
    }

    fn with_open(mut self, open: &HashMap<PathBuf, String>) -> Self {
        for (path, text) in open {
            if let Some(relative) = self.relative(path) {
                self.files.insert(relative, Bytes::copy_from_slice(text.as_bytes()));
            }
        }
        self
    }

    /// The path of a file in the skill; none if the file is not in it.
    pub(crate) fn relative(&self, path: &Path) -> Option<RelPath> {
        let inside = path.strip_prefix(&self.folder).ok()?.to_str()?;
        RelPath::parse(&inside.replace(std::path::MAIN_SEPARATOR, "/")).ok()
    }

    /// Where a file of the skill is.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.join(relative)
    }

    /// The text of a file, if it is text.
    pub(crate) fn text(&self, relative: &str) -> Option<&str> {
        let relative = RelPath::parse(relative).ok()?;
        std::str::from_utf8(self.files.get(&relative)?).ok()
    }

    /// Everything that `check` would say about these files, with each file by its path in the skill.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let name = self.folder.file_name().and_then(|name| name.to_str()).unwrap_or("skill");
        let files = self.files.iter().map(|(path, bytes)| (path.as_str(), bytes.clone()));
        let mut findings = Vec::new();
        for inspected in inspect_files("", name, files) {
            findings.extend(inspected.findings.into_iter().map(|mut finding| {
                let inside =
                    finding.file.strip_prefix(name).map(|rest| rest.trim_start_matches('/'));
                finding.file = match inside {
                    Some("") | None => SKILL_FILE.to_owned(),
                    Some(inside) => inside.to_owned(),
                };
                finding
            }));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use skillwire_core::Code;

    use super::*;

    fn write(folder: &Path, file: &str, text: &str) -> PathBuf {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn the_text_of_the_editor_is_checked_instead_of_the_file() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("refunds");
        let skill =
            write(&folder, "SKILL.md", "---\nname: refunds\ndescription: Use when asked.\n---\n");
        write(&folder, "references/policy.md", "Thirty days.\n");
        let text =
            "---\nname: refund\ndescription: Use when asked.\n---\n[policy](references/no.md)\n";
        let open = HashMap::from([(skill, text.to_owned())]);
        let files = SkillFiles::read(&folder, &open, &mut FileCache::default()).unwrap();
        let codes: Vec<_> = files.findings().iter().map(|finding| finding.code).collect();
        assert!(codes.contains(&Code::LinkMissing), "{codes:?}");
        assert!(codes.contains(&Code::NameNotDirectory), "{codes:?}");
        let saved = SkillFiles::read(&folder, &HashMap::new(), &mut FileCache::default()).unwrap();
        assert!(!saved.findings().iter().any(|finding| finding.code == Code::LinkMissing));
    }

    #[test]
    fn links_out_of_the_skill_are_not_read() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("refunds");
        write(&folder, "SKILL.md", "---\nname: refunds\ndescription: Use when asked.\n---\n");
        write(home.path(), "secret.txt", "secret");
        #[cfg(unix)]
        std::os::unix::fs::symlink("../secret.txt", folder.join("notes.md")).unwrap();
        let files = SkillFiles::read(&folder, &HashMap::new(), &mut FileCache::default()).unwrap();
        assert_eq!(files.files.len(), 1);
    }
}
