//! Measures the host: listing into a registry, loading from the cache, verifying a server.

mod listing;
mod loading;
pub(crate) mod memory;
mod verifying;

use skillwire_client::Endpoint;
use skillwire_host::{Host, HostBuilder};
use skillwire_trust::{Refusal, ServerLabel};

pub(crate) use self::verifying::Inspector;
use super::Bench;
use crate::{
    broken::{Broken, Result},
    http::load::Target,
};

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    listing::measure(bench).await?;
    loading::measure(bench).await?;
    memory::measure(bench).await?;
    verifying::measure(bench).await
}

/// The address of a server, as a client gets it.
fn url(target: Target) -> String {
    format!("http://{}/mcp", target.address)
}

/// A host that knows one server.
fn host(builder: HostBuilder, url: String) -> Result<(Host, ServerLabel)> {
    let label = ServerLabel::parse("bench").map_err(|error| Broken::new(error.to_string()))?;
    let host = builder.build();
    host.add_server(label.clone(), Endpoint::Http { url, headers: Vec::new() });
    Ok((host, label))
}

impl From<Refusal> for Broken {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.to_string())
    }
}
