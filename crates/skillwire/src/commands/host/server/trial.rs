//! Tries a server out after it was configured, and says what it found.

use std::time::Duration;

use skillwire_client::ServerConfig;
use skillwire_host::Discovered;
use skillwire_trust::{Origin, Reason, Refusal, Remedy, ServerLabel};

use crate::{output::counted, session::Session};

/// How long a new server may take to list its skills. Some are installed when they are first
/// started, so this is longer than a listing takes.
const TRIAL: Duration = Duration::from_secs(20);

/// Connects to a server and lists it.
pub(super) async fn connect(session: &Session, label: &ServerLabel) -> Result<Discovered, Refusal> {
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
pub(super) fn summary(found: &Discovered, config: &ServerConfig) -> String {
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

/// Says what a user who has just configured a server can do about a refusal.
pub(super) fn advice(refusal: Refusal, label: &ServerLabel, config: &ServerConfig) -> Refusal {
    let set = format!("`skillwire server set {label}");
    match (refusal.reason, config) {
        (Reason::LoginRequired, ServerConfig::Http(server)) if !server.is_authorized() => {
            let login = format!("`skillwire server login {label}` logs in with a browser.");
            let token = format!("For a token: {set} --bearer-token-file FILE`.");
            Refusal { actual: Some("no token and no login".into()), ..refusal }
                .hint(format!("{login} {token}"))
        }
        (Reason::TokenRefused, ServerConfig::Http(server)) => match server.bearer_token_file() {
            Some(file) => refusal.hint(format!("Correct the token in `{}`.", file.display())),
            None => refusal.hint(format!("For another token: {set} --header NAME=VALUE`.")),
        },
        _ => refusal,
    }
}
