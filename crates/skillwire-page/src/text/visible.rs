//! Text with everything marked that a reader would not see, or that would change what they see.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};
use skillwire_core::CharClass;

use crate::texts;

/// The most marks of one text; later ones are written as plain escapes, which cost less.
const MAX_MARKS: usize = 2_000;

/// The most hidden characters that one mark spells out.
const MAX_SPELLED: usize = 400;

/// The longest line that is shown whole.
const MAX_LINE_CHARS: usize = 4_000;

/// Marks hidden characters; line breaks and tabs stay.
pub(crate) fn marked(text: &str) -> Markup {
    let mut marker = Marker::default();
    marker.push(text);
    PreEscaped(marker.out)
}

/// Marks hidden characters in a text that stands on one line, apart from the direction of its
/// surroundings.
pub(crate) fn marked_line(text: &str) -> Markup {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    html! { bdi { (marked(&line)) } }
}

/// Writes a sentence of this program, in which names stand in backticks.
pub(crate) fn worded(sentence: &str) -> Markup {
    let parts: Vec<&str> = sentence.split('`').collect();
    // A backtick without its partner is one of the text.
    if parts.len().is_multiple_of(2) {
        return marked_line(sentence);
    }
    html! {
        @for (index, part) in parts.iter().enumerate() {
            @if index % 2 == 0 { (marked(part)) } @else { code { (marked_line(part)) } }
        }
    }
}

/// Writes some lines of a text with their numbers, each cut if it is too long.
pub(crate) fn numbered_lines<'a>(first: usize, lines: impl Iterator<Item = &'a str>) -> Markup {
    let mut marker = Marker::default();
    for (index, line) in lines.enumerate() {
        let number = first + index;
        // Writing to a string cannot fail.
        let _ = write!(marker.out, "<span class=\"line\" id=\"L{number}\" data-n=\"{number}\">");
        match line.char_indices().nth(MAX_LINE_CHARS) {
            None => marker.push(line),
            Some((cut, _)) => {
                marker.push(&line[..cut]);
                let more = line[cut..].chars().count();
                let note = texts::more_characters(more);
                let _ = write!(marker.out, "<span class=\"cut\">{}</span>", html! { (note) }.0);
            }
        }
        marker.out.push_str("\n</span>");
    }
    PreEscaped(marker.out)
}

#[derive(Default)]
struct Marker {
    out: String,
    marks: usize,
}

impl Marker {
    fn push(&mut self, text: &str) {
        let mut before = None;
        let mut hidden = String::new();
        let mut hidden_class = None;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let is_break = matches!(c, '\n' | '\t') || (c == '\r' && chars.peek() == Some(&'\n'));
            let class = if is_break { None } else { CharClass::after(before, c) };
            if class != hidden_class || class.is_none() {
                self.mark(hidden_class.take(), &mut hidden);
            }
            match class {
                Some(class) => {
                    hidden.push(c);
                    hidden_class = Some(class);
                }
                None => self.plain(c),
            }
            before = Some(c);
        }
        self.mark(hidden_class, &mut hidden);
    }

    fn plain(&mut self, c: char) {
        match c {
            '&' => self.out.push_str("&amp;"),
            '<' => self.out.push_str("&lt;"),
            '>' => self.out.push_str("&gt;"),
            '"' => self.out.push_str("&quot;"),
            '\r' => {}
            c => self.out.push(c),
        }
    }

    /// Writes a run of hidden characters of one class as one mark.
    fn mark(&mut self, class: Option<CharClass>, hidden: &mut String) {
        let Some(class) = class else { return };
        self.marks += 1;
        let hidden = std::mem::take(hidden);
        if self.marks > MAX_MARKS {
            self.out.extend(hidden.chars().flat_map(char::escape_unicode));
            return;
        }
        let count = hidden.chars().count();
        let first = hidden.chars().next().map_or(0, u32::from);
        let name = texts::hidden_characters(class, count);
        let shown = match spelled(class, &hidden) {
            Some(text) => format!("{name}: “{text}”"),
            None if count == 1 => format!("U+{first:04X}"),
            None => format!("U+{first:04X} ×{count}"),
        };
        let mark = html! { span.hidden-char title=(name) { (shown) } };
        self.out.push_str(&mark.0);
    }
}

/// What hidden characters say to a model: tag characters are copies of ASCII.
fn spelled(class: CharClass, hidden: &str) -> Option<String> {
    if class != CharClass::Tag {
        return None;
    }
    let ascii = hidden.chars().filter_map(|c| char::from_u32(u32::from(c).checked_sub(0xe0000)?));
    let text: String = ascii.filter(|c| matches!(c, ' '..='~')).take(MAX_SPELLED).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_marked_and_markup_stays_text() {
        let shown = marked("a<b>\u{202e}\u{200b}\u{200b}&\t\r\nz").0;
        assert_eq!(
            shown,
            "a&lt;b&gt;<span class=\"hidden-char\" title=\"1 bidirectional control\">U+202E</span>\
             <span class=\"hidden-char\" title=\"2 invisible characters\">U+200B ×2</span>&amp;\t\nz"
        );
    }

    #[test]
    fn what_tag_characters_say_is_spelled_out() {
        let hidden: String =
            "obey".chars().map(|c| char::from_u32(0xe0000 + c as u32).unwrap()).collect();
        let shown = marked(&hidden).0;
        assert!(shown.contains("4 tag characters: “obey”"), "{shown}");
    }

    #[test]
    fn a_flood_of_hidden_characters_costs_little() {
        let flood = "a\u{200b}".repeat(100_000);
        assert!(marked(&flood).0.len() < 12 * 100_000);
    }

    #[test]
    fn long_lines_are_cut_and_numbered() {
        let long = "x".repeat(MAX_LINE_CHARS + 7);
        let shown = numbered_lines(3, [long.as_str(), "b"].into_iter()).0;
        assert!(shown.contains("data-n=\"3\"") && shown.contains("data-n=\"4\""));
        assert!(shown.contains("7 more characters"), "{shown}");
    }
}
