//! `skillwire check`: every finding at once.

use std::{io::Write, path::Path};

use serde::Serialize;
use skillwire_core::{
    finding::{Finding, Level},
    path::SKILL_FILE,
};
use skillwire_source::{merge::merge, source::Source};

use super::Outcome;
use crate::{
    args::{CheckArgs, ReadingArgs},
    exit::Exit,
    failure::Failure,
    report,
    settings::Reading,
};

#[derive(Serialize)]
struct Report<'a> {
    findings: &'a [Finding],
    summary: Summary,
}

#[derive(Serialize)]
struct Summary {
    skills: usize,
    errors: usize,
    warnings: usize,
    infos: usize,
    advice: usize,
}

pub(super) fn run(args: &CheckArgs) -> Outcome {
    let reading = Reading::resolve(&ReadingArgs {
        allow_secret_file: args.allow_secret_file.clone(),
        ..ReadingArgs::default()
    })?;
    let mut scans = Vec::new();
    for path in &args.paths {
        let source = reading.source(folder(path))?;
        scans.push(source.scan().map_err(|error| Failure::usage(error.to_string()))?);
    }
    let scan = merge(scans);
    let mut findings: Vec<Finding> = scan.findings;
    let skills = scan.inspected.len();
    findings.extend(scan.inspected.into_iter().flat_map(|inspected| inspected.findings));
    if args.strict {
        for finding in findings.iter_mut().filter(|finding| finding.level == Level::Warning) {
            finding.level = Level::Error;
        }
    }
    findings.sort_by(|a, b| (&a.file, a.position, a.code).cmp(&(&b.file, b.position, b.code)));
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let summary = Summary {
        skills,
        errors: count(Level::Error),
        warnings: count(Level::Warning),
        infos: count(Level::Info),
        advice: count(Level::Advice),
    };
    let exit = if summary.errors > 0 { Exit::Findings } else { Exit::Ok };
    let mut out = anstream::stdout().lock();
    if args.json {
        report::json(&mut out, &Report { findings: &findings, summary })?;
    } else {
        for finding in &findings {
            report::finding(&mut out, finding)?;
        }
        writeln!(out, "{}", sentence(&summary))?;
    }
    Ok(exit)
}

/// A path to a `SKILL.md` means the skill around it.
fn folder(path: &str) -> &str {
    let path_ref = Path::new(path);
    let names_skill_file = path_ref.file_name().is_some_and(|name| name == SKILL_FILE);
    match path_ref.parent().and_then(Path::to_str) {
        Some("") if names_skill_file => ".",
        Some(parent) if names_skill_file => parent,
        _ => path,
    }
}

fn sentence(summary: &Summary) -> String {
    let counted = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        many => format!("{many} {one}s"),
    };
    let parts = [
        (summary.errors, counted(summary.errors, "error")),
        (summary.warnings, counted(summary.warnings, "warning")),
        (summary.infos, counted(summary.infos, "note")),
        (summary.advice, format!("{} advice", summary.advice)),
    ];
    let found: Vec<_> =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    let found = if found.is_empty() { "nothing to report".to_owned() } else { found.join(", ") };
    format!("{} checked: {found}.", counted(summary.skills, "skill"))
}
