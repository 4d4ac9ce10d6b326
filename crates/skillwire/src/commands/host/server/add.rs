//! `skillwire server add`: configures a server.

use std::{collections::BTreeMap, io::Write as _};

use skillwire_client::{
    HttpServer, InvalidServer, Secret, ServerConfig, ServerUrl, StdioServer, WellKnownOrigin,
};

use super::{Outcome, label, unusable};
use crate::{
    args::{ServerAddArgs, ServerKind},
    exit::Exit,
    failure::Failure,
    prose,
    settings::HostSettings,
};

pub(super) fn run(args: &ServerAddArgs) -> Outcome {
    let label = label(&args.label)?;
    let config = config(args)?;
    let servers = HostSettings::resolve()?.servers();
    if !servers.add(&label, &config).map_err(unusable)? {
        return Err(Failure::usage(format!("There is a server `{label}` already.")).hint(format!(
            "Choose another label, or run `skillwire server remove {label}` first."
        )));
    }
    if args.legacy_discovery {
        servers.set_legacy(&label, true).map_err(unusable)?;
    }
    writeln!(prose::stdout(), "Added the server `{label}`.")?;
    writeln!(prose::stderr(), "`skillwire list --server {label}` shows its skills.")?;
    Ok(Exit::Ok)
}

fn config(args: &ServerAddArgs) -> Result<ServerConfig, Failure> {
    let invalid = |error: InvalidServer| Failure::usage("This is no server.").because(error);
    if let [command, rest @ ..] = args.command.as_slice() {
        let env = pairs(&args.env, "--env")?;
        let server = StdioServer::new(command, rest.to_vec(), env).map_err(invalid)?;
        return Ok(ServerConfig::Stdio(server));
    }
    let url = args.url.as_deref().unwrap_or_default();
    if args.kind == ServerKind::WellKnown {
        if !args.header.is_empty() || args.bearer_token_file.is_some() || args.legacy_discovery {
            return Err(Failure::usage("A web origin gets no headers and no token.")
                .hint("Leave these options out: what it publishes is for everybody."));
        }
        return WellKnownOrigin::new(url).map(ServerConfig::WellKnown).map_err(|error| {
            invalid(error).hint("Write an origin such as `https://example.com`.")
        });
    }
    let url = ServerUrl::parse(url).map_err(|error| {
        invalid(error)
            .hint("Write a URL such as `https://skills.example.com/mcp`, or a program after `--`.")
    })?;
    let token_file = match &args.bearer_token_file {
        None => None,
        Some(file) => Some(std::path::absolute(file).map_err(|error| {
            Failure::usage(format!("`--bearer-token-file {}` cannot be used.", file.display()))
                .because(error)
        })?),
    };
    let headers = pairs(&args.header, "--header")?;
    HttpServer::new(url, headers, token_file).map(ServerConfig::Http).map_err(invalid)
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
