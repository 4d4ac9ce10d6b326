//! `skillwire check`: every finding at once, and what can be done about it.

mod compare;
pub(super) mod diff;
mod explain;
mod fix;
mod git_ignored;
mod repeated;
mod scan;
mod scanner;
mod selection;
pub(super) mod silence;
mod statistics;
pub(super) mod summary;

use std::{
    io::{BufWriter, Write},
    rc::Rc,
};

use serde::Serialize;
use skillwire_core::Finding;

use self::{
    compare::{ReferenceComparison, ReferenceVerdict},
    fix::FixExtent,
    repeated::RepeatedKeys,
    scan::{CheckedFolder, FolderScan, scan_together},
    selection::Selection,
    summary::CheckSummary,
};
use super::Outcome;
#[cfg(feature = "scan")]
use super::scan::ScanOutput;
use crate::{
    args::{CheckArgs, OtherValidator, ReadingArgs, ReportFormat},
    exit::Exit,
    failure::Failure,
    features::Feature,
    progress::ScanSpinner,
    prose,
    report::{self, HumanReport},
    settings::FolderReading,
};

pub(super) fn run(args: &CheckArgs) -> Outcome {
    if let Some(code) = &args.explain {
        return explain::run(code);
    }
    if args.scan {
        Feature::Scan.needed_for("--scan")?;
    }
    let reading = FolderReading::resolve(&ReadingArgs {
        allow_secret_file: args.allow_secret_file.clone(),
        follow_links: args.follow_links,
        ..ReadingArgs::default()
    })?;
    let selection = Selection::of(args)?;
    let folders: Vec<_> = args
        .paths
        .iter()
        .map(|path| CheckedFolder::open(path, &reading, &selection))
        .collect::<Result<_, _>>()?;
    let extent = FixExtent { names: args.fix_names, signed: args.fix_signed };
    if (args.fix_names || args.fix_signed) && !args.fix && !args.diff {
        return Err(Failure::usage("`--fix-names` and `--fix-signed` say what `--fix` repairs.")
            .hint("Pass `--fix` as well, or `--diff` to see the repairs first."));
    }
    if args.diff && !args.fix {
        return fix::show(&folders, extent);
    }
    if args.fix {
        fix::run(&folders, extent, args.diff)?;
    }
    let mut checked = CheckResult::default();
    let waiting = ScanSpinner::new(reading.progress.clone());
    for (scanned, folder) in scan_together(&folders, args.strict)?.into_iter().zip(&folders) {
        checked.add(scanned, folder.name(), args.compare);
    }
    drop(waiting);
    checked.sort();
    if args.scan {
        checked.scan(&args.paths)?;
    }
    let summary = checked.summary();
    let exit = if summary.errors > 0 { Exit::Findings } else { checked.scan_exit() };
    let written = if args.statistics {
        checked.statistics(args.format())
    } else {
        checked.write(args.format(), &summary)
    };
    match written {
        // The exit code is right even if the reader closes the pipe before it has read the
        // findings.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(exit),
        written => Ok(written.map(|()| exit).map_err(Failure::from)?),
    }
}

/// A finding, and whether the reference validator would report it.
#[derive(Serialize)]
struct CheckedFinding {
    #[serde(flatten)]
    finding: Finding,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<ReferenceVerdict>,
    /// The folder that it was found in, as the user named it.
    #[serde(skip)]
    folder: Rc<str>,
}

/// Everything that was found below all paths.
#[derive(Default)]
struct CheckResult {
    skills: usize,
    items: Vec<CheckedFinding>,
    silenced: Vec<report::Silenced>,
    compared: Option<ReferenceComparison>,
    /// What the scanner found, with `--scan`.
    #[cfg(feature = "scan")]
    scanned: Option<ScanOutput<'static>>,
}

