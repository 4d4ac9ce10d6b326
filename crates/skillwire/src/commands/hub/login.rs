//! `skillwire login`: keeps the token of a hub where only the user can read it.

use std::{
    io::{IsTerminal as _, Read as _, Write as _},
    path::Path,
};

use skillwire_client::{Login, Secret, ServerUrl};
use skillwire_hub_server::api::HubInfo;
use skillwire_state::Logins;
use skillwire_trust::ServerLabel;

use super::client::{HubClient, is_url};
use crate::{
    args::LoginArgs, commands::Outcome, exit::Exit, failure::Failure, prose, regular_file, report,
    session, settings::HostSettings, terminal,
};

/// The largest token that is read.
const MAX_TOKEN_BYTES: u64 = 64 * 1024;

/// The label of the hub that commands use if the user names none.
const DEFAULT: &str = "default";

pub(in crate::commands) fn run(args: &LoginArgs) -> Outcome {
    let url = args.url.trim_end_matches('/');
    if !is_url(url) {
        return Err(Failure::usage(format!("`{url}` is not the URL of a hub."))
            .hint("Write it like `https://hub.example.com`."));
    }
    if args.forget {
        return forget(url, args.json);
    }
    let token = Secret::new(read_token(args.token_file.as_deref())?);
    session::run(args.json, async || {
        let hub = HubClient::remote(url, Some(&token))?;
        let answer = hub.get::<HubInfo>("/hub").await.map_err(|failure| match failure.exit() {
            Exit::Declined => failure
                .hint("Paste the whole token, as `skillwire hub token new` showed it on the hub's machine."),
            _ => failure,
        })?;
        let server = ServerUrl::parse(url).map_err(|error| Failure::usage(error.to_string()))?;
        let login = Login {
            server,
            issuer: url.to_owned(),
            client_id: "token".to_owned(),
            client_secret: None,
            access_token: token.clone(),
            refresh_token: None,
            expires_at: None,
            scopes: answer.value.you.scopes.clone(),
        };
        let logins = logins()?;
        for label in [label(url)?, default_label()?] {
            logins.save(&label, &login).map_err(|error| Failure::caused(Exit::Usage, error))?;
        }
        if args.json {
            report::json(&mut std::io::stdout().lock(), &answer.json)?;
        } else {
            let name = report::printable(&answer.value.name);
            let subject = report::printable(&answer.value.you.subject);
            writeln!(prose::stdout(), "Logged in to `{name}` at {url} as `{subject}`.")?;
        }
        Ok(Exit::Ok)
    })
}

/// Removes the login to a hub.
fn forget(url: &str, json: bool) -> Outcome {
    let logins = logins()?;
    let failed = |error| Failure::caused(Exit::Usage, error);
    let mut was_there = logins.remove(&label(url)?).map_err(failed)?;
    let default = logins.load(&default_label()?).map_err(failed)?;
    if default.is_some_and(|login| login.server.reveal() == url) {
        was_there |= logins.remove(&default_label()?).map_err(failed)?;
    }
    if json {
        report::json(&mut std::io::stdout().lock(), &serde_json::json!({"forgotten": was_there}))?;
    } else if was_there {
        writeln!(prose::stdout(), "Forgot the login to {url}.")?;
    } else {
        writeln!(prose::stderr(), "There is no login to {url}.")?;
    }
    Ok(Exit::Ok)
}

/// Returns the login to a hub, or to the hub that the user logged in to last.
pub(super) fn find(url: Option<&str>) -> Result<Option<Login>, Failure> {
    let url = url.map(|url| url.trim_end_matches('/'));
    let label = url.map_or_else(default_label, label)?;
    let found = logins()?.load(&label).map_err(|error| Failure::caused(Exit::Usage, error))?;
    // The label is made from the URL; two URLs may have the same label.
    Ok(found.filter(|login| url.is_none_or(|url| login.server.reveal() == url)))
}

fn logins() -> Result<Logins, Failure> {
    Ok(Logins::new(HostSettings::resolve()?.state().join("hubs")))
}

fn default_label() -> Result<ServerLabel, Failure> {
    ServerLabel::parse(DEFAULT).map_err(|error| Failure::new(Exit::Internal, error.to_string()))
}

/// Makes a label from a URL: its host and path in the characters that a label may have.
fn label(url: &str) -> Result<ServerLabel, Failure> {
    let place = url.split_once("://").map_or(url, |(_, place)| place);
    let plain = |c: char| {
        let c = c.to_ascii_lowercase();
        if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '_' }
    };
    let text: String = place.chars().take(60).map(plain).collect();
    ServerLabel::parse(&format!("at-{text}"))
        .map_err(|error| Failure::usage(format!("`{url}` is not the URL of a hub.")).because(error))
}

/// Reads the token from a file, from the terminal, or from standard input.
fn read_token(file: Option<&Path>) -> Result<String, Failure> {
    let text = match file {
        Some(path) => regular_file::read(path, MAX_TOKEN_BYTES).map_err(|error| {
            Failure::usage(format!("`{}` cannot be read.", path.display())).because(error)
        })?,
        None if std::io::stdin().is_terminal() => terminal::ask("Paste the token:")
            .ok_or_else(|| Failure::usage("No token was typed."))?,
        None => {
            let mut text = String::new();
            let mut input = std::io::stdin().lock().take(MAX_TOKEN_BYTES);
            input.read_to_string(&mut text).map_err(|error| {
                Failure::usage("The token cannot be read from standard input.").because(error)
            })?;
            text
        }
    };
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::usage("That is not a token.")
            .hint("`skillwire hub token new` makes one on the hub's machine."));
    }
    Ok(token.to_owned())
}
