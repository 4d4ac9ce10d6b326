//! The outline of a document: the fields of the frontmatter, and headings within headings.

use lsp_types::{DocumentSymbol, SymbolKind};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use skillwire_core::{SKILL_FILE, Span, yaml};

use crate::{document::TextLines, skill_folder::SkillFiles};

/// The most headings of an outline.
const MOST_HEADINGS: usize = 1_000;

struct Heading {
    level: HeadingLevel,
    name: String,
    span: Span,
}

pub(crate) fn outline(skill: &SkillFiles, file: &str) -> Vec<DocumentSymbol> {
    let Some(text) = skill.text(file) else { return Vec::new() };
    let lines = TextLines::new(text);
    let body = yaml::split(text.as_bytes()).map_or(0, |fenced| fenced.body_offset);
    let mut symbols = if file == SKILL_FILE { fields(text, &lines) } else { Vec::new() };
    let headings = headings(text, body);
    symbols.extend(nested(&headings, text.len(), &lines));
    symbols
}

fn fields(text: &str, lines: &TextLines<'_>) -> Vec<DocumentSymbol> {
    let Ok(fenced) = yaml::split(text.as_bytes()) else { return Vec::new() };
    let (document, _) = yaml::parse(text.as_bytes(), &fenced, &yaml::Limits::default());
    let Some(document) = document else { return Vec::new() };
    let place = |key: &String| {
        let node = document.node(&format!("/{}", key.replace('~', "~0").replace('/', "~1")))?;
        Some((key.clone(), node.key?, node.value))
    };
    document
        .map
        .keys()
        .filter_map(place)
        .map(|(name, key, value)| {
            symbol(name, SymbolKind::PROPERTY, Span::new(key.start, value.end), key, lines)
        })
        .collect()
}

fn headings(text: &str, body: usize) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut open: Option<Heading> = None;
    for (event, range) in Parser::new_ext(&text[body..], Options::ENABLE_TABLES).into_offset_iter()
    {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let span = Span::new(body + range.start, body + range.end);
                open = Some(Heading { level, name: String::new(), span });
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut open {
                    heading.name.push_str(&words);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                found.extend(open.take().filter(|heading| !heading.name.is_empty()));
                if found.len() >= MOST_HEADINGS {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

/// Puts each heading below the last one of a higher level. A section ends where the next one of its level,
/// or a higher one, begins.
fn nested(headings: &[Heading], end: usize, lines: &TextLines<'_>) -> Vec<DocumentSymbol> {
    let mut symbols = Vec::new();
    let mut rest = headings;
    while let Some((heading, after)) = rest.split_first() {
        let inside = after.iter().take_while(|other| other.level > heading.level).count();
        let section_end = after.get(inside).map_or(end, |next| next.span.start);
        let whole = Span::new(heading.span.start, section_end);
        let mut section =
            symbol(heading.name.clone(), SymbolKind::STRING, whole, heading.span, lines);
        let children = nested(&after[..inside], section_end, lines);
        section.children = (!children.is_empty()).then_some(children);
        symbols.push(section);
        rest = &after[inside..];
    }
    symbols
}

fn symbol(
    name: String,
    kind: SymbolKind,
    whole: Span,
    name_span: Span,
    lines: &TextLines<'_>,
) -> DocumentSymbol {
    #[expect(deprecated, reason = "the type has no other constructor than all of its fields")]
    DocumentSymbol {
        name,
        detail: None,
        kind,
        tags: None,
        deprecated: None,
        range: lines.range(whole),
        selection_range: lines.range(name_span),
        children: None,
    }
}