#[derive(Serialize)]
struct JsonReport<'a> {
    findings: &'a [CheckedFinding],
    silenced: Vec<JsonSilencedFinding<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a ReferenceComparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scan: Option<serde_json::Value>,
    summary: &'a CheckSummary,
}

#[derive(Serialize)]
struct JsonSilencedFinding<'a> {
    #[serde(flatten)]
    finding: &'a Finding,
    reason: &'a str,
}

impl CheckResult {
    fn add(&mut self, scanned: FolderScan, folder: &str, compare: Option<OtherValidator>) {
        let folder: Rc<str> = folder.into();
        self.skills += scanned.places.len();
        let plain =
            |finding| CheckedFinding { finding, reference: None, folder: Rc::clone(&folder) };
        match compare {
            None => {
                let all = scanned.places.into_iter().flat_map(|place| place.findings);
                self.items.extend(all.map(plain));
            }
            Some(OtherValidator::Reference) => {
                let compared = self.compared.get_or_insert_default();
                for place in scanned.places {
                    self.items.extend(compared.place(place, &folder));
                }
            }
        }
        self.items.extend(scanned.findings.into_iter().map(plain));
        self.silenced.extend(scanned.silenced);
    }

    fn sort(&mut self) {
        self.items.sort_by(
            |CheckedFinding { finding: a, .. }, CheckedFinding { finding: b, .. }| {
                (&a.file, a.position, a.code).cmp(&(&b.file, b.position, b.code))
            },
        );
    }

    fn summary(&self) -> CheckSummary {
        let findings = self.items.iter().map(|item| &item.finding);
        CheckSummary::of(self.skills, findings, self.silenced.len())
    }

    fn write(&self, format: ReportFormat, summary: &CheckSummary) -> std::io::Result<()> {
        match format {
            ReportFormat::Human => self.human(&mut BufWriter::new(prose::stdout()), summary),
            ReportFormat::Concise => {
                let mut out = BufWriter::new(prose::stdout());
                for item in &self.items {
                    report::concise(&mut out, &item.finding)?;
                }
                writeln!(out, "{}", summary.sentence())?;
                self.scan_human(&mut out)?;
                out.flush()
            }
            ReportFormat::Json => report::json(&mut std::io::stdout().lock(), &self.json(summary)),
            ReportFormat::Sarif => {
                let findings: Vec<_> = self.items.iter().map(|item| &item.finding).collect();
                let mut sarif = report::sarif(&findings, &self.silenced);
                self.add_scan_sarif(&mut sarif);
                report::json(&mut std::io::stdout().lock(), &sarif)
            }
            ReportFormat::Github => {
                let mut out = BufWriter::new(std::io::stdout().lock());
                for item in &self.items {
                    report::github(&mut out, &item.finding)?;
                }
                self.scan_github(&mut out)?;
                out.flush()
            }
        }
    }

    fn json<'a>(&'a self, summary: &'a CheckSummary) -> JsonReport<'a> {
        let silenced = self.silenced.iter();
        JsonReport {
            findings: &self.items,
            silenced: silenced
                .map(|(finding, reason)| JsonSilencedFinding { finding, reason })
                .collect(),
            reference: self.compared.as_ref(),
            scan: self.scan_json(),
            summary,
        }
    }

    fn human(&self, out: &mut impl Write, summary: &CheckSummary) -> std::io::Result<()> {
        let mut human = HumanReport::explaining();
        let repeated = RepeatedKeys::among(&self.items);
        for item in self.items.iter().filter(|item| !repeated.contains(item)) {
            human.finding(out, &item.finding, item.reference.map(ReferenceVerdict::note))?;
        }
        repeated.write(out)?;
        writeln!(out, "{}", summary.sentence())?;
        if let Some(compared) = &self.compared {
            compared.write(out)?;
        }
        if !self.items.is_empty() {
            writeln!(out, "Run `skillwire check --explain CODE` to learn more about a code.")?;
        }
        self.scan_human(out)?;
        out.flush()
    }
}
