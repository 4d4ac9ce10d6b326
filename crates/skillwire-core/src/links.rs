//! The relative links of a Markdown text.

use crate::{markdown, span::Span, uri::decode_or_keep};

/// One link target as it stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The target without title or angle brackets.
    pub target: String,
    /// Where the target stands.
    pub span: Span,
}

/// How a relative link stands to the skill's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A path from the skill's root, decoded; it may or may not exist.
    Inside(String),
    /// The same, written with `..` on the way.
    Climbing(String),
    /// A URL, a mail address or a place in the same document.
    Elsewhere,
    /// A path that not every host can follow.
    NotPortable(NotPortable),
}

/// Why a path cannot be followed everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotPortable {
    /// It leads out of the skill.
    Outside,
    /// It begins at the root of a file system.
    Absolute,
    /// It separates names by backslashes.
    Backslash,
}

/// Finds inline links and images (`[text](target)`) and reference definitions (`[id]: target`)
/// outside code.
pub fn find(markdown: &str, offset: usize) -> Vec<Link> {
    let mut links = Vec::new();
    for (start, line) in markdown::prose(markdown) {
        find_in_line(line, offset + start, &mut links);
    }
    links
}

fn find_in_line(line: &str, line_start: usize, links: &mut Vec<Link>) {
    let bytes = line.as_bytes();
    let mut push = |start: usize, end: usize| {
        let (start, end) = trim_target(line, start, end);
        if start < end {
            let span = Span::new(line_start + start, line_start + end);
            links.push(Link { target: line[start..end].to_owned(), span });
        }
    };
    if let Some(label_end) = line.strip_prefix('[').and_then(|rest| rest.find("]: ")) {
        push(label_end + 4, line.trim_end().len());
        return;
    }
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'`' => {
                let run = bytes[at..].iter().take_while(|b| **b == b'`').count();
                let after = at + run;
                at =
                    line[after..].find(&"`".repeat(run)).map_or(after, |close| after + close + run);
            }
            b']' if bytes.get(at + 1) == Some(&b'(') => {
                let start = at + 2;
                let Some(end) = closing_parenthesis(bytes, start) else { return };
                push(start, end);
                at = end;
            }
            _ => at += 1,
        }
    }
}

