//! `skillwire check`: every finding at once.

use std::{io::Write, path::Path};

use serde::Serialize;
use skillwire_core::{
    finding::{Finding, Level},
    path::SKILL_FILE,
};
use skillwire_source::collect::collect;

use super::Outcome;
use crate::{
    args::{CheckArgs, ReadingArgs},
    exit::Exit,
    report,
    settings::{Reading, unavailable},
    waiting::Waiting,
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
    let waiting = Waiting::new(reading.progress.clone());
    let (mut findings, mut skills) = (Vec::<Finding>::new(), 0);
    for path in &args.paths {
        // Each path is judged by itself: nobody said that they would be served together.
        let scan = collect(&[&reading.source(folder(path))?]).map_err(unavailable)?;
        skills += scan.inspected.len();
        findings.extend(scan.findings);
        findings.extend(scan.inspected.into_iter().flat_map(|inspected| inspected.findings));
    }
    drop(waiting);
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
    let written = if args.json {
        report::json(&mut std::io::stdout().lock(), &Report { findings: &findings, summary })
    } else {
        print(&mut anstream::stdout().lock(), &findings, &summary)
    };
    match written {
        // The answer stays the same when nobody wants to read the reasons.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(exit),
        written => Ok(written.map(|()| exit)?),
    }
}

fn print(out: &mut impl Write, findings: &[Finding], summary: &Summary) -> std::io::Result<()> {
    for finding in findings {
        report::finding(out, finding)?;
    }
    writeln!(out, "{}", sentence(summary))?;
    out.flush()
}

/// A path to a `SKILL.md`, however it is spelled, means the skill around it.
fn folder(path: &str) -> &str {
    let path_ref = Path::new(path);
    let names_skill_file =
        path_ref.file_name().is_some_and(|name| name.eq_ignore_ascii_case(SKILL_FILE));
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
