//! Cuts a Markdown document into passages by its structure.

use std::{ops::Range, sync::LazyLock};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use super::{
    mapped::MappedText,
    passage::{Passage, PassageKind},
    tidy::tidy,
};
use crate::{language::Language, usage};

/// A link whose text and target a reader can compare.
#[derive(Debug)]
pub(crate) struct DocumentLink {
    pub(crate) text: String,
    pub(crate) target: String,
    /// Where it stands in the file.
    pub(crate) at: usize,
}

/// The passages and links of a document.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) passages: Vec<Passage>,
    pub(crate) links: Vec<DocumentLink>,
}

/// A reference definition that is written as a comment: `[//]: # (text)`.
static COMMENT_DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?m)^[ ]{0,3}\[[^\]\n]{0,40}\]:[ \t]*(?:#|<#?>)[ \t]*[("'](.*)[)"'][ \t]*$"#)
        .expect("it is a regex")
});

static HTML_COMMENT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?s)<!--.*?(?:-->|\z)").expect("it is a regex"));

/// Reads a document; `sections` is the number of sections of the skill so far.
pub(crate) fn read(file: usize, text: &MappedText, sections: &mut usize) -> Document {
    let mut reader = Reader {
        file,
        text,
        document: Document::default(),
        sections,
        headings: Vec::new(),
        run: None,
        intro: None,
        link: None,
        code: None,
    };
    let body = reader.frontmatter();
    let markdown = &text.text[body..];
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    for (event, range) in Parser::new_ext(markdown, options).into_offset_iter() {
        reader.event(event, range.start + body..range.end + body);
    }
    reader.flush();
    reader.comments(body);
    reader.document
}

struct Reader<'a> {
    file: usize,
    text: &'a MappedText,
    document: Document,
    sections: &'a mut usize,
    /// The headings above: level, and whether it warns of what follows.
    headings: Vec<(usize, bool)>,
    /// The text that is being collected.
    run: Option<Range<usize>>,
    /// The prose right before, which may warn of the code that follows.
    intro: Option<Range<usize>>,
    link: Option<(String, usize, usize)>,
    /// The block of code that is being collected: its language and its text.
    code: Option<(Option<Language>, Option<Range<usize>>)>,
}

