//! Lines of text in tones, which a terminal shows as colours or, without colours, as bold and dim.

use unicode_width::UnicodeWidthChar as _;

/// What a piece of text is for the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Ordinary text.
    #[default]
    Plain,
    /// The important part of a line.
    Strong,
    /// The less important part of a line.
    Faint,
    /// A heading.
    Heading,
    /// Code, and text that a renderer would hide.
    Code,
    /// An address.
    Link,
    /// A line that was added.
    Added,
    /// A line that was removed.
    Removed,
    /// Something that the reader should not miss.
    Warning,
    /// A note.
    Note,
    /// An error.
    Error,
}

/// A piece of a line in one tone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledSpan {
    /// The text, without line breaks.
    pub text: String,
    /// Its tone.
    pub tone: Tone,
}

/// One line of any length.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StyledLine {
    spans: Vec<StyledSpan>,
    /// How far in the line continues where it is wrapped.
    hang: usize,
}

impl StyledLine {
    /// Creates a line of one tone.
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        let mut line = Self::default();
        line.push(text, tone);
        line
    }

    /// Creates a line of ordinary text.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Tone::Plain)
    }

    /// Adds a piece; tabs become spaces, as a terminal's tab stops would not fit into a pane.
    pub fn push(&mut self, text: impl Into<String>, tone: Tone) {
        let text: String = text.into().replace('\t', "    ");
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.tone == tone => last.text.push_str(&text),
            _ => self.spans.push(StyledSpan { text, tone }),
        }
    }

    /// Returns the line with continued lines indented by so many columns.
    #[must_use]
    pub fn hanging(mut self, columns: usize) -> Self {
        self.hang = columns;
        self
    }

    /// Returns the pieces of the line.
    pub fn spans(&self) -> &[StyledSpan] {
        &self.spans
    }

    /// Tells whether the line has no text.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns the text alone.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Returns how many columns the line takes.
    pub fn width(&self) -> usize {
        self.chars().map(|(c, _)| columns(c)).sum()
    }

    fn chars(&self) -> impl Iterator<Item = (char, Tone)> {
        self.spans.iter().flat_map(|span| span.text.chars().map(|c| (c, span.tone)))
    }

    /// Breaks the line at words so that no part is wider; a longer word is broken anywhere.
    pub fn wrapped(&self, width: usize) -> Vec<Self> {
        let width = width.max(1);
        if self.width() <= width {
            return vec![self.clone()];
        }
        let hang = self.hang.min(width / 2);
        let mut parts = Vec::new();
        let mut part: Vec<(char, Tone)> = Vec::new();
        let mut used = 0;
        // Where the part may end: the number of characters before and with the space.
        let mut space = None;
        for (c, tone) in self.chars() {
            if used + columns(c) > width && !part.is_empty() {
                let rest = match space.take() {
                    _ if c == ' ' => Vec::new(),
                    Some(at) => part.split_off(at),
                    None => Vec::new(),
                };
                parts.push(Self::from_chars(&part));
                part = std::iter::repeat_n((' ', Tone::Plain), hang).chain(rest).collect();
                used = part.iter().map(|(c, _)| columns(*c)).sum();
                if c == ' ' {
                    continue;
                }
            }
            part.push((c, tone));
            used += columns(c);
            let is_inside = part.iter().any(|(c, _)| *c != ' ');
            if c == ' ' && is_inside {
                space = Some(part.len());
            }
        }
        parts.push(Self::from_chars(&part));
        parts
    }

    fn from_chars(chars: &[(char, Tone)]) -> Self {
        let mut line = Self::default();
        for (c, tone) in chars {
            line.push(*c, *tone);
        }
        line
    }

    /// Cuts the line after so many columns.
    #[must_use]
    pub fn cut(&self, width: usize) -> Self {
        if self.width() <= width {
            return self.clone();
        }
        let mut used = 0;
        let mut line = Self::default();
        for (c, tone) in self.chars() {
            used += columns(c);
            if used >= width {
                line.push('…', tone);
                break;
            }
            line.push(c, tone);
        }
        line
    }
}

