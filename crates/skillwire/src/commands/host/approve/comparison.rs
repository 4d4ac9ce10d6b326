//! Two versions of a file, line by line, where both are at hand.

use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

use bytes::Bytes;
use skillwire_core::{Digest, LineChange, SkillResource, diff_lines};
use skillwire_host::{Host, context::text};
use skillwire_state::FileCache;
use skillwire_trust::{Cache, ListedSkill, Refusal};

use crate::output::{ADDED, FAINT, NOTE, REMOVED};

/// Larger files are not compared.
const MAX_BYTES: u64 = 1 << 20;

/// The most lines that are shown for one file.
const MAX_LINES: usize = 500;

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 3;

/// However the two texts are made, comparing them takes no longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// What can be said about two versions of a file.
pub(super) enum Comparison {
    Texts(String, String),
    TooLarge,
    NotText,
    /// The version that was approved was never loaded here, or is no longer cached.
    NotCached,
    /// The version that is listed now cannot be had.
    Refused(Refusal),
}

impl Comparison {
    /// Gets both versions: the approved one from the cache, the listed one from its server.
    pub(super) async fn of(
        host: &Host,
        cache: &FileCache,
        listed: &ListedSkill,
        before: &SkillResource,
        after: &SkillResource,
    ) -> Self {
        if before.size.max(after.size) > MAX_BYTES {
            return Self::TooLarge;
        }
        let cached = cache.get(listed.id(), before);
        let is_approved = |bytes: &Bytes| Digest::of(bytes) == before.digest;
        let Some(old) = cached.filter(is_approved) else { return Self::NotCached };
        let new = match host.inspect(listed, after.uri.as_str()).await {
            Ok(inspected) => inspected.bytes,
            Err(refusal) => return Self::Refused(refusal),
        };
        match (text_of(&old), text_of(&new)) {
            (Some(old), Some(new)) => Self::Texts(old, new),
            _ => Self::NotText,
        }
    }

    /// Writes the comparison of the file at that path.
    pub(super) fn print(&self, out: &mut impl Write, path: &str) -> io::Result<()> {
        match self {
            Self::Texts(old, new) => unified(out, path, old, new),
            Self::TooLarge => writeln!(out, "{FAINT}{path}: too large to compare{FAINT:#}"),
            Self::NotText => writeln!(out, "{FAINT}{path}: not text{FAINT:#}"),
            Self::NotCached => writeln!(
                out,
                "{FAINT}{path}: the approved version is not cached, so lines cannot be compared{FAINT:#}"
            ),
            Self::Refused(refusal) => {
                writeln!(out, "{path}: {}", text::one_line(&refusal.to_string()))
            }
        }
    }
}

/// The text with its line ends made visible where they would hide a change.
fn text_of(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).map(str::to_owned)
}

fn unified(out: &mut impl Write, path: &str, old: &str, new: &str) -> io::Result<()> {
    writeln!(out, "{FAINT}--- {path} (approved){FAINT:#}")?;
    writeln!(out, "{FAINT}+++ {path} (listed now){FAINT:#}")?;
    let mut shown = 0;
    for hunk in diff_lines(old, new, CONTEXT, Instant::now() + PATIENCE) {
        writeln!(out, "{NOTE}{hunk}{NOTE:#}")?;
        for line in hunk.lines {
            shown += 1;
            if shown > MAX_LINES {
                return writeln!(out, "{FAINT}and more; `skillwire show` shows the file{FAINT:#}");
            }
            let text = visible(line.text);
            match line.change {
                LineChange::Unchanged => writeln!(out, " {text}")?,
                LineChange::Removed => writeln!(out, "{REMOVED}-{text}{REMOVED:#}")?,
                LineChange::Added => writeln!(out, "{ADDED}+{text}{ADDED:#}")?,
            }
            if !line.is_ended {
                writeln!(out, "{FAINT}\\ No newline at end of file{FAINT:#}")?;
            }
        }
    }
    Ok(())
}

/// One line without what acts on a terminal; a carriage return is shown, as it may be the change.
fn visible(line: &str) -> String {
    match line.strip_suffix('\r') {
        Some(line) => text::lines(line) + "\\r",
        None => text::lines(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        let mut out = Vec::new();
        unified(&mut out, "SKILL.md", old, new).unwrap();
        anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
    }

    #[test]
    fn both_versions_are_compared_line_by_line_hst_89() {
        let text = shown("a\nb\nc\n", "a\nB\nc\n");
        assert_eq!(
            text,
            "--- SKILL.md (approved)\n+++ SKILL.md (listed now)\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
        );
    }

    #[test]
    fn hidden_changes_are_seen_and_do_not_act_on_the_terminal_hst_112() {
        let text = shown("a\nb\n", "a\r\nb\u{202e}\u{1b}[2J");
        assert!(text.contains("-a\n") && text.contains("+a\\r\n"), "{text}");
        assert!(text.contains("+b\\u{202e}\\u{1b}[2J\n\\ No newline at end of file\n"), "{text}");
    }

    #[test]
    fn a_flood_of_changes_is_cut() {
        let new: String =
            (0..10_000).flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
        assert!(shown("", &new).lines().count() < MAX_LINES + 10);
    }
}
