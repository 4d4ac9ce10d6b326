//! Standard output and error for people: on a terminal, lines that are too long are broken at
//! words. A pipe gets every line whole.

use std::io::{self, Write};

use terminal_size::{Height, Width, terminal_size_of};

/// The narrowest terminal that lines are broken for.
const LEAST_WIDTH: usize = 40;

/// How much further in a line continues than it began.
const HANGING: usize = 2;

/// The part of the width that indentation may take.
const MOST_INDENT: usize = 3;

/// Standard output, for prose and tables.
pub(crate) fn stdout() -> ProseWriter<anstream::Stdout> {
    ProseWriter { out: anstream::stdout(), width: width(), line: Vec::new() }
}

/// Standard error, for prose and tables.
pub(crate) fn stderr() -> ProseWriter<anstream::Stderr> {
    let width = terminal_size_of(io::stderr()).map(columns);
    ProseWriter { out: anstream::stderr(), width, line: Vec::new() }
}

/// The width to which lines of standard output are broken; `None` for a pipe.
pub(crate) fn width() -> Option<usize> {
    terminal_size_of(io::stdout()).map(columns)
}

fn columns((width, _): (Width, Height)) -> usize {
    usize::from(width.0).max(LEAST_WIDTH)
}

/// Breaks lines at words where a terminal would break them anywhere.
pub(crate) struct ProseWriter<W: Write> {
    out: W,
    /// The width of the terminal; `None` leaves lines whole.
    width: Option<usize>,
    /// The line that is not complete yet.
    line: Vec<u8>,
}

impl<W: Write> Write for ProseWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(width) = self.width else { return self.out.write(bytes) };
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.out.write_all(broken(&String::from_utf8_lossy(&line), width).as_bytes())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.out.write_all(&line)?;
        self.out.flush()
    }
}

impl<W: Write> Drop for ProseWriter<W> {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = self.flush();
    }
}

/// Breaks a line at spaces so that no part is wider, unless a single word is. The other parts are
/// indented a little more than the line.
fn broken(line: &str, width: usize) -> String {
    let indent = line.chars().take_while(|c| *c == ' ').count() + HANGING;
    let indent = indent.min(width / MOST_INDENT);
    let mut out = String::with_capacity(line.len() + indent);
    let mut column = 0;
    let mut chars = line.chars().peekable();
    // Where the part may end: a place in `out`, and the column after the space there.
    let mut space: Option<(usize, usize)> = None;
    let mut in_words = false;
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // A style takes no room; `anstream` removes it where there are no colours.
            out.push(c);
            for c in chars.by_ref() {
                out.push(c);
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
            continue;
        }
        out.push(c);
        if c == '\n' {
            break;
        }
        column += 1;
        if c == ' ' {
            if in_words {
                space = Some((out.len() - 1, column));
            }
            continue;
        }
        in_words = true;
        if column > width
            && let Some((at, after)) = space.take()
        {
            out.replace_range(at..=at, &format!("\n{:indent$}", ""));
            column = column - after + indent;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_at_words_and_hang_fu_26() {
        for (line, shown) in [
            ("short\n", "short\n"),
            ("  one two three four\n", "  one two\n    three\n    four\n"),
            ("unbreakable-word-here x\n", "unbreakable-word-here\n  x\n"),
            ("\u{1b}[1mone\u{1b}[0m two three\n", "\u{1b}[1mone\u{1b}[0m two\n  three\n"),
            ("eleven chars\n", "eleven chars\n"),
            ("", ""),
        ] {
            assert_eq!(broken(line, 12), shown, "{line:?}");
        }
    }

    #[test]
    fn a_pipe_gets_lines_whole_and_a_question_is_shown_at_once() {
        let long = "a ".repeat(100) + "\n";
        let write = |width: Option<usize>, text: &str| {
            let mut out = Vec::new();
            let mut writer = ProseWriter { out: &mut out, width, line: Vec::new() };
            writer.write_all(text.as_bytes()).unwrap();
            writer.flush().unwrap();
            drop(writer);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(write(None, &long), long);
        assert_eq!(write(Some(80), "Load it? "), "Load it? ");
        let lines = write(Some(40), &long);
        assert!(lines.lines().count() > 4 && lines.lines().all(|line| line.len() <= 40), "{lines}");
    }
}
