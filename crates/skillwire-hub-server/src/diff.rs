//! What differs between two versions, as reviewers read it.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use bytes::Bytes;
use skillwire_core::{NO_LINE_FEED, RelPath, diff_lines};
use skillwire_hub::VersionFile;

use crate::api::FileDiff;

/// Texts that are larger are named, and their lines are not compared.
pub(crate) const MAX_TEXT_BYTES: u64 = 256 * 1024;

/// The most bytes of all compared lines of one answer.
const MAX_DIFF_BYTES: usize = 2 * 1024 * 1024;

/// How long comparing the lines of one file may take before it becomes coarse.
const COMPARE_TIME: Duration = Duration::from_millis(200);

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 3;

/// A file of one side or of both, if it differs.
#[derive(Debug)]
#[non_exhaustive]
pub struct ChangedFile<'a> {
    /// Its path.
    pub path: &'a RelPath,
    /// The file before, if it was there.
    pub old: Option<&'a VersionFile>,
    /// The file now, if it is there.
    pub new: Option<&'a VersionFile>,
}

impl ChangedFile<'_> {
    /// Whether both sides are small enough for their lines to be compared.
    pub(crate) fn is_comparable(&self) -> bool {
        [self.old, self.new].into_iter().flatten().all(|file| file.size <= MAX_TEXT_BYTES)
    }
}

/// Returns the files that differ, in the order of their paths.
pub fn changed_files<'a>(old: &'a [VersionFile], new: &'a [VersionFile]) -> Vec<ChangedFile<'a>> {
    let mut all: BTreeMap<&RelPath, (Option<&VersionFile>, Option<&VersionFile>)> = BTreeMap::new();
    for file in old {
        all.entry(&file.path).or_default().0 = Some(file);
    }
    for file in new {
        all.entry(&file.path).or_default().1 = Some(file);
    }
    let differs = |(old, new): (Option<&VersionFile>, Option<&VersionFile>)| {
        old.map(|file| file.digest) != new.map(|file| file.digest)
    };
    let changed = all.into_iter().filter(|(_, sides)| differs(*sides));
    changed.map(|(path, (old, new))| ChangedFile { path, old, new }).collect()
}

/// Describes one changed file; the bytes are there if its lines should be compared.
pub(crate) fn describe(
    file: &ChangedFile<'_>,
    bytes: Option<(Bytes, Bytes)>,
    room: &mut DiffBudget,
) -> FileDiff {
    let change = match (file.old, file.new) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    let text = bytes.and_then(|(old, new)| {
        let (old, new) = (std::str::from_utf8(&old).ok()?, std::str::from_utf8(&new).ok()?);
        let is_text = |text: &str| !text.contains('\0');
        (is_text(old) && is_text(new)).then(|| unified(old, new))
    });
    FileDiff {
        path: file.path.to_string(),
        change: change.to_owned(),
        old_size: file.old.map(|file| file.size),
        new_size: file.new.map(|file| file.size),
        text: text.filter(|text| room.take(text.len())),
    }
}

/// The bytes that compared lines may still take.
#[derive(Debug)]
pub(crate) struct DiffBudget(usize);

impl Default for DiffBudget {
    fn default() -> Self {
        Self(MAX_DIFF_BYTES)
    }
}

impl DiffBudget {
    fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

fn unified(old: &str, new: &str) -> String {
    let mut text = String::new();
    for hunk in diff_lines(old, new, CONTEXT, Instant::now() + COMPARE_TIME) {
        text.push_str(&hunk.to_string());
        text.push('\n');
        for line in &hunk.lines {
            text.push(line.change.sign());
            text.push_str(line.text);
            text.push('\n');
            if !line.is_ended {
                text.push_str(NO_LINE_FEED);
                text.push('\n');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use skillwire_core::Digest;

    use super::*;

    fn file(path: &str, text: &str) -> VersionFile {
        let path = RelPath::parse(path).unwrap();
        VersionFile { path, digest: Digest::of(text.as_bytes()), size: text.len() as u64 }
    }

    #[test]
    fn added_removed_and_changed_files_are_named_and_equal_ones_left_out() {
        let old = [file("SKILL.md", "a\n"), file("gone", "x"), file("same", "s")];
        let new = [file("SKILL.md", "b\n"), file("new", "y"), file("same", "s")];
        let changed = changed_files(&old, &new);
        let mut room = DiffBudget::default();
        let bytes = Some(("a\n".into(), "b\n".into()));
        let first = describe(&changed[0], bytes, &mut room);
        assert_eq!(first.text.as_deref(), Some("@@ -1 +1 @@\n-a\n+b\n"));
        let rest: Vec<_> =
            changed[1..].iter().map(|file| describe(file, None, &mut room)).collect();
        assert_eq!((rest[0].path.as_str(), rest[0].change.as_str()), ("gone", "removed"));
        assert_eq!((rest[1].path.as_str(), rest[1].change.as_str()), ("new", "added"));
        assert_eq!(changed.len(), 3);
    }

    #[test]
    fn binary_files_and_answers_without_room_have_no_lines() {
        let (old, new) = ([file("a", "x\0")], [file("a", "y\0")]);
        let changed = changed_files(&old, &new);
        let bytes = Some(("x\0".into(), "y\0".into()));
        assert_eq!(describe(&changed[0], bytes, &mut DiffBudget::default()).text, None);
        let bytes = Some(("x".into(), "y".into()));
        assert_eq!(describe(&changed[0], bytes, &mut DiffBudget(3)).text, None);
    }
}
