//! Compares two versions of a text line by line.

use std::{collections::HashMap, fmt, ops::Range, time::Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

/// The versions that have a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineChange {
    /// Both versions have it.
    Unchanged,
    /// Only the old version has it.
    Removed,
    /// Only the new version has it.
    Added,
}

impl LineChange {
    /// The sign in front of the line in a unified diff.
    pub fn sign(self) -> char {
        match self {
            Self::Unchanged => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// The line of a unified diff below one that no line feed ends.
pub const NO_LINE_FEED: &str = "\\ No newline at end of file";

/// One line of a [`DiffHunk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffLine<'a> {
    /// The versions that have it.
    pub change: LineChange,
    /// Its text without the line feed at its end. A carriage return before that is part of the
    /// text, since it may be all that changed.
    pub text: &'a str,
    /// Whether a line feed ends it; only the last line of a text may lack one.
    pub is_ended: bool,
}

/// Changed lines that stand close together, with unchanged ones around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffHunk<'a> {
    /// Which lines of the old version it shows, counted from zero.
    pub old_lines: Range<usize>,
    /// Which lines of the new version it shows, counted from zero.
    pub new_lines: Range<usize>,
    /// The lines, in the order of a unified diff.
    pub lines: Vec<DiffLine<'a>>,
}

/// Writes the line that begins a hunk of a unified diff.
impl fmt::Display for DiffHunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |lines: &Range<usize>| match lines.len() {
            // An empty range is named by the line before it.
            0 => format!("{},0", lines.start),
            1 => format!("{}", lines.start + 1),
            count => format!("{},{count}", lines.start + 1),
        };
        write!(f, "@@ -{} +{} @@", range(&self.old_lines), range(&self.new_lines))
    }
}

/// Compares two texts and returns what differs, with `context` unchanged lines around each change.
///
/// An attacker can write texts whose shortest comparison takes very long to find. At the deadline,
/// the rest is compared coarsely: the result is longer than necessary, and still correct.
pub fn diff_lines<'a>(
    old: &'a str,
    new: &'a str,
    context: usize,
    deadline: Instant,
) -> Vec<DiffHunk<'a>> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    // Numbers are compared instead of lines, so that long lines are read only once.
    let mut numbers = HashMap::new();
    let mut number_lines = |lines: &[&'a str]| -> Vec<usize> {
        let number = |line: &&'a str| {
            let next = numbers.len();
            *numbers.entry(*line).or_insert(next)
        };
        lines.iter().map(number).collect()
    };
    let (old_numbers, new_numbers) = (number_lines(&old), number_lines(&new));
    let algorithm = Algorithm::Myers;
    let changes =
        capture_diff_slices_deadline(algorithm, &old_numbers, &new_numbers, Some(deadline));
    group_diff_ops(changes, context).iter().map(|group| hunk(&old, &new, group)).collect()
}

fn hunk<'a>(old: &[&'a str], new: &[&'a str], changes: &[DiffOp]) -> DiffHunk<'a> {
    let span = |ranges: &[Range<usize>]| match (ranges.first(), ranges.last()) {
        (Some(first), Some(last)) => first.start..last.end,
        _ => 0..0,
    };
    let old_ranges: Vec<_> = changes.iter().map(DiffOp::old_range).collect();
    let new_ranges: Vec<_> = changes.iter().map(DiffOp::new_range).collect();
    let mut lines = Vec::new();
    for change in changes {
        let is_unchanged = matches!(change, DiffOp::Equal { .. });
        let (from_old, from_new) = (&old[change.old_range()], &new[change.new_range()]);
        if is_unchanged {
            lines.extend(from_old.iter().map(|text| line(LineChange::Unchanged, text)));
        } else {
            lines.extend(from_old.iter().map(|text| line(LineChange::Removed, text)));
            lines.extend(from_new.iter().map(|text| line(LineChange::Added, text)));
        }
    }
    DiffHunk { old_lines: span(&old_ranges), new_lines: span(&new_ranges), lines }
}

fn line(change: LineChange, text: &str) -> DiffLine<'_> {
    let ended = text.strip_suffix('\n');
    DiffLine { change, text: ended.unwrap_or(text), is_ended: ended.is_some() }
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, time::Duration};

    use proptest::prelude::*;

    use super::*;

    fn unified(old: &str, new: &str, context: usize) -> String {
        let mut text = String::new();
        for hunk in diff_lines(old, new, context, Instant::now() + Duration::from_mins(1)) {
            let _ = writeln!(text, "{hunk}");
            for line in hunk.lines {
                let sign = match line.change {
                    LineChange::Unchanged => ' ',
                    LineChange::Removed => '-',
                    LineChange::Added => '+',
                };
                let end = if line.is_ended { "" } else { "\\" };
                let _ = writeln!(text, "{sign}{}{end}", line.text.escape_debug());
            }
        }
        text
    }

    #[test]
    fn changes_stand_in_their_context() {
        let expected = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";
        assert_eq!(unified("a\nb\nc\n", "a\nB\nc\n", 3), expected);
        assert_eq!(unified("a\nb\nc\n", "a\nB\nc\n", 0), "@@ -2 +2 @@\n-b\n+B\n");
    }

    #[test]
    fn changes_that_are_far_apart_are_hunks_of_their_own() {
        let expected = "@@ -1,2 +1,2 @@\n-1\n+one\n 2\n@@ -5 +5,2 @@\n 5\n+6\n";
        assert_eq!(unified("1\n2\n3\n4\n5\n", "one\n2\n3\n4\n5\n6\n", 1), expected);
    }

    #[test]
    fn empty_texts_and_line_ends_are_told_apart() {
        assert_eq!(unified("", "", 3), "");
        assert_eq!(unified("a\n", "a\n", 3), "");
        assert_eq!(unified("", "a\n", 3), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(unified("a\n", "a", 3), "@@ -1 +1 @@\n-a\n+a\\\n");
        assert_eq!(unified("a\n", "a\r\n", 3), "@@ -1 +1 @@\n-a\n+a\\r\n");
    }

    #[test]
    fn comparison_is_coarse_but_correct_after_the_deadline() {
        let text = |step: usize| (0..5_000).map(|n| format!("{}\n", n * step % 4_999)).collect();
        let (old, new): (Vec<_>, Vec<_>) = (text(7), text(11));
        let (old, new) = (old.concat(), new.concat());
        let hunks = diff_lines(&old, &new, 0, Instant::now());
        assert_eq!(applied(&old, &hunks), new);
    }

    /// The new version, made from the old one and what differs.
    fn applied(old: &str, hunks: &[DiffHunk<'_>]) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let mut new = String::new();
        let mut next = 0;
        for hunk in hunks {
            new.extend(old[next..hunk.old_lines.start].iter().copied());
            for line in &hunk.lines {
                if line.change != LineChange::Removed {
                    new.push_str(line.text);
                    new.push_str(if line.is_ended { "\n" } else { "" });
                }
            }
            next = hunk.old_lines.end;
        }
        new.extend(old[next..].iter().copied());
        new
    }

    proptest! {
        #[test]
        fn new_version_follows_from_the_old_one_and_what_differs(
            old in "([ab]\n){0,12}[ab]?",
            new in "([ab]\n){0,12}[ab]?",
            context in 0_usize..4,
        ) {
            let deadline = Instant::now() + Duration::from_mins(1);
            prop_assert_eq!(applied(&old, &diff_lines(&old, &new, context, deadline)), new);
        }
    }
}
