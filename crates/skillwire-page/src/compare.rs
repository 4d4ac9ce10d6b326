//! Compares texts of two versions, within bounds that hold for a whole page.

use std::time::{Duration, Instant};

use skillwire_core::diff_lines;

use crate::model::{FileLines, Hunk, HunkLine};

/// Larger files are not compared.
pub const MAX_COMPARED_BYTES: u64 = 1 << 20;

/// The most lines that one page shows.
const MAX_LINES: usize = 4_000;

/// How long comparing may take for one page before it becomes coarse.
const PATIENCE: Duration = Duration::from_millis(500);

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 3;

/// Compares files for one page.
#[derive(Debug)]
pub struct FileComparer {
    lines: usize,
    deadline: Instant,
}

impl Default for FileComparer {
    fn default() -> Self {
        Self { lines: MAX_LINES, deadline: Instant::now() + PATIENCE }
    }
}

impl FileComparer {
    /// Compares two versions of a file; an absent one is empty.
    pub fn compare(&mut self, old: &[u8], new: &[u8]) -> FileLines {
        if old.len().max(new.len()) as u64 > MAX_COMPARED_BYTES {
            return FileLines::TooLarge;
        }
        let (Some(old), Some(new)) = (text_of(old), text_of(new)) else {
            return FileLines::NotText;
        };
        if self.lines == 0 {
            return FileLines::LeftOut;
        }
        let found = diff_lines(old, new, CONTEXT, self.deadline);
        let count: usize = found.iter().map(|hunk| hunk.lines.len()).sum();
        if count > self.lines {
            // The first file is shown as far as it fits; a later one gets a page of its own.
            if self.lines < MAX_LINES {
                return FileLines::LeftOut;
            }
        }
        let mut hunks = Vec::new();
        for hunk in found {
            if self.lines == 0 {
                break;
            }
            let lines = hunk.lines.iter().take(self.lines);
            let lines: Vec<_> = lines
                .map(|line| HunkLine { change: line.change, text: line.text.to_owned() })
                .collect();
            self.lines -= lines.len();
            let (old_start, new_start) = (hunk.old_lines.start + 1, hunk.new_lines.start + 1);
            hunks.push(Hunk { old_start, new_start, lines });
        }
        FileLines::Hunks(hunks)
    }
}

/// Returns bytes as text; bytes with a NUL do not count as text.
pub fn text_of(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_a_bounded_number_of_lines() {
        let mut comparer = FileComparer::default();
        let long = "x\n".repeat(MAX_LINES * 2);
        let FileLines::Hunks(hunks) = comparer.compare(b"", long.as_bytes()) else {
            panic!("the first file is shown as far as it fits");
        };
        assert_eq!(hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>(), MAX_LINES);
        assert!(matches!(comparer.compare(b"a", b"b"), FileLines::LeftOut));
    }

    #[test]
    fn only_text_is_compared() {
        let mut comparer = FileComparer::default();
        assert!(matches!(comparer.compare(b"a\0", b"b"), FileLines::NotText));
        let large = vec![b'x'; usize::try_from(MAX_COMPARED_BYTES).unwrap() + 1];
        assert!(matches!(comparer.compare(&large, b""), FileLines::TooLarge));
    }
}
