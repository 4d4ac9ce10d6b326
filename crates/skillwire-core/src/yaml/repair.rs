//! Explains why YAML does not parse, and how to write the line instead.

use std::ops::Range;

use saphyr_parser::{Parser, ScanError};

use crate::char_class::CharClasses;
use crate::finding::{Code, Finding};
use crate::repair::{Edit, Repair};

use super::place::{FilePositions, excerpt};

/// A value that must be quoted, and the text with that value out of the way.
pub(super) struct UnquotedValue {
    pub(super) finding: Finding,
    /// The text with every character of the value replaced by a harmless one.
    pub(super) masked: String,
}

/// Recognises a value that only lacks quotes, if quotes repair it.
pub(super) fn unquoted(
    text: &str,
    places: &FilePositions<'_>,
    error: &ScanError,
) -> Option<UnquotedValue> {
    unquoted_colon(text, places, error).or_else(|| reserved_start(text, places, error))
}

/// Recognises the commonest mistake, `key: some text: more text`.
fn unquoted_colon(
    text: &str,
    places: &FilePositions<'_>,
    error: &ScanError,
) -> Option<UnquotedValue> {
    let at = byte_of(text, error.marker().index());
    if error.info() != "mapping values are not allowed in this context" {
        return None;
    }
    let entry = owner(text, at)?;
    let value = repairable(text, &entry)?;
    let says = |key: &str| {
        format!("The value of `{key}` holds a `:` that YAML takes for the end of another key.")
    };
    Some(quoted(text, places, &entry, value, Code::YamlUnquotedColon, says))
}

/// Recognises `key: @text`, `key: , text` and `key: [text] [text]`.
///
/// The parser stops at the value or, where it took that for a list, at the line after.
fn reserved_start(
    text: &str,
    places: &FilePositions<'_>,
    error: &ScanError,
) -> Option<UnquotedValue> {
    let at = byte_of(text, error.marker().index());
    let line = line_start(text, at);
    let before = line.checked_sub(1).map(|end| line_start(text, end));
    [Some(line), before].into_iter().flatten().find_map(|start| {
        let end = line_end(text, start);
        let entry = any_entry(&text[start..end], start)?;
        let value = entry.value..plain_end(text, entry.value);
        let written = &text[value.clone()];
        let first = written.chars().next().filter(|_| is_broken_start(written))?;
        let patched = [&text[..value.start], &quote(written), &text[value.end..]].concat();
        let limit = end + patched.len() - text.len();
        let passes = first_error(&patched).is_none_or(|error| error > limit);
        let says = |key: &str| {
            format!(
                "The value of `{key}` begins with `{first}`, which means something else in YAML."
            )
        };
        passes.then(|| quoted(text, places, &entry, value, Code::YamlSyntax, says))
    })
}

