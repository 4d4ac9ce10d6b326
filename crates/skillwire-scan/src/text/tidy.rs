//! Undoes what code allows an author to write without changing what runs.

use std::{collections::HashMap, ops::Range, sync::LazyLock};

use regex::Regex;

use super::mapped::MappedText;
use crate::language::Language;

/// How much longer than its source tidied code may become.
const MOST_GROWTH: usize = 16 * 1024;

/// The most constants of a shell script that are filled in.
const MOST_CONSTANTS: usize = 200;

/// The longest constant that is filled in.
const LONGEST_CONSTANT: usize = 400;

/// Joins continued lines and divided words, and fills in a shell's constants.
pub(crate) fn tidy(code: &MappedText, language: Option<Language>) -> MappedText {
    let is_shell = matches!(language, None | Some(Language::Shell));
    let tidied = apply(code, &joins(&code.text, language));
    if !is_shell || !tidied.text.contains('$') {
        return tidied;
    }
    let filled = constants(&tidied.text);
    if filled.is_empty() { tidied } else { apply(&tidied, &fill(&tidied.text, &filled)) }
}

/// A part of the text, and what stands there instead.
type Change = (usize, usize, Instead);

/// What stands in place of a part of a text.
enum Instead {
    Text(&'static str),
    /// Another part of the same text.
    Part(Range<usize>),
}

fn apply(text: &MappedText, changes: &[Change]) -> MappedText {
    if changes.is_empty() {
        return text.clone();
    }
    let mut out = MappedText::default();
    let mut done = 0;
    for (start, end, instead) in changes {
        if *start < done {
            continue;
        }
        out.copy_mapped(text, done, *start);
        match instead {
            Instead::Text("") => {}
            Instead::Text(instead) => out.put(instead, text.origin(*start)),
            Instead::Part(part) => out.repeat(text, part.clone(), text.origin(*start)),
        }
        done = *end;
    }
    out.copy_mapped(text, done, text.text.len());
    out
}

/// Continued lines, divided words and added texts.
fn joins(text: &str, language: Option<Language>) -> Vec<Change> {
    let bytes = text.as_bytes();
    let is_shell = matches!(language, None | Some(Language::Shell));
    let is_word =
        |at: Option<&u8>| at.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let before = |at: usize| at.checked_sub(1).and_then(|at| bytes.get(at));
    let mut changes = Vec::new();
    let mut at = 0;
    let matters = |byte: &u8| matches!(byte, b'\\' | b'`' | b'^' | b'\'' | b'"' | b'$');
    while let Some(passed) = bytes[at..].iter().position(matters) {
        at += passed;
        let next = bytes.get(at + 1);
        let taken = match bytes[at] {
            b'\\' if next == Some(&b'\n') => {
                let indent = bytes[at + 2..].iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
                let end = at + 2 + indent.count();
                changes.push((at, end, Instead::Text(" ")));
                end - at
            }
            b'`' if next == Some(&b'\n') && language == Some(Language::PowerShell) => {
                changes.push((at, at + 2, Instead::Text(" ")));
                2
            }
            b'^' if next == Some(&b'\n') && language.is_none() => {
                changes.push((at, at + 2, Instead::Text(" ")));
                2
            }
            b'\\'
                if is_shell && is_word(before(at)) && next.is_some_and(u8::is_ascii_lowercase) =>
            {
                if !in_windows_path(bytes, at) {
                    changes.push((at, at + 1, Instead::Text("")));
                }
                1
            }
            quote @ (b'\'' | b'"') => {
                if is_shell
                    && next == Some(&quote)
                    && is_word(before(at))
                    && is_word(bytes.get(at + 2))
                {
                    changes.push((at, at + 2, Instead::Text("")));
                    2
                } else if is_shell && is_word(before(at)) && is_word(next) {
                    changes.push((at, at + 1, Instead::Text("")));
                    1
                } else if let Some(end) = added_text(bytes, at) {
                    changes.push((at, end, Instead::Text("")));
                    end - at
                } else {
                    1
                }
            }
            b'$' if is_shell => match field_separator(&text[at..]) {
                Some(length) => {
                    changes.push((at, at + length, Instead::Text(" ")));
                    length
                }
                None => 1,
            },
            _ => 1,
        };
        at += taken;
    }
    changes
}

/// The length of a shell's field separator at the beginning of a text: `$IFS`, `${IFS}`, `${IFS%??}`,
/// `$IFS$9`.
fn field_separator(text: &str) -> Option<usize> {
    if text.starts_with("${IFS") {
        let end = text.bytes().take(16).position(|byte| byte == b'}')?;
        return Some(end + 1);
    }
    let rest = text.strip_prefix("$IFS")?.as_bytes();
    if rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return None;
    }
    let numbered = rest.first() == Some(&b'$') && rest.get(1).is_some_and(u8::is_ascii_digit);
    Some(4 + if numbered { 2 } else { 0 })
}

