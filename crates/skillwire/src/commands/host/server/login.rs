//! `skillwire server login` and `logout`: a login with a browser, stored for one server alone.

use std::io::Write as _;
#[cfg(feature = "oauth")]
use std::time::Duration;

#[cfg(feature = "oauth")]
use skillwire_client::{HttpServer, ServerConfig, oauth};
#[cfg(feature = "oauth")]
use skillwire_trust::ServerLabel;

use super::{Outcome, label, unknown, unusable};
#[cfg(feature = "oauth")]
use crate::{args::ServerLoginArgs, failure::Failure, report::printable, session};
use crate::{args::ServerLogoutArgs, exit::Exit, prose, settings::HostSettings};

#[cfg(feature = "oauth")]
pub(super) fn run(args: &ServerLoginArgs) -> Outcome {
    let label = label(&args.label)?;
    let settings = HostSettings::resolve()?;
    let server = server(&settings, &label)?;
    session::run(false, async || {
        let options = session::client_options();
        let client_id = args.client_id.as_deref();
        let pending = oauth::begin(&label, server.url(), client_id, &options).await?;
        let wait = args.wait;
        let mut err = prose::stderr();
        writeln!(err, "Open this address in a browser on this machine, within {wait} seconds:")?;
        writeln!(prose::stdout(), "{}", printable(pending.url()))?;
        let login = pending.finish(Duration::from_secs(wait)).await?;
        settings.logins().save(&label, &login).map_err(unusable)?;
        let issuer = printable(&login.issuer);
        writeln!(err, "Logged in to `{label}` at {issuer}; only this server gets the token.")?;
        writeln!(err, "`skillwire list --server {label}` shows its skills.")?;
        Ok(Exit::Ok)
    })
}

#[cfg(feature = "oauth")]
/// Finds the server to log in to, which must have a URL and no configured token.
fn server(settings: &HostSettings, label: &ServerLabel) -> Result<HttpServer, Failure> {
    let servers = settings.servers().load().map_err(unusable)?.servers;
    let config = servers.get(label).ok_or_else(|| unknown(label, servers.keys()))?;
    match config {
        ServerConfig::Stdio(_) => {
            Err(Failure::usage(format!("`{label}` is a program, and programs have no login."))
                .hint(format!(
                    "`skillwire server set {label} --env NAME=VALUE` gives it what it needs."
                )))
        }
        ServerConfig::WellKnown(_) => Err(Failure::usage(format!(
            "`{label}` is a web origin, and web origins have no login."
        ))
        .hint("What it publishes is public.")),
        ServerConfig::Http(server) if server.is_authorized() => {
            Err(Failure::usage(format!("`{label}` has a token configured, which is used instead."))
                .hint(format!(
                    "`skillwire server set {label} --no-bearer-token-file`, or `--remove-header \
                     Authorization`, takes it out."
                )))
        }
        ServerConfig::Http(server) => Ok(server.clone()),
    }
}

/// Removes a stored login. It does not revoke the tokens at the authorization server.
pub(super) fn forget(args: &ServerLogoutArgs) -> Outcome {
    let label = label(&args.label)?;
    let settings = HostSettings::resolve()?;
    if settings.logins().remove(&label).map_err(unusable)? {
        writeln!(prose::stdout(), "Forgot the login to `{label}`.")?;
        return Ok(Exit::Ok);
    }
    let servers = settings.servers().load().map_err(unusable)?.servers;
    if !servers.contains_key(&label) {
        return Err(unknown(&label, servers.keys()).into());
    }
    writeln!(prose::stderr(), "There is no login to `{label}`.")?;
    Ok(Exit::Ok)
}