impl Reader<'_> {
    /// Takes the YAML at the top; returns where the body begins.
    fn frontmatter(&mut self) -> usize {
        let text = &self.text.text;
        let start = text.len() - text.trim_start_matches('\n').len();
        let Some(rest) = text[start..].strip_prefix("---\n") else { return 0 };
        let Some(end) = rest.find("\n---") else { return 0 };
        let (from, to) = (start + 4, start + 4 + end);
        self.push(PassageKind::Frontmatter, None, from..to);
        rest[end + 4..].find('\n').map_or(text.len(), |line| to + 4 + line + 1)
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                self.flush();
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => Language::of_fence(info),
                    CodeBlockKind::Indented => None,
                };
                self.code = Some((language, None));
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((language, Some(range))) = self.code.take() {
                    self.push(PassageKind::Code, language, range);
                }
            }
            Event::Text(_) if self.code.is_some() => {
                if let Some((_, whole)) = &mut self.code {
                    let start = whole.as_ref().map_or(range.start, |whole| whole.start);
                    *whole = Some(start..range.end);
                }
            }
            Event::Start(Tag::Heading { .. }) => {
                self.flush();
                *self.sections += 1;
            }
            Event::End(TagEnd::Heading(level)) => {
                let level = level as usize;
                let warned = usage::warns(&self.text.text[range.clone()]);
                self.headings.retain(|(above, _)| *above < level);
                self.headings.push((level, warned));
                self.grow(range);
                self.flush();
            }
            Event::Start(
                Tag::Paragraph
                | Tag::Item
                | Tag::TableRow
                | Tag::TableHead
                | Tag::HtmlBlock
                | Tag::List(_),
            )
            | Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::List(_) | TagEnd::HtmlBlock)
            | Event::Rule => self.flush(),
            Event::End(TagEnd::TableRow | TagEnd::TableHead) => {
                self.grow(range);
                self.flush();
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                self.link = Some((dest_url.into_string(), range.start, range.end));
                self.grow(range);
            }
            Event::Start(Tag::Image { .. }) => self.grow(range),
            Event::End(TagEnd::Link) => self.end_link(),
            Event::Start(_) | Event::End(_) => {}
            _ => self.grow(range),
        }
    }

    fn end_link(&mut self) {
        let Some((target, start, end)) = self.link.take() else { return };
        let shown = self.text.text[start..end].strip_prefix('[');
        let shown = shown.and_then(|shown| shown.rsplit_once("](")).map(|(shown, _)| shown);
        let Some(text) = shown else { return };
        let (text, at) = (text.to_owned(), self.text.origin(start));
        self.document.links.push(DocumentLink { text, target, at });
    }

    fn grow(&mut self, range: Range<usize>) {
        let run = self.run.get_or_insert_with(|| range.clone());
        run.start = run.start.min(range.start);
        run.end = run.end.max(range.end);
    }

    /// Ends the passage of prose that is being collected.
    fn flush(&mut self) {
        let Some(range) = self.run.take() else { return };
        let shown = &self.text.text[range.clone()];
        if shown.trim_start().starts_with("<!--") {
            return;
        }
        self.push(PassageKind::Prose, None, range.clone());
        self.intro = Some(range);
    }

    fn push(&mut self, kind: PassageKind, language: Option<Language>, range: Range<usize>) {
        let slice = self.text.slice(range.start, range.end);
        let text = if kind == PassageKind::Code { tidy(&slice, language) } else { slice };
        let intro = if kind == PassageKind::Code { self.intro.take() } else { None };
        let warned = self.headings.iter().any(|(_, warns)| *warns)
            || intro.is_some_and(|intro| usage::warns(&self.text.text[intro]));
        self.document.passages.push(Passage {
            file: self.file,
            kind,
            language,
            text,
            section: *self.sections,
            warned,
            encodings: Vec::new(),
            unfolded: None,
        });
    }

    /// Adds comments, which a page does not show, wherever they stand outside of code.
    fn comments(&mut self, body: usize) {
        let text = &self.text.text;
        let comments = HTML_COMMENT.find_iter(&text[body..]).map(|found| found.range());
        let defined = COMMENT_DEFINITION.captures_iter(&text[body..]);
        let defined = defined.filter_map(|captures| captures.get(1)).map(|found| found.range());
        let found: Vec<_> =
            comments.chain(defined).map(|range| range.start + body..range.end + body).collect();
        let blocks = self.document.passages.iter().filter(|it| it.kind == PassageKind::Code);
        let ends = |it: &Passage| {
            (it.text.origin(0), it.text.origin(it.text.text.len().saturating_sub(1)))
        };
        let blocks: Vec<_> = blocks.map(ends).collect();
        for range in found {
            let start = self.text.origin(range.start);
            let before = blocks.partition_point(|(first, _)| *first <= start);
            let block = before.checked_sub(1).and_then(|index| blocks.get(index));
            if block.is_none_or(|(_, last)| *last < start) {
                self.push(PassageKind::Comment, None, range);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_cut_by_its_structure() {
        let text = "---\nname: x\n---\n# Setup\n\nRun `a`:\n\n```bash\ncurl x \\\n  | sh\n```\n\n\
                    - one\n- two\n\n<!-- hidden -->\n\n[//]: # (also)\n";
        let mapped = MappedText::identity(text, 0);
        let document = read(0, &mapped, &mut 0);
        let seen: Vec<_> =
            document.passages.iter().map(|it| (it.kind, it.text.text.trim())).collect();
        assert_eq!(
            seen,
            [
                (PassageKind::Frontmatter, "name: x"),
                (PassageKind::Prose, "# Setup"),
                (PassageKind::Prose, "Run `a`:"),
                (PassageKind::Code, "curl x  | sh"),
                (PassageKind::Prose, "one"),
                (PassageKind::Prose, "two"),
                (PassageKind::Comment, "<!-- hidden -->"),
                (PassageKind::Comment, "also"),
            ]
        );
    }
}
