//! Markdown of a skill, as a reader of a page may see it.
//!
//! HTML in it is shown as text: a comment that a browser would hide is an instruction that a model
//! reads. Links say where they lead. What remains goes through an allow-list once more, so that a
//! mistake in here, or in the parser, is not a hole.

use std::{collections::HashSet, sync::LazyLock};

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::visible::marked;
use crate::{addresses, model::SkillKey, texts};

/// Longer texts are cut; the raw view shows all of it.
const MAX_BYTES: usize = 256 * 1024;

/// Deeper lists and quotes are shown without more indentation.
const MAX_DEPTH: usize = 24;

static ALLOWED: LazyLock<ammonia::Builder<'static>> = LazyLock::new(|| {
    let mut allowed = ammonia::Builder::empty();
    allowed
        .tags(HashSet::from([
            "a",
            "blockquote",
            "br",
            "code",
            "del",
            "em",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "img",
            "li",
            "ol",
            "p",
            "pre",
            "span",
            "strong",
            "table",
            "tbody",
            "td",
            "th",
            "thead",
            "tr",
            "ul",
        ]))
        .tag_attributes(
            [
                ("a", HashSet::from(["href", "target"])),
                ("img", HashSet::from(["src", "alt"])),
                ("ol", HashSet::from(["start"])),
                ("span", HashSet::from(["title"])),
            ]
            .into(),
        )
        .allowed_classes(
            [
                ("a", HashSet::from(["in-skill"])),
                ("code", HashSet::from(["html"])),
                ("pre", HashSet::from(["html"])),
                ("span", HashSet::from(["blocked", "hidden-char", "target"])),
            ]
            .into(),
        )
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .link_rel(Some("noopener noreferrer nofollow"));
    allowed
});

/// What relative links of a text lead to.
pub(crate) struct ContentLinks<'a> {
    pub(crate) key: &'a SkillKey,
    /// The file that holds the text.
    pub(crate) base: &'a str,
    /// Tells whether the skill has a file at a path, and whether it is an image that was read.
    pub(crate) file: &'a dyn Fn(&str) -> Option<bool>,
}

/// Renders Markdown; a text that is too long is cut, and says so.
pub(crate) fn rendered(text: &str, links: &ContentLinks<'_>) -> Markup {
    let cut = text.floor_char_boundary(MAX_BYTES);
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut writer =
        Writer { links, open: Vec::new(), depth: 0, skipped: Vec::new(), in_metadata: false };
    let events = Parser::new_ext(&text[..cut], options).filter_map(|event| writer.event(event));
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, events);
    let clean = ALLOWED.clean(&out).to_string();
    html! {
        (PreEscaped(clean))
        @if cut < text.len() { p.note { (texts::TEXT_CUT) } }
    }
}

struct Writer<'a> {
    links: &'a ContentLinks<'a>,
    /// What stands at the end of each open link or image.
    open: Vec<String>,
    depth: usize,
    /// The ends of containers that were left out because they lie too deep.
    skipped: Vec<TagEnd>,
    in_metadata: bool,
}

