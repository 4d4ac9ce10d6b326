//! The links of a Markdown text, and where they lead.

use std::ops::Range;

use memchr::memmem;
use pulldown_cmark::{Event, LinkType, Tag, TagEnd};

use crate::{markdown, span::Span, uri::percent::decode_or_keep};

/// One link target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The target without title, angle brackets or escapes.
    pub target: String,
    /// The place of the target.
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

/// The reason why not every host can follow a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotPortable {
    /// It leads out of the skill.
    Outside,
    /// It begins at the root of a file system.
    Absolute,
    /// It separates names by backslashes.
    Backslash,
}

/// A link or image whose end has not been seen.
struct OpenLink {
    /// The target, unless it is an address or stands in a reference definition.
    target: Option<String>,
    /// Where the text of the link ends, as far as it has been read.
    text_end: usize,
}

/// Finds inline links and images (`[text](target)`) and reference definitions (`[id]: target`)
/// outside code, in the order in which they stand. Spans count from `offset`.
pub fn find(text: &str, offset: usize) -> Vec<Link> {
    let mut links = Vec::new();
    let text = up_to_last_link(text);
    let mut push = |target: &str, place: Range<usize>| {
        if !place.is_empty() {
            let span = Span::new(offset + place.start, offset + place.end);
            links.push(Link { target: target.to_owned(), span });
        }
    };
    let parser = markdown::parser(text);
    for (_, definition) in parser.reference_definitions().iter() {
        let Range { start, end } = definition.span.clone();
        if let Some(colon) = label_end(&text[start..end]) {
            push(&definition.dest, target_within(text, start + colon + 2, end));
        }
    }
    let mut open: Vec<OpenLink> = Vec::new();
    for (event, range) in parser.into_offset_iter() {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, .. }) => {
                let target = (link_type == LinkType::Inline).then(|| dest_url.into_string());
                open.push(OpenLink { target, text_end: range.start + "[".len() });
            }
            Event::Start(Tag::Image { link_type, dest_url, .. }) => {
                let target = (link_type == LinkType::Inline).then(|| dest_url.into_string());
                open.push(OpenLink { target, text_end: range.start + "![".len() });
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                let closed = open.pop();
                if let Some(OpenLink { target: Some(target), text_end }) = closed
                    && let Some(at) = text.get(text_end..range.end).and_then(|rest| rest.find("]("))
                {
                    let end = range.end - ")".len();
                    push(&target, target_within(text, text_end + at + "](".len(), end));
                }
                if let Some(around) = open.last_mut() {
                    around.text_end = range.end;
                }
            }
            _ => {
                if let Some(around) = open.last_mut() {
                    around.text_end = around.text_end.max(range.end);
                }
            }
        }
    }
    links.sort_by_key(|link| link.span.start);
    links
}

/// The text up to the end of the paragraph that holds the last target.
///
/// Links rarely stand at the end of a long text, and searching is much quicker than parsing.
/// Nothing that comes after a blank line changes whether something before it is a link: only
/// reference definitions work backwards, and they are searched for too.
fn up_to_last_link(text: &str) -> &str {
    let bytes = text.as_bytes();
    let last = memmem::rfind(bytes, b"](").max(memmem::rfind(bytes, b"]:"));
    let end = last.map_or(0, |last| {
        memmem::find(&bytes[last..], b"\n\n").map_or(bytes.len(), |blank| last + blank)
    });
    &text[..end]
}

