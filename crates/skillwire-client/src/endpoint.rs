//! Where a server is, and the client's limits towards it.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use skillwire_protocol::Era;
use tokio::io::{AsyncRead, AsyncWrite};

use super::bearer::Bearer;
use crate::secret::Secret;

/// Where an MCP server is. Only the user's configuration creates one; nothing that a server sends
/// does.
pub enum Endpoint {
    /// A program that the client starts and talks to over its standard streams.
    Command(CommandEndpoint),
    /// A URL that the client talks to over streamable HTTP.
    Http {
        /// The URL of the MCP endpoint, `http` or `https`.
        url: String,
        /// Headers of every request, such as `Authorization`.
        headers: Vec<(String, Secret)>,
    },
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
            Self::Command(command) => Some(Self::Command(command.clone())),
            Self::Http { .. } | Self::LoggedIn { .. } | Self::Pipes { .. } => None,
        }
    }

    /// Returns the endpoint for another connection; pipes that the embedder opened serve only one.
    pub fn reopen(&self) -> Option<Self> {
        match self {
            Self::Http { url, headers } => {
                Some(Self::Http { url: url.clone(), headers: headers.clone() })
            }
            Self::LoggedIn { url, headers, bearer } => Some(Self::LoggedIn {
                url: url.clone(),
                headers: headers.clone(),
                bearer: Arc::clone(bearer),
            }),
            Self::Command(_) | Self::Pipes { .. } => self.again(),
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Arguments and URLs may carry tokens too.
            Self::Command(command) => {
                f.debug_struct("Command").field("program", &command.program).finish_non_exhaustive()
            }
            Self::Http { .. } => f.debug_struct("Http").finish_non_exhaustive(),
            Self::LoggedIn { .. } => f.debug_struct("LoggedIn").finish_non_exhaustive(),
            Self::Pipes { .. } => f.debug_struct("Pipes").finish_non_exhaustive(),
        }
    }
}

/// A program that is a server: what is started, where, and with which environment.
#[derive(Clone)]
pub struct CommandEndpoint {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, Secret)>,
    pub(crate) inherited: Vec<(String, String)>,
    pub(crate) folder: Option<PathBuf>,
}

impl CommandEndpoint {
    /// Names a program, as a path or as a name that is looked up in the `PATH` it is given.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            inherited: Vec::new(),
            folder: None,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds a variable whose value may be a secret. The process gets the variables that are named
    /// here and inherits nothing else.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: Secret) -> Self {
        self.env.push((name.into(), value));
        self
    }

    /// Adds a variable of this machine, such as `PATH`, whose value is no secret.
    #[must_use]
    pub fn inherit(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.inherited.push((name.into(), value.into()));
        self
    }

    /// Sets the folder in which the program is started; otherwise it is that of this process.
    #[must_use]
    pub fn folder(mut self, folder: Option<PathBuf>) -> Self {
        self.folder = folder;
        self
    }
}

impl fmt::Debug for CommandEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandEndpoint").field("program", &self.program).finish_non_exhaustive()
    }
}

/// How a client behaves towards one server.
#[derive(Debug, Clone)]
#[non_exhaustive]
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
    /// Whether legacy servers are told that users can be asked: callers of
    /// [`converse`](crate::Client::converse) pass the questions on.
    pub relays_forms: bool,
}

impl ClientOptions {
    /// Sets the name and version that the client reports to servers.
    #[must_use]
    pub fn with_client(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { client_name: name.into(), client_version: version.into(), ..self }
    }

    /// Sets the server's era, so that the client need not find it out.
    #[must_use]
    pub fn with_era(self, era: Era) -> Self {
        Self { era: Some(era), ..self }
    }

    /// Sets the time limit for opening a connection and learning about the server.
    #[must_use]
    pub fn with_connect_timeout(self, connect_timeout: Duration) -> Self {
        Self { connect_timeout, ..self }
    }

    /// Sets how long the client waits for a modern answer before it also tries the legacy
    /// handshake.
    #[must_use]
    pub fn with_probe_timeout(self, probe_timeout: Duration) -> Self {
        Self { probe_timeout, ..self }
    }

    /// Tells legacy servers that users can be asked.
    #[must_use]
    pub fn relaying_forms(self) -> Self {
        Self { relays_forms: true, ..self }
    }

    /// Sets how long a server may take to exit by itself when the client closes it.
    #[must_use]
    pub fn with_shutdown_grace(self, shutdown_grace: Duration) -> Self {
        Self { shutdown_grace, ..self }
    }
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
            relays_forms: false,
        }
    }
}

/// The limits of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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

    /// Sets the most bytes that the client receives.
    #[must_use]
    pub fn with_bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// Sets the time limit for the whole answer.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

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
