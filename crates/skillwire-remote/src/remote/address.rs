//! Where the skills of an origin come from.

use skillwire_client::{Endpoint, WebOrigin};

/// Where the skills of an origin come from.
#[derive(Debug)]
pub enum OriginAddress {
    /// An MCP server.
    Server(Endpoint),
    /// A web site that publishes skills.
    Web(WebOrigin),
}

impl From<Endpoint> for OriginAddress {
    fn from(endpoint: Endpoint) -> Self {
        Self::Server(endpoint)
    }
}

impl From<WebOrigin> for OriginAddress {
    fn from(origin: WebOrigin) -> Self {
        Self::Web(origin)
    }
}
