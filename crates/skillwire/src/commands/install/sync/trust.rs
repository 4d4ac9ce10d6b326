//! Whether the user trusts a project: asked once, for each content of its files.

use std::{collections::BTreeMap, io::Write as _};

use skillwire_state::StateFile;

use super::{super::agrees, files::ProjectFiles, sources::pinned_skills};
use crate::{
    args::SyncArgs,
    exit::Exit,
    failure::Failure,
    output::{FAINT, STRONG},
    prose,
    report::printable,
    settings::{AgentSettings, HostSettings},
};

/// The file that says which projects are trusted.
const FILE: &str = "projects.json";

/// The most bytes of that file.
const MOST_BYTES: u64 = 4 << 20;

/// The digests of the files of projects, by their folders.
type TrustedProjects = BTreeMap<String, String>;

fn file(settings: &HostSettings) -> StateFile {
    StateFile::new(settings.state(), FILE, MOST_BYTES)
}

fn parse(text: Option<&str>) -> Result<TrustedProjects, Failure> {
    text.map_or_else(|| Ok(TrustedProjects::default()), serde_json::from_str).map_err(|error| {
        Failure::usage(format!("`{FILE}` in the folder of your state cannot be understood."))
            .because(error)
            .hint("Remove the file; you are asked about each project again.")
    })
}

/// Asks whether the project is trusted, unless the user agreed to the same bytes before.
pub(super) fn check(
    args: &SyncArgs,
    settings: &HostSettings,
    files: &ProjectFiles,
) -> Result<(), Failure> {
    let trusted = parse(file(settings).read()?.as_deref())?;
    let root = files.root().display().to_string();
    if trusted.get(&root) == Some(&files.digest().to_string()) {
        return Ok(());
    }
    let forge = settings.user()?.forge;
    show(&AgentSettings::resolve()?, &forge, files, trusted.contains_key(&root))?;
    let agreed = match agrees(settings, "Trust this project to install these?", args.trust_project)
    {
        Ok(agreed) => agreed,
        Err(failure) if failure.exit() == Exit::Usage => {
            return Err(Failure::new(
                Exit::Approval,
                "The files of this project are not trusted, and there is no terminal to ask you on.",
            )
            .hint(
                "Look at them, and run `skillwire sync` in a terminal. `docs/project.md` has the command \
                 for CI.",
            ));
        }
        Err(failure) => return Err(failure),
    };
    if agreed { Ok(()) } else { Err(Failure::new(Exit::Approval, "Nothing was changed.")) }
}

/// Notes that the user agreed to the files as they are now.
pub(super) fn record(settings: &HostSettings, files: &ProjectFiles) -> Result<(), Failure> {
    let root = files.root().display().to_string();
    let digest = files.digest().to_string();
    file(settings).change(|text| {
        let mut trusted = parse(text.as_deref())?;
        if trusted.insert(root, digest.clone()).as_ref() == Some(&digest) {
            return Ok((None, ()));
        }
        let text = serde_json::to_string_pretty(&trusted).map_err(std::io::Error::from)? + "\n";
        Ok((Some(text), ()))
    })
}

/// Shows what the project would bring to a user who finds `owner/repo` below `forge`.
fn show(
    settings: &AgentSettings,
    forge: &str,
    files: &ProjectFiles,
    is_known: bool,
) -> std::io::Result<()> {
    let mut out = prose::stderr();
    let root = settings.short(files.root());
    let changed = if is_known { " changed since you trusted it, and" } else { "" };
    let what = if files.file().is_empty() { " nothing any more." } else { ":" };
    writeln!(out, "The project {STRONG}{root}{STRONG:#}{changed} names{what}")?;
    for server in &files.file().servers {
        let skills = words(&server.skills, "no skill");
        let label = printable(&server.label);
        if let Some(url) = &server.url {
            let url = printable(url);
            writeln!(out, "  server {STRONG}{label}{STRONG:#} at {url}: {skills}")?;
        } else {
            let command = printable(&server.command.join(" "));
            writeln!(out, "  program {STRONG}{label}{STRONG:#}, started as `{command}`: {skills}")?;
        }
    }
    for source in &files.file().sources {
        let skills = words(&source.skills, "every skill");
        let address = source.address(files.forge());
        let written = address.as_ref().map_or(source.from.clone(), ToString::to_string);
        let pins = pinned_skills(files.lock(), &written, &source.skills);
        let pinned = if pins.is_some() { "pinned" } else { "not pinned yet" };
        let from = printable(&address.map_or(written, |address| address.for_user_of(forge)));
        writeln!(out, "  {STRONG}{from}{STRONG:#}: {skills} {FAINT}({pinned}){FAINT:#}")?;
    }
    Ok(())
}

fn words(names: &[String], none: &str) -> String {
    if names.is_empty() { none.to_owned() } else { printable(&names.join(", ")) }
}
