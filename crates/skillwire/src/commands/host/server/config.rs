//! The configuration of a server: as it is added, and as it is changed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use skillwire_client::{
    HttpServer, InvalidServer, Secret, ServerConfig, ServerUrl, StdioServer, WellKnownOrigin,
};

use crate::{
    args::{ServerAddArgs, ServerKind, ServerSetArgs},
    failure::Failure,
};

/// The name of the header that a token is sent in.
const AUTHORIZATION: &str = "Authorization";

/// Makes the configuration of a new server.
pub(super) fn new(args: &ServerAddArgs) -> Result<ServerConfig, Failure> {
    if !args.command.is_empty() {
        return program(&args.command, pairs(&args.env, "--env")?);
    }
    let url = args.url.as_deref().unwrap_or_default();
    if args.kind == ServerKind::WellKnown {
        if !args.header.is_empty() || args.bearer_token_file.is_some() || args.legacy_discovery {
            return Err(public_only());
        }
        return web_origin(url);
    }
    let headers = pairs(&args.header, "--header")?;
    let token_file = args.bearer_token_file.as_deref().map(token_file).transpose()?;
    let url = server_url(url)?;
    HttpServer::new(url, headers, token_file).map(ServerConfig::Http).map_err(invalid)
}

/// Makes the configuration of a server after a change. What `args` does not name stays.
pub(super) fn changed(
    current: &ServerConfig,
    args: &ServerSetArgs,
) -> Result<ServerConfig, Failure> {
    if !args.command.is_empty() {
        let env = match current {
            ServerConfig::Stdio(server) => server.env().clone(),
            ServerConfig::Http(_) | ServerConfig::WellKnown(_) => BTreeMap::new(),
        };
        return program(&args.command, with_variables(env, args)?);
    }
    let has_variables = !args.env.is_empty() || !args.remove_env.is_empty();
    match (current, args.url.as_deref()) {
        (ServerConfig::Stdio(server), None) => {
            if args.changes_headers() {
                return Err(Failure::usage("A program gets no headers and no token.")
                    .hint("`--env NAME=VALUE` gives it a variable."));
            }
            let env = with_variables(server.env().clone(), args)?;
            let program = StdioServer::new(server.command(), server.args().to_vec(), env);
            let program =
                program.and_then(|program| program.in_folder(server.folder().map(Path::to_owned)));
            program.map(ServerConfig::Stdio).map_err(invalid)
        }
        _ if has_variables => Err(Failure::usage("Only a program gets variables.")
            .hint("`--header NAME=VALUE` sends a header to a server at a URL.")),
        (ServerConfig::WellKnown(_), _) if args.changes_headers() => Err(public_only()),
        (ServerConfig::WellKnown(origin), url) => web_origin(url.unwrap_or(origin.url())),
        (ServerConfig::Http(server), None) => http(Some(server), server.url().clone(), args),
        (ServerConfig::Http(server), Some(url)) => http(Some(server), server_url(url)?, args),
        (ServerConfig::Stdio(_), Some(url)) => http(None, server_url(url)?, args),
    }
}

fn http(
    current: Option<&HttpServer>,
    url: ServerUrl,
    args: &ServerSetArgs,
) -> Result<ServerConfig, Failure> {
    let mut headers = current.map_or_else(BTreeMap::new, |server| server.headers().clone());
    let mut file = current.and_then(HttpServer::bearer_token_file).map(Path::to_owned);
    let remove = |headers: &mut BTreeMap<String, Secret>, name: &str| {
        let before = headers.len();
        headers.retain(|other, _| !other.eq_ignore_ascii_case(name));
        headers.len() < before
    };
    for name in &args.remove_header {
        if !remove(&mut headers, name) {
            return Err(not_there("--remove-header", name, headers.keys()));
        }
    }
    for (name, value) in pairs(&args.header, "--header")? {
        remove(&mut headers, &name);
        if name.eq_ignore_ascii_case(AUTHORIZATION) {
            file = None;
        }
        headers.insert(name, value);
    }
    if args.no_bearer_token_file {
        file = None;
    }
    if let Some(path) = &args.bearer_token_file {
        remove(&mut headers, AUTHORIZATION);
        file = Some(token_file(path)?);
    }
    HttpServer::new(url, headers, file).map(ServerConfig::Http).map_err(invalid)
}

fn with_variables(
    mut env: BTreeMap<String, Secret>,
    args: &ServerSetArgs,
) -> Result<BTreeMap<String, Secret>, Failure> {
    for name in &args.remove_env {
        if env.remove(name).is_none() {
            return Err(not_there("--remove-env", name, env.keys()));
        }
    }
    env.extend(pairs(&args.env, "--env")?);
    Ok(env)
}

fn not_there<'a>(option: &str, name: &str, there: impl Iterator<Item = &'a String>) -> Failure {
    let there: Vec<_> = there.map(|name| format!("`{}`", name.escape_debug())).collect();
    let failure =
        Failure::usage(format!("`{option} {}` names nothing it has.", name.escape_debug()));
    match there.as_slice() {
        [] => failure.hint("It has none."),
        names => failure.hint(format!("It has {}.", names.join(", "))),
    }
}

/// A program, which is started where the user is now, also later and whatever folder the user is in
/// then. Otherwise relative paths among its arguments would lead elsewhere.
fn program(words: &[String], env: BTreeMap<String, Secret>) -> Result<ServerConfig, Failure> {
    let (command, rest) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
    let here = std::env::current_dir()
        .map_err(|error| Failure::usage("The current folder cannot be used.").because(error))?;
    let server = StdioServer::new(command, rest.to_vec(), env);
    let server = server.and_then(|server| server.in_folder(Some(here)));
    server.map(ServerConfig::Stdio).map_err(invalid)
}

fn web_origin(url: &str) -> Result<ServerConfig, Failure> {
    WellKnownOrigin::new(url)
        .map(ServerConfig::WellKnown)
        .map_err(|error| invalid(error).hint("Write an origin such as `https://example.com`."))
}

fn server_url(url: &str) -> Result<ServerUrl, Failure> {
    ServerUrl::parse(url).map_err(|error| {
        invalid(error)
            .hint("Write a URL such as `https://skills.example.com/mcp`, or a program after `--`.")
    })
}

/// The absolute path of a token file: the user may be in another folder when it is read.
fn token_file(file: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(file).map_err(|error| {
        Failure::usage(format!("`--bearer-token-file {}` cannot be used.", file.display()))
            .because(error)
    })
}

fn public_only() -> Failure {
    Failure::usage("A web origin gets no headers and no token.")
        .hint("Leave these options out: what it publishes is public.")
}

fn invalid(error: InvalidServer) -> Failure {
    Failure::usage("This is not a server.").because(error)
}

/// Parses `NAME=VALUE`. Errors do not repeat the text, which may hold a secret.
fn pairs(texts: &[String], option: &str) -> Result<BTreeMap<String, Secret>, Failure> {
    let mut pairs = BTreeMap::new();
    for text in texts {
        let Some((name, value)) = text.split_once('=') else {
            return Err(Failure::usage(format!("`{option}` needs `NAME=VALUE`.")));
        };
        if pairs.insert(name.to_owned(), Secret::new(value)).is_some() {
            return Err(Failure::usage(format!(
                "`{option}` names `{}` twice.",
                name.escape_debug()
            )));
        }
    }
    Ok(pairs)
}
