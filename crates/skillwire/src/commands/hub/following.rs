//! How `hub serve` reaches upstreams: addresses with variables of the environment, `git`, the scanner.

use std::{collections::BTreeMap, sync::Arc};

use skillwire_client::{HttpServer, ServerConfig, ServerUrl, StdioServer, WellKnownOrigin};
use skillwire_host::{OriginAddress, Secret, ServerLabel};
use skillwire_hub::UpstreamSource;
use skillwire_hub_upstreams::{InspectContent, InvalidAddress, UpstreamOptions};

use super::upstream_variables::UpstreamVariables;
use crate::{
    commands::install::repository, exit::Exit, failure::Failure, session::client_options,
    settings::address,
};

/// Says how upstreams are followed.
pub(super) fn options(
    variables: Arc<UpstreamVariables>,
    inspector: Arc<dyn InspectContent>,
) -> Result<UpstreamOptions, Failure> {
    let reached = move |label: &ServerLabel, source: &UpstreamSource| {
        variables.require(label, source)?;
        reached(label, source)
    };
    let options = UpstreamOptions::new(Arc::new(reached))
        .map_err(|error| Failure::caused(Exit::Internal, error))?
        .client(client_options())
        .git(repository::git_options())
        .inspector(inspector);
    Ok(options)
}

/// Finds where a server or web site is reached.
fn reached(label: &ServerLabel, source: &UpstreamSource) -> Result<OriginAddress, InvalidAddress> {
    let config = config(source)?;
    address(label, &config).map_err(|refusal| InvalidAddress(refusal.to_string()))
}

fn config(source: &UpstreamSource) -> Result<ServerConfig, InvalidAddress> {
    let secrets = |values: &BTreeMap<String, String>| {
        let each = values.iter().map(|(name, value)| (name.clone(), Secret::new(value.clone())));
        each.collect::<BTreeMap<_, _>>()
    };
    let made = match source {
        UpstreamSource::Mcp { url, headers, .. } => ServerUrl::parse(url)
            .and_then(|url| HttpServer::new(url, secrets(headers), None))
            .map(ServerConfig::Http),
        UpstreamSource::Command { command, args, env, .. } => {
            StdioServer::new(command.as_str(), args.clone(), secrets(env)).map(ServerConfig::Stdio)
        }
        UpstreamSource::WellKnown { url } => WellKnownOrigin::new(url).map(ServerConfig::WellKnown),
        UpstreamSource::Git { .. } | UpstreamSource::Folder { .. } => {
            return Err(InvalidAddress("it is neither a server nor a web site".to_owned()));
        }
    };
    made.map_err(|error| InvalidAddress(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_is_not_set_is_named_and_no_address_gw_19() {
        let label = ServerLabel::parse("docs").unwrap();
        let with = |value: &str| UpstreamSource::Mcp {
            url: "https://docs.example/mcp".to_owned(),
            headers: BTreeMap::from([("Authorization".to_owned(), value.to_owned())]),
            older: false,
        };
        let error = reached(&label, &with("Bearer ${SKILLWIRE_NO_SUCH_VARIABLE}")).unwrap_err();
        assert!(error.to_string().contains("SKILLWIRE_NO_SUCH_VARIABLE"), "{error}");
        assert!(reached(&label, &with("Bearer ${SKILLWIRE_NO_SUCH_VARIABLE:-x}")).is_ok());
    }
}
