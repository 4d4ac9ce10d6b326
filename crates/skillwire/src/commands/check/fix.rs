//! Makes the safe repairs of `check --fix`.

mod write;

use std::{
    collections::BTreeMap,
    io::{IsTerminal, Write},
    path::PathBuf,
};

use skillwire_core::{
    Finding,
    repair::{Repair, mend},
};

use self::write::{NotRepaired, OriginalFile, rename, replace};
use super::{Outcome, diff, scan::CheckedFolder};
use crate::{exit::Exit, failure::Failure, output::counted, report::printable};

/// The most rounds of repairs in a folder: one repair can reveal a finding that has another repair.
const MOST_ROUNDS: usize = 3;

/// A change to one file.
enum RepairStep {
    Rename { from: PathBuf, to: PathBuf, name: String },
    Replace { original: OriginalFile, after: Vec<u8> },
}

/// A step, and the name of the file in findings.
struct PlannedRepair {
    file: String,
    step: RepairStep,
}

/// A step, or the file that cannot be repaired and the reason.
type RepairAttempt = Result<PlannedRepair, (String, NotRepaired)>;

/// Shows the repairs and makes none.
pub(super) fn show(folders: &[CheckedFolder<'_>]) -> Outcome {
    let mut planned = Vec::new();
    for folder in folders {
        planned.extend(plan(folder)?.into_iter().filter_map(Result::ok));
    }
    planned.iter().try_for_each(print)?;
    match planned.len() {
        0 => writeln!(anstream::stderr(), "Nothing to repair.")?,
        files => writeln!(
            anstream::stderr(),
            "{} would be repaired; pass `--fix` to do it.",
            counted(files, "file")
        )?,
    }
    Ok(if planned.is_empty() { Exit::Ok } else { Exit::Findings })
}

/// Makes the repairs; with `show`, prints each one first.
pub(super) fn run(folders: &[CheckedFolder<'_>], show: bool) -> Result<(), Failure> {
    let mut err = anstream::stderr().lock();
    let mut repaired = 0;
    let mut refused = BTreeMap::new();
    for folder in folders {
        for _ in 0..MOST_ROUNDS {
            let mut done = 0;
            for planned in plan(folder)? {
                let outcome = planned.and_then(|planned| {
                    if show {
                        // The repair is made even if standard output is closed.
                        let _ = print(&planned);
                    }
                    planned.step.make(folder).map_err(|refused| (planned.file, refused))
                });
                match outcome {
                    Ok(()) => done += 1,
                    Err((file, reason)) => {
                        refused.insert(file, reason);
                    }
                }
            }
            repaired += done;
            if done == 0 {
                break;
            }
        }
    }
    for (file, reason) in &refused {
        writeln!(err, "`{}` was not repaired: {reason}.", printable(file))?;
    }
    writeln!(err, "{} made.", counted(repaired, "repair"))?;
    Ok(())
}

/// The repairs of a folder, and the files that cannot be repaired.
fn plan(folder: &CheckedFolder<'_>) -> Result<Vec<RepairAttempt>, Failure> {
    let scanned = folder.scan(false)?;
    let mut findings: BTreeMap<String, Finding> = BTreeMap::new();
    let all = scanned.places.into_iter().flat_map(|place| place.findings);
    for finding in all.filter(|finding| finding.repair.is_some()) {
        findings.entry(finding.file.clone()).or_insert(finding);
    }
    let planned = findings.into_iter().filter_map(|(file, finding)| {
        let path = folder.path_of(&file)?;
        let step = match finding.repair? {
            Repair::Rename(name) => {
                Ok(RepairStep::Rename { to: path.with_file_name(&name), from: path, name })
            }
            // The file is read again here, so that the repair is applied to its current content.
            Repair::Replace(_) => match OriginalFile::read(folder.root(), path) {
                Ok(original) => {
                    let after = mend(original.bytes())?.bytes;
                    Ok(RepairStep::Replace { original, after })
                }
                Err(refused) => Err(refused),
            },
        };
        Some(match step {
            Ok(step) => Ok(PlannedRepair { file, step }),
            Err(refused) => Err((file, refused)),
        })
    });
    Ok(planned.collect())
}

fn print(planned: &PlannedRepair) -> std::io::Result<()> {
    let out = &mut anstream::stdout().lock();
    match &planned.step {
        RepairStep::Rename { name, .. } => diff::name(out, &planned.file, name)?,
        RepairStep::Replace { original, after } => {
            let [before, after] = [original.bytes(), after].map(String::from_utf8_lossy);
            let visible = std::io::stdout().is_terminal();
            diff::content(out, &planned.file, &before, &after, visible)?;
        }
    }
    out.flush()
}

impl RepairStep {
    fn make(&self, folder: &CheckedFolder<'_>) -> Result<(), NotRepaired> {
        match self {
            Self::Rename { from, to, .. } => rename(folder.root(), from, to),
            Self::Replace { original, after } => replace(original, after),
        }
    }
}