/// Tells whether a value can only be text, although YAML takes its beginning for something else.
fn is_broken_start(value: &str) -> bool {
    match value.as_bytes().first() {
        Some(b'@' | b'`' | b',' | b'%') => true,
        // Bold text in Markdown; no alias begins so.
        Some(b'*') => value.starts_with("**"),
        // A list that goes on after its end is no list; one that never ends may have been meant.
        Some(b'[' | b'{') => {
            let mut depth = 0_usize;
            let closed = value.char_indices().find(|(_, c)| {
                match c {
                    '[' | '{' => depth += 1,
                    ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0
            });
            let rest = closed.map(|(at, _)| value[at + 1..].trim());
            rest.is_some_and(|rest| !rest.is_empty()) && !value.contains(['"', '\''])
        }
        _ => false,
    }
}

/// Makes the finding about a value that lacks quotes.
fn quoted(
    text: &str,
    places: &FilePositions<'_>,
    entry: &KeyLine,
    value: Range<usize>,
    code: Code,
    says: impl Fn(&str) -> String,
) -> UnquotedValue {
    let original = places.text;
    // A masked text has the same code points but not the same bytes.
    let place = |byte: usize| places.byte(text[..byte].chars().count());
    let (start, end) = (place(value.start), place(value.end));
    let line_start = place(line_start(text, entry.key.start));
    let line_end = line_end(original, end);
    let quoted = quote(&original[start..end]);
    let line = [&original[line_start..start], &quoted, &original[end..line_end]].concat();
    let key = excerpt(&original[place(entry.key.start)..place(entry.key.end)]);
    let finding = places
        .finding(code, places.span(start, end), says(&key))
        .help(format!("Put the value in quotes: `{}`.", line.trim()))
        .repair(Repair::Replace(vec![Edit::new(places.span(start, end), quoted)]));
    let hide = |ch: char| if ch.is_whitespace() { ch } else { 'x' };
    let hidden: String = text[value.clone()].chars().map(hide).collect();
    let masked = [&text[..value.start], &hidden, &text[value.end..]].concat();
    UnquotedValue { finding, masked }
}

/// Recognises that the parser has run into the text of the skill, because no fence ends the
/// frontmatter before it and a rule (`---`) further down does.
pub(super) fn unclosed(places: &FilePositions<'_>, error: &ScanError) -> Option<Finding> {
    let at = places.byte(error.marker().index());
    let start = text_start(places.text).filter(|start| *start <= at)?;
    let line = places.position(places.span(start, start).start).line;
    let message =
        format!("No line `---` ends the frontmatter before the text that begins on line {line}.");
    let span = places.span(start, line_end(places.text, start));
    let help = format!("Add a line `---` above line {line}.");
    Some(places.finding(Code::FrontmatterUnclosed, span, message).help(help))
}

/// Where prose begins that follows the fields, with the heading above it.
fn text_start(text: &str) -> Option<usize> {
    const FEWEST_WORDS: usize = 3;
    let words = |text: &str| text.split_whitespace().count();
    let mut heading = None;
    let mut after_blank = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        let is_heading = bare.trim_start_matches('#').starts_with(' ') && bare.starts_with('#');
        let is_prose = bare.starts_with(|c: char| c.is_alphanumeric() || "*_`>[".contains(c))
            && words(bare) >= FEWEST_WORDS
            && any_entry(bare, 0).is_none_or(|entry| words(&bare[entry.key]) >= FEWEST_WORDS);
        match (is_heading, is_prose) {
            (true, _) if after_blank => {
                heading.get_or_insert(start);
            }
            (_, true) if heading.is_some() => return heading,
            (_, true) if after_blank => return Some(start),
            _ => {}
        }
        after_blank = bare.is_empty();
        start += line.len();
    }
    None
}

/// Rewrites valid text that only this parser refuses, code point by code point.
pub(super) fn respell(text: &str, error: &ScanError) -> Option<String> {
    let at = byte_of(text, error.marker().index());
    match error.info() {
        "':' must be followed by a valid YAML whitespace" => tab_after_colon(text, at),
        // The parser says so only inside of brackets.
        "invalid indentation" => bracket_below_key(text, at),
        _ => None,
    }
}

/// Replaces the tab between a key's `:` and its value by a space.
///
/// The parser refuses the tab before letters, digits and dashes. A `:` at the beginning of a line
/// is left alone, since what follows it could be a block.
fn tab_after_colon(text: &str, at: usize) -> Option<String> {
    let before = text[..at].trim_end_matches('\t');
    let line = &before[line_start(text, before.len())..];
    let key = line.strip_suffix(':')?.trim_start_matches([' ', '-', '?']);
    let blanks = " ".repeat(at - before.len());
    (!blanks.is_empty() && !key.is_empty()).then(|| [before, &blanks, &text[at..]].concat())
}

/// Moves a bracket that stands at the beginning of a line up to the line before.
///
/// The parser refuses the bracket depending on what stands before it. A line with a `#` is left
/// alone, since a comment would swallow the bracket.
fn bracket_below_key(text: &str, at: usize) -> Option<String> {
    let start = line_start(text, at);
    if !text[at..].starts_with([']', '}']) || !text[start..at].trim().is_empty() {
        return None;
    }
    let before = text[..start].trim_end();
    let above = line_start(text, before.len());
    if before[above..].contains('#') {
        return None;
    }
    let blanks = " ".repeat(at - before.len());
    Some([before, &blanks, &text[at..]].concat())
}