/// How many columns of a terminal a character takes.
fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Reads lines that this program wrote for a terminal, with the styles of its own messages. Any
/// other escape is dropped.
pub fn from_ansi(text: &str) -> Vec<StyledLine> {
    let mut tone = Tone::Plain;
    text.lines()
        .map(|line| {
            let mut styled = StyledLine::default();
            for (index, part) in line.split('\u{1b}').enumerate() {
                let text = match part.strip_prefix('[').and_then(|rest| rest.split_once('m')) {
                    Some((codes, rest)) if index > 0 => {
                        tone = sgr(tone, codes);
                        rest
                    }
                    _ => part,
                };
                styled.push(text, tone);
            }
            let indent = styled.text().chars().take_while(|c| *c == ' ').count();
            styled.hanging(indent + 2)
        })
        .collect()
}

/// The tone after the codes of one escape.
fn sgr(before: Tone, codes: &str) -> Tone {
    let mut tone = before;
    for code in codes.split(';') {
        tone = match (code, tone) {
            ("" | "0", _) => Tone::Plain,
            ("2", _) => Tone::Faint,
            ("31", Tone::Strong) | ("1", Tone::Removed) => Tone::Error,
            ("31", _) => Tone::Removed,
            ("32", _) => Tone::Added,
            ("33", _) => Tone::Warning,
            ("36", _) => Tone::Note,
            ("1", Tone::Plain) => Tone::Strong,
            (_, other) => other,
        };
    }
    tone
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &[StyledLine]) -> Vec<String> {
        lines.iter().map(StyledLine::text).collect()
    }

    #[test]
    fn lines_are_broken_at_words_and_hang() {
        let wrapped = |text: &str, width| texts(&StyledLine::plain(text).hanging(2).wrapped(width));
        assert_eq!(wrapped("short", 12), ["short"]);
        assert_eq!(wrapped("one two three four", 9), ["one two ", "  three ", "  four"]);
        assert_eq!(wrapped("unbreakableword", 6), ["unbrea", "  kabl", "  ewor", "  d"]);
        assert_eq!(wrapped("", 6), [""]);
        assert_eq!(
            wrapped("大きさ大", 4),
            ["大き", "  さ", "  大"],
            "wide characters take two columns"
        );
    }

    #[test]
    fn no_part_of_a_wrapped_line_is_wider_and_no_text_is_lost() {
        let text =
            "  The quick brown fox, \u{1f600} jumps over大きさ the-lazy-dog-without-a-break again";
        let words = |text: &str| text.split_whitespace().collect::<String>();
        for width in 2..60 {
            let parts = StyledLine::plain(text).wrapped(width);
            assert!(parts.iter().all(|part| part.width() <= width), "{width}: {parts:?}");
            assert_eq!(words(&texts(&parts).concat()), words(text), "{width}");
        }
    }

    #[test]
    fn tones_survive_wrapping_and_cutting() {
        let mut line = StyledLine::plain("plain ");
        line.push("strong words", Tone::Strong);
        let wrapped = line.wrapped(8);
        assert_eq!(wrapped[1].spans()[0].tone, Tone::Strong);
        assert_eq!(line.cut(9).text(), "plain st…");
        assert_eq!(line.cut(100), line);
    }

    #[test]
    fn the_styles_of_messages_become_tones_and_other_escapes_go() {
        let lines =
            from_ansi("\u{1b}[1m\u{1b}[33mwarning\u{1b}[0m: x\n  \u{1b}[2mfaint\u{1b}[0m\u{1b}[2J");
        assert_eq!(texts(&lines)[0], "warning: x");
        assert_eq!(lines[0].spans()[0].tone, Tone::Warning);
        assert_eq!(lines[0].spans()[1].tone, Tone::Plain);
        assert_eq!(lines[1].spans()[1].tone, Tone::Faint);
        assert!(!texts(&lines).concat().contains('\u{1b}'));
    }
}
