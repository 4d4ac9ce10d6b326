//! `skillwire server`: the servers whose skills are used.

mod add;
mod config;
mod login;
mod remove;
mod set;
mod trial;
mod trust;

use std::io::Write as _;

use serde::Serialize;
use skillwire_client::ServerConfig;
use skillwire_state::{Configured, Servers};
use skillwire_trust::{Reason, Record, Refusal, ServerLabel, StoreError};

use super::Outcome;
use crate::{
    args::{ServerAllowLegacyArgs, ServerCommand, ServerImportArgs, ServerListArgs},
    exit::Exit,
    failure::Failure,
    nearest::nearest,
    output::STRONG,
    prose, regular_file, report,
    session::warn,
    settings::HostSettings,
};

#[cfg(feature = "setup")]
pub(super) use self::add::{add, configured_as};

pub(super) fn run(command: &ServerCommand) -> Outcome {
    match command {
        ServerCommand::Add(args) => add::add(args, &mut prose::stdout()),
        ServerCommand::AllowLegacy(args) => allow_legacy(args),
        ServerCommand::Import(args) => import(args),
        ServerCommand::List(args) => list(args),
        #[cfg(feature = "oauth")]
        ServerCommand::Login(args) => login::run(args),
        #[cfg(not(feature = "oauth"))]
        ServerCommand::Login(_) => unreachable!("it was refused, as it is not built in"),
        ServerCommand::Logout(args) => login::forget(args),
        ServerCommand::Remove(args) => remove::run(args),
        ServerCommand::Set(args) => set::run(args),
        ServerCommand::Trust(args) => trust::run(args),
    }
}

/// The largest configuration of another client that is read.
const MAX_IMPORT_BYTES: u64 = 16 << 20;

/// Adds the servers of another MCP client.
fn import(args: &ServerImportArgs) -> Outcome {
    let file = args.file.display();
    let text = regular_file::read(&args.file, MAX_IMPORT_BYTES)
        .map_err(|error| Failure::usage(format!("`{file}` cannot be read.")).because(error))?;
    let imported = skillwire_state::import(&text).map_err(|error| {
        Failure::usage(format!("`{file}` cannot be imported: it {error}."))
            .hint("The file must look like `{\"mcpServers\": {\"acme\": {\"url\": \"...\"}}}`.")
    })?;
    for problem in &imported.problems {
        warn(&problem.to_string())?;
    }
    let servers = HostSettings::resolve()?.servers();
    let mut added = 0;
    for (label, config) in &imported.servers {
        if servers.add(label, config).map_err(unusable)? {
            added += 1;
            writeln!(prose::stdout(), "Added the server `{label}`.")?;
        } else {
            warn(&format!("There is a server `{label}` already; it stays as it is."))?;
        }
    }
    if added == 0 {
        return Err(Failure::new(Exit::Findings, format!("No server of `{file}` was added.")));
    }
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct ListedServer<'a> {
    label: &'a ServerLabel,
    #[serde(flatten)]
    config: &'a ServerConfig,
    /// Whether all its resources may be searched for skills.
    #[serde(rename = "legacyDiscovery")]
    legacy: bool,
    /// Public keys whose signed decisions count instead of a question.
    #[serde(rename = "trustKeys", skip_serializing_if = "<[_]>::is_empty")]
    trust_keys: &'a [String],
}

/// Shows the servers; secrets are masked.
fn list(args: &ServerListArgs) -> Outcome {
    let servers = HostSettings::resolve()?.servers();
    let Configured { servers: configured, legacy, trust_keys, problems } =
        servers.load().map_err(unusable)?;
    let keys = |label: &ServerLabel| trust_keys.get(label).map_or(&[][..], Vec::as_slice);
    for problem in &problems {
        warn(&problem.to_string())?;
    }
    if args.json {
        let listed: Vec<_> = configured
            .iter()
            .map(|(label, config)| ListedServer {
                label,
                config,
                legacy: legacy.contains(label),
                trust_keys: keys(label),
            })
            .collect();
        report::json(&mut std::io::stdout().lock(), &listed)?;
        return Ok(Exit::Ok);
    }
    let mut out = prose::stdout();
    let widest = configured.keys().map(|label| label.as_str().len()).max().unwrap_or(0);
    for (label, config) in &configured {
        let looked = if legacy.contains(label) { "  (legacy discovery)" } else { "" };
        let decides = if keys(label).is_empty() { "" } else { "  (its signed decisions count)" };
        let label = label.as_str();
        writeln!(
            out,
            "{STRONG}{label:widest$}{STRONG:#}  {}{looked}{decides}",
            report::printable(&config.to_string())
        )?;
    }
    out.flush()?;
    if configured.is_empty() {
        writeln!(prose::stderr(), "There are no servers; `skillwire server add` adds one.")?;
    }
    Ok(Exit::Ok)
}

/// Records whether the user lets all resources of a server be searched for skills.
fn allow_legacy(args: &ServerAllowLegacyArgs) -> Outcome {
    let label = label(&args.label)?;
    let servers = HostSettings::resolve()?.servers();
    if !servers.set_legacy(&label, !args.off).map_err(unusable)? {
        return Err(not_configured(&servers, &label));
    }
    let mut out = prose::stdout();
    if args.off {
        writeln!(out, "Skills of `{label}` are read only as it declares them.")?;
    } else {
        writeln!(out, "Skills are also looked for among the resources of `{label}`.")?;
    }
    Ok(Exit::Ok)
}

pub(super) fn label(text: &str) -> Result<ServerLabel, Failure> {
    ServerLabel::parse(text).map_err(|error| {
        Failure::usage(format!("The label `{}` {error}.", text.escape_debug()))
            .hint("Use a label such as `acme` or `work.github`.")
    })
}

fn unusable(error: StoreError) -> Failure {
    Failure::caused(Exit::Usage, error)
}

/// The refusal of a label that no server has; names the one that the user probably meant.
pub(super) fn unknown<'a>(
    label: &ServerLabel,
    configured: impl Iterator<Item = &'a ServerLabel>,
) -> Refusal {
    let refusal = Refusal::new(Reason::ServerUnknown).about(label);
    match nearest(label.as_str(), configured.map(ServerLabel::as_str)) {
        Some(meant) => refusal.hint(format!("Did you mean `{meant}`?")),
        None => refusal.hint("`skillwire server list` shows the labels."),
    }
}

/// The failure of a label that no configured server has.
fn not_configured(servers: &Servers, label: &ServerLabel) -> Failure {
    match servers.load() {
        Ok(configured) => unknown(label, configured.servers.keys()).into(),
        Err(error) => unusable(error),
    }
}

/// Tells whether a record holds a decision of the user.
fn is_decided(record: &Record) -> bool {
    record.approval.is_some() || record.declined.is_some() || record.disabled
}