fn closing_parenthesis(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => return Some(at),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Cuts blanks, a title and angle brackets off a target.
fn trim_target(line: &str, start: usize, end: usize) -> (usize, usize) {
    let text = &line[start..end];
    let lead = text.len() - text.trim_start().len();
    let (start, text) = (start + lead, text.trim());
    if let Some(inner) = text.strip_prefix('<') {
        let length = inner.find('>').unwrap_or(inner.len());
        return (start + 1, start + 1 + length);
    }
    let length = text.find([' ', '\t']).unwrap_or(text.len());
    (start, start + length)
}

/// Resolves a link target against the directory `base` (relative to the skill's root, empty for
/// the root itself).
pub fn resolve(base: &str, target: &str) -> Target {
    let has_scheme = target.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1 && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    });
    if has_scheme
        || target.starts_with('#')
        || target.starts_with("//")
        || target.contains(['{', '<', '$'])
    {
        return Target::Elsewhere;
    }
    let path = target.split(['#', '?']).next().unwrap_or(target);
    if path.starts_with(['/', '\\']) || path.as_bytes().get(1) == Some(&b':') {
        return Target::NotPortable(NotPortable::Absolute);
    }
    if path.contains('\\') {
        return Target::NotPortable(NotPortable::Backslash);
    }
    let mut climbs = false;
    let mut segments: Vec<String> =
        base.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                climbs = true;
                if segments.pop().is_none() {
                    return Target::NotPortable(NotPortable::Outside);
                }
            }
            written => segments.push(decode_or_keep(written)),
        }
    }
    let path = segments.join("/");
    if climbs { Target::Climbing(path) } else { Target::Inside(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The targets, each of which must stand where its span says.
    fn targets(markdown: &str) -> Vec<String> {
        let links = find(markdown, 100).into_iter();
        links
            .map(|Link { target, span }| {
                assert_eq!(target, markdown[span.start - 100..span.end - 100]);
                target
            })
            .collect()
    }

    #[test]
    fn links_are_found_outside_code_fmt_19() {
        let text = "See [a](references/a.md), ![b](<assets/b c.png>) and [c](c.md \"title\").\n\
                    `[no](no.md)` ``x [no](no.md) ``\n```\n[no](no.md)\n```\n    [no](no.md)\n\
                    [id]: d.md\n[paren](e(1).md)\n\\[no](f.md)";
        assert_eq!(
            targets(text),
            ["references/a.md", "assets/b c.png", "c.md", "d.md", "e(1).md", "f.md"]
        );
    }

    #[test]
    fn only_a_line_that_can_close_a_fence_ends_code_fmt_19() {
        for (text, found) in [
            ("```\n~~~\n[no](no.md)\n```\n[a](a.md)", "a.md"),
            ("~~~ sh\n[no](no.md)\n~~~~\n[a](a.md)", "a.md"),
            ("````\n```\n[no](no.md)\n````\n[a](a.md)", "a.md"),
            ("```\n``` x\n[no](no.md)\n```\n[a](a.md)", "a.md"),
            ("   ```\n[no](no.md)\n   ```\n   [a](a.md)", "a.md"),
            ("    ```\n[a](a.md)", "a.md"),
            ("``\n[a](a.md)", "a.md"),
            ("`x` ```\n[a](a.md)", "a.md"),
        ] {
            assert_eq!(targets(text), [found], "{text:?}");
        }
        assert_eq!(targets("```\n[no](no.md)\n"), [""; 0]);
    }

    #[test]
    fn code_and_escapes_within_a_line_are_told_from_links_fmt_19() {
        for (text, found) in [
            ("\\`[a](a.md)`", &["a.md"][..]),
            ("`[a](a.md)", &["a.md"]),
            ("`a` [b](b.md) `c`", &["b.md"]),
            ("`` ` [no](no.md)``[a](a.md)", &["a.md"]),
            ("[a] [b](b.md)", &["b.md"]),
            ("[a](a.md)[b](b.md)", &["a.md", "b.md"]),
            ("[a](a(b(c)).md) [d](d.md)", &["a(b(c)).md", "d.md"]),
            ("[a]( a.md ) [b]( <b c.md> \"t\")", &["a.md", "b c.md"]),
            ("[a](a.md\t\"title\")", &["a.md"]),
            ("[a]() [b](b.md", &[]),
            ("[a](<>)", &[]),
            ("[long label]: <a b.md> \"title\"\n", &["a b.md"]),
            ("[a]: b.md [c](d.md)", &["b.md"]),
        ] {
            assert_eq!(targets(text), found, "{text:?}");
        }
    }

    #[test]
    fn targets_are_judged_by_where_they_lead_fmt_19() {
        let inside = |path: &str| Target::Inside(path.to_owned());
        assert_eq!(resolve("", "references/a%20b.md#x"), inside("references/a b.md"));
        assert_eq!(resolve("references", "a.md"), inside("references/a.md"));
        assert_eq!(resolve("a/b", "./c//d.md?x=1"), inside("a/b/c/d.md"));
        assert_eq!(resolve("", "a b:c.md"), inside("a b:c.md"));
        assert_eq!(resolve("", "100%.md"), inside("100%.md"));
        assert_eq!(resolve("references", "../a.md"), Target::Climbing("a.md".to_owned()));
        let outside = |base, target| {
            let Target::NotPortable(why) = resolve(base, target) else { panic!("{target}") };
            why
        };
        assert_eq!(outside("", "../a.md"), NotPortable::Outside);
        assert_eq!(outside("references", "../../a.md"), NotPortable::Outside);
        assert_eq!(outside("", "/a.md"), NotPortable::Absolute);
        assert_eq!(outside("", "C:/a.md"), NotPortable::Absolute);
        assert_eq!(outside("", "\\\\host\\a.md"), NotPortable::Absolute);
        assert_eq!(outside("", "a\\b.md"), NotPortable::Backslash);
        for elsewhere in [
            "https://x.org/a",
            "mailto:a@b.c",
            "web+x-1.0:a",
            "//x.org/a",
            "#part",
            "skill://x/SKILL.md",
            "{x}.md",
            "$x/a.md",
        ] {
            assert_eq!(resolve("", elsewhere), Target::Elsewhere, "{elsewhere}");
        }
    }
}
