//! `skillwire hub token`.

use std::io::Write as _;

use http::Method;
use skillwire_hub_server::api::{MadeToken, NewToken, TokenInfo};

use super::client::with_hub;
use crate::{
    args::{HubTokenListArgs, HubTokenNewArgs, HubTokenRevokeArgs},
    commands::Outcome,
    exit::Exit,
    output::STRONG,
    prose, report,
    report::printable,
};

pub(super) fn create(args: &HubTokenNewArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let wish = NewToken {
            name: args.name.clone().unwrap_or_else(|| args.subject.clone()),
            subject: args.subject.clone(),
            administrator: args.admin,
            scopes: args.scope.clone(),
            namespaces: args.namespace.clone(),
            days: args.days,
        };
        let path = format!("/tokens?dry_run={}", args.dry_run);
        let made = hub.send_json::<MadeToken>(Method::POST, &path, &wish).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &made.json)?;
        } else {
            let MadeToken { token, info } = &made.value;
            let subject = printable(&info.subject);
            let Some(token) = token else {
                let scopes = info.scopes.join(", ");
                writeln!(prose::stdout(), "A token of `{subject}` would be made, for: {scopes}.")?;
                return Ok(Exit::Ok);
            };
            writeln!(prose::stderr(), "Made token {} for `{subject}`. It is shown once:", info.id)?;
            writeln!(prose::stdout(), "{token}")?;
        }
        Ok(Exit::Ok)
    })
}

pub(super) fn list(args: &HubTokenListArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let tokens: Vec<TokenInfo> = hub.list("/tokens", 100_000).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &tokens)?;
            return Ok(Exit::Ok);
        }
        let mut out = prose::stdout();
        for token in &tokens {
            let scopes = token.scopes.join(" ");
            let places = token.namespaces.as_ref();
            let places = places.map(|all| format!(" in {}", all.join(" "))).unwrap_or_default();
            let end = match (&token.revoked, &token.expires) {
                (Some(at), _) => format!(", revoked {at}"),
                (None, Some(at)) => format!(", until {at}"),
                (None, None) => String::new(),
            };
            let line = format!("{}  {}: {scopes}{places}{end}", token.subject, token.name);
            writeln!(out, "{STRONG}{}{STRONG:#}  {}", token.id, printable(&line))?;
        }
        Ok(Exit::Ok)
    })
}

pub(super) fn revoke(args: &HubTokenRevokeArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let path = format!("/tokens/{}?dry_run={}", args.id, args.dry_run);
        let revoked = hub.send_json::<TokenInfo>(Method::DELETE, &path, &()).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &revoked.json)?;
        } else {
            let subject = printable(&revoked.value.subject);
            let happens = if args.dry_run { "would be refused" } else { "is refused from now on" };
            writeln!(prose::stdout(), "Token {} of `{subject}` {happens}.", args.id)?;
        }
        Ok(Exit::Ok)
    })
}
