//! `skillwire server list`: which servers there are.

use std::io::Write as _;

use serde::Serialize;
use skillwire_client::ServerConfig;
use skillwire_state::Configured;
use skillwire_trust::ServerLabel;

use super::{Outcome, unusable};
use crate::{
    args::ServerListArgs, exit::Exit, output::STRONG, report, session::warn, settings::HostSettings,
};

#[derive(Serialize)]
struct Listed<'a> {
    label: &'a ServerLabel,
    #[serde(flatten)]
    config: &'a ServerConfig,
    /// Whether all its resources may be looked through for skills.
    #[serde(rename = "legacyDiscovery")]
    legacy: bool,
}

pub(super) fn run(args: &ServerListArgs) -> Outcome {
    let servers = HostSettings::resolve()?.servers();
    let Configured { servers: configured, legacy, problems } = servers.load().map_err(unusable)?;
    for problem in &problems {
        warn(&problem.to_string())?;
    }
    if args.json {
        let listed: Vec<_> = configured
            .iter()
            .map(|(label, config)| Listed { label, config, legacy: legacy.contains(label) })
            .collect();
        report::json(&mut std::io::stdout().lock(), &listed)?;
        return Ok(Exit::Ok);
    }
    let mut out = anstream::stdout().lock();
    let widest = configured.keys().map(|label| label.as_str().len()).max().unwrap_or(0);
    for (label, config) in &configured {
        let looked = if legacy.contains(label) { "  (legacy discovery)" } else { "" };
        let label = label.as_str();
        writeln!(
            out,
            "{STRONG}{label:widest$}{STRONG:#}  {}{looked}",
            report::printable(&config.to_string())
        )?;
    }
    out.flush()?;
    if configured.is_empty() {
        writeln!(anstream::stderr(), "There are no servers; `skillwire server add` adds one.")?;
    }
    Ok(Exit::Ok)
}
