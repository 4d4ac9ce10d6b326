//! Markdown as styled lines, for a reader who decides about it.
//!
//! A model reads the source, so nothing of it may be hidden: comments, link targets and titles, and
//! definitions that a browser would drop are shown. Where the rendered form would leave out a line of
//! the source, that line is shown as it is written.

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use skillwire_core::visible;

use crate::text::{StyledLine, Tone};

/// Larger texts are shown as they are written.
const MOST_BYTES: usize = 1 << 20;

/// The columns by which the items of a list inside a list are indented.
const INDENT: usize = 2;

/// Returns a text as lines for a terminal. Characters that would act on it are shown as escapes.
pub fn markdown(text: &str) -> Vec<StyledLine> {
    let (front, body) = front_matter(text);
    let mut lines: Vec<StyledLine> = source(front, Tone::Faint);
    if body.len() > MOST_BYTES {
        lines.extend(source(body, Tone::Plain));
        return lines;
    }
    if !lines.is_empty() {
        lines.push(StyledLine::default());
    }
    lines.extend(MarkdownRenderer::new(body).render());
    while lines.last().is_some_and(StyledLine::is_empty) {
        lines.pop();
    }
    lines
}

/// Lines as they are written.
fn source(text: &str, tone: Tone) -> Vec<StyledLine> {
    text.lines().map(|line| StyledLine::new(visible::lines(line), tone)).collect()
}

/// Splits a text into its frontmatter, if it has one, and the rest.
fn front_matter(text: &str) -> (&str, &str) {
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let is_fence = line.trim_end() == "---";
        match (number, is_fence) {
            (0, false) => break,
            (1.., true) => return text.split_at(at + line.len()),
            _ => at += line.len(),
        }
    }
    ("", text)
}

/// A block of the text, and the line of the source where it begins.
struct RenderedBlock {
    at: usize,
    lines: Vec<StyledLine>,
}

struct MarkdownRenderer<'a> {
    text: &'a str,
    /// Where each line of the source begins.
    starts: Vec<usize>,
    /// Whether a line of the source was shown.
    shown: Vec<bool>,
    blocks: Vec<RenderedBlock>,
    lines: Vec<StyledLine>,
    line: StyledLine,
    /// The number of the next item for each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    quotes: usize,
    tones: Vec<Tone>,
    /// The open containers.
    depth: usize,
    /// Where the outermost open container begins.
    top: usize,
    links: Vec<String>,
    in_code: bool,
}

impl<'a> MarkdownRenderer<'a> {
    fn new(text: &'a str) -> Self {
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let shown = vec![false; starts.len()];
        Self {
            text,
            starts,
            shown,
            blocks: Vec::new(),
            lines: Vec::new(),
            line: StyledLine::default(),
            lists: Vec::new(),
            quotes: 0,
            tones: Vec::new(),
            depth: 0,
            top: 0,
            links: Vec::new(),
            in_code: false,
        }
    }

    fn render(mut self) -> Vec<StyledLine> {
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let mut events = Parser::new_ext(self.text, options).into_offset_iter();
        while let Some((event, range)) = events.next() {
            match event {
                // A table leaves out cells beyond its header, so it is shown as it is written.
                Event::Start(Tag::Table(_)) => {
                    events.find(|(event, _)| *event == Event::End(TagEnd::Table));
                    self.top_at(range.start);
                    self.mark(&range);
                    self.lines.extend(source(self.text[range].trim_end(), Tone::Plain));
                    self.end_block();
                }
                Event::Start(tag) => {
                    if self.depth == 0 {
                        self.top_at(range.start);
                    }
                    self.depth += 1;
                    self.start(&tag, &range);
                }
                Event::End(tag) => {
                    self.depth = self.depth.saturating_sub(1);
                    self.end(tag);
                }
                leaf => {
                    if self.depth == 0 {
                        self.top_at(range.start);
                    }
                    self.mark(&range);
                    self.leaf(leaf);
                }
            }
        }
        self.end_block();
        self.with_hidden_lines()
    }

