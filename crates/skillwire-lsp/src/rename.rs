//! Renaming a file of a skill, with every link that leads to it or away from it.

use std::path::Path;

use lsp_types::{DocumentChangeOperation, DocumentChanges, TextEdit, WorkspaceEdit};
use skillwire_core::{InvalidPath, RelPath, SKILL_FILE, Span};

use crate::{
    actions::{rename_operation, text_changes},
    completion::relative_link,
    document::TextLines,
    file_uri,
    navigation::file_links,
    skill_folder::SkillFiles,
};

/// A file that cannot have the new name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRenamed {
    #[error("A skill's `{SKILL_FILE}` keeps its name.")]
    SkillFile,
    #[error("The new name is empty or is a path; write the name that the file should have.")]
    NotAName,
    #[error("`{name}` cannot be a file of a skill: it {reason}.")]
    Invalid { name: String, reason: InvalidPath },
    #[error("The skill has a file `{0}` already.")]
    Taken(RelPath),
}

/// The path of a file after it got another name in its folder, or another place in the skill.
pub(crate) fn new_path(
    skill: &SkillFiles,
    old: &RelPath,
    name: &str,
) -> Result<RelPath, NotRenamed> {
    if old.as_str() == SKILL_FILE {
        return Err(NotRenamed::SkillFile);
    }
    if name.is_empty() || name.contains(['/', '\\']) {
        return Err(NotRenamed::NotAName);
    }
    let path = old.parent().map_or_else(|| name.to_owned(), |folder| format!("{folder}/{name}"));
    let new = RelPath::parse(&path)
        .map_err(|reason| NotRenamed::Invalid { name: name.to_owned(), reason })?;
    if skill.files.contains_key(&new) {
        return Err(NotRenamed::Taken(new));
    }
    Ok(new)
}

/// The edits of links that a move of a file needs; with `moves`, the move itself too.
pub(crate) fn edits(
    skill: &SkillFiles,
    old: &RelPath,
    new: &RelPath,
    moves: bool,
) -> WorkspaceEdit {
    let mut operations = Vec::new();
    for path in skill.files.keys() {
        let file = path.as_str();
        let Some(text) = skill.text(file) else { continue };
        let lines = TextLines::new(text);
        // A moved file finds its neighbours by other links.
        let after = if path == old { new.as_str() } else { file };
        let changed: Vec<TextEdit> = file_links(skill, file)
            .into_iter()
            .filter(|link| link.to == *old || (path == old && old.parent() != new.parent()))
            .map(|link| {
                let to = if link.to == *old { new } else { &link.to };
                let span = Span::new(
                    link.span.start,
                    link.span.start + written_length(text, &link.span, &link.written),
                );
                TextEdit::new(lines.range(span), relative_link(after, to))
            })
            .collect();
        if let (false, Some(uri)) = (changed.is_empty(), file_uri::from_path(&skill.path(file))) {
            operations.push(DocumentChangeOperation::Edit(text_changes(&uri, changed)));
        }
    }
    let uri = |path: &RelPath| file_uri::from_path(Path::new(&skill.path(path.as_str())));
    if let (true, Some(from), Some(to)) = (moves, uri(old), uri(new)) {
        operations.push(rename_operation(&from, &to));
    }
    let changes = DocumentChanges::Operations(operations);
    WorkspaceEdit { document_changes: Some(changes), ..WorkspaceEdit::default() }
}

/// The length of a link's path as it stands in the text, where a fragment may follow it.
fn written_length(text: &str, span: &Span, written: &str) -> usize {
    let raw = &text[span.start..span.end];
    // Escapes make the text in the file longer than the target; then there is no fragment to keep.
    if raw.starts_with(written) { written.len() } else { raw.find('#').unwrap_or(raw.len()) }
}