/// Reports what else keeps the text from being YAML.
pub(super) fn syntax(places: &FilePositions<'_>, error: &ScanError) -> Finding {
    let at = places.byte(error.marker().index());
    let rest = &places.text[at..];
    let length = rest.chars().next().map_or(0, char::len_utf8);
    let span = places.span(at, at + length);
    let info = error.info();
    let about = |words: &[&str]| words.iter().any(|word| info.contains(word));
    if about(&["recursion limit"]) {
        let message = "The frontmatter has too many levels of nesting.";
        return places
            .finding(Code::YamlLimit, span, message)
            .help("Move data into a supporting file.");
    }
    if rest.starts_with(['&', '*']) && about(&["anchor", "alias"]) {
        let message = "An alias (`*`) or anchor (`&`) is not allowed in frontmatter.";
        return places
            .finding(Code::YamlReference, span, message)
            .help("Put the value in quotes if the character is text.");
    }
    if rest.starts_with('!') && about(&["tag", "handle"]) {
        let message = "A tag (`!`) is not allowed in frontmatter.";
        return places
            .finding(Code::YamlTag, span, message)
            .help("Put the value in quotes if the `!` is text.");
    }
    if about(&["escape"]) {
        let message = "In double quotes a backslash begins an escape, and this one is none.";
        let help = "Write the value in single quotes if the backslash is text, or write it twice.";
        return places.finding(Code::YamlSyntax, span, message).help(help);
    }
    let help = if about(&["valid YAML whitespace"]) {
        "Write a space after the `:` or `-`, not a tab."
    } else if about(&["tab"]) {
        "Indent with spaces; YAML does not allow tabs there."
    } else if about(&["unexpected character"]) {
        "Put the value in quotes: it begins with a character that YAML reserves."
    } else if about(&["end of stream", "document indicator"]) {
        "Close the quote or bracket that was opened here."
    } else if about(&["indentation in quoted scalar"]) {
        "Indent the further lines of the quoted value by two spaces, or write it on one line."
    } else if about(&["trailing content"]) {
        "Put the whole value in one pair of quotes, and write inner quotes twice or escaped."
    } else if about(&["indent"]) {
        "Indent the line with spaces so that it lines up with its neighbours."
    } else {
        "Put the value in quotes if it is text, or correct the indentation."
    };
    places
        .finding(Code::YamlSyntax, span, format!("The frontmatter is not valid YAML: {info}."))
        .help(help)
}

/// Writes text as a quoted YAML value; line breaks and the blanks around them become one space.
///
/// A blank line in between stays a line break, as in an unquoted YAML value.
pub fn quote(text: &str) -> String {
    let mut folded = String::new();
    let mut blank = 0;
    for line in text.split('\n').map(|line| line.trim_matches([' ', '\t', '\r'])) {
        if line.is_empty() {
            blank += 1;
            continue;
        }
        match (folded.is_empty(), blank) {
            (true, _) => {}
            (false, 0) => folded.push(' '),
            (false, lines) => folded.extend(std::iter::repeat_n('\n', lines)),
        }
        blank = 0;
        folded.push_str(line);
    }
    let simple = !folded.contains(|ch| CharClasses::UNPRINTABLE.contains(ch));
    if simple && folded.contains(['"', '\\']) && !folded.contains('\'') {
        return format!("'{folded}'");
    }
    let mut out = String::from("\"");
    for ch in folded.chars() {
        match ch {
            '"' | '\\' => out.extend(['\\', ch]),
            '\n' => out.push_str("\\n"),
            ch if CharClasses::UNPRINTABLE.contains(ch) => {
                let code = u32::from(ch);
                let escape =
                    if code > 0xffff { format!("\\U{code:08x}") } else { format!("\\u{code:04x}") };
                out.push_str(&escape);
            }
            ch => out.push(ch),
        }
    }
    out.push('"');
    out
}

/// A line of the form `key: value`.
struct KeyLine {
    key: Range<usize>,
    /// Column of the key, in bytes.
    column: usize,
    /// Where the value begins.
    value: usize,
}

