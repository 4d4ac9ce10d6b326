//! What changed in the texts of a skill, line by line, where both versions are at hand.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use skillwire_core::{ContentDiff, LineChange, SkillResource, diff_lines};
use skillwire_host::context::text::lines;
use skillwire_trust::ListedSkill;

use super::{Bridge, approval::path};

/// Larger files are not compared: a form is no place to read them.
const MAX_BYTES: u64 = 256 * 1024;

/// The most lines of a form that show differences.
const MAX_LINES: usize = 80;

/// The most characters of one line.
const MAX_CHARS: usize = 300;

/// However two texts are made, comparing them takes no longer.
const PATIENCE: Duration = Duration::from_millis(500);

impl Bridge {
    /// The changed lines of changed files.
    pub(crate) async fn differences(&self, listed: &ListedSkill, changes: &ContentDiff) -> String {
        let (mut text, mut left) = (String::new(), MAX_LINES);
        for (before, after) in &changes.changed {
            let Some((old, new)) = self.versions(listed, before, after).await else { continue };
            let _ = writeln!(text, "\n{}:", path(&listed.id().uri, after));
            left = write_changed(&mut text, &old, &new, left);
            if left == 0 {
                text.push_str("… and more.\n");
                break;
            }
        }
        text
    }

    async fn versions(
        &self,
        listed: &ListedSkill,
        before: &SkillResource,
        after: &SkillResource,
    ) -> Option<(String, String)> {
        if before.size.max(after.size) > MAX_BYTES {
            return None;
        }
        let old = self.host().inspect_cached(listed.id(), before)?;
        let new = self.host().inspect(listed, after.uri.as_str()).await.ok()?;
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
        Some((text(&old.bytes)?, text(&new.bytes)?))
    }
}

/// Writes removed and added lines and returns how many more may be written.
fn write_changed(text: &mut String, old: &str, new: &str, mut left: usize) -> usize {
    let hunks = diff_lines(old, new, 0, Instant::now() + PATIENCE);
    for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
        let sign = match line.change {
            LineChange::Unchanged => continue,
            LineChange::Removed => '-',
            LineChange::Added => '+',
        };
        if left == 0 {
            break;
        }
        left -= 1;
        let short: String = lines(line.text).chars().take(MAX_CHARS).collect();
        let _ = writeln!(text, "  {sign} {short}");
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_shown_and_do_not_act() {
        let mut text = String::new();
        let left = write_changed(&mut text, "a\nb\nc\n", "a\nB\u{202e}\nc\n", 10);
        assert_eq!((text.as_str(), left), ("  - b\n  + B\\u{202e}\n", 8));
    }

    #[test]
    fn a_flood_of_changes_is_cut() {
        let new = "x\n".repeat(10_000);
        let mut text = String::new();
        assert_eq!(write_changed(&mut text, "", &new, MAX_LINES), 0);
        assert_eq!(text.lines().count(), MAX_LINES);
    }
}
