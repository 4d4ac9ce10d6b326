//! Skills of MCP servers and web origins, read for an import.

use std::collections::BTreeMap;

use skillwire_client::{HttpServer, InvalidServer, ServerConfig, ServerUrl, WellKnownOrigin};
use skillwire_trust::ServerLabel;

use super::{client::is_url, import::packed, publish::PackedSkill};
use crate::{
    commands::install::served, exit::Exit, failure::Failure, report::printable,
    settings::HostSettings,
};

/// The label of a server that the user has not configured, for this run alone.
const UNLABELLED: &str = "source";

/// Reads every skill that a server or a web origin offers, each with its URI.
pub(super) async fn find(
    from: &str,
) -> Result<Vec<(String, Result<PackedSkill, Failure>)>, Failure> {
    let (label, config) = target(from)?;
    let skills = served::read_all(label, &config).await?;
    let packed = |skill: served::ServedFiles| {
        let packed = packed(&skill.uri, &skill.files);
        (skill.uri, packed)
    };
    Ok(skills.into_iter().map(packed).collect())
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
