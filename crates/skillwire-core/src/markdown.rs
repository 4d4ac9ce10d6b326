//! Markdown as CommonMark defines it.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The headings that begin with `#`, without their marks.
///
/// Underlined headings are left out: a paragraph before a rule (`---`) is one by accident.
pub(crate) fn headings(markdown: &str) -> impl Iterator<Item = &str> {
    let mut inside: Option<Range<usize>> = None;
    parser(markdown).into_offset_iter().filter_map(move |(event, range)| {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                inside = markdown[range.start..].starts_with('#').then_some(range.end..range.start);
            }
            Event::End(TagEnd::Heading(_)) => {
                return inside.take().and_then(|text| markdown.get(text)).filter(|t| !t.is_empty());
            }
            _ => {
                if let Some(text) = &mut inside {
                    *text = text.start.min(range.start)..text.end.max(range.end);
                }
            }
        }
        None
    })
}

/// Parses a text as GitHub does, where tables and footnotes hold links too.
pub(crate) fn parser(markdown: &str) -> Parser<'_> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_found_outside_code_and_without_their_marks() {
        let text = "# One\n\ntext # not\n#no space\n  ## Two ##\n```sh\n# a comment\n```\n\
                    ~~~~\n~~~\n# still code\n~~~~\n    # indented code\n### C#\n####### seven\n#\n";
        assert_eq!(headings(text).collect::<Vec<_>>(), ["One", "Two", "C#"]);
    }
}
