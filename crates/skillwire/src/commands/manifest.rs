//! `skillwire manifest`: what would be served, exactly.

use std::io::Write;

use serde::Serialize;
use skillwire_core::{
    entry::{Resources, SkillEntry},
    finding::{Finding, Strictness},
};
use skillwire_source::{
    merge::merge,
    source::{Inspected, Source},
};

use super::Outcome;
use crate::{
    args::ManifestArgs,
    exit::Exit,
    output::{FAINT, STRONG, WARNING},
    report,
    settings::{Reading, unavailable},
};

#[derive(Serialize)]
struct Manifest {
    skills: Vec<SkillEntry>,
    skipped: Vec<Skipped>,
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Skipped {
    origin: String,
    reasons: Vec<Finding>,
}

pub(super) fn run(args: &ManifestArgs) -> Outcome {
    let reading = Reading::resolve(&args.reading)?;
    let mut scans = Vec::new();
    for path in &args.paths {
        scans.push(reading.source(path)?.scan().map_err(unavailable)?);
    }
    let scan = merge(scans);
    let manifest = Manifest {
        skills: scan
            .inspected
            .iter()
            .filter_map(|inspected| {
                inspected.skill.as_ref().map(skillwire_source::skill::Skill::entry)
            })
            .collect(),
        skipped: scan
            .inspected
            .iter()
            .filter(|inspected| inspected.skill.is_none())
            .map(|inspected| skipped(inspected, reading.strictness))
            .collect(),
        findings: scan.findings,
    };
    if args.json {
        report::json(&mut std::io::stdout().lock(), &manifest)?;
    } else {
        print(&mut anstream::stdout().lock(), &manifest)?;
    }
    Ok(Exit::Ok)
}

fn skipped(inspected: &Inspected, strictness: Strictness) -> Skipped {
    Skipped {
        origin: inspected.origin.clone(),
        reasons: inspected.reasons(strictness).cloned().collect(),
    }
}

fn print(out: &mut impl Write, manifest: &Manifest) -> std::io::Result<()> {
    for entry in &manifest.skills {
        writeln!(out, "{STRONG}{}{STRONG:#}", entry.uri)?;
        match &entry.resources {
            Resources::Dynamic => writeln!(out, "  generated on request, no digests")?,
            Resources::Listed(files) => {
                let root = entry.uri.root().as_str().len() + 1;
                for file in files {
                    let path = &file.uri.as_str()[root..];
                    writeln!(out, "  {FAINT}{}{FAINT:#} {:>9}  {path}", file.digest, file.size)?;
                }
            }
        }
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