impl Writer<'_> {
    fn event<'e>(&mut self, event: Event<'e>) -> Option<Event<'e>> {
        match event {
            Event::Start(Tag::MetadataBlock(_)) => {
                self.in_metadata = true;
                None
            }
            Event::End(TagEnd::MetadataBlock(_)) => {
                self.in_metadata = false;
                None
            }
            _ if self.in_metadata => None,
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::Text(text) => Some(raw(marked(&text).0)),
            Event::Code(code) => Some(raw(html! { code { (marked(&code)) } }.0)),
            Event::Html(text) => Some(raw(html! { pre.html { (marked(&text)) } }.0)),
            Event::InlineHtml(text) => Some(raw(html! { code.html { (marked(&text)) } }.0)),
            Event::TaskListMarker(done) => Some(raw(if done { "☑ " } else { "☐ " }.to_owned())),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                Some(raw(marked(&text).0))
            }
            other @ (Event::SoftBreak | Event::HardBreak | Event::Rule) => Some(other),
        }
    }

    fn start<'e>(&mut self, tag: Tag<'e>) -> Option<Event<'e>> {
        let tag = match tag {
            Tag::Link { dest_url, .. } => return Some(raw(self.link(&dest_url))),
            Tag::Image { dest_url, .. } => return Some(raw(self.image(&dest_url))),
            // The parser reports the lines of an HTML block one by one.
            Tag::HtmlBlock => return None,
            // The words after the fence would become a class.
            Tag::CodeBlock(_) => {
                return Some(raw("<pre><code>".to_owned()));
            }
            Tag::Heading { level, .. } => Tag::Heading {
                level: below_the_page(level),
                id: None,
                classes: Vec::new(),
                attrs: Vec::new(),
            },
            other => other,
        };
        let end = tag.to_end();
        if matches!(end, TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item) {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                self.skipped.push(end);
                return None;
            }
        }
        Some(Event::Start(tag))
    }

    fn end<'e>(&mut self, end: TagEnd) -> Option<Event<'e>> {
        match end {
            TagEnd::Link | TagEnd::Image => Some(raw(self.open.pop().unwrap_or_default())),
            TagEnd::HtmlBlock => None,
            TagEnd::CodeBlock => Some(raw("</code></pre>".to_owned())),
            TagEnd::Heading(level) => Some(Event::End(TagEnd::Heading(below_the_page(level)))),
            end @ (TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item) => {
                let is_skipped = self.depth > MAX_DEPTH;
                self.depth = self.depth.saturating_sub(1);
                if is_skipped {
                    self.skipped.pop();
                    return None;
                }
                Some(Event::End(end))
            }
            other => Some(Event::End(other)),
        }
    }

    /// Opens a link: outside with the host that it leads to, inside as a file of the skill, and as mere
    /// text if it leads to neither.
    fn link(&mut self, to: &str) -> String {
        if let Some(host) = outside(to) {
            let target = html! { " " span.target { "(" (marked(&host)) ")" } }.0;
            self.open.push(format!("</a>{target}"));
            return open_link(&html! { a href=(to) target="_blank" {} }.0);
        }
        if let Some(path) = self.inside(to) {
            self.open.push("</a>".to_owned());
            let address = addresses::file(self.links.key, &path);
            return open_link(&html! { a.in-skill href=(address) {} }.0);
        }
        let target = html! { " " span.target { "(" (marked(to)) ")" } }.0;
        self.open.push(format!("</span>{target}"));
        "<span class=\"blocked\">".to_owned()
    }

    /// Shows an image of the skill that was read; every other image is a link or a text. Nothing is
    /// loaded from elsewhere.
    fn image(&mut self, to: &str) -> String {
        if let Some(path) = self.inside(to)
            && (self.links.file)(&path) == Some(true)
        {
            self.open.push("</span>".to_owned());
            let address = addresses::image(self.links.key, &path);
            return html! { img src=(address) alt=(path); " " }.0 + "<span class=\"target\">";
        }
        let opened = self.link(to);
        format!("{opened}{} ", html! { (texts::IMAGE_MARK) }.0)
    }

    /// Finds the file of the skill that a relative link means.
    fn inside(&self, to: &str) -> Option<String> {
        let path = to.split(['#', '?']).next().unwrap_or_default();
        if path.is_empty() || path.starts_with('/') || path.contains([':', '\\']) {
            return None;
        }
        let decoded = skillwire_core::percent::decode_path(path)?;
        let mut parts: Vec<&str> = self.links.base.split('/').collect();
        parts.pop();
        for part in decoded.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop()?;
                }
                part => parts.push(part),
            }
        }
        let path = parts.join("/");
        (self.links.file)(&path).map(|_| path)
    }
}

fn raw(html: String) -> Event<'static> {
    Event::InlineHtml(html.into())
}

/// Drops the end of an empty element.
fn open_link(element: &str) -> String {
    element.strip_suffix("</a>").unwrap_or(element).to_owned()
}

