//! `skillwire lock`: writes all approvals to a file that can be reviewed.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use skillwire_client::ServerConfig;
use skillwire_core::visible::one_line;
use skillwire_trust::{
    Approval, ApprovalBinding, DecisionChannel, LockFile, Origin, Reason, RecordStore as _, Refusal,
};

use super::Outcome;
use crate::{
    args::LockArgs,
    exit::Exit,
    failure::Failure,
    output::{ADDED, REMOVED, WARNING, counted},
    prose, regular_file,
    settings::{HostSettings, server_address},
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
    let configured = settings.servers().load().map_err(|error| {
        Failure::caused(Exit::Usage, error).hint("Nothing was written. Fix or remove that file.")
    })?;
    for (label, keys) in configured.trust_keys {
        lock.trust(label, keys);
    }
    let servers = configured.servers;
    for record in records.into_iter().filter(|record| !record.disabled) {
        // An approval of first-seen content is left out: another machine may see other content
        // first. So is one by a signed decision, which has an end: the key in the lock stands for it.
        let lasting = |approval: &Approval| {
            !approval.revoked
                && approval.binding == ApprovalBinding::Manifest
                && approval.channel != Some(DecisionChannel::Decision)
        };
        if let Some(approval) = record.approval.filter(lasting) {
            // By the address, users with other labels find the server.
            if let Origin::Server(label) = &record.id.origin
                && let Some(config) = servers.get(label)
                // The command line of a program has paths of this machine.
                && !matches!(config, ServerConfig::Stdio(_))
            {
                lock.set_server(label, server_address(config));
            }
            lock.insert(&record.id, &approval.content, approval.grants);
        }
    }
    Ok(lock)
}

fn write(lock: &LockFile, file: &Path) -> Outcome {
    let cannot = |error: io::Error| {
        Failure::usage(format!("`{}` cannot be written.", file.display()))
            .because(error)
            .hint("Name a file in a folder that exists and that you can write to.")
    };
    // A new file is written and renamed, so that a full disk leaves the old lock file intact.
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let new = file.with_file_name(name);
    let text = lock.to_string() + &sources(file)?;
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, file));
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
    if differences == 0 && !locked.has_skills_of(approved) {
        differences = 1;
        let what = if locked.trust_keys() == approved.trust_keys() {
            "The locked grants differ from those you gave."
        } else {
            "The locked keys differ from those you trust."
        };
        writeln!(out, "{WARNING}{what}{WARNING:#}")?;
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
        Failure::usage(format!("`{}` cannot be read.", file.display()))
            .because(error)
            .hint("`skillwire lock` writes what is approved into a lock file; `--file FILE` names another.")
    })?;
    let lock = LockFile::parse(&text)
        .map_err(|error| Failure::usage(format!("`{}` {error}.", file.display())))?;
    if lock.servers().next().is_none() {
        return Ok(lock);
    }
    // Labels are each user's own; a server is the same if its address is.
    let configured = HostSettings::resolve()?.servers().load()?.servers;
    let own = |address: &str| {
        let same = |(_, config): &(_, &_)| server_address(config) == address;
        configured.iter().find(same).map(|(label, _)| label.clone())
    };
    let is_taken = |label: &str| configured.keys().any(|known| known.as_str() == label);
    Ok(lock.relabelled(own, is_taken))
}

/// The skills of sources that the file pins, which stay as they are.
#[cfg(feature = "add")]
fn sources(file: &Path) -> Result<String, Failure> {
    match regular_file::read(file, MAX_LOCK_BYTES) {
        Ok(text) => skillwire_install::ProjectLock::parse(&text)
            .map(|lock| lock.to_string())
            .map_err(|error| Failure::usage(format!("`{}` {error}.", file.display()))),
        Err(_) => Ok(String::new()),
    }
}

#[cfg(not(feature = "add"))]
#[expect(clippy::unnecessary_wraps, reason = "the other build may fail")]
fn sources(_: &Path) -> Result<String, Failure> {
    Ok(String::new())
}
