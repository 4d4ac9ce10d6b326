//! Compares two versions of a file line by line, if both are available.

use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

use skillwire_core::{
    diff_lines,
    visible::{lines, one_line},
};
use skillwire_host::FileComparison;

use crate::output::{FAINT, NOTE, changed_line};

/// Larger files are not compared.
pub(in super::super) const MAX_BYTES: u64 = 1 << 20;

/// The most lines that are shown for one file.
const MAX_LINES: usize = 500;

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 3;

/// The longest time for one comparison, whatever the two texts contain.
const PATIENCE: Duration = Duration::from_secs(2);

/// Writes how two versions of the file at that path differ.
pub(in super::super) fn write(
    out: &mut impl Write,
    path: &str,
    compared: &FileComparison,
) -> io::Result<()> {
    match compared {
        FileComparison::Texts { approved, listed } => unified(out, path, approved, listed),
        FileComparison::TooLarge => writeln!(out, "{FAINT}{path}: too large to compare{FAINT:#}"),
        FileComparison::NotText => writeln!(out, "{FAINT}{path}: not text{FAINT:#}"),
        FileComparison::NotCached => writeln!(
            out,
            "{FAINT}{path}: the approved version is not cached, so lines cannot be compared{FAINT:#}"
        ),
        FileComparison::Refused(refusal) => {
            writeln!(out, "{path}: {}", one_line(&refusal.to_string()))
        }
    }
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
            changed_line(out, line, &text)?;
        }
    }
    Ok(())
}

/// Makes a line safe for a terminal. A carriage return is shown, since it may be the only change.
fn visible(line: &str) -> String {
    match line.strip_suffix('\r') {
        Some(line) => lines(line) + "\\r",
        None => lines(line),
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