/// Finds the entry whose plain value reaches over the colon at `at`.
fn owner(text: &str, at: usize) -> Option<KeyLine> {
    let mut start = line_start(text, at);
    loop {
        let line = &text[start..line_end(text, start)];
        if let Some(entry) = entry(line, start)
            && entry.value < at
        {
            return Some(entry);
        }
        let indented = line.starts_with(' ') || line.trim().is_empty();
        if !indented || start == 0 {
            return None;
        }
        start = line_start(text, start - 1);
    }
}

/// An entry whose value is plain text.
fn entry(line: &str, start: usize) -> Option<KeyLine> {
    let entry = any_entry(line, start)?;
    let special = ['"', '\'', '[', '{', '&', '*', '!', '|', '>', '#'];
    (!line[entry.value - start..].starts_with(special)).then_some(entry)
}

/// An entry, whatever its value begins with.
fn any_entry(line: &str, start: usize) -> Option<KeyLine> {
    let mut rest = line.trim_start_matches(' ');
    while let Some(item) = rest.strip_prefix("- ") {
        rest = item.trim_start_matches(' ');
    }
    let column = line.len() - rest.len();
    if rest.starts_with(['#', '[', '{', '&', '*', '!', '|', '>', '%', '@', '`', ',', '"', '\'']) {
        return None;
    }
    let is_end = |at: usize| rest[at + 1..].starts_with([' ', '\t']);
    let colon = rest.match_indices(':').map(|(at, _)| at).find(|&at| is_end(at))?;
    let value = rest[colon + 1..].trim_start_matches([' ', '\t']);
    if value.is_empty() {
        return None;
    }
    let key = start + column..start + column + rest[..colon].trim_end().len();
    Some(KeyLine { key, column, value: start + line.len() - value.len() })
}

/// Finds how much of the text must be quoted so that the parser gets past it.
fn repairable(text: &str, entry: &KeyLine) -> Option<Range<usize>> {
    let one_line = plain_end(text, entry.value);
    let mut end = one_line;
    let mut at = next_line(text, entry.value);
    let mut more_entries = false;
    while at < text.len() {
        let line = &text[at..line_end(text, at)];
        let indent = line.len() - line.trim_start_matches(' ').len();
        if !line.trim().is_empty() {
            if indent <= entry.column || line.trim_start().starts_with('#') {
                break;
            }
            more_entries |= self::entry(line, at).is_some();
            end = plain_end(text, at + indent);
        }
        at = next_line(text, at);
    }
    let block = at;
    let passes = |end: usize| {
        let quoted = quote(&text[entry.value..end]);
        let patched = [&text[..entry.value], &quoted, &text[end..]].concat();
        let limit = block + quoted.len() - (end - entry.value);
        first_error(&patched).is_none_or(|error| error >= limit)
    };
    if passes(one_line) {
        return Some(entry.value..one_line);
    }
    (!more_entries && end > one_line && passes(end)).then_some(entry.value..end)
}

/// The byte at which the parser gives up.
fn first_error(text: &str) -> Option<usize> {
    let mut parser = Parser::new_from_str(text);
    loop {
        match parser.next_event()? {
            Ok(_) => {}
            Err(error) => return Some(byte_of(text, error.marker().index())),
        }
    }
}

/// Where plain text on the line of `at` ends: before a comment and the blanks around it.
fn plain_end(text: &str, at: usize) -> usize {
    let line = &text[at..line_end(text, at)];
    let comment = line.find(" #").into_iter().chain(line.find("\t#")).min();
    at + line[..comment.unwrap_or(line.len())].trim_end().len()
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind(['\n', '\r']).map_or(0, |found| found + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find(['\n', '\r']).map_or(text.len(), |found| at + found)
}

fn next_line(text: &str, at: usize) -> usize {
    let end = line_end(text, at);
    let rest = &text[end..];
    end + if rest.starts_with("\r\n") { 2 } else { rest.len().min(1) }
}

fn byte_of(text: &str, index: usize) -> usize {
    text.char_indices().nth(index).map_or(text.len(), |(at, _)| at)
}