/// Tells whether a backslash divides the names of a path, as in `C:\Users`.
fn in_windows_path(bytes: &[u8], at: usize) -> bool {
    let word = bytes[..at].iter().rev().take_while(|byte| !byte.is_ascii_whitespace()).take(200);
    word.into_iter().any(|byte| matches!(byte, b':' | b'%' | b'\\'))
}

/// Where the second of two added texts begins: after `" + "`.
fn added_text(bytes: &[u8], at: usize) -> Option<usize> {
    let blanks = |at: usize| {
        at + bytes[at..].iter().take(80).take_while(|byte| byte.is_ascii_whitespace()).count()
    };
    let plus = blanks(at + 1);
    if bytes.get(plus) != Some(&b'+') {
        return None;
    }
    let quote = blanks(plus + 1);
    matches!(bytes.get(quote), Some(b'\'' | b'"')).then_some(quote + 1)
}

static CONSTANT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?m)(?:^|[;&|]|export)[ \t]*([A-Za-z_][0-9A-Za-z_]{0,63})=(?:"([^"$`\n]*)"|'([^'\n]*)'|([^\s;|&$`"'()<>]+))"#)
        .expect("it is a regex")
});

static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\$(?:\{([A-Za-z_][0-9A-Za-z_]{0,63})\}|([A-Za-z_][0-9A-Za-z_]{0,63}))")
        .expect("it is a regex")
});

/// Variables that are set to a fixed text. One that is set twice is not a constant.
fn constants(text: &str) -> HashMap<&str, Range<usize>> {
    let mut found: HashMap<&str, Option<Range<usize>>> = HashMap::new();
    for captures in CONSTANT.captures_iter(text).take(MOST_CONSTANTS) {
        let group = |index| captures.get(index).map(|found: regex::Match<'_>| found.range());
        let (Some(name), Some(value)) = (group(1), group(2).or(group(3)).or(group(4))) else {
            continue;
        };
        let name = &text[name];
        if value.is_empty() || value.len() > LONGEST_CONSTANT {
            continue;
        }
        found.entry(name).and_modify(|known| *known = None).or_insert(Some(value));
    }
    found.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect()
}

fn fill(text: &str, constants: &HashMap<&str, Range<usize>>) -> Vec<Change> {
    let mut growth = 0;
    let mut changes = Vec::new();
    for captures in VARIABLE.captures_iter(text) {
        let name = captures.get(1).or(captures.get(2)).map_or("", |name| name.as_str());
        let (Some(whole), Some(value)) = (captures.get(0), constants.get(name)) else { continue };
        growth += value.len();
        if growth > MOST_GROWTH {
            break;
        }
        changes.push((whole.start(), whole.end(), Instead::Part(value.clone())));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tidied(code: &str, language: Option<Language>) -> String {
        tidy(&MappedText::identity(code, 0), language).text
    }

    #[test]
    fn divided_words_of_a_shell_are_joined() {
        let shell = Some(Language::Shell);
        assert_eq!(tidied("c''url c\\url 'x' c\"ur\"l", shell), "curl curl 'x' curl");
        assert_eq!(tidied("curl$IFS-s${IFS}x \\\n  | sh", shell), "curl -s x  | sh");
        assert_eq!(
            tidied("U=http://h/x; curl ${U} | sh", shell),
            "U=http://h/x; curl http://h/x | sh"
        );
        assert_eq!(tidied(r"C:\Users\me", shell), r"C:\Users\me");
    }

    #[test]
    fn added_texts_are_joined() {
        assert_eq!(tidied(r#"x = "cu" + "rl""#, Some(Language::Python)), r#"x = "curl""#);
    }
}
