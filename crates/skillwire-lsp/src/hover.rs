//! Hover: the page of a finding's code, or what a key of the frontmatter means.

use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind, Position, Range};
use skillwire_core::{Finding, SKILL_FILE, documented_keys, yaml};

use crate::{diagnostics, document::TextLines, skill_folder::SkillFiles};

pub(crate) fn hover(
    skill: &SkillFiles,
    findings: &[Finding],
    file: &str,
    position: Position,
) -> Option<Hover> {
    let mut pages: Vec<&str> = Vec::new();
    let mut shown: Option<Range> = None;
    for finding in findings.iter().filter(|finding| finding.file == file && finding.span.is_some())
    {
        let range = diagnostics::range(skill, finding);
        let page = finding.code.page();
        if range.start <= position && position <= range.end && !pages.contains(&page) {
            pages.push(page);
            shown = Some(range);
        }
    }
    if !pages.is_empty() {
        return Some(markdown(pages.join("\n\n---\n\n"), shown));
    }
    (file == SKILL_FILE).then(|| key(skill.text(file)?, position)).flatten()
}

fn key(text: &str, position: Position) -> Option<Hover> {
    let lines = TextLines::new(text);
    let offset = lines.offset(position);
    let fenced = yaml::split(text.as_bytes()).ok()?;
    let (document, _) = yaml::parse(text.as_bytes(), &fenced, &yaml::Limits::default());
    let document = document?;
    documented_keys().find_map(|key| {
        let span = document.node(&format!("/{}", key.name))?.key?;
        (span.start..=span.end).contains(&offset).then(|| {
            let meaning = key.meaning.map(|meaning| format!("\n\n{meaning}")).unwrap_or_default();
            markdown(format!("`{}`: {}{meaning}", key.name, key.readers()), Some(lines.range(span)))
        })
    })
}

fn markdown(value: String, range: Option<Range>) -> Hover {
    Hover {
        contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
        range,
    }
}
