//! The user's configuration of how to reach a server.

mod mask;
mod variables;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use fluent_uri::Uri;
use serde::Serialize;

pub use self::variables::{UnsetVariable, expand};
use crate::{secret::Secret, web::WebOrigin};

/// Returns the secrets among the arguments of a program, as far as their form shows them.
pub(crate) fn secret_arguments(args: &[String]) -> Vec<String> {
    mask::secrets(args)
}

/// The configuration of one server. Its printed and serialised forms show no secret.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ServerConfig {
    /// A process that the client starts and talks to over its standard input and output.
    Stdio(StdioServer),
    /// A server that the client talks to over HTTP.
    Http(HttpServer),
    /// A web site that publishes skills.
    #[serde(rename = "well-known")]
    WellKnown(WellKnownOrigin),
}

impl fmt::Display for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio(server) => {
                f.write_str(&mask::harmless(&server.command))?;
                mask::arguments(&server.args).iter().try_for_each(|arg| write!(f, " {arg}"))
            }
            Self::Http(server) => server.url.fmt(f),
            Self::WellKnown(origin) => write!(f, "{} (well-known)", origin.url),
        }
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio(server) => server.fmt(f),
            Self::Http(server) => server.fmt(f),
            Self::WellKnown(origin) => origin.fmt(f),
        }
    }
}

/// A web site that publishes skills below `/.well-known/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WellKnownOrigin {
    url: String,
    #[serde(skip)]
    origin: WebOrigin,
}

impl WellKnownOrigin {
    /// Parses the address of an origin, such as `https://example.com`.
    pub fn new(url: &str) -> Result<Self, InvalidServer> {
        let origin = WebOrigin::parse(url)
            .map_err(|error| InvalidServer::new(format!("the address {error}")))?;
        Ok(Self { url: url.to_owned(), origin })
    }

    /// Returns the address as the user typed it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the origin of the site.
    pub fn origin(&self) -> &WebOrigin {
        &self.origin
    }
}

/// A command with its arguments and additions to its environment.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct StdioServer {
    command: String,
    #[serde(serialize_with = "mask::serialize_arguments")]
    args: Vec<String>,
    env: BTreeMap<String, Secret>,
    #[serde(rename = "cwd", skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
}

impl StdioServer {
    /// Creates the configuration of a command; refuses text that the system cannot pass to a
    /// process.
    pub fn new(
        command: impl Into<String>,
        args: Vec<String>,
        env: BTreeMap<String, Secret>,
    ) -> Result<Self, InvalidServer> {
        let command = command.into();
        if command.trim().is_empty() {
            return Err(InvalidServer::new("`command` is empty"));
        }
        if command.contains('\0') || args.iter().any(|arg| arg.contains('\0')) {
            return Err(InvalidServer::new("`command` or `args` hold a NUL character"));
        }
        for (name, value) in &env {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(InvalidServer::new("`env` has a name that is empty or holds `=`"));
            }
            if value.reveal().contains('\0') {
                return Err(InvalidServer::new("`env` has a value with a NUL character"));
            }
        }
        Ok(Self { command, args, env, folder: None })
    }

    /// Sets the folder in which the process is started. Without one, it is the folder in which the
    /// user happens to be, so a relative path is refused.
    pub fn in_folder(self, folder: Option<PathBuf>) -> Result<Self, InvalidServer> {
        match &folder {
            Some(folder) if !folder.is_absolute() => {
                return Err(InvalidServer::new("`cwd` is not an absolute path"));
            }
            Some(folder) if folder.to_str().is_none() => {
                return Err(InvalidServer::new("`cwd` is not Unicode"));
            }
            _ => {}
        }
        Ok(Self { folder, ..self })
    }

    /// Returns the folder in which the process is started, if it is a certain one.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the command.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Returns the arguments with their secrets. To show them to a user, use `Display` of the
    /// server.
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// Returns the variables that are added to the process's environment.
    pub fn env(&self) -> &BTreeMap<String, Secret> {
        &self.env
    }
}

