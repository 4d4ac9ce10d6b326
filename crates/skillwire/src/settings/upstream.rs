//! Resolves which configured servers a server passes on.

use std::collections::BTreeSet;

use skillwire_core::Scheme;
use skillwire_host::OriginAddress;
use skillwire_source::PathPatterns;
use skillwire_trust::ServerLabel;

use super::{HostSettings, address, reading::bad_pattern};
use crate::{exit::Exit, failure::Failure};

/// Servers whose skills are passed on.
#[derive(Debug)]
pub(crate) struct UpstreamSettings {
    /// The servers, each with the label under which its skills are passed on.
    pub(crate) servers: Vec<(ServerLabel, OriginAddress)>,
    /// The servers whose resources may all be searched for skills.
    pub(crate) legacy: BTreeSet<ServerLabel>,
    /// The tools and prompts that are passed on too.
    pub(crate) tools: PathPatterns,
    /// The scheme of the URIs.
    pub(crate) scheme: Scheme,
}

impl UpstreamSettings {
    /// Finds the configured servers with these labels; `None` if no label was given.
    pub(super) fn resolve(
        labels: &[String],
        tools: &[String],
        scheme: &Scheme,
    ) -> Result<Option<Self>, Failure> {
        let tools =
            PathPatterns::parse(tools).map_err(|error| bad_pattern("--upstream-tools", error))?;
        if labels.is_empty() && !tools.is_empty() {
            return Err(Failure::usage("`--upstream-tools` names tools of no server.")
                .hint("Name the server too: `--upstream LABEL`."));
        }
        if labels.is_empty() {
            return Ok(None);
        }
        let mut configured = HostSettings::resolve()?.servers().load().map_err(|error| {
            Failure::caused(Exit::Usage, error)
                .hint("Fix or remove that file; no server is used until then.")
        })?;
        let mut servers = Vec::new();
        for text in labels {
            let unknown = || {
                let shown = text.escape_debug();
                Failure::usage(format!("`--upstream {shown}`: no server has this label.")).hint(
                    "`skillwire server list` shows the labels, `skillwire server add` makes one.",
                )
            };
            let label = ServerLabel::parse(text).map_err(|_| unknown())?;
            if servers.iter().any(|(other, _)| *other == label) {
                continue;
            }
            let config = configured.servers.remove(&label).ok_or_else(unknown)?;
            let address =
                address(&label, &config).map_err(|refusal| Failure::usage(refusal.to_string()))?;
            servers.push((label, address));
        }
        let (legacy, scheme) = (configured.legacy, scheme.clone());
        Ok(Some(Self { servers, legacy, tools, scheme }))
    }
}
