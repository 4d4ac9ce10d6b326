//! `skillwire export`: copies a skill to a folder where no agent takes it for a local skill.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use serde_json::json;
use skillwire_core::RelPath;
use skillwire_host::{ExportedFile, local::is_discovery_place};
use skillwire_trust::{Origin, ServerLabel, Standing};

use super::{
    Outcome,
    output_folder::{cannot_write, check_empty},
};
use crate::{
    args::ExportArgs,
    exit::Exit,
    failure::Failure,
    output::counted,
    progress::StepLine,
    prose, report,
    report::printable,
    session::{self, NamedSkill, card},
    settings::HostSettings,
};

/// The file that says where a copy came from.
const MARKER: &str = ".skillwire-export.json";

pub(super) fn run(args: &ExportArgs) -> Outcome {
    if args.all {
        return run_all(args);
    }
    let options = session::SessionOptions::about(&args.handle, args.origins);
    session::with(args.json, options, async |session| {
        check_place(session.settings(), &args.dir, args.force)?;
        let named = session.find_now(&args.handle).await?;
        let files = session.host().export(&named.listed, &[marker()?]).await?;
        write(&args.dir, &files, &named)?;
        if args.json {
            let copied = json!({
                "handle": named.handle,
                "origin": named.listed.id().origin,
                "uri": named.listed.id().uri,
                "directory": args.dir,
                "files": files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
            });
            report::json(&mut io::stdout().lock(), &copied)?;
        } else {
            writeln!(
                prose::stdout(),
                "Copied {} of {} from {} to `{}`.",
                counted(files.len(), "file"),
                named.handle,
                card::origin(&named.listed.id().origin),
                args.dir.display()
            )?;
        }
        Ok(Exit::Ok)
    })
}

/// Copies every approved skill of a server. Nothing is written before all of them were read.
fn run_all(args: &ExportArgs) -> Outcome {
    session::with(args.json, session::SessionOptions::default(), async |session| {
        check_place(session.settings(), &args.dir, false)?;
        let label = ServerLabel::parse(&args.handle).map_err(|error| {
            Failure::usage(format!("The label `{}` {error}.", printable(&args.handle)))
                .hint("`--all` copies the skills of one server: name its label.")
        })?;
        let found = session.discover(Some(&Origin::Server(label.clone()))).await?;
        let mut wanted = Vec::new();
        for item in found.registry.items() {
            if let Standing::Approved(_) = session.host().standing_of_known(&item.skill)? {
                wanted.push(item);
            }
        }
        let mut approved = Vec::new();
        let line = StepLine::new("Reading skills", wanted.len());
        for item in wanted {
            line.step(&item.handle);
            let named = session.find_now(&item.handle).await?;
            let path = item.handle.split_once(':').map_or("", |(_, path)| path);
            let path = RelPath::parse(path).map_err(|error| {
                let handle = printable(&item.handle);
                Failure::new(
                    Exit::Verification,
                    format!("`{handle}` cannot be copied: its path {error}."),
                )
            })?;
            let files = session.host().export(&named.listed, &[marker()?]).await?;
            approved.push((path, files, named));
        }
        drop(line);
        for (path, files, named) in &approved {
            let dir = path.segments().fold(args.dir.clone(), |dir, name| dir.join(name));
            write(&dir, files, named)?;
        }
        if args.json {
            let handles: Vec<_> = approved.iter().map(|(_, _, named)| &named.handle).collect();
            let copied = json!({ "server": label, "directory": args.dir, "skills": handles });
            report::json(&mut io::stdout().lock(), &copied)?;
        } else {
            let count = counted(approved.len(), "approved skill");
            let dir = args.dir.display();
            writeln!(prose::stdout(), "Copied {count} of server {label} to `{dir}`.")?;
            if approved.is_empty() {
                writeln!(
                    prose::stderr(),
                    "`skillwire list --server {label}` shows its skills, `skillwire approve '{label}:*'` \
                     approves those that wait."
                )?;
            }
        }
        Ok(Exit::Ok)
    })
}

/// The path of the file that says where a copy came from.
fn marker() -> Result<RelPath, Failure> {
    RelPath::parse(MARKER)
        .map_err(|error| Failure::new(Exit::Internal, format!("The marker's path {error}.")))
}

/// Refuses a folder that is not empty, or, without `force`, one in which agents look for skills.
fn check_place(settings: &HostSettings, dir: &Path, force: bool) -> Result<(), Failure> {
    if !force && is_discovery_place(dir, settings.home(), settings.project()) {
        return Err(Failure::new(
            Exit::Declined,
            format!(
                "`{}` is where agents look for skills; a copy there would become a local skill.",
                dir.display()
            ),
        )
        .hint("Choose another folder, or pass `--force` if that is what you want."));
    }
    check_empty(dir, "Name a new folder")
}

fn write(dir: &Path, files: &[ExportedFile], named: &NamedSkill) -> Result<(), Failure> {
    let marker = json!({
        "origin": named.listed.id().origin,
        "uri": named.listed.id().uri,
        "content": named.listed.content().map(|content| content.fingerprint()),
        "note": "A copy for inspection. It matches what the server listed; that does not make it \
                 trusted.",
    });
    let marker = serde_json::to_string_pretty(&marker).map_err(io::Error::from)? + "\n";
    // The marker is written first, so that an incomplete copy also says where it came from.
    new_file(&dir.join(MARKER), marker.as_bytes())?;
    for file in files {
        let path = file.path.segments().fold(dir.to_owned(), |path, segment| path.join(segment));
        new_file(&path, &file.bytes)?;
    }
    Ok(())
}

fn new_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = fs::create_dir_all(path.parent().unwrap_or(path)).and_then(|()| {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).open(path)?.write_all(bytes)
    });
    written.map_err(|error| cannot_write(path, error))
}
