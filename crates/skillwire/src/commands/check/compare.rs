//! Compares findings with those of the reference validator.

use std::{
    io::{self, Read, Write},
    path::Path,
    rc::Rc,
};

use serde::Serialize;
use skillwire_core::{
    Code, SKILL_FILE,
    limits::MAX_BYTES,
    reference::{self, Complaint},
};

use super::{CheckedFinding, scan::CheckedPlace};
use crate::{
    output::counted,
    report::{FindingNote, printable},
};

/// Whether the reference validator would report a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ReferenceVerdict {
    Raised,
    Missed,
}

impl ReferenceVerdict {
    /// The line below a finding.
    pub(super) fn note(self) -> FindingNote<'static> {
        match self {
            Self::Raised => ("reference", "The reference validator raises this too."),
            Self::Missed => ("reference", "The reference validator does not raise this."),
        }
    }
}

/// The comparison for all skills.
#[derive(Debug, Serialize)]
pub(super) struct ReferenceComparison {
    version: &'static str,
    raised: usize,
    missed: usize,
    /// The skills it would refuse.
    refused: Vec<RefusedSkill>,
}

#[derive(Debug, Serialize)]
struct RefusedSkill {
    origin: String,
    complaints: Vec<RaisedComplaint>,
}

/// A complaint of the reference validator.
#[derive(Debug, Serialize)]
struct RaisedComplaint {
    /// The code under which Skillwire reports the same problem, if it does.
    code: Option<Code>,
    message: String,
    /// Whether Skillwire reports it for this skill.
    reported: bool,
}

impl Default for ReferenceComparison {
    fn default() -> Self {
        Self { version: reference::VERSION, raised: 0, missed: 0, refused: Vec::new() }
    }
}

impl ReferenceComparison {
    /// Adds one skill to the comparison, and returns its findings with the validator's verdict.
    pub(super) fn place(&mut self, place: CheckedPlace, folder: &Rc<str>) -> Vec<CheckedFinding> {
        let complaints = complaints(&place);
        let CheckedPlace { origin, findings, .. } = place;
        let reports =
            |complaint: &Complaint| findings.iter().any(|finding| complaint.covers(finding.code));
        let raised = complaints.iter().map(|complaint| RaisedComplaint {
            code: complaint.code,
            message: complaint.message.clone(),
            reported: reports(complaint),
        });
        let raised: Vec<_> = raised.collect();
        let own = |file: &str| file.rsplit_once('/').is_some_and(|(dir, _)| dir == origin);
        let mut items = Vec::new();
        for finding in findings {
            let same = |complaint: &Complaint| complaint.covers(finding.code);
            let verdict = if own(&finding.file) && complaints.iter().any(same) {
                self.raised += 1;
                ReferenceVerdict::Raised
            } else {
                self.missed += 1;
                ReferenceVerdict::Missed
            };
            let folder = Rc::clone(folder);
            items.push(CheckedFinding { finding, reference: Some(verdict), folder });
        }
        if !raised.is_empty() {
            self.refused.push(RefusedSkill { origin, complaints: raised });
        }
        items
    }

    /// Writes the comparison as sentences.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for RefusedSkill { origin, complaints } in &self.refused {
            for RaisedComplaint { message, .. } in
                complaints.iter().filter(|raised| !raised.reported)
            {
                let origin = printable(origin);
                writeln!(out, "Only the reference validator objects to `{origin}`: {message}")?;
            }
        }
        writeln!(
            out,
            "The reference validator, `skills-ref` {}, would refuse {}; of the findings above it \
             would raise {} and miss {}.",
            self.version,
            counted(self.refused.len(), "skill"),
            self.raised,
            self.missed
        )
    }
}

/// The complaints of the reference validator about a skill.
fn complaints(place: &CheckedPlace) -> Vec<Complaint> {
    let odd = place.findings.iter().find(|finding| finding.code == Code::SkillFileCase);
    let name = odd.and_then(|finding| finding.file.rsplit('/').next()).unwrap_or(SKILL_FILE);
    let Some(directory) = place.directory.file_name().and_then(|name| name.to_str()) else {
        return Vec::new();
    };
    // A file that cannot be read has a finding already.
    read(&place.directory.join(name))
        .map_or_else(|_| Vec::new(), |bytes| reference::judge(name, &bytes, directory))
}

/// Reads a regular file. Opening a fifo could block for ever.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::symlink_metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
