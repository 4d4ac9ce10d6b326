//! Findings as an editor shows them.

use std::collections::BTreeMap;

use lsp_types::{Diagnostic, DiagnosticSeverity, NumberOrString, Range};
use skillwire_core::{Finding, Level};

use crate::{document::TextLines, skill_folder::SkillFiles};

/// What editors show as the origin of a diagnostic.
pub(crate) const SOURCE: &str = "skillwire";

/// The findings of a skill for each of its files that has some.
pub(crate) fn by_file(
    skill: &SkillFiles,
    findings: &[Finding],
) -> BTreeMap<String, Vec<Diagnostic>> {
    let mut files: BTreeMap<String, Vec<Diagnostic>> = BTreeMap::new();
    for finding in findings {
        let diagnostic = diagnostic(skill, finding);
        files.entry(finding.file.clone()).or_default().push(diagnostic);
    }
    files
}

/// Where a finding points, or the first line of its file.
pub(crate) fn range(skill: &SkillFiles, finding: &Finding) -> Range {
    let text = skill.text(&finding.file).unwrap_or_default();
    let lines = TextLines::new(text);
    finding.span.map_or_else(|| lines.first_line(), |span| lines.range(span))
}

fn diagnostic(skill: &SkillFiles, finding: &Finding) -> Diagnostic {
    let message = match &finding.help {
        Some(help) => format!("{}\n{help}", finding.message),
        None => finding.message.clone(),
    };
    Diagnostic {
        range: range(skill, finding),
        severity: Some(match finding.level {
            Level::Error => DiagnosticSeverity::ERROR,
            Level::Warning => DiagnosticSeverity::WARNING,
            Level::Info => DiagnosticSeverity::INFORMATION,
            Level::Advice => DiagnosticSeverity::HINT,
        }),
        code: Some(NumberOrString::String(finding.code.as_str().to_owned())),
        source: Some(SOURCE.to_owned()),
        message,
        ..Diagnostic::default()
    }
}
