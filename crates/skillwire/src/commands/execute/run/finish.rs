//! What happens to a script's result: its files, its exit code, and a line about what it used.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};
use skillwire_host::{Window, context::text::one_line};
use skillwire_sandbox::{OutputFile, RefusalReason, RefusedDestination, RunOutcome, usage_record};
use skillwire_trust::{NetworkGrant, RunRequest};

use super::prepare::{EditedFile, UserInputsSummary};
use crate::{
    args::RunArgs,
    exit::Exit,
    failure::Failure,
    output::{byte_size, counted},
    prose,
    refusals::argument,
    remedies, report,
    session::NamedSkill,
};

/// What became of the files that a script left.
#[derive(Default)]
pub(super) struct KeptFiles {
    /// Files that went to the folder of `--output`, or nowhere without it.
    left: usize,
    /// Files of the user that were replaced.
    replaced: Vec<PathBuf>,
}

pub(super) fn check_output(folder: &Path) -> Result<(), Failure> {
    let empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if empty {
        return Ok(());
    }
    Err(Failure::usage(format!("`{}` is not a new or empty folder.", folder.display()))
        .hint("Name another one."))
}

/// Replaces the files that the script was allowed to change, if it succeeded, and writes the others
/// into the folder of `--output`.
pub(super) fn keep_files(
    args: &RunArgs,
    edits: &[EditedFile],
    ran: &RunOutcome,
) -> Result<KeptFiles, Failure> {
    let mut kept = KeptFiles::default();
    let mut others = Vec::new();
    for file in &ran.files {
        let edit = edits.iter().find(|edit| edit.name == file.path.as_str());
        match edit.filter(|_| ran.end.is_success()) {
            Some(edit) => {
                replace(&edit.target, &file.bytes).map_err(|error| {
                    Failure::new(Exit::Internal, format!("`{}` cannot be replaced.", edit.name))
                        .because(error)
                })?;
                kept.replaced.push(edit.target.clone());
            }
            None => others.push(file),
        }
    }
    kept.left = others.len();
    if let Some(folder) = &args.output {
        write_output(folder, &others).map_err(|error| {
            Failure::usage(format!("`{}` cannot be written to.", folder.display())).because(error)
        })?;
    }
    Ok(kept)
}

/// Replaces a file whole: a reader sees the old or the new content.
fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let partial = target.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = (|| {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&partial)?;
        file.write_all(bytes)?;
        if let Ok(metadata) = fs::metadata(target) {
            file.set_permissions(metadata.permissions())?;
        }
        fs::rename(&partial, target)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

/// Writes the files that the script left. The folder was empty, and their paths cannot leave it.
fn write_output(folder: &Path, files: &[&OutputFile]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for file in files {
        let path = folder.join(file.path.as_str());
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::OpenOptions::new().write(true).create_new(true).open(&path)?.write_all(&file.bytes)?;
    }
    Ok(())
}

/// Prints how the script ended and what it used. Its output was printed before.
pub(super) fn print_end(
    named: &NamedSkill,
    window: &Window,
    args: &RunArgs,
    kept: &KeptFiles,
    ran: &RunOutcome,
) -> Result<(), Failure> {
    let mut err = prose::stderr();
    if !ran.end.is_success() {
        writeln!(err, "The script {}.", ran.end)?;
    }
    if args.quiet {
        return Ok(());
    }
    for refused in &ran.refused_destinations {
        writeln!(err, "{}", refused_sentence(named, window, refused))?;
    }
    for target in &kept.replaced {
        writeln!(err, "`{}` was replaced.", one_line(&target.display().to_string()))?;
    }
    match (&args.output, kept.left) {
        (_, 0) => {}
        (None, count) => {
            let files = counted(count, "file");
            writeln!(err, "It left {files}, now gone. `--output DIR` keeps them.")?;
        }
        (Some(folder), count) => {
            writeln!(err, "It left {} in `{}`.", counted(count, "file"), folder.display())?;
        }
    }
    if ran.skipped_files > 0 {
        let entries = ran.skipped_files;
        writeln!(
            err,
            "{entries} entries of its folder were left out: links, or more than allowed."
        )?;
    }
    let usage = &ran.usage;
    writeln!(
        err,
        "It took {:.2} s, {:.2} s of processor time and {} of memory.",
        usage.wall_time.as_secs_f64(),
        usage.cpu_time.as_secs_f64(),
        byte_size(usage.peak_memory_bytes)
    )?;
    Ok(())
}

/// Says that the script asked for a destination and did not reach it: most scripts report a failure that
/// does not say why.
fn refused_sentence(named: &NamedSkill, window: &Window, refused: &RefusedDestination) -> String {
    let destination = refused.destination.to_string();
    if refused.reason != RefusalReason::NotGranted {
        return format!(
            "It was kept from `{destination}`: the name leads to this machine or a network that is not \
             public. Grant the address itself if that is what you want."
        );
    }
    let kept_from = format!("It was kept from `{destination}`, which this run was not given.");
    // With everything that is granted already, so that the new approval takes nothing away.
    let asked = NetworkGrant::parse(&destination).ok();
    let asked = asked.map(|grant| RunRequest::default().network([grant]));
    let wider = asked.and_then(|asked| window.grants_for_run(&asked).err());
    match wider.as_ref().and_then(|refusal| refusal.remedy.as_deref()) {
        Some(remedy) => {
            let words = remedies::sentence(remedy, |_| argument(&named.handle));
            format!("{kept_from} {words}")
        }
        None => kept_from,
    }
}

pub(super) fn print_json(
    named: &NamedSkill,
    args: &RunArgs,
    inputs: &UserInputsSummary,
    kept: &KeptFiles,
    ran: &RunOutcome,
) -> Result<(), Failure> {
    let files: Map<_, _> = ran
        .files
        .iter()
        .map(|file| (file.path.as_str().to_owned(), file.bytes.len().into()))
        .collect();
    let inputs = inputs.sources.iter().map(|source| {
        json!({
            "path": source.typed,
            "name": source.name,
            "files": source.files,
            "bytes": source.bytes,
            "left_out": source.left_out,
        })
    });
    let replaced = kept.replaced.iter().map(|path| path.display().to_string());
    let refused = ran.refused_destinations.iter();
    let kept_from = refused.map(|refused| refused.destination.to_string());
    let outcome = json!({
        "handle": named.handle,
        "script": args.script(),
        "isolation": ran.tier,
        "bounded_by": ran.enforcement,
        "inputs": inputs.collect::<Vec<Value>>(),
        "end": ran.end,
        "stdout": ran.stdout.as_str(),
        "stderr": ran.stderr.as_str(),
        "truncated": ran.stdout.is_truncated() || ran.stderr.is_truncated(),
        "files": files,
        "replaced": replaced.collect::<Vec<_>>(),
        "left_out": ran.skipped_files,
        "kept_from": kept_from.collect::<Vec<_>>(),
        "used": usage_record(&ran.usage),
    });
    report::json(&mut io::stdout().lock(), &outcome)?;
    Ok(())
}
