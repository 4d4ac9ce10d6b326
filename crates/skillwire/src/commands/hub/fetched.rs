//! Skills of MCP servers and web origins, read for an import.

use std::collections::BTreeMap;

use skillwire_client::{HttpServer, InvalidServer, ServerConfig, ServerUrl, WellKnownOrigin};
use skillwire_core::{RelPath, Resources};
use skillwire_host::Host;
use skillwire_trust::{Budgets, ListedSkill, Policy, ServerLabel};

use super::{client::is_url, import::packed, publish::PackedSkill};
use crate::{
    exit::Exit,
    failure::Failure,
    report::printable,
    session,
    settings::{HostSettings, address},
};

/// The label of a server that the user has not configured, for this run alone.
const UNLABELLED: &str = "source";

/// Reads every skill that a server or a web origin offers; each file is compared with what was listed.
pub(super) async fn find(from: &str) -> Result<Vec<PackedSkill>, Failure> {
    let (label, config) = target(from)?;
    let budgets = Budgets { session_bytes: u64::MAX, ..Budgets::default() };
    let host = Host::builder()
        .policy(Policy { budgets, ..Policy::default() })
        .client_options(session::client_options())
        .build();
    host.add_server(label.clone(), address(&label, &config)?);
    let found = read_all(&host, &label).await;
    host.disconnect().await;
    found
}

async fn read_all(host: &Host, label: &ServerLabel) -> Result<Vec<PackedSkill>, Failure> {
    // A server that cannot be listed is a failure here, and only a note in a discovery.
    host.list(label).await?;
    let discovered = host.discover().await;
    if let Some(incomplete) = discovered.incomplete.into_iter().next() {
        return Err(incomplete.into());
    }
    let mut skills = Vec::new();
    for item in discovered.registry.items() {
        let listed = host.refresh(&item.skill).await?;
        skills.push(read_skill(host, &listed).await?);
    }
    Ok(skills)
}

async fn read_skill(host: &Host, listed: &ListedSkill) -> Result<PackedSkill, Failure> {
    let uri = &listed.id().uri;
    let shown = printable(uri.as_str());
    let entry = listed.entry();
    let Resources::Listed(resources) = &entry.resources else {
        // Content that is made anew for each reader has no version.
        let message = format!("`{shown}` is made on request, so it cannot be imported.");
        return Err(Failure::new(Exit::Declined, message));
    };
    let mut files = Vec::new();
    for resource in resources {
        let path = uri.below(&resource.uri).ok_or_else(|| {
            Failure::new(Exit::Verification, format!("`{shown}` lists a file outside of it."))
        })?;
        let read = host.inspect(listed, path.as_str()).await?;
        files.push((path, read.bytes.clone()));
    }
    files.sort_by(|a: &(RelPath, _), b| a.0.cmp(&b.0));
    packed(uri.as_str(), &files)
}

/// Finds the server: a configured one, an MCP server's URL, or an origin without a path.
fn target(from: &str) -> Result<(ServerLabel, ServerConfig), Failure> {
    let invalid = |error: InvalidServer| {
        Failure::usage(format!("`{}` cannot be imported.", printable(from))).because(error).hint(
            "Name a folder, a git repository, a configured server, the URL of an MCP server, or a web origin.",
        )
    };
    if !is_url(from) {
        let unknown = || {
            Failure::new(
                Exit::NotFound,
                format!("There is no folder and no server `{}`.", printable(from)),
            )
            .hint("`skillwire server list` shows the labels.")
        };
        let label = ServerLabel::parse(from).map_err(|_| unknown())?;
        let configured = HostSettings::resolve()?.servers().load();
        let mut configured = configured.map_err(|error| Failure::caused(Exit::Usage, error))?;
        let config = configured.servers.remove(&label).ok_or_else(unknown)?;
        return Ok((label, config));
    }
    let label = ServerLabel::parse(UNLABELLED)
        .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
    let place = from.split_once("://").map_or("", |(_, place)| place);
    let config = if place.trim_end_matches('/').contains('/') {
        let url = ServerUrl::parse(from).map_err(invalid)?;
        ServerConfig::Http(HttpServer::new(url, BTreeMap::new(), None).map_err(invalid)?)
    } else {
        ServerConfig::WellKnown(WellKnownOrigin::new(from).map_err(invalid)?)
    };
    Ok((label, config))
}
