//! Where a scalar begins and ends in the text.
//!
//! The parser's own marks leave out block indicators and include the blanks and comments that
//! follow quotes.

use saphyr_parser::ScalarStyle;

/// Corrects the marks of a scalar; `previous` is where the text before it ended.
pub(super) fn scalar(
    text: &str,
    style: ScalarStyle,
    empty: bool,
    marks: (usize, usize),
    previous: usize,
) -> (usize, usize) {
    let (start, end) = marks;
    match style {
        // A missing value carries the mark of the `:` before it or of the token after it.
        ScalarStyle::Plain if empty => {
            let at = start + usize::from(text[start..].starts_with(':'));
            (at, at)
        }
        ScalarStyle::Plain => (start, end),
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
            (start, start + quoted_length(&text[start..end]))
        }
        ScalarStyle::Literal | ScalarStyle::Folded => {
            let header = block_header(text, previous.min(start), end).unwrap_or(start);
            (header, header + text[header..end].trim_end().len())
        }
    }
}

/// The length of the quoted scalar that `text` begins with, quotes included.
fn quoted_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let Some(&quote) = bytes.first() else { return 0 };
    let mut at = 1;
    while at < bytes.len() {
        if bytes[at] == b'\\' && quote == b'"' {
            at += 2;
        } else if bytes[at] != quote {
            at += 1;
        } else if quote == b'\'' && bytes.get(at + 1) == Some(&quote) {
            at += 2;
        } else {
            return at + 1;
        }
    }
    bytes.len()
}

/// Finds the `|` or `>` of a block scalar after the token that ended at `from`.
fn block_header(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut comment = false;
    for (at, byte) in text.as_bytes()[from..to].iter().enumerate() {
        match byte {
            b'\n' | b'\r' => comment = false,
            b'|' | b'>' if !comment => return Some(from + at),
            b'#' => comment = true,
            _ => {}
        }
    }
    None
}

/// Finds the bracket that ends a collection in brackets; the parser may mark a comma before it.
pub(super) fn closing_bracket(text: &str, at: usize) -> Option<usize> {
    let mut comment = false;
    for (index, byte) in text.as_bytes().iter().enumerate().skip(at) {
        match byte {
            b'\n' => comment = false,
            _ if comment => {}
            b']' | b'}' => return Some(index),
            b'#' => comment = true,
            b',' | b' ' | b'\t' | b'\r' => {}
            _ => return None,
        }
    }
    None
}
