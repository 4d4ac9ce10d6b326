//! Makes the safe repairs of `check --fix`.

mod signature;
mod write;

use std::{
    collections::BTreeMap,
    io::{IsTerminal, Write},
    path::PathBuf,
};

use skillwire_core::{
    Code, SKILL_FILE, SkillName,
    repair::{Repair, mend, with_name},
};

use self::write::{NotRepaired, OriginalFile, rename, replace};
use super::{
    Outcome, diff,
    scan::{CheckedFolder, CheckedPlace},
};
use crate::{exit::Exit, failure::Failure, output::counted, report::printable};

/// The most rounds of repairs in a folder: one repair can reveal a finding that has another repair.
const MOST_ROUNDS: usize = 3;

/// What is repaired besides what changes nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct FixExtent {
    /// Names that are missing or invalid: the directory's name is written.
    pub(super) names: bool,
    /// Skills that are signed.
    pub(super) signed: bool,
}

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
pub(super) fn show(folders: &[CheckedFolder<'_>], extent: FixExtent) -> Outcome {
    let mut planned = Vec::new();
    for folder in folders {
        planned.extend(plan(folder, extent)?.into_iter().filter_map(Result::ok));
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
pub(super) fn run(
    folders: &[CheckedFolder<'_>],
    extent: FixExtent,
    show: bool,
) -> Result<(), Failure> {
    let mut err = anstream::stderr().lock();
    let mut repaired = 0;
    let mut refused = BTreeMap::new();
    for folder in folders {
        for _ in 0..MOST_ROUNDS {
            let mut done = 0;
            for planned in plan(folder, extent)? {
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
fn plan(folder: &CheckedFolder<'_>, extent: FixExtent) -> Result<Vec<RepairAttempt>, Failure> {
    let mut planned = Vec::new();
    for place in folder.scan()?.places {
        let wanted = wanted(&place, extent);
        if wanted.is_empty() {
            continue;
        }
        let signature =
            if extent.signed { None } else { signature::over(&place.directory, folder.root()) };
        for (file, repair) in wanted {
            let Some(path) = folder.path_of(&file) else { continue };
            let step = match &signature {
                Some(signature) => Err(NotRepaired::Signed(signature.clone())),
                None => repair.step(folder, path),
            };
            match step {
                Ok(Some(step)) => planned.push(Ok(PlannedRepair { file, step })),
                Ok(None) => {}
                Err(refused) => planned.push(Err((file, refused))),
            }
        }
    }
    planned.sort_by(|a, b| file_of(a).cmp(file_of(b)));
    Ok(planned)
}

fn file_of(attempt: &RepairAttempt) -> &str {
    match attempt {
        Ok(planned) => &planned.file,
        Err((file, _)) => file,
    }
}

/// A repair of one file that is wanted.
enum WantedRepair {
    Rename(String),
    /// The safe repairs, and a name to write if there is one.
    Content(Option<SkillName>),
}

/// The files of a skill to repair.
fn wanted(place: &CheckedPlace, extent: FixExtent) -> BTreeMap<String, WantedRepair> {
    let directory = place.directory.file_name().and_then(|name| name.to_str());
    let directory = directory.and_then(|name| SkillName::parse(name).ok());
    let mut wanted = BTreeMap::new();
    for finding in &place.findings {
        let is_name = matches!(finding.code, Code::NameMissing | Code::NameInvalid)
            && finding.file.ends_with(SKILL_FILE);
        let name = directory.clone().filter(|_| extent.names && is_name);
        match &finding.repair {
            Some(Repair::Rename(name)) => {
                wanted.insert(finding.file.clone(), WantedRepair::Rename(name.clone()));
            }
            None if name.is_none() => {}
            _ => {
                let entry = wanted.entry(finding.file.clone());
                let repair = entry.or_insert(WantedRepair::Content(None));
                if let (WantedRepair::Content(wanted), Some(name)) = (repair, name) {
                    *wanted = Some(name);
                }
            }
        }
    }
    wanted
}

impl WantedRepair {
    /// The step that makes the repair; `None` if there is nothing to do.
    fn step(
        self,
        folder: &CheckedFolder<'_>,
        path: PathBuf,
    ) -> Result<Option<RepairStep>, NotRepaired> {
        match self {
            Self::Rename(name) => {
                Ok(Some(RepairStep::Rename { to: path.with_file_name(&name), from: path, name }))
            }
            // The file is read again here, so that the repair is applied to its current content.
            Self::Content(name) => {
                let original = OriginalFile::read(folder.root(), path)?;
                let mended = mend(original.bytes()).map(|mended| mended.bytes);
                let current = mended.as_deref().unwrap_or(original.bytes());
                let after = name.and_then(|name| with_name(current, &name)).or(mended);
                Ok(after.map(|after| RepairStep::Replace { original, after }))
            }
        }
    }
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
