//! What `run` tells the user before a script runs.

use std::io::{self, Write as _};

use skillwire_host::{Window, context::text::one_line};
use skillwire_sandbox::{AvailableIsolation, Sandbox, holders_sentence};
use skillwire_scripts::InputSource;

use super::prepare::PreparedRun;
use crate::{
    args::RunArgs,
    output::{byte_size, counted},
    prose,
    session::NamedSkill,
};

/// Prints what will run, what it sees, and how it is isolated.
pub(super) fn write(
    args: &RunArgs,
    named: &NamedSkill,
    window: &Window,
    prepared: &PreparedRun,
    isolation: &AvailableIsolation,
    sandbox: &Sandbox,
) -> io::Result<()> {
    let PreparedRun { job, inputs, edits, notes, .. } = prepared;
    let mut err = prose::stderr();
    let content = window.fingerprint().map(|digest| digest.to_string()).unwrap_or_default();
    let script = one_line(args.script());
    writeln!(err, "Running `{script}` of {} ({content})", one_line(&named.handle))?;
    let limits = job.limits();
    writeln!(
        err,
        "  with {}, {} isolation, at most {} s and {} MiB",
        job.interpreter(),
        isolation.tier,
        limits.wall_time.as_secs(),
        limits.memory_bytes / (1024 * 1024)
    )?;
    for root in job.readable_roots() {
        writeln!(err, "  it can read `{}`", one_line(&root.display().to_string()))?;
    }
    for source in &inputs.sources {
        writeln!(err, "  {}", input(source))?;
    }
    for edit in edits.iter().filter(|edit| !edit.target.exists()) {
        writeln!(err, "  it may make `{}`", one_line(&edit.target.display().to_string()))?;
    }
    for folder in &inputs.folders_in_words {
        let folder = one_line(folder);
        writeln!(err, "  `{folder}` is a folder and not copied; `--input {folder}` copies it")?;
    }
    let variables: Vec<_> = job.variables().collect();
    let variables = if variables.is_empty() { "none".to_owned() } else { variables.join(", ") };
    let network: Vec<_> = job.destinations().iter().map(ToString::to_string).collect();
    let network = if network.is_empty() { "none".to_owned() } else { network.join(", ") };
    writeln!(err, "  your variables: {variables}; network: {network}")?;
    let held = holders_sentence(&sandbox.enforced_limits(isolation.tier, limits));
    writeln!(err, "  limits {held}")?;
    notes.iter().chain(&isolation.notes).try_for_each(|note| writeln!(err, "  {note}"))
}

/// One line about a file or folder that is copied.
fn input(source: &InputSource) -> String {
    let typed = one_line(&source.typed);
    let size = byte_size(source.bytes);
    let mut line = if source.writable {
        format!("`{typed}` ({size}) is replaced by what the script makes of its copy")
    } else {
        let count =
            if source.files == 1 { String::new() } else { counted(source.files, "file") + ", " };
        format!("`{typed}` ({count}{size}) is copied in read-only")
    };
    if source.name != source.typed.trim_start_matches("./").trim_end_matches('/') {
        let name = if source.name.is_empty() { "." } else { &source.name };
        line = format!("{line} as `{}`", one_line(name));
    }
    if source.left_out > 0 {
        line = format!("{line}; {} left out (links that lead out of it)", source.left_out);
    }
    line
}
