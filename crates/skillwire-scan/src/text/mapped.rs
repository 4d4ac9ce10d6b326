//! Text that was made from other text, and where each part of it came from.

use std::ops::Range;

/// Text made from the text of a file, with a map back to the file's bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct MappedText {
    pub(crate) text: String,
    /// Runs in order of `at`. The first begins at zero unless the text is empty.
    runs: Vec<Run>,
}

/// A run of text with one origin.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// Where the run begins in the text.
    at: usize,
    /// Where it came from.
    from: usize,
    /// Whether its bytes stand in the origin one by one; else all of them come from `from`.
    copied: bool,
    /// Where its letters stand, and whether they stand there one by one, if the run repeats other text.
    letters: Option<(usize, bool)>,
}

impl Run {
    fn has_letters_one_by_one(&self) -> bool {
        self.letters.map_or(self.copied, |(_, copied)| copied)
    }
}

impl MappedText {
    /// Text that is the origin itself, from a byte on.
    #[cfg(test)]
    pub(crate) fn identity(text: &str, from: usize) -> Self {
        let mut mapped = Self::default();
        mapped.copy(text, from);
        mapped
    }

    /// Text that was made as a whole from what stands at `from`.
    pub(crate) fn made(text: String, from: usize) -> Self {
        Self { runs: vec![Run { at: 0, from, copied: false, letters: None }], text }
    }

    /// Adds text that stands in the origin at `from`.
    pub(crate) fn copy(&mut self, text: &str, from: usize) {
        let at = self.text.len();
        let continues =
            self.runs.last().is_some_and(|run| run.copied && run.from + (at - run.at) == from);
        if !continues {
            self.runs.push(Run { at, from, copied: true, letters: None });
        }
        self.text.push_str(text);
    }

    /// Adds text that was made from what stands at `from`.
    pub(crate) fn put(&mut self, text: &str, from: usize) {
        self.put_letters(text, from, None);
    }

    fn put_letters(&mut self, text: &str, from: usize, letters: Option<(usize, bool)>) {
        self.runs.push(Run { at: self.text.len(), from, copied: false, letters });
        self.text.push_str(text);
    }

    /// Adds a part of other text that stands in place of what is at `from`, such as the value of a
    /// variable. Its letters still come from where the part stands.
    pub(crate) fn repeat(&mut self, other: &Self, part: Range<usize>, from: usize) {
        let mut at = part.start;
        while at < part.end {
            let next = other.runs.partition_point(|run| run.at <= at);
            let until = other.runs.get(next).map_or(part.end, |run| run.at.min(part.end));
            let copied = other.run(at).is_some_and(Run::has_letters_one_by_one);
            self.put_letters(&other.text[at..until], from, Some((other.letter(at), copied)));
            at = until;
        }
    }

    /// The run that a byte of the text is in.
    fn run(&self, at: usize) -> Option<&Run> {
        let after = self.runs.partition_point(|run| run.at <= at);
        after.checked_sub(1).and_then(|index| self.runs.get(index))
    }

    /// Where a byte of the text came from.
    pub(crate) fn origin(&self, at: usize) -> usize {
        let Some(run) = self.run(at) else { return 0 };
        if run.copied { run.from + (at - run.at) } else { run.from }
    }

    /// Where the letter at a byte of the text is written in the origin.
    pub(crate) fn letter(&self, at: usize) -> usize {
        let Some(run) = self.run(at) else { return 0 };
        match run.letters {
            Some((from, true)) => from + (at - run.at),
            Some((from, false)) => from,
            None => self.origin(at),
        }
    }

    /// Adds a part of other mapped text, with its origins.
    pub(crate) fn copy_mapped(&mut self, other: &Self, start: usize, end: usize) {
        let mut at = start;
        let mut next = other.runs.partition_point(|run| run.at <= start);
        while at < end {
            let until = other.runs.get(next).map_or(end, |run| run.at.min(end));
            let run = next.checked_sub(1).and_then(|index| other.runs.get(index));
            match run {
                Some(run) if !run.copied => {
                    let letters = run.letters.map(|(_, copied)| (other.letter(at), copied));
                    self.put_letters(&other.text[at..until], run.from, letters);
                }
                _ => self.copy(&other.text[at..until], other.origin(at)),
            }
            at = until;
            next += 1;
        }
    }

    /// A part of the text, with its origins.
    pub(crate) fn slice(&self, start: usize, end: usize) -> Self {
        let mut part = Self::default();
        part.copy_mapped(self, start, end);
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_knows_where_it_came_from() {
        let mut first = MappedText::default();
        first.copy("ab", 0);
        first.put("-", 5);
        first.copy("cd", 9);
        assert_eq!([0, 1, 2, 3, 4].map(|at| first.origin(at)), [0, 1, 5, 9, 10]);

        let part = first.slice(1, 4);
        assert_eq!(part.text, "b-c");
        assert_eq!([0, 1, 2].map(|at| part.origin(at)), [1, 5, 9]);
    }

    #[test]
    fn repeated_text_stands_where_it_is_used_and_its_letters_where_they_are_written() {
        let mut first = MappedText::default();
        first.copy("ab", 0);
        first.put("-", 5);
        first.copy("$", 9);
        let mut filled = first.clone();
        filled.repeat(&first, 0..3, 9);
        let part = filled.slice(4, 7);
        assert_eq!(part.text, "ab-");
        assert_eq!([0, 1, 2].map(|at| part.origin(at)), [9, 9, 9]);
        assert_eq!([0, 1, 2].map(|at| part.letter(at)), [0, 1, 5]);
    }
}
