//! Resolves how clients reach a server.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use skillwire_server::http::{AccessRules, InvalidTokenFile, Tokens};
use skillwire_source::PathPatterns;

use super::{
    operating::{OperatingSettings, OperatingWords},
    serve::read_file,
};
use crate::{
    args::{HttpAddress, ServeArgs},
    exit::Exit,
    failure::Failure,
    features::Feature,
};

/// How clients reach the server.
pub(crate) enum ServeTransport {
    Stdio,
    Http(Box<HttpSettings>),
}

/// The settings of a server that is reached over HTTP.
pub(crate) struct HttpSettings {
    pub(crate) address: SocketAddr,
    pub(crate) access: AccessRules,
    pub(crate) tokens: Option<TokenFile>,
    pub(crate) metrics: bool,
    /// Whether visitors see the skills at `/`.
    pub(crate) page: bool,
    pub(crate) public: Option<PathPatterns>,
    /// The address of the endpoint as clients write it, if the operator named it.
    pub(crate) url: Option<String>,
    /// The first host name that the operator named.
    pub(crate) host: Option<String>,
    /// The authorization servers that issue tokens.
    pub(crate) issuers: Vec<String>,
    /// What the operator limits and records.
    pub(crate) operating: OperatingSettings,
}

/// The file with the tokens of callers.
pub(crate) struct TokenFile(PathBuf);

impl TokenFile {
    /// Reads the file.
    pub(crate) fn read(&self) -> Result<Tokens, Failure> {
        let text = read_file(&self.0, "--token-file")?;
        Tokens::parse(&text).map_err(|error: InvalidTokenFile| {
            Failure::usage("The token file cannot be used.").because(error).hint(
                "Write a line `NAME TOKEN [PATTERN...]` for each caller, with a token of at least \
                 16 characters.",
            )
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Tells whether other users of this machine can read the tokens.
    pub(crate) fn is_readable_by_others(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            const OTHERS: u32 = 0o077;
            std::fs::metadata(&self.0).is_ok_and(|file| file.permissions().mode() & OTHERS != 0)
        }
        #[cfg(not(unix))]
        false
    }
}

impl ServeTransport {
    pub(super) fn resolve(args: &ServeArgs, public: Option<PathPatterns>) -> Result<Self, Failure> {
        let Some(HttpAddress(address)) = args.http else {
            return match options_of_http(args).into_iter().find(|(_, given)| *given) {
                None => Ok(Self::Stdio),
                Some((option, _)) => Err(Failure::usage(format!("`{option}` needs `--http`."))
                    .hint("Pass `--http 127.0.0.1:8640` as well, or leave the option out.")),
            };
        };
        let loopback = address.ip().is_loopback();
        let tokens = args.token_file.clone().map(TokenFile);
        if tokens.is_none() && !loopback {
            return Err(Failure::new(
                Exit::Declined,
                format!(
                    "{address} can be reached from other machines, and no tokens are required."
                ),
            )
            .hint("Pass `--token-file FILE`, or listen on 127.0.0.1."));
        }
        if tokens.is_none() && !args.issuer.is_empty() {
            return Err(Failure::usage("`--issuer` needs `--token-file`.")
                .hint("Without tokens, clients need no authorization server."));
        }
        if args.page {
            Feature::Page.needed_for("--page")?;
        }
        // Visitors have no token, so they see what is published without one.
        if args.page && tokens.is_some() && public.is_none() {
            return Err(Failure::usage("`--page` with `--token-file` needs `--public`.")
                .hint("Name the skills that everybody may see, such as `--public '**'`."));
        }
        let mut hosts =
            args.allow_host.iter().map(|host| allowed_host(host)).collect::<Result<Vec<_>, _>>()?;
        let host = hosts.first().cloned();
        if loopback {
            // Every address of 127.0.0.0/8 is this machine. Clients use the one that is printed, so
            // it is allowed as a host.
            hosts.push(host_of(address));
        }
        let origins = args.allow_origin.iter().map(|origin| allowed_origin(origin));
        let access = AccessRules::default()
            .hosts(hosts)
            .origins(origins.collect::<Result<Vec<_>, _>>()?)
            .any_host(!loopback && args.allow_host.is_empty());
        let url = args.url.as_deref().map(|url| web_address("--url", url)).transpose()?;
        let issuers = args.issuer.iter().map(|issuer| web_address("--issuer", issuer));
        Ok(Self::Http(Box::new(HttpSettings {
            address,
            access,
            tokens,
            metrics: args.metrics,
            page: args.page,
            public,
            url,
            host,
            issuers: issuers.collect::<Result<_, _>>()?,
            operating: operating(args)?,
        })))
    }
}

/// The options that mean something only with `--http`, and whether each was given.
fn options_of_http(args: &ServeArgs) -> [(&'static str, bool); 11] {
    [
        ("--allow-origin", !args.allow_origin.is_empty()),
        ("--allow-host", !args.allow_host.is_empty()),
        ("--token-file", args.token_file.is_some()),
        ("--url", args.url.is_some()),
        ("--issuer", !args.issuer.is_empty()),
        ("--metrics", args.metrics),
        ("--page", args.page),
        ("--public", !args.public.is_empty()),
        ("--rate", args.rate.is_some()),
        ("--access-log", args.access_log.is_some()),
        ("--access-log-sample", args.access_log_sample.is_some()),
    ]
}

fn operating(args: &ServeArgs) -> Result<OperatingSettings, Failure> {
    let words = OperatingWords {
        rate: ("--rate", args.rate.as_deref()),
        access_log: args.access_log.as_deref(),
        sample: ("--access-log-sample", args.access_log_sample.as_deref()),
    };
    OperatingSettings::resolve(&words, Path::new(""))
}

/// Checks an address of the web: plain HTTP is for this machine only.
fn web_address(option: &str, url: &str) -> Result<String, Failure> {
    let rest = match url.split_once("://") {
        Some(("https", rest)) => rest,
        Some(("http", rest))
            if ["localhost", "127.0.0.1", "[::1]"].iter().any(|host| rest.starts_with(host)) =>
        {
            rest
        }
        _ => "",
    };
    if rest.is_empty() || rest.starts_with('/') || url.contains(['"', ' ', '#', '?']) {
        return Err(Failure::usage(format!("`{option} {url}` cannot be used."))
            .hint("Write it like `https://skills.example.com/mcp`."));
    }
    Ok(url.to_owned())
}

pub(super) fn host_of(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}

/// Checks a host name, which must have no port.
fn allowed_host(host: &str) -> Result<String, Failure> {
    let port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    if host.is_empty() || host.contains(['/', '@', ' ']) || port {
        return Err(Failure::usage(format!("`--allow-host {host}` is not a host name."))
            .hint("Name the host alone, such as `skills.example.com`, without scheme and port."));
    }
    Ok(host.to_ascii_lowercase())
}

/// Checks that an origin has the form in which browsers send it; another form would never match.
fn allowed_origin(origin: &str) -> Result<String, Failure> {
    let lower = origin.to_ascii_lowercase();
    let host = lower.split_once("://").filter(|(scheme, _)| !scheme.is_empty());
    if host.is_none_or(|(_, host)| host.is_empty() || host.contains(['/', '@', ' ', '*'])) {
        return Err(Failure::usage(format!("`--allow-origin {origin}` is not an origin."))
            .hint("Write scheme and host, such as `https://app.example.com`, without a path."));
    }
    Ok(lower)
}
