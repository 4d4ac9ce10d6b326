//! Completion: keys of the frontmatter, and files of the skill in links.

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, Position, Range, TextEdit,
};
use skillwire_core::{RelPath, SKILL_FILE, documented_keys, percent::encode_path, yaml};

use crate::{document::TextLines, skill_folder::SkillFiles};

/// What can stand at a position of a file.
pub(crate) fn complete(skill: &SkillFiles, file: &str, position: Position) -> Vec<CompletionItem> {
    let Some(text) = skill.text(file) else { return Vec::new() };
    let lines = TextLines::new(text);
    let offset = lines.offset(position);
    let before = lines.line_before(offset);
    if file == SKILL_FILE && is_in_frontmatter(text, offset) {
        return if before.contains([':', ' ']) { Vec::new() } else { keys(text, before, position) };
    }
    let Some(start) = before.rfind("](").map(|at| at + "](".len()) else { return Vec::new() };
    let typed = &before[start..];
    if typed.contains(')') {
        return Vec::new();
    }
    let range = Range::new(lines.position(offset - typed.len()), position);
    links(skill, file, range)
}

/// Whether an offset is between the fences. The closing fence may not be written yet.
fn is_in_frontmatter(text: &str, offset: usize) -> bool {
    match yaml::split(text.as_bytes()) {
        Ok(fenced) => (fenced.yaml_offset..fenced.body_offset).contains(&offset),
        Err(_) => text.starts_with("---") && offset >= "---\n".len(),
    }
}

fn keys(text: &str, typed: &str, position: Position) -> Vec<CompletionItem> {
    let typed_units = u32::try_from(typed.encode_utf16().count()).unwrap_or(0);
    let start = Position::new(position.line, position.character.saturating_sub(typed_units));
    let is_written = |key: &str| {
        text.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
    };
    documented_keys()
        .filter(|key| !is_written(key.name))
        .map(|key| CompletionItem {
            label: key.name.to_owned(),
            kind: Some(CompletionItemKind::PROPERTY),
            detail: Some(key.readers()),
            documentation: key
                .meaning
                .map(|meaning| lsp_types::Documentation::String(meaning.to_owned())),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(
                Range::new(start, position),
                format!("{}: ", key.name),
            ))),
            ..CompletionItem::default()
        })
        .collect()
}

fn links(skill: &SkillFiles, file: &str, range: Range) -> Vec<CompletionItem> {
    let others = skill.files.keys().filter(|path| path.as_str() != file);
    others
        .map(|path| {
            let target = relative_link(file, path);
            CompletionItem {
                label: path.as_str().to_owned(),
                kind: Some(CompletionItemKind::FILE),
                filter_text: Some(target.clone()),
                text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(range, target))),
                ..CompletionItem::default()
            }
        })
        .collect()
}

/// The link from one file of a skill to another.
pub(crate) fn relative_link(from: &str, to: &RelPath) -> String {
    let encoded = encode_path(to);
    let folders: Vec<&str> = from.split('/').collect();
    let mut above = &folders[..folders.len() - 1];
    let mut rest: &str = &encoded;
    while let (Some((first, others)), Some((head, tail))) =
        (above.split_first(), rest.split_once('/'))
    {
        if *first != head {
            break;
        }
        (above, rest) = (others, tail);
    }
    format!("{}{rest}", "../".repeat(above.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_the_folder_of_the_file_that_holds_them() {
        for (from, to, link) in [
            ("SKILL.md", "references/a b.md", "references/a%20b.md"),
            ("references/a.md", "references/b.md", "b.md"),
            ("references/a.md", "SKILL.md", "../SKILL.md"),
            ("references/x/a.md", "scripts/run.py", "../../scripts/run.py"),
        ] {
            assert_eq!(relative_link(from, &RelPath::parse(to).unwrap()), link);
        }
    }
}