impl fmt::Debug for StdioServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioServer")
            .field("command", &self.command)
            .field("args", &mask::arguments(&self.args))
            .field("env", &self.env)
            .field("folder", &self.folder)
            .finish()
    }
}

/// A URL, and the headers and token that the client sends to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpServer {
    url: ServerUrl,
    headers: BTreeMap<String, Secret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bearer_token_file: Option<PathBuf>,
}

impl HttpServer {
    /// Creates the configuration of an HTTP server; refuses headers that cannot be sent and a
    /// relative token file.
    pub fn new(
        url: ServerUrl,
        headers: BTreeMap<String, Secret>,
        bearer_token_file: Option<PathBuf>,
    ) -> Result<Self, InvalidServer> {
        for (name, value) in &headers {
            let token =
                |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            if name.is_empty() || !name.bytes().all(token) {
                return Err(InvalidServer::new("`headers` has a name that HTTP does not allow"));
            }
            if value.reveal().chars().any(char::is_control) {
                return Err(InvalidServer::new("`headers` has a value with a control character"));
            }
        }
        let given_twice = headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
        match &bearer_token_file {
            Some(path) if !path.is_absolute() => {
                Err(InvalidServer::new("`bearerTokenFile` is not an absolute path"))
            }
            Some(_) if given_twice => Err(InvalidServer::new(
                "both `bearerTokenFile` and the header `Authorization` are given",
            )),
            _ => Ok(Self { url, headers, bearer_token_file }),
        }
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> &ServerUrl {
        &self.url
    }

    /// Returns the headers that the client sends with every request.
    pub fn headers(&self) -> &BTreeMap<String, Secret> {
        &self.headers
    }

    /// Tells whether a token is configured, so that no login is needed.
    pub fn is_authorized(&self) -> bool {
        let named = |name: &String| name.eq_ignore_ascii_case("authorization");
        self.bearer_token_file.is_some() || self.headers.keys().any(named)
    }

    /// Returns the path of the file that holds the bearer token.
    pub fn bearer_token_file(&self) -> Option<&Path> {
        self.bearer_token_file.as_deref()
    }
}

/// The address of a server: `http` or `https`, with a host and without user name or fragment.
///
/// It may hold variables such as `${HOST}`, which [`expand`] fills in.
/// Its printed form leaves out the query, because some services expect a key there.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl(String);

impl ServerUrl {
    /// Parses a URL.
    pub fn parse(text: &str) -> Result<Self, InvalidServer> {
        // A variable in the address has its value when the client connects, and not yet here.
        if text.starts_with("${") {
            return Ok(Self(text.to_owned()));
        }
        let filled = expand(text, |_| Some("variable".to_owned())).unwrap_or_default();
        let uri =
            Uri::parse(filled.as_str()).map_err(|_| InvalidServer::new("`url` is not a URL"))?;
        let scheme = uri.scheme().as_str();
        if !scheme.eq_ignore_ascii_case("https") && !scheme.eq_ignore_ascii_case("http") {
            return Err(InvalidServer::new("`url` is neither `http` nor `https`"));
        }
        let authority = uri.authority().filter(|authority| !authority.host().is_empty());
        let authority = authority.ok_or(InvalidServer::new("`url` has no host"))?;
        if authority.has_userinfo() {
            return Err(InvalidServer::new(
                "`url` holds a user name or password; put it into `headers`",
            ));
        }
        if uri.has_fragment() {
            return Err(InvalidServer::new("`url` has a fragment (`#`)"));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the whole URL with its query, for the code that connects.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.split_once('?') {
            Some((address, _)) => write!(f, "{address}?***"),
            None => f.write_str(&self.0),
        }
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ServerUrl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why a server configuration is invalid: a clause that quotes no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidServer(String);

impl InvalidServer {
    /// Creates the error from a clause, which must not contain a secret.
    pub fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}
