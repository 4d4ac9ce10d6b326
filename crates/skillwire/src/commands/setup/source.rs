//! The first server or folder, added along with the bridge.

use std::{io::Write, path::absolute};

use crate::{
    args::{ServerAddArgs, SetupArgs},
    commands::host,
    failure::Failure,
    prose,
    report::printable,
    settings::{AgentSettings, HostSettings},
    terminal,
};

/// The server that the user named, if any. One that cannot be is told before anything is written.
pub(super) fn named(
    args: &SetupArgs,
    settings: &AgentSettings,
) -> Result<Option<ServerAddArgs>, Failure> {
    args.source.as_deref().map(|source| server(source, settings)).transpose()
}

/// Says what would be added.
pub(super) fn show(args: &SetupArgs, named: Option<&ServerAddArgs>) -> Result<(), Failure> {
    let Some(server) = named else { return Ok(()) };
    // The result in JSON is about agents.
    let mut out: Box<dyn Write> =
        if args.json { Box::new(prose::stderr()) } else { Box::new(prose::stdout()) };
    if let Some(label) = host::configured_as(server)? {
        writeln!(out, "The server `{label}` is there already.")?;
        return Ok(());
    }
    let label = &server.label;
    if let Some(url) = &server.url {
        writeln!(out, "The server `{label}` would be added: {}.", printable(url))?;
    } else {
        let command = printable(&server.command.join(" "));
        writeln!(out, "The server `{label}` would be added, started as `{command}`.")?;
    }
    Ok(())
}

/// Adds the server or folder that the user named, or asks for one where there is none yet.
pub(super) fn add(
    args: &SetupArgs,
    settings: &AgentSettings,
    named: Option<ServerAddArgs>,
) -> Result<(), Failure> {
    let server = match named {
        Some(server) => server,
        None if args.yes || args.json || has_servers()? => return Ok(()),
        None => {
            let typed = terminal::ask(
                "A server or folder of skills to begin with (URL, path, or Enter for none):",
            );
            let Some(typed) = typed.filter(|typed| !typed.trim().is_empty()) else {
                return Ok(());
            };
            server(&typed, settings)?
        }
    };
    if let Some(label) = host::configured_as(&server)? {
        writeln!(prose::stderr(), "The server `{label}` is there already.")?;
        return Ok(());
    }
    host::add_server(&server, args.json).map(|_| ())
}

/// Reads a URL or the path of a folder.
fn server(source: &str, settings: &AgentSettings) -> Result<ServerAddArgs, Failure> {
    let source = source.trim();
    let mut added = empty();
    let label = if source.contains("://") {
        let host = source.split("://").nth(1).and_then(|rest| rest.split(['/', ':', '?']).next());
        added.url = Some(source.to_owned());
        host.unwrap_or_default().to_owned()
    } else {
        let folder = absolute(source).ok().filter(|folder| folder.is_dir()).ok_or_else(|| {
            Failure::usage(format!("`{}` is neither a URL nor a folder.", printable(source)))
                .hint("Write `https://...` or the path of a folder of skills.")
        })?;
        let path = folder.display().to_string();
        added.command = vec![settings.program().to_owned(), "serve".to_owned(), path];
        folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    };
    added.label = label_of(&label);
    Ok(added)
}

fn has_servers() -> Result<bool, Failure> {
    let configured = HostSettings::resolve()?.servers().load();
    Ok(configured.is_ok_and(|configured| !configured.servers.is_empty()))
}

/// Makes a label of a host or a folder's name.
fn label_of(name: &str) -> String {
    let allowed = |ch: char| ch.is_ascii_lowercase() || ch.is_ascii_digit() || "-_.".contains(ch);
    let label: String = name
        .to_ascii_lowercase()
        .chars()
        .map(|ch| if allowed(ch) { ch } else { '-' })
        .take(64)
        .collect();
    let label = label.trim_matches(['-', '.', '_']).to_owned();
    if label.is_empty() { "skills".to_owned() } else { label }
}

fn empty() -> ServerAddArgs {
    ServerAddArgs {
        label: String::new(),
        url: None,
        command: Vec::new(),
        header: Vec::new(),
        bearer_token_file: None,
        env: Vec::new(),
        legacy_discovery: false,
        trust_key: Vec::new(),
        no_connect: false,
        must_connect: false,
        kind: crate::args::ServerKind::Mcp,
    }
}
