//! Quick fixes: the repairs that `check --fix` would make, one by one or all of a file.

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, DocumentChangeOperation, DocumentChanges,
    OneOf, OptionalVersionedTextDocumentIdentifier, Range, RenameFile, ResourceOp,
    TextDocumentEdit, TextEdit, Uri, WorkspaceEdit,
};
use skillwire_core::{
    Finding, Repair, SKILL_FILE,
    repair::{self, Edit},
};

use crate::{diagnostics, document::TextLines, file_uri, skill_folder::SkillFiles};

/// The repairs of a file for findings that touch a range, and all of its repairs together.
pub(crate) fn quick_fixes(
    skill: &SkillFiles,
    findings: &[Finding],
    file: &str,
    uri: &Uri,
    within: Range,
) -> Vec<CodeActionOrCommand> {
    let Some(text) = skill.text(file) else { return Vec::new() };
    let lines = TextLines::new(text);
    let here = findings.iter().filter(|finding| finding.file == file);
    let mut actions: Vec<CodeActionOrCommand> = here
        .filter(|finding| touches(diagnostics::range(skill, finding), within))
        .filter_map(|finding| {
            let edit = match finding.repair.as_ref()? {
                Repair::Replace(edits) => {
                    changed(uri, edits.iter().map(|edit| edited(&lines, edit)))
                }
                Repair::Rename(name) => renamed(skill, file, name)?,
            };
            let title = finding.help.clone().unwrap_or_else(|| "Repair it.".to_owned());
            Some(action(title, CodeActionKind::QUICKFIX, edit))
        })
        .collect();
    if file == SKILL_FILE
        && let Some(mended) = repair::mend(text.as_bytes())
        && let Ok(after) = String::from_utf8(mended.bytes)
    {
        let all = changed(uri, std::iter::once(TextEdit::new(lines.all(), after)));
        let title = "Make every safe repair in this file.".to_owned();
        actions.push(action(title, CodeActionKind::SOURCE_FIX_ALL, all));
    }
    actions
}

fn action(title: String, kind: CodeActionKind, edit: WorkspaceEdit) -> CodeActionOrCommand {
    let action = CodeAction { title, kind: Some(kind), edit: Some(edit), ..CodeAction::default() };
    CodeActionOrCommand::CodeAction(action)
}

fn edited(lines: &TextLines<'_>, edit: &Edit) -> TextEdit {
    TextEdit::new(lines.range(edit.span), edit.text.clone())
}

/// Changes of one document.
pub(crate) fn text_changes(
    uri: &Uri,
    edits: impl IntoIterator<Item = TextEdit>,
) -> TextDocumentEdit {
    TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier { uri: uri.clone(), version: None },
        edits: edits.into_iter().map(OneOf::Left).collect(),
    }
}

fn changed(uri: &Uri, edits: impl IntoIterator<Item = TextEdit>) -> WorkspaceEdit {
    let changes = DocumentChanges::Edits(vec![text_changes(uri, edits)]);
    WorkspaceEdit { document_changes: Some(changes), ..WorkspaceEdit::default() }
}

fn renamed(skill: &SkillFiles, file: &str, name: &str) -> Option<WorkspaceEdit> {
    let old = skill.path(file);
    let new = old.with_file_name(name);
    let rename = rename_operation(&file_uri::from_path(&old)?, &file_uri::from_path(&new)?);
    let changes = DocumentChanges::Operations(vec![rename]);
    Some(WorkspaceEdit { document_changes: Some(changes), ..WorkspaceEdit::default() })
}

/// Another name for a file, made by the editor.
pub(crate) fn rename_operation(old: &Uri, new: &Uri) -> DocumentChangeOperation {
    DocumentChangeOperation::Op(ResourceOp::Rename(RenameFile {
        old_uri: old.clone(),
        new_uri: new.clone(),
        options: None,
        annotation_id: None,
    }))
}

fn touches(one: Range, other: Range) -> bool {
    one.start <= other.end && other.start <= one.end
}
