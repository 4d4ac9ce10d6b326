//! Making the repairs that are safe.

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

/// How often folders are read again for repairs that came to light by others.
const MOST_ROUNDS: usize = 3;

/// Something to do to one file.
enum RepairStep {
    Rename { from: PathBuf, to: PathBuf, name: String },
    Replace { original: OriginalFile, after: Vec<u8> },
}

/// A step, and the file as findings call it.
struct PlannedRepair {
    file: String,
    step: RepairStep,
}

/// A step, or the file of which there is none and why.
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

/// Makes the repairs, and shows each before it is made if that is wanted.
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
                        // A closed standard output does not keep the repair from being made.
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

/// What there is to do in a folder, or why it cannot be done.
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
            // The file is read anew, so that what is written comes from what is there now.
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