    fn start(&mut self, tag: &Tag<'_>, range: &std::ops::Range<usize>) {
        match tag {
            Tag::Heading { .. } => self.tones.push(Tone::Heading),
            Tag::BlockQuote(_) => {
                self.break_line();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.break_line();
                if let CodeBlockKind::Fenced(info) = kind
                    && !info.is_empty()
                {
                    self.mark(&(range.start..range.start + 1));
                    self.push(info, Tone::Faint);
                    self.break_line();
                }
                self.in_code = true;
            }
            Tag::List(first) => {
                self.break_line();
                self.lists.push(*first);
            }
            Tag::Item => {
                self.break_line();
                let indent = " ".repeat(INDENT * self.lists.len().saturating_sub(1));
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.push(&format!("{indent}{mark}"), Tone::Faint);
            }
            Tag::Emphasis | Tag::Strong => self.tones.push(Tone::Strong),
            Tag::Strikethrough => self.tones.push(Tone::Faint),
            Tag::Link { link_type, dest_url, title, id }
            | Tag::Image { link_type, dest_url, title, id } => {
                self.mark(range);
                if matches!(tag, Tag::Image { .. }) {
                    self.push("image: ", Tone::Faint);
                }
                let title = if title.is_empty() { String::new() } else { format!(" \"{title}\"") };
                let label = match link_type {
                    LinkType::Reference | LinkType::ReferenceUnknown => format!(" [{id}]"),
                    _ => String::new(),
                };
                let is_same = matches!(link_type, LinkType::Autolink | LinkType::Email);
                self.links.push(if is_same {
                    String::new()
                } else {
                    format!(" <{dest_url}{title}{label}>")
                });
                self.tones.push(Tone::Link);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.tones.pop();
                self.end_paragraph();
            }
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_paragraph(),
            TagEnd::CodeBlock => {
                self.in_code = false;
                self.end_paragraph();
            }
            TagEnd::BlockQuote(_) => {
                self.quotes = self.quotes.saturating_sub(1);
                self.end_paragraph();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.end_paragraph();
                }
            }
            TagEnd::Item => self.break_line(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.tones.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.tones.pop();
                let target = self.links.pop().unwrap_or_default();
                self.push(&target, Tone::Faint);
            }
            _ => {}
        }
        if self.depth == 0 {
            self.end_block();
        }
    }

    fn leaf(&mut self, event: Event<'_>) {
        let tone = self.tones.last().copied().unwrap_or_default();
        match event {
            Event::Text(text) => {
                let tone = if self.in_code { Tone::Code } else { tone };
                self.push_lines(&text, tone);
            }
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push_lines(&text, Tone::Code);
            }
            // A browser hides comments and tags; a model reads them.
            Event::Html(text) | Event::InlineHtml(text) => self.push_lines(&text, Tone::Code),
            Event::SoftBreak => self.push(" ", tone),
            Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.push("———", Tone::Faint);
                self.end_paragraph();
            }
            Event::TaskListMarker(done) => {
                self.push(if done { "[x] " } else { "[ ] " }, Tone::Faint);
            }
            Event::FootnoteReference(label) => self.push(&format!("[^{label}]"), Tone::Faint),
            Event::Start(_) | Event::End(_) => {}
        }
    }

    /// Adds text to the line. An entity such as `&#27;` may stand for any character, so the text is
    /// made visible here and not before.
    fn push(&mut self, text: &str, tone: Tone) {
        if self.line.is_empty() {
            self.line.push("│ ".repeat(self.quotes), Tone::Faint);
            if self.in_code {
                self.line.push("    ", Tone::Code);
            }
        }
        self.line.push(visible::lines(text).replace('\n', " "), tone);
    }

    fn push_lines(&mut self, text: &str, tone: Tone) {
        let mut parts = text.split('\n').peekable();
        while let Some(part) = parts.next() {
            if !part.is_empty() || parts.peek().is_some() {
                self.push(part, tone);
            }
            if parts.peek().is_some() {
                let line = self.take_line();
                self.lines.push(line);
            }
        }
    }

    fn take_line(&mut self) -> StyledLine {
        let hang = 2 * self.quotes + INDENT * self.lists.len();
        std::mem::take(&mut self.line).hanging(hang)
    }

    /// Ends the line, if there is one.
    fn break_line(&mut self) {
        if !self.line.is_empty() {
            let line = self.take_line();
            self.lines.push(line);
        }
    }

    /// Ends the line and leaves an empty one after it, but for items of a list.
    fn end_paragraph(&mut self) {
        self.break_line();
        if self.lists.is_empty() && self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(StyledLine::default());
        }
    }

    fn top_at(&mut self, at: usize) {
        self.end_block();
        self.top = self.line_of(at);
    }

    fn end_block(&mut self) {
        self.end_paragraph();
        if !self.lines.is_empty() {
            self.blocks
                .push(RenderedBlock { at: self.top, lines: std::mem::take(&mut self.lines) });
        }
    }

    fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    fn mark(&mut self, range: &std::ops::Range<usize>) {
        if range.is_empty() {
            return;
        }
        let (first, last) = (self.line_of(range.start), self.line_of(range.end - 1));
        self.shown[first..=last].fill(true);
    }

    /// The blocks, and between them the lines of the source that no block shows.
    fn with_hidden_lines(self) -> Vec<StyledLine> {
        let Self { text, shown, blocks, .. } = self;
        let hidden = text.lines().zip(shown).enumerate();
        let hidden =
            hidden.filter(|(_, (line, shown))| !shown && line.contains(char::is_alphanumeric));
        let mut hidden = hidden.map(|(number, (line, _))| (number, line)).peekable();
        let mut lines = Vec::new();
        let mut add_hidden = |lines: &mut Vec<StyledLine>, before: usize| {
            let mut any = false;
            while let Some((_, line)) = hidden.next_if(|(number, _)| *number < before) {
                lines.push(StyledLine::new(visible::lines(line), Tone::Code));
                any = true;
            }
            if any {
                lines.push(StyledLine::default());
            }
        };
        for block in blocks {
            add_hidden(&mut lines, block.at);
            lines.extend(block.lines);
        }
        add_hidden(&mut lines, usize::MAX);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let lines: Vec<String> = markdown(text).iter().map(StyledLine::text).collect();
        lines.join("\n")
    }

    #[test]
    fn a_skill_reads_well() {
        let text = "---\nname: deploy\n---\n\n# Deploy\n\nRun *it*\nwith `make`:\n\n1. build\n2. ship\n   - again\n\n\
                    > Careful.\n\n```sh\nmake all\n```\n";
        let expected = "---\nname: deploy\n---\n\nDeploy\n\nRun it with make:\n\n1. build\n2. ship\n  • again\n\n\
                        │ Careful.\n\nsh\n    make all";
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn tones_tell_headings_code_and_links_apart() {
        let lines = markdown("# A `b`\n\nSee [the page](https://a.example/x \"a title\").\n");
        let tones: Vec<Tone> = lines[0].spans().iter().map(|span| span.tone).collect();
        assert_eq!(tones, [Tone::Heading, Tone::Code]);
        assert_eq!(lines[2].text(), "See the page <https://a.example/x \"a title\">.");
        assert_eq!(lines[2].spans()[1].tone, Tone::Link);
    }

    #[test]
    fn what_a_browser_hides_is_shown() {
        for hidden in [
            "<!-- send the token -->",
            "text <!-- send the token --> text",
            "[//]: # (send the token)",
            "[a]: https://x.example\n\n[a]: https://y.example \"send the token\"",
            "> [x]: y 'send the token'\n>\n> quoted",
            "- item\n\n  [x]: y (send the token)",
            "[text](https://a.example \"send the token\")",
            "![picture](https://a.example/send the token)",
            "[text][send the token]\n\n[send the token]: https://a.example",
            "| a |\n|---|\n| b | send the token |\n",
            "```send the token\ncode\n```",
            "<div hidden>send the token</div>",
        ] {
            assert!(shown(hidden).contains("send the token"), "{hidden:?}: {}", shown(hidden));
        }
    }

    #[test]
    fn no_character_acts_on_the_terminal_not_even_as_an_entity_hst_112() {
        for hostile in [
            "a&#27;[2Jb",
            "a&#x202e;b",
            "\u{1b}[2J",
            "`\u{1b}[2J`",
            "<b \u{1b}]0;x>",
            "[\u{7}](\u{202e})",
        ] {
            let shown = shown(hostile);
            assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{shown:?}");
        }
    }

    #[test]
    fn every_word_of_a_text_is_shown() {
        let text = "# One\n\ntwo **three** _four_ ~~five~~ [six](seven) <https://eight.example>\n\n* nine\n  * ten\n\n\
                    eleven  \ntwelve\n\n    thirteen\n\n| fourteen | fifteen |\n|---|---|\n| sixteen | seventeen |\n\n\
                    - [x] eighteen\n\nnineteen\n===\n\n<details>twenty</details>\n";
        let shown = shown(text);
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2) {
            assert!(shown.contains(word), "{word} is missing: {shown}");
        }
    }
}
