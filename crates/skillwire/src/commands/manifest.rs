//! `skillwire manifest`: shows exactly what a server would serve.

use std::{io::Write, sync::Arc};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use skillwire_core::{Finding, Strictness};
use skillwire_source::{InspectedSkill, Skill, SkillContent, SkillSource, scan_all};

use super::Outcome;
use crate::{
    args::ManifestArgs,
    exit::Exit,
    output::{FAINT, STRONG, WARNING},
    progress::ScanSpinner,
    prose, report,
    settings::{FolderReading, unavailable},
};

#[derive(Serialize)]
struct ManifestReport {
    #[serde(serialize_with = "entries")]
    skills: Vec<Arc<Skill>>,
    skipped: Vec<SkippedSkill>,
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct SkippedSkill {
    origin: String,
    reasons: Vec<Finding>,
}

pub(super) fn run(args: &ManifestArgs) -> Outcome {
    let reading = FolderReading::resolve(&args.reading)?;
    let sources: Vec<_> =
        args.paths.iter().map(|path| reading.source(path)).collect::<Result<_, _>>()?;
    let sources: Vec<&dyn SkillSource> =
        sources.iter().map(|source| source as &dyn SkillSource).collect();
    let waiting = ScanSpinner::new(reading.progress.clone());
    let scan = scan_all(&sources).map_err(unavailable)?;
    drop(waiting);
    let manifest = ManifestReport {
        skills: scan
            .skills
            .iter()
            .filter_map(|inspected| inspected.skill.clone().filter(|skill| skill.listed))
            .collect(),
        skipped: scan
            .skills
            .iter()
            .filter(|inspected| inspected.skill.is_none())
            .map(|inspected| skipped(inspected, reading.strictness))
            .collect(),
        findings: scan.findings,
    };
    if args.json {
        report::json(&mut std::io::stdout().lock(), &manifest)?;
    } else {
        print(&mut prose::stdout(), &manifest)?;
    }
    Ok(Exit::Ok)
}

/// Writes the entries as they are served.
fn entries<S: Serializer>(skills: &[Arc<Skill>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(
        skills.iter().map(|skill| {
            RawValue::from_string(skill.entry.text().into_owned()).unwrap_or_default()
        }),
    )
}

fn skipped(inspected: &InspectedSkill, strictness: Strictness) -> SkippedSkill {
    SkippedSkill {
        origin: inspected.origin.clone(),
        reasons: inspected.reasons(strictness).cloned().collect(),
    }
}

/// Writes a skill's files with their digests and sizes.
pub(super) fn files(out: &mut impl Write, skill: &Skill) -> std::io::Result<()> {
    let SkillContent::Files(tree) = &skill.content else {
        return writeln!(out, "  generated on request, no digests");
    };
    let root = skill.uri.root();
    for file in &tree.files {
        let uri = root.child(&file.path);
        let path = &uri.as_str()[root.as_str().len() + 1..];
        writeln!(out, "  {FAINT}{}{FAINT:#} {:>9}  {path}", file.digest, file.size)?;
    }
    Ok(())
}

fn print(out: &mut impl Write, manifest: &ManifestReport) -> std::io::Result<()> {
    for skill in &manifest.skills {
        writeln!(out, "{STRONG}{}{STRONG:#}", skill.uri)?;
        files(out, skill)?;
    }
    for skipped in &manifest.skipped {
        writeln!(out, "{WARNING}skipped{WARNING:#} {}", report::printable(&skipped.origin))?;
        for reason in &skipped.reasons {
            report::finding(out, reason)?;
        }
    }
    for finding in &manifest.findings {
        report::finding(out, finding)?;
    }
    writeln!(out, "{} served, {} skipped.", manifest.skills.len(), manifest.skipped.len())?;
    out.flush()
}
