//! `skillwire lock`: writes all approvals to a file that can be reviewed.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use skillwire_core::visible::one_line;
use skillwire_trust::{Approval, ApprovalBinding, LockFile, Reason, RecordStore as _, Refusal};

use super::Outcome;
use crate::{
    args::LockArgs,
    exit::Exit,
    failure::Failure,
    output::{ADDED, REMOVED, WARNING, counted},
    prose, regular_file,
    settings::HostSettings,
};

/// The largest lock file that is read; ten thousand skills need a fraction of it.
const MAX_LOCK_BYTES: u64 = 64 << 20;

pub(super) fn run(args: &LockArgs) -> Outcome {
    let approved = approved(&HostSettings::resolve()?)?;
    if args.check { check(&approved, &args.file) } else { write(&approved, &args.file) }
}

/// Collects all current approvals. Fails if a decision cannot be read, rather than leave it out.
fn approved(settings: &HostSettings) -> Result<LockFile, Failure> {
    let (records, errors) = settings.records().all();
    if let Some(error) = errors.into_iter().next() {
        return Err(Refusal::new(Reason::StateUnusable)
            .file(error.place)
            .actual(error.problem)
            .hint("Nothing was written. Fix or remove the file, and decide about its skill anew.")
            .into());
    }
    let mut lock = LockFile::default();
    for record in records.into_iter().filter(|record| !record.disabled) {
        // An approval of first-seen content is left out: another machine may see other content
        // first.
        let lasting = |approval: &Approval| {
            !approval.revoked && approval.binding == ApprovalBinding::Manifest
        };
        if let Some(approval) = record.approval.filter(lasting) {
            lock.insert(&record.id, &approval.content, approval.grants);
        }
    }
    Ok(lock)
}

fn write(lock: &LockFile, file: &Path) -> Outcome {
    let cannot = |error: io::Error| {
        Failure::usage(format!("`{}` cannot be written.", file.display())).because(error)
    };
    // A new file is written and renamed, so that a full disk leaves the old lock file intact.
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let new = file.with_file_name(name);
    let written = fs::write(&new, lock.to_string()).and_then(|()| fs::rename(&new, file));
    if let Err(error) = written {
        // The file may not exist. The first error is the one to report.
        let _ = fs::remove_file(&new);
        return Err(cannot(error));
    }
    let count = counted(lock.skills().count(), "approved skill");
    writeln!(prose::stdout(), "Wrote {count} to `{}`.", file.display())?;
    Ok(Exit::Ok)
}

fn check(approved: &LockFile, file: &Path) -> Outcome {
    let locked = read(file)?;
    let mut out = prose::stdout();
    let mut differences = 0;
    let find = |lock: &LockFile, id| lock.skills().find(|(other, _)| *other == id).map(|(_, d)| d);
    for (id, content) in approved.skills() {
        let id_text = one_line(&id.to_string());
        match find(&locked, id) {
            None => writeln!(out, "{ADDED}approved, not locked{ADDED:#}  {id_text}")?,
            Some(other) if other != content => {
                writeln!(out, "{WARNING}other content locked{WARNING:#}  {id_text}")?;
            }
            Some(_) => continue,
        }
        differences += 1;
    }
    for (id, _) in locked.skills().filter(|(id, _)| find(approved, id).is_none()) {
        differences += 1;
        writeln!(out, "{REMOVED}locked, not approved{REMOVED:#}  {}", one_line(&id.to_string()))?;
    }
    if differences == 0 && locked != *approved {
        differences = 1;
        writeln!(out, "{WARNING}The locked grants differ from those you gave.{WARNING:#}")?;
    }
    out.flush()?;
    if differences == 0 {
        writeln!(prose::stdout(), "`{}` is up to date.", file.display())?;
        return Ok(Exit::Ok);
    }
    Err(Failure::new(Exit::Findings, format!("`{}` is not up to date.", file.display()))
        .hint("`skillwire lock` writes it again; review the difference."))
}

/// Reads a lock file; a single invalid part is an error.
pub(in crate::commands) fn read(file: &Path) -> Result<LockFile, Failure> {
    let text = regular_file::read(file, MAX_LOCK_BYTES).map_err(|error| {
        Failure::usage(format!("`{}` cannot be read.", file.display())).because(error)
    })?;
    LockFile::parse(&text).map_err(|error| Failure::usage(format!("`{}` {error}.", file.display())))
}
