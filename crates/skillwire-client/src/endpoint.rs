//! Where a server is, and the client's limits towards it.

use std::{fmt, sync::Arc, time::Duration};

use skillwire_protocol::Era;
use tokio::io::{AsyncRead, AsyncWrite};

use super::bearer::Bearer;
use crate::{secret::Secret, web::WebOrigin};

/// Where a server is. Only the user's configuration creates one; nothing that a server sends does.
pub enum Endpoint {
    /// A program that the client starts and talks to over its standard streams.
    Command {
        /// The program, as a path or a name that is looked up in the `PATH` of `env`.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// The whole environment of the process; it inherits nothing else.
        env: Vec<(String, Secret)>,
    },
    /// A URL that the client talks to over streamable HTTP.
    Http {
        /// The URL of the MCP endpoint, `http` or `https`.
        url: String,
        /// Headers of every request, such as `Authorization`.
        headers: Vec<(String, Secret)>,
    },
    /// A web site that publishes skills; the client only sends it plain requests.
    Web(WebOrigin),
    /// A URL that needs short-lived tokens: `https`, or `http` on this machine.
    LoggedIn {
        /// The URL of the MCP endpoint.
        url: String,
        /// Other headers of every request.
        headers: Vec<(String, Secret)>,
        /// Supplies the tokens.
        bearer: Arc<dyn Bearer>,
    },
    /// Pipes to a server that the embedder started.
    Pipes {
        /// The pipe that the server writes to.
        input: Box<dyn AsyncRead + Send + Unpin>,
        /// The pipe that the server reads from.
        output: Box<dyn AsyncWrite + Send + Unpin>,
    },
}

impl Endpoint {
    /// Returns the endpoint once more if opening it again starts a fresh server.
    pub(super) fn again(&self) -> Option<Self> {
        match self {
            Self::Command { program, args, env } => Some(Self::Command {
                program: program.clone(),
                args: args.clone(),
                env: env.clone(),
            }),
            Self::Http { .. } | Self::LoggedIn { .. } | Self::Pipes { .. } | Self::Web(_) => None,
        }
    }
}

impl Endpoint {
    /// Returns the endpoint for another connection; pipes that the embedder opened serve only one.
    pub fn reopen(&self) -> Option<Self> {
        match self {
            Self::Http { url, headers } => {
                Some(Self::Http { url: url.clone(), headers: headers.clone() })
            }
            Self::Web(web) => Some(Self::Web(web.clone())),
            Self::LoggedIn { url, headers, bearer } => Some(Self::LoggedIn {
                url: url.clone(),
                headers: headers.clone(),
                bearer: Arc::clone(bearer),
            }),
            Self::Command { .. } | Self::Pipes { .. } => self.again(),
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Arguments and URLs may carry tokens too.
            Self::Command { program, .. } => {
                f.debug_struct("Command").field("program", program).finish_non_exhaustive()
            }
            Self::Http { .. } => f.debug_struct("Http").finish_non_exhaustive(),
            Self::Web(_) => f.debug_struct("Web").finish_non_exhaustive(),
            Self::LoggedIn { .. } => f.debug_struct("LoggedIn").finish_non_exhaustive(),
            Self::Pipes { .. } => f.debug_struct("Pipes").finish_non_exhaustive(),
        }
    }
}

/// How a client behaves towards one server.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The name that the client reports to servers.
    pub client_name: String,
    /// The version that the client reports to servers.
    pub client_version: String,
    /// The server's era, if the caller knows it; otherwise the client finds out.
    pub era: Option<Era>,
    /// The time limit for opening a connection and learning about the server.
    pub connect_timeout: Duration,
    /// How long the client waits for a modern answer before it also tries the legacy handshake.
    pub probe_timeout: Duration,
    /// How long a server may take to exit by itself when the client closes it.
    pub shutdown_grace: Duration,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            client_name: "skillwire".to_owned(),
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            era: None,
            connect_timeout: Duration::from_secs(30),
            probe_timeout: Duration::from_secs(5),
            shutdown_grace: Duration::from_secs(2),
        }
    }
}

/// The limits of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes that the client receives for it, framing and notifications included.
    pub bytes: usize,
    /// The time limit for the whole answer.
    pub timeout: Duration,
}

impl Limits {
    /// Room for everything around the content of a file: the envelope, its URI, metadata.
    const AROUND_CONTENT: usize = 64 * 1024;

    /// JSON may write a byte of text as six, as in `\u0000`; base64 needs less.
    const ESCAPED: usize = 6;

    /// Returns the limits for reading a file of that size, for any encoding the server may choose.
    pub fn for_file(size: u64, timeout: Duration) -> Self {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let bytes = size.saturating_mul(Self::ESCAPED).saturating_add(Self::AROUND_CONTENT);
        Self { bytes, timeout }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 16 * 1024 * 1024, timeout: Duration::from_secs(30) }
    }
}
