//! Repairing two common mistakes in a local `SKILL.md`: a value that needs quotes, and a long name.
//!
//! Only skills in folders of this machine are repaired, never the entry of a server. A repaired
//! skill is held in memory in its repaired form, so that the host lists, hashes and shows the same
//! bytes.

use std::{
    fs,
    io::{self, Read as _},
    path::Path,
};

use bytes::Bytes;
use serde_json::Value;
use skillwire_core::{
    Code, Finding, Level, MAX_NAME_CHARS, RelPath, SKILL_FILE, SkillName, SkillPath, Span,
    Strictness, is_ignored, limits::MAX_FILES, skill_file, yaml,
};
use skillwire_source::{InspectedSkill, MemorySource, scan_all};

use super::open::{FolderOpener, any_file};

/// The deepest directory in a skill that is repaired.
const MAX_DEPTH: usize = 16;

/// A repaired skill, and the bytes it takes in memory.
pub(super) struct MendedSkill {
    pub(super) inspected: Vec<InspectedSkill>,
    pub(super) bytes: u64,
}

/// Tells whether a repair might help a refused skill.
pub(super) fn may_help(refused: &InspectedSkill) -> bool {
    let mut reasons = refused.reasons(Strictness::Lenient).peekable();
    reasons.peek().is_some()
        && reasons.all(|reason| matches!(reason.code, Code::YamlUnquotedColon | Code::NameInvalid))
}

/// Repairs a skill, if it has no other faults and no more bytes than are left.
pub(super) fn mend(opening: &FolderOpener, left: u64) -> Option<MendedSkill> {
    let mut folder = FolderContents { files: Vec::new(), left };
    folder.read(&opening.directory, None, 0).ok()?;
    let bytes = left - folder.left;
    let head = folder.files.iter_mut().find(|(path, _)| path.as_str() == SKILL_FILE)?;
    let (text, mut notes) = mend_text(&head.1)?;
    let name = skill_file::check(&text).0?.frontmatter.name().clone();
    head.1 = text.into();
    let directory = opening.label.rsplit('/').next().unwrap_or_default();
    let mut opening = opening.clone();
    if directory != name.as_str() {
        if !notes.iter().any(|note| note.code == Code::NameInvalid) {
            let shown = directory.escape_debug();
            let message = format!("The name `{name}` differs from the directory's name `{shown}`.");
            notes.push(Finding::new(Code::NameNotDirectory, SKILL_FILE, message));
        }
        opening = opening.below_directory();
    }
    let path = SkillPath::new(opening.prefix.iter().map(String::as_str), name).ok()?;
    let mut source = MemorySource::new("")
        .scheme(opening.scheme.clone())
        .strictness(Strictness::Lenient)
        .allow_secret(any_file());
    source.add(&path, folder.files).ok()?;
    let mut inspected = scan_all(&[&source]).ok()?.skills;
    for note in &mut notes {
        note.file = format!("{}/{SKILL_FILE}", opening.label);
        note.level = Level::Warning;
    }
    let first = inspected.iter_mut().find(|inspected| inspected.origin == path.to_string())?;
    first.skill.as_ref()?;
    first.findings.extend(notes);
    Some(MendedSkill { inspected, bytes })
}

/// Repairs the text of a `SKILL.md` and says what changed.
fn mend_text(bytes: &[u8]) -> Option<(Vec<u8>, Vec<Finding>)> {
    let mut text = bytes.to_vec();
    let mut notes = Vec::new();
    let (_, mut findings) = skill_file::check(&text);
    findings.retain(|finding| finding.code == Code::YamlUnquotedColon);
    findings.sort_by_key(|finding| finding.span.map(|span| span.start));
    for finding in findings.into_iter().rev() {
        let span = finding.span?;
        let value = std::str::from_utf8(text.get(span.start..span.end)?).ok()?;
        let quoted = yaml::quote(value);
        text.splice(span.start..span.end, quoted.into_bytes());
        notes.push(finding);
    }
    if let Some((span, long, name)) = long_name(&text) {
        text.splice(span.start..span.end, name.as_str().bytes());
        let message = format!(
            "The name has {} characters; at most {MAX_NAME_CHARS} are allowed. The skill is called \
             `{name}` here.",
            long.len()
        );
        let note = Finding::new(Code::NameInvalid, SKILL_FILE, message).help("Shorten the name.");
        notes.push(note);
    }
    let (file, findings) = skill_file::check(&text);
    let sound = file.is_some() && !findings.iter().any(|f| f.skips(Strictness::Lenient));
    (sound && !notes.is_empty()).then_some((text, notes))
}

/// Finds a name that is valid but for its length, with its span and its shortened form.
fn long_name(text: &[u8]) -> Option<(Span, String, SkillName)> {
    let fenced = yaml::split(text).ok()?;
    let (document, _) = yaml::parse(text, &fenced, &yaml::Limits::default());
    let document = document?;
    let Value::String(long) = document.map.get("name")? else { return None };
    if long.chars().count() <= MAX_NAME_CHARS || !long.is_ascii() {
        return None;
    }
    // Each half is a valid name, so only the length is wrong.
    let short = SkillName::parse(long[..MAX_NAME_CHARS].trim_end_matches('-')).ok()?;
    let rest = long[MAX_NAME_CHARS..].trim_start_matches('-');
    let sound = rest.split('-').all(|word| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    });
    let span = document.node("/name")?.value;
    (sound && !long.contains("--")).then(|| (span, long.clone(), short))
}

/// The files of one directory, read within bounds.
struct FolderContents {
    files: Vec<(RelPath, Bytes)>,
    /// Bytes that may still be read.
    left: u64,
}

impl FolderContents {
    fn read(&mut self, directory: &Path, above: Option<&RelPath>, depth: usize) -> io::Result<()> {
        let refuse = |what: &str| Err(io::Error::other(what.to_owned()));
        let mut entries: Vec<_> =
            fs::read_dir(directory)?.take(MAX_FILES + 1).collect::<io::Result<_>>()?;
        if entries.len() > MAX_FILES {
            return refuse("too many entries");
        }
        entries.sort_unstable_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let Ok(name) = entry.file_name().into_string() else { return refuse("a name") };
            if is_ignored(&name) {
                continue;
            }
            let path = match above {
                Some(above) => above.join(&name),
                None => RelPath::parse(&name),
            };
            let path = path.map_err(io::Error::other)?;
            let kind = entry.file_type()?;
            if kind.is_dir() && depth < MAX_DEPTH {
                self.read(&entry.path(), Some(&path), depth + 1)?;
            } else if kind.is_file() && self.files.len() < MAX_FILES {
                let bytes = self.file(&entry.path())?;
                self.files.push((path, bytes));
            } else {
                return refuse("a link, a special file, or too much of anything");
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> io::Result<Bytes> {
        let file = open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a file"));
        }
        let mut bytes = Vec::new();
        file.take(self.left.saturating_add(1)).read_to_end(&mut bytes)?;
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(size).ok_or_else(|| io::Error::other("too large"))?;
        Ok(bytes.into())
    }
}

/// Opens a file that was regular a moment ago. It follows no link and does not block on a fifo, in
/// case another process replaced the file meanwhile.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<fs::File> {
    fs::File::open(path)
}
