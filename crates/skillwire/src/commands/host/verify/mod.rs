//! `skillwire verify`: the audit of a whole server.

mod progress;
mod report;

use std::collections::BTreeMap;

use skillwire_client::{HttpServer, InvalidServer, ServerConfig, ServerUrl, StdioServer};
use skillwire_host::{
    Host, OriginAddress,
    verification::{Demand, Verification, VerifyOptions},
};
use skillwire_trust::{Budgets, Policy, Reason, Refusal, ServerLabel};

use self::progress::Bar;
use super::Outcome;
use crate::{
    args::VerifyArgs,
    exit::Exit,
    failure::Failure,
    prose, remedies, session,
    settings::{HostSettings, address},
};

/// The label, in the report, of a server that the user has not configured.
const UNLABELLED: &str = "target";

/// The budget of one audit. It reads whole servers, one bounded file at a time, and keeps nothing.
const MOST_BYTES: u64 = 1 << 40;

pub(super) fn run(args: &VerifyArgs) -> Outcome {
    session::run(args.json, async || {
        let VerifyTarget { label, address, legacy } = target(args)?;
        let budgets = Budgets::default().with_session_bytes(MOST_BYTES);
        let host = Host::builder()
            .policy(Policy::default().with_budgets(budgets))
            .client_options(session::client_options())
            .build();
        host.add_server(label.clone(), address);
        if legacy || args.legacy_discovery {
            host.allow_legacy_discovery(&label)?;
        }
        let bar = Bar::new();
        let found =
            host.verify(&label, VerifyOptions::default(), &|progress| bar.show(progress)).await;
        host.disconnect().await;
        bar.clear();
        let mut found = found.map_err(|refusal| for_a_server_without_label(refusal, &label))?;
        for finding in &mut found.findings {
            finding.refusal = remedies::worded(&finding.refusal);
        }
        let mut out = prose::stdout();
        if args.json {
            crate::report::json(&mut out, &found)?;
        } else {
            report::write(&mut out, &found)?;
        }
        Ok(exit(&found))
    })
}

/// A server to verify.
struct VerifyTarget {
    label: ServerLabel,
    address: OriginAddress,
    /// Whether all its resources may be searched for skills.
    legacy: bool,
}

/// Resolves the server to verify, under the user's label or one for this report alone.
fn target(args: &VerifyArgs) -> Result<VerifyTarget, Failure> {
    let invalid = |error: InvalidServer| {
        Failure::usage("This is not a server.").because(error)
            .hint("Name a configured server, a URL such as `https://skills.example.com/mcp`, or a program after `--`.")
    };
    let config = match (args.command.as_slice(), args.target.as_deref()) {
        ([command, rest @ ..], _) => {
            let server = StdioServer::new(command, rest.to_vec(), BTreeMap::new());
            ServerConfig::Stdio(server.map_err(invalid)?)
        }
        ([], Some(url)) if url.contains("://") => {
            let url = ServerUrl::parse(url).map_err(invalid)?;
            ServerConfig::Http(HttpServer::new(url, BTreeMap::new(), None).map_err(invalid)?)
        }
        ([], label) => return configured(label.unwrap_or_default()),
    };
    let label = ServerLabel::parse(UNLABELLED)
        .map_err(|error| Failure::new(Exit::Internal, format!("`{UNLABELLED}` {error}.")))?;
    let address = address(&label, &config)?;
    Ok(VerifyTarget { label, address, legacy: false })
}

fn configured(label: &str) -> Result<VerifyTarget, Failure> {
    let unknown = || {
        Refusal::new(Reason::ServerUnknown).about(label.escape_debug().to_string()).hint(
            "`skillwire server list` shows the labels; a URL or a program after `--` needs none.",
        )
    };
    let label = ServerLabel::parse(label).map_err(|_| unknown())?;
    let servers = HostSettings::resolve()?.servers().load();
    let configured = servers.map_err(|error| Failure::caused(Exit::Usage, error))?;
    let config = configured.servers.get(&label).ok_or_else(unknown)?;
    let address = address(&label, config)?;
    let legacy = configured.legacy.contains(&label);
    Ok(VerifyTarget { label, address, legacy })
}

/// Adds a hint to a refusal that requires a login: only a server with a label can be logged in to.
fn for_a_server_without_label(refusal: Refusal, label: &ServerLabel) -> Refusal {
    if refusal.reason == Reason::LoginRequired && label.as_str() == UNLABELLED {
        return refusal.hint("`skillwire server add` gives it a label to log in with.");
    }
    refusal
}

/// The exit code: `Verification` if the server broke a MUST, `Unreachable` if it only failed to
/// answer or wants a login.
fn exit(found: &Verification) -> Exit {
    let mut broken = found.findings.iter().filter(|finding| finding.demand == Demand::Must);
    if found.passed() {
        Exit::Ok
    } else if broken.all(|finding| is_absence(&finding.refusal)) {
        Exit::Unreachable
    } else {
        Exit::Verification
    }
}

fn is_absence(refusal: &Refusal) -> bool {
    use Reason::{LoginRequired, ServerTimeout, ServerUnreachable};
    matches!(refusal.reason, LoginRequired | ServerTimeout | ServerUnreachable)
}

#[cfg(test)]
mod tests {
    use skillwire_host::verification::Finding;

    use super::*;

    #[test]
    fn the_worst_finding_decides_the_exit_code_hst_118() {
        let finding = |demand, reason| Finding { demand, refusal: Refusal::new(reason) };
        let should = finding(Demand::Should, Reason::WrongErrorCode);
        let gone = finding(Demand::Must, Reason::ServerUnreachable);
        let broken = finding(Demand::Must, Reason::DigestMismatch);
        for (findings, code) in [
            (vec![], Exit::Ok),
            (vec![should.clone()], Exit::Ok),
            (vec![gone.clone(), should], Exit::Unreachable),
            (vec![gone, broken], Exit::Verification),
        ] {
            let found = Verification { findings, ..Verification::default() };
            assert_eq!(exit(&found), code, "{found:?}");
        }
    }
}
