//! Shows changes to people and to programs.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, value::RawValue};
use skillwire_core::Finding;
use skillwire_source::{InspectedSkill, Skill};

use crate::{
    commands::{check::summary::CheckSummary, manifest},
    output::{FAINT, STRONG, WARNING},
    report::{self, HumanReport, printable},
};

/// The changes of one scan.
pub(super) struct WatchBatch<'a> {
    /// Whether this is the first batch.
    pub(super) first: bool,
    /// The groups that are new or whose findings or entries differ.
    pub(super) changed: Vec<Vec<InspectedSkill>>,
    /// The origins of groups that are gone.
    pub(super) gone: Vec<String>,
    /// The skills of all groups.
    pub(super) places: Vec<InspectedSkill>,
    /// Findings that belong to no skill.
    pub(super) findings: &'a [Finding],
}

impl WatchBatch<'_> {
    fn summary(&self) -> CheckSummary {
        let inside = self.places.iter().flat_map(|place| &place.findings);
        CheckSummary::of(self.places.len(), inside.chain(self.findings), 0)
    }
}

/// An output for changes.
pub(super) trait WatchOutput {
    fn batch(&mut self, batch: &WatchBatch<'_>) -> io::Result<()>;
}

/// Output for people, on a terminal or in a file.
pub(super) struct HumanOutput<W> {
    out: W,
    /// Whether the screen is cleared before each batch.
    clear: bool,
}

impl<W: Write> HumanOutput<W> {
    pub(super) fn new(out: W, clear: bool) -> Self {
        Self { out, clear }
    }
}

impl<W: Write> WatchOutput for HumanOutput<W> {
    fn batch(&mut self, batch: &WatchBatch<'_>) -> io::Result<()> {
        let out = &mut self.out;
        if self.clear {
            write!(out, "\x1b[2J\x1b[H")?;
        }
        let mut human = HumanReport::explaining();
        for finding in batch.findings {
            human.finding(out, finding, None)?;
        }
        // With several skills, the first batch shows findings and no entries.
        let whole = !batch.first || batch.changed.len() == 1;
        for place in batch.changed.iter().flatten() {
            for finding in &place.findings {
                human.finding(out, finding, None)?;
            }
            if whole {
                received(out, place)?;
            }
        }
        for origin in &batch.gone {
            writeln!(out, "{WARNING}gone{WARNING:#} {}", printable(origin))?;
        }
        writeln!(out, "{}", batch.summary().sentence())?;
        out.flush()
    }
}

/// Writes a skill as a client receives it.
fn received(out: &mut impl Write, place: &InspectedSkill) -> io::Result<()> {
    let Some(skill) = &place.skill else {
        writeln!(out, "{WARNING}not served{WARNING:#} {}\n", printable(&place.origin))?;
        return Ok(());
    };
    writeln!(out, "{STRONG}{}{STRONG:#}", skill.uri)?;
    let entry: Value = serde_json::from_str(&skill.entry.text())?;
    let mut fields = Vec::new();
    report::json(&mut fields, &entry["frontmatter"])?;
    for line in String::from_utf8_lossy(&fields).lines() {
        writeln!(out, "  {FAINT}{line}{FAINT:#}")?;
    }
    manifest::files(out, skill)?;
    writeln!(out)
}

/// Output for programs: one JSON object on each line.
pub(super) struct JsonOutput<W>(W);

impl<W: Write> JsonOutput<W> {
    pub(super) fn new(out: W) -> Self {
        Self(out)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "event")]
enum WatchEvent<'a> {
    /// A skill, or a directory that failed to be one, is new or different.
    Skill { origin: &'a str, entry: Option<Box<RawValue>>, findings: &'a [Finding] },
    /// A group is gone.
    Gone { origin: &'a str },
    /// Ends a batch.
    Summary { findings: &'a [Finding], summary: &'a CheckSummary },
}

impl<W: Write> WatchOutput for JsonOutput<W> {
    fn batch(&mut self, batch: &WatchBatch<'_>) -> io::Result<()> {
        for InspectedSkill { origin, findings, skill } in batch.changed.iter().flatten() {
            let entry = skill.as_deref().map(entry).transpose()?;
            report::json_line(&mut self.0, &WatchEvent::Skill { origin, entry, findings })?;
        }
        for origin in &batch.gone {
            report::json_line(&mut self.0, &WatchEvent::Gone { origin })?;
        }
        let summary = &batch.summary();
        let findings = batch.findings;
        report::json_line(&mut self.0, &WatchEvent::Summary { findings, summary })
    }
}

fn entry(skill: &Skill) -> io::Result<Box<RawValue>> {
    Ok(RawValue::from_string(skill.entry.text().into_owned())?)
}
