//! The first server or folder, added along with the bridge.

use std::path::absolute;

use crate::{
    args::{ServerAddArgs, SetupArgs},
    commands::host,
    failure::Failure,
    settings::{AgentSettings, HostSettings},
    terminal,
};

/// Adds the server or folder that the user named, or asks for one where there is none yet.
pub(super) fn offer(args: &SetupArgs, settings: &AgentSettings) -> Result<(), Failure> {
    let source = match &args.source {
        Some(source) => Some(source.clone()),
        None if args.yes || args.json || has_servers()? => None,
        None => terminal::ask(
            "A server or folder of skills to begin with (URL, path, or Enter for none):",
        ),
    };
    let Some(source) = source.filter(|source| !source.trim().is_empty()) else { return Ok(()) };
    let source = source.trim();
    let (label, mut added) = if source.contains("://") {
        let host = source.split("://").nth(1).and_then(|rest| rest.split(['/', ':', '?']).next());
        let mut added = empty();
        added.url = Some(source.to_owned());
        (host.unwrap_or_default().to_owned(), added)
    } else {
        let folder = absolute(source).ok().filter(|folder| folder.is_dir()).ok_or_else(|| {
            Failure::usage(format!("`{source}` is neither a URL nor a folder."))
                .hint("Write `https://...` or the path of a folder of skills.")
        })?;
        let mut added = empty();
        let path = folder.display().to_string();
        added.command = vec![settings.program().to_owned(), "serve".to_owned(), path];
        (folder.file_name().unwrap_or_default().to_string_lossy().into_owned(), added)
    };
    added.label = label_of(&label);
    host::add_server(&added).map(|_| ())
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
