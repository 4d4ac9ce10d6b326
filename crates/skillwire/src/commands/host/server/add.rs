//! `skillwire server add`: configures a server, connects to it and says what it found.

use std::{collections::BTreeMap, io::Write as _, time::Duration};

use skillwire_client::{
    HttpServer, InvalidServer, Secret, ServerConfig, ServerUrl, StdioServer, WellKnownOrigin,
};

use skillwire_host::Discovered;
use skillwire_trust::{Origin, Reason, Refusal, Remedy, ServerLabel};

use super::{Outcome, label, unusable};
use crate::{
    args::{ServerAddArgs, ServerKind},
    exit::Exit,
    failure::Failure,
    output::{WARNING, counted},
    prose,
    refusals::RefusalText,
    session::{self, Session, SessionOptions},
    settings::HostSettings,
};

/// How long a new server may take to list its skills. Some are installed when they are first
/// started, so this is longer than a listing takes.
const TRIAL: Duration = Duration::from_secs(20);

pub(in crate::commands::host) fn run(args: &ServerAddArgs) -> Outcome {
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
    if args.no_connect {
        writeln!(prose::stdout(), "Added the server `{label}`, and did not connect to it.")?;
        writeln!(prose::stderr(), "`skillwire list --server {label}` shows its skills.")?;
        return Ok(Exit::Ok);
    }
    session::with(false, SessionOptions::default(), async |session| {
        match (try_out(session, &label).await, args.must_connect) {
            (Ok(found), _) => {
                let found = summary(&found, &config);
                writeln!(prose::stdout(), "Added the server `{label}`: {found}.")?;
                let mut err = prose::stderr();
                writeln!(err, "`skillwire list --server {label}` shows its skills.")?;
                Ok(Exit::Ok)
            }
            (Err(refusal), true) => {
                servers.remove(&label).map_err(unusable)?;
                Err(for_a_new_server(refusal, &label, &config).into())
            }
            (Err(refusal), false) => {
                let refusal = for_a_new_server(refusal, &label, &config);
                writeln!(prose::stdout(), "Added the server `{label}`.")?;
                let mut err = prose::stderr();
                writeln!(err, "{}", RefusalText(&refusal))?;
                writeln!(
                    err,
                    "{WARNING}warning{WARNING:#}: `{label}` is kept all the same. `skillwire list \
                     --server {label}` tries it again, `skillwire server remove {label}` removes it."
                )?;
                Ok(Exit::Ok)
            }
        }
    })
}

/// Connects to a server and lists it.
async fn try_out(session: &Session, label: &ServerLabel) -> Result<Discovered, Refusal> {
    let origin = Origin::Server(label.clone());
    let found = tokio::time::timeout(TRIAL, session.discover(Some(&origin))).await;
    found.unwrap_or_else(|_| {
        Err(Refusal::new(Reason::ServerTimeout)
            .about(label)
            .expected(format!("its skills within {} seconds", TRIAL.as_secs()))
            .remedy(Remedy::AskServerAlone(label.clone())))
    })
}

/// What a server answered, in words.
fn summary(found: &Discovered, config: &ServerConfig) -> String {
    let mut words = vec![counted(found.registry.items().len(), "skill")];
    if !found.refused.is_empty() {
        words.push(format!("{} more refused", found.refused.len()));
    }
    if !found.incomplete.is_empty() {
        words.push("and more that could not be listed".to_owned());
    }
    if matches!(config, ServerConfig::Http(server) if server.is_authorized()) {
        words.push("token accepted".to_owned());
    }
    words.join(", ")
}

/// Says what a user who adds a server can do about a refusal: there are no approvals yet that
/// adding it again would cost.
fn for_a_new_server(refusal: Refusal, label: &ServerLabel, config: &ServerConfig) -> Refusal {
    let again = format!("`skillwire server remove {label}`, then add it again with");
    match (refusal.reason, config) {
        (Reason::LoginRequired, ServerConfig::Http(server)) if !server.is_authorized() => {
            let login = format!("`skillwire server login {label}` logs in with a browser.");
            let token = format!("For a token: {again} `--bearer-token-file FILE`.");
            Refusal { actual: Some("no token and no login".into()), ..refusal }
                .hint(format!("{login} {token}"))
        }
        (Reason::TokenRefused, ServerConfig::Http(server)) => match server.bearer_token_file() {
            Some(file) => refusal.hint(format!("Correct the token in `{}`.", file.display())),
            None => refusal.hint(format!("For another token: {again} the right `--header`.")),
        },
        _ => refusal,
    }
}

fn config(args: &ServerAddArgs) -> Result<ServerConfig, Failure> {
    let invalid = |error: InvalidServer| Failure::usage("This is not a server.").because(error);
    if let [command, rest @ ..] = args.command.as_slice() {
        let env = pairs(&args.env, "--env")?;
        let server = StdioServer::new(command, rest.to_vec(), env).map_err(invalid)?;
        // The program is started here later too, whatever folder the user is in then. Otherwise
        // relative paths among its arguments would lead elsewhere.
        let here = std::env::current_dir()
            .map_err(|error| Failure::usage("The current folder cannot be used.").because(error))?;
        return server.in_folder(Some(here)).map(ServerConfig::Stdio).map_err(invalid);
    }
    let url = args.url.as_deref().unwrap_or_default();
    if args.kind == ServerKind::WellKnown {
        if !args.header.is_empty() || args.bearer_token_file.is_some() || args.legacy_discovery {
            return Err(Failure::usage("A web origin gets no headers and no token.")
                .hint("Leave these options out: what it publishes is public."));
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
