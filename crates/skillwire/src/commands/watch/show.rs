//! What is shown of a change, to people and to programs.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, value::RawValue};
use skillwire_core::Finding;
use skillwire_source::{InspectedSkill, Skill};

use crate::{
    commands::{check::summary::Summary, manifest},
    output::{FAINT, STRONG, WARNING},
    report::{self, Human, printable},
};

/// What is to be shown at one time.
pub(super) struct Batch<'a> {
    /// Whether nothing was shown before.
    pub(super) first: bool,
    /// The places of which something else is to be said than before.
    pub(super) changed: Vec<Vec<InspectedSkill>>,
    /// Where places were that are there no more.
    pub(super) gone: Vec<String>,
    /// All places.
    pub(super) places: Vec<InspectedSkill>,
    /// Findings that belong to no place.
    pub(super) findings: &'a [Finding],
}

impl Batch<'_> {
    fn summary(&self) -> Summary {
        let inside = self.places.iter().flat_map(|place| &place.findings);
        Summary::of(self.places.len(), inside.chain(self.findings), 0)
    }
}

/// Somebody who wants to know.
pub(super) trait Show {
    fn batch(&mut self, batch: &Batch<'_>) -> io::Result<()>;
}

/// People at a terminal, or reading what was written for them.
pub(super) struct People<W> {
    out: W,
    /// Whether each change begins on an empty screen.
    clear: bool,
}

impl<W: Write> People<W> {
    pub(super) fn new(out: W, clear: bool) -> Self {
        Self { out, clear }
    }
}

impl<W: Write> Show for People<W> {
    fn batch(&mut self, batch: &Batch<'_>) -> io::Result<()> {
        let out = &mut self.out;
        if self.clear {
            write!(out, "\x1b[2J\x1b[H")?;
        }
        let mut human = Human::explaining();
        for finding in batch.findings {
            human.finding(out, finding, None)?;
        }
        // Of many skills, the first look tells only what is wrong with them.
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
    let entry: Value = serde_json::from_str(&skill.entry)?;
    let mut fields = Vec::new();
    report::json(&mut fields, &entry["frontmatter"])?;
    for line in String::from_utf8_lossy(&fields).lines() {
        writeln!(out, "  {FAINT}{line}{FAINT:#}")?;
    }
    manifest::files(out, skill)?;
    writeln!(out)
}

/// A program that reads one object from each line.
pub(super) struct Json<W>(W);

impl<W: Write> Json<W> {
    pub(super) fn new(out: W) -> Self {
        Self(out)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "event")]
enum Event<'a> {
    /// A skill is new or different, or a place that tried to be one.
    Skill { origin: &'a str, entry: Option<Box<RawValue>>, findings: &'a [Finding] },
    /// A place is there no more.
    Gone { origin: &'a str },
    /// Everything that there is to say at this time was said.
    Summary { findings: &'a [Finding], summary: &'a Summary },
}

impl<W: Write> Show for Json<W> {
    fn batch(&mut self, batch: &Batch<'_>) -> io::Result<()> {
        for InspectedSkill { origin, findings, skill } in batch.changed.iter().flatten() {
            let entry = skill.as_deref().map(entry).transpose()?;
            report::json_line(&mut self.0, &Event::Skill { origin, entry, findings })?;
        }
        for origin in &batch.gone {
            report::json_line(&mut self.0, &Event::Gone { origin })?;
        }
        let (findings, summary) = (batch.findings, &batch.summary());
        report::json_line(&mut self.0, &Event::Summary { findings, summary })
    }
}

fn entry(skill: &Skill) -> io::Result<Box<RawValue>> {
    Ok(RawValue::from_string(skill.entry.to_string())?)
}
