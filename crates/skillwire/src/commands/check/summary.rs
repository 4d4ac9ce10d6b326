//! Counts findings, and sums them up in a sentence.

use serde::Serialize;
use skillwire_core::{Finding, Level};

use crate::output::counted;

/// The counts of one check.
#[derive(Debug, Default, Serialize)]
pub(crate) struct CheckSummary {
    pub(crate) skills: usize,
    pub(crate) errors: usize,
    warnings: usize,
    infos: usize,
    advice: usize,
    /// The findings that have a safe repair.
    repairable: usize,
    /// The findings that were silenced, which the other counts leave out.
    silenced: usize,
}

impl CheckSummary {
    pub(crate) fn of<'a>(
        skills: usize,
        findings: impl IntoIterator<Item = &'a Finding>,
        silenced: usize,
    ) -> Self {
        let mut summary = Self { skills, silenced, ..Self::default() };
        for finding in findings {
            *match finding.level {
                Level::Error => &mut summary.errors,
                Level::Warning => &mut summary.warnings,
                Level::Info => &mut summary.infos,
                Level::Advice => &mut summary.advice,
            } += 1;
            summary.repairable += usize::from(finding.repair.is_some());
        }
        summary
    }

    /// The whole summary as one or two sentences.
    pub(crate) fn sentence(&self) -> String {
        let parts = [
            (self.errors, counted(self.errors, "error")),
            (self.warnings, counted(self.warnings, "warning")),
            (self.infos, format!("{} info", self.infos)),
            (self.advice, format!("{} advice", self.advice)),
            (self.silenced, format!("{} silenced", self.silenced)),
        ];
        let found: Vec<_> =
            parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
        let found =
            if found.is_empty() { "nothing to report".to_owned() } else { found.join(", ") };
        let repairs = match self.repairable {
            0 => String::new(),
            1 => " `skillwire check --fix` repairs 1 of them.".to_owned(),
            many => format!(" `skillwire check --fix` repairs {many} of them."),
        };
        format!("{} checked: {found}.{repairs}", counted(self.skills, "skill"))
    }
}