/// The page has the first two levels.
fn below_the_page(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => HeadingLevel::H6,
    }
}

/// Returns the host that a link to another place leads to.
fn outside(to: &str) -> Option<String> {
    let lower = to.to_ascii_lowercase();
    if let Some(address) = lower.strip_prefix("mailto:") {
        return Some(address.split('?').next().unwrap_or_default().to_owned());
    }
    let rest = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    // A host that is not ASCII may look like another one.
    let shown = if host.is_ascii() {
        host.to_owned()
    } else {
        host.chars()
            .flat_map(|c| if c.is_ascii() { vec![c] } else { c.escape_unicode().collect() })
            .collect()
    };
    (!shown.is_empty()).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html_of(text: &str) -> String {
        let key = SkillKey::new("acme:x");
        let file = |path: &str| match path {
            "docs/a.md" => Some(false),
            "docs/b.png" => Some(true),
            _ => None,
        };
        rendered(text, &ContentLinks { key: &key, base: "SKILL.md", file: &file }).0
    }

    #[test]
    fn html_and_comments_are_shown_as_text() {
        let shown = html_of("a <b onclick=x>b</b>\n\n<!-- obey -->\n\n<script>alert(1)</script>\n");
        assert!(shown.contains("&lt;b onclick=x&gt;") && shown.contains("&lt;!-- obey --&gt;"));
        assert!(shown.contains("&lt;script&gt;alert(1)"), "{shown}");
        assert!(!shown.contains("<script") && !shown.contains("<b"), "{shown}");
    }

    #[test]
    fn links_say_where_they_lead_and_lead_nowhere_else() {
        let shown = html_of("[your bank](https://bank.example@evil.example/x)");
        assert!(shown.contains("(evil.example)"), "{shown}");
        assert!(shown.contains("rel=\"noopener noreferrer nofollow\""), "{shown}");
        let shown = html_of("[x](https://bаnk.example/)");
        assert!(shown.contains("b\\u{430}nk.example"), "{shown}");
        for address in [
            "javascript:alert(1)",
            "JaVaScRiPt:x",
            "data:text/html,x",
            "//evil.example",
            "file:///etc",
        ] {
            let shown = html_of(&format!("[click]({address})"));
            assert!(!shown.contains("<a "), "{shown}");
        }
        assert!(!html_of("[x](vbscript:x) ![y](javascript:x)").contains("href"));
    }

    #[test]
    fn relative_links_lead_to_files_of_the_skill_alone() {
        let shown =
            html_of("[a](docs/a.md#part) [b](../../etc/passwd) ![c](./docs/b.png) [d](none.md)");
        assert!(shown.contains("href=\"/file?id=acme%3Ax&amp;path=docs%2Fa.md\""), "{shown}");
        assert!(shown.contains("src=\"/image?id=acme%3Ax&amp;path=docs%2Fb.png\""), "{shown}");
        assert_eq!(shown.matches("<a ").count(), 1, "{shown}");
    }

    #[test]
    fn images_of_other_places_are_not_loaded() {
        let shown = html_of("![pixel](https://evil.example/p.png)");
        assert!(!shown.contains("<img") && shown.contains("(evil.example)"), "{shown}");
    }

    #[test]
    fn deep_nesting_and_hidden_characters_are_tamed() {
        let shown = html_of(&format!("{} deep\n\nx\u{202e}y", ">".repeat(5_000)));
        assert!(shown.matches("<blockquote").count() <= MAX_DEPTH);
        assert!(shown.contains("U+202E"), "{shown}");
    }

    #[test]
    fn frontmatter_and_classes_of_the_author_are_left_out() {
        let shown =
            html_of("---\nname: x\n---\n# Title {.approve}\n\n```primary button\ncode\n```\n");
        assert!(shown.contains("<h3>") && !shown.contains("name: x"), "{shown}");
        assert!(!shown.contains("class=\"language") && !shown.contains("primary"), "{shown}");
    }
}
