//! Rules of YAML 1.2 about blanks and indentation that the parser does not enforce.
//!
//! The parser reads some texts that YAML forbids, and other parsers read them differently or not
//! at all. Each check looks at the source of one value and answers with the offset of the first
//! offence and a reason, so that nothing is accepted whose value is in doubt.

/// An offset into the frontmatter, what is wrong there, and what to do about it.
pub(super) type LayoutOffence = (usize, &'static str, &'static str);

const TAB: &str = "A tab stands where YAML wants spaces for indentation";
const SPACES: &str = "Indent with spaces.";

/// Checks the lines of a quoted or plain scalar in `text[start..end]`.
///
/// Every line after the first begins with at least `indent` spaces, unless it is empty.
pub(super) fn scalar(text: &str, start: usize, end: usize, indent: usize) -> Option<LayoutOffence> {
    lines_after(text, start, end).find_map(|(at, line)| {
        let spaces = leading_spaces(line);
        if spaces >= indent || spaces == line.len() {
            return None;
        }
        Some(too_far_left(at + spaces, line.as_bytes()[spaces] == b'\t'))
    })
}

/// Checks the lines of a flow collection; empty lines and comments may begin anywhere.
///
/// The last bracket may stand right below the key, although YAML wants it further right: many
/// people write it there and every parser reads it alike.
pub(super) fn flow(text: &str, start: usize, end: usize, indent: usize) -> Option<LayoutOffence> {
    lines_after(text, start, end).find_map(|(at, line)| {
        let spaces = leading_spaces(line);
        let content = line.trim_start_matches([' ', '\t']);
        let last_bracket = at + spaces + 1 == end && spaces + 1 == indent;
        if spaces >= indent || last_bracket || content.is_empty() || content.starts_with('#') {
            return None;
        }
        Some(too_far_left(at + spaces, line.as_bytes()[spaces] == b'\t'))
    })
}

fn too_far_left(at: usize, tab: bool) -> LayoutOffence {
    if tab {
        (at, TAB, SPACES)
    } else {
        let message = "A line that continues a value is not indented more than its key";
        (at, message, "Indent the line with more spaces than the key, or use a block (`|`).")
    }
}

/// Checks how a plain scalar begins; indicators are not text.
pub(super) fn plain_start(
    text: &str,
    start: usize,
    end: usize,
    in_flow: bool,
) -> Option<LayoutOffence> {
    let first = text[start..end].chars().next()?;
    let next = text[start + first.len_utf8()..].chars().next();
    let next = next.filter(|&ch| !(in_flow && ",[]{}".contains(ch)));
    let bad = match first {
        '-' | '?' | ':' => next.is_none_or(|ch| ch.is_ascii_whitespace()),
        _ => ",[]{}#&*!|>'\"%@`".contains(first),
    };
    bad.then_some((
        start,
        "A value without quotes begins with a character that YAML reserves",
        "Put the value in quotes.",
    ))
}

/// Refuses tabs between the line's beginning or the last indicator and a key or a `-`.
pub(super) fn block_start(text: &str, start: usize) -> Option<LayoutOffence> {
    let mut before = &text[..start];
    loop {
        let kept = before.trim_end_matches([' ', '\t']);
        if let Some(tab) = before[kept.len()..].find('\t') {
            return Some((kept.len() + tab, TAB, SPACES));
        }
        // A `?` belongs to the key that follows it.
        before = kept.strip_suffix('?')?;
    }
}

/// Refuses comments without a blank before them in `text[start..end]`, which holds no values.
pub(super) fn comments(text: &str, start: usize, end: usize) -> Option<LayoutOffence> {
    let gap = &text[start..end];
    let mut comment = false;
    let mut previous = text[..start].bytes().next_back().unwrap_or(b'\n');
    for (at, byte) in gap.bytes().enumerate() {
        if byte == b'\n' {
            comment = false;
        } else if byte == b'#' && !comment {
            if !matches!(previous, b' ' | b'\t' | b'\n') {
                let message = "A comment does not have a blank before its `#`";
                return Some((start + at, message, "Write a space before the `#`."));
            }
            comment = true;
        }
        previous = byte;
    }
    None
}

/// Refuses an escaped line break before an empty line: parsers disagree about the value.
pub(super) fn escaped_break(text: &str, start: usize, end: usize) -> Option<LayoutOffence> {
    lines_after(text, start, end).find_map(|(at, line)| {
        let before = text[start..at - 1].strip_suffix('\r').unwrap_or(&text[start..at - 1]);
        let escapes = before.len() - before.trim_end_matches('\\').len();
        (escapes % 2 == 1 && line.trim_matches([' ', '\t']).is_empty()).then_some((
            at,
            "An empty line follows a line break that is escaped with `\\`",
            "Remove the empty line or the `\\`; write `\\n` for a line break.",
        ))
    })
}

/// Checks a block scalar: its header is at `header`, its first content at `content`.
pub(super) fn block(
    text: &str,
    header: usize,
    value: &str,
    content: usize,
) -> Option<LayoutOffence> {
    let has_content = !value.trim_matches('\n').is_empty();
    let indent = if has_content { content - line_start(text, content) } else { usize::MAX };
    let first_line = &text[header..];
    let header_line = &first_line[..first_line.find(['\r', '\n']).unwrap_or(first_line.len())];
    let explicit = header_line.bytes().take(3).any(|byte| byte.is_ascii_digit());
    let mut doubtful = None;
    for (at, line) in lines_after(text, header, text.len()) {
        let spaces = leading_spaces(line);
        let rest = &line[spaces..];
        if rest.is_empty() {
            if explicit && spaces > indent {
                doubtful = doubtful.or(Some(at));
            }
        } else if spaces >= indent {
            doubtful = None;
        } else if rest.starts_with('\t') {
            return Some((at + spaces, TAB, SPACES));
        } else {
            break;
        }
    }
    let message =
        "Blanks at the end of a block with an indentation number may be part of it or not";
    doubtful
        .map(|at| (at, message, "Delete the blanks on this line, or the number after `|` or `>`."))
}

/// The lines that begin after `start` and before `end`, without their line ends.
fn lines_after(text: &str, start: usize, end: usize) -> impl Iterator<Item = (usize, &str)> {
    let breaks = text[start..end].match_indices('\n');
    breaks.map(move |(at, _)| start + at + 1).filter(move |&at| at < end).map(move |at| {
        let line = text[at..].split('\n').next().unwrap_or_default();
        (at, line.strip_suffix('\r').unwrap_or(line))
    })
}

fn leading_spaces(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Where the line that holds byte `at` begins.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |found| found + 1)
}