/// Where the label of a reference definition ends, which begins with `[`.
fn label_end(definition: &str) -> Option<usize> {
    let bytes = definition.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b']' => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// Where the target stands between two bytes that also hold blanks, a title and angle brackets.
fn target_within(text: &str, start: usize, end: usize) -> Range<usize> {
    let text = text[start..end].trim_end();
    let blanks = text.len() - text.trim_start().len();
    let start = start + blanks;
    let text = &text[blanks..];
    if let Some(inner) = text.strip_prefix('<') {
        let length = inner.find('>').unwrap_or(inner.len());
        return start + 1..start + 1 + length;
    }
    let length = text.find([' ', '\t', '\n', '\r']).unwrap_or(text.len());
    start..start + length
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
        assert_eq!(targets(text), ["references/a.md", "assets/b c.png", "c.md", "d.md", "e(1).md"]);
    }

    #[test]
    fn links_in_nested_lists_are_found_however_deep_they_are_indented_fmt_19() {
        let text = "- one\n  - two: [a](a.md)\n    - three: [b](b.md)\n      - [c](c.md)\n\n        \
                    [d](d.md)\n\n1. first\n\n    [e](e.md)\n\n        [no](no.md)\n";
        assert_eq!(targets(text), ["a.md", "b.md", "c.md", "d.md", "e.md"]);
    }

    #[test]
    fn an_escaped_bracket_begins_no_link_fmt_19() {
        for text in ["\\[no](f.md)", "[no\\](f.md)", "!\\[no](f.md)", "<!-- [no](f.md) -->"] {
            assert_eq!(targets(text), [""; 0], "{text:?}");
        }
        assert_eq!(targets("[\\[a\\]](a.md) ![\\]](b.png)"), ["a.md", "b.png"]);
    }

    #[test]
    fn links_are_found_in_quotes_tables_footnotes_and_each_other_fmt_19() {
        for (text, found) in [
            ("> - [a](a.md)\n>\n> [b]: b.md", &["a.md", "b.md"][..]),
            ("| a | b |\n|---|---|\n| `x | [a](a.md) |\n| y` | [b](b.md) |", &["a.md", "b.md"]),
            ("Text[^1]\n\n[^1]: See [a](a.md).\n", &["a.md"]),
            ("[![b](b.png)](a.md)", &["b.png", "a.md"]),
            ("[`x](y)`](a.md)", &["a.md"]),
            ("[two\nlines](<a b.md>\n'title')", &["a b.md"]),
            ("[a][id]\n\n[id]:\n  a.md\n  'title'\n", &["a.md"]),
            ("[a\\]b]: a.md", &["a.md"]),
        ] {
            assert_eq!(targets(text), found, "{text:?}");
        }
    }

    #[test]
    fn what_comes_after_the_last_link_does_not_count_fmt_19() {
        let long = "Prose.\n\n```\ncode\n".repeat(3);
        assert_eq!(targets(&format!("[a](a.md)\n\n{long}")), ["a.md"]);
        assert_eq!(targets(&format!("[a][x] {long}\n```\n\n[x]: b.md\n\n{long}")), ["b.md"]);
        assert_eq!(up_to_last_link("a [b](c)\nd\n\ne"), "a [b](c)\nd");
        assert_eq!(up_to_last_link("no link\n\n[here]"), "");
    }

    #[test]
    fn escapes_in_a_target_are_resolved_and_its_place_is_kept_fmt_19() {
        let text = "[a](my\\_file&amp;x.md)";
        let links = find(text, 0);
        assert_eq!(links[0].target, "my_file&x.md");
        assert_eq!(&text[links[0].span.start..links[0].span.end], "my\\_file&amp;x.md");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_and_targets_lie_in_it_fmt_19(
            pieces in proptest::collection::vec(
                proptest::sample::select(vec![
                    "[", "]", "(", ")", "](", "]: ", "!", "<", ">", "`", "```", "\\", "\n", "\n\n", "    ",
                    "- ", "> ", "# ", "| ", "|---|", "[^1]", "a", "é", "\"", "'", "&amp;", "\r\n", "\t", "\0",
                ]),
                0..60,
            ),
        ) {
            let text = pieces.concat();
            for Link { span, .. } in find(&text, 0) {
                proptest::prop_assert!(text.get(span.start..span.end).is_some_and(|t| !t.is_empty()));
            }
            proptest::prop_assert!(markdown::headings(&text).all(|heading| text.contains(heading)));
        }
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
            ("[a]: b.md [c](d.md)", &["d.md"]),
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
