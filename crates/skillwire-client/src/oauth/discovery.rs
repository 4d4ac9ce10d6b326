//! Finding the authorization server that a server names.

use std::{sync::Arc, time::Duration};

use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationMetadata};
use skillwire_protocol::truncated;
use skillwire_trust::Remedy;

use super::{Problem, transport::Transport};
use crate::{config::ServerUrl, endpoint::ClientOptions};

/// The time limit for all requests of one discovery together. The SDK tries several addresses, and each
/// may hang for the time limit of an exchange.
const DISCOVERY_TIME: Duration = Duration::from_secs(45);

/// An authorization server, and the SDK's manager for it.
pub(super) struct Discovered {
    pub(super) manager: AuthorizationManager,
    pub(super) issuer: String,
    transport: Arc<Transport>,
}

/// Asks a server for its authorization server; the metadata it answers with must be about this
/// server.
pub(super) async fn discover(
    server: &ServerUrl,
    options: &ClientOptions,
) -> Result<Discovered, Problem> {
    let late = |_| Problem::new("the server did not say in time where its users log in");
    tokio::time::timeout(DISCOVERY_TIME, Box::pin(resolve(server, options))).await.map_err(late)?
}

async fn resolve(server: &ServerUrl, options: &ClientOptions) -> Result<Discovered, Problem> {
    // Some services expect a key in the query, which the authorization server must not see.
    let address = server.reveal().split('?').next().unwrap_or_default();
    let transport = Arc::new(Transport::new(address, options.connect_timeout).await?);
    let http = Arc::clone(&transport);
    let manager = AuthorizationManager::new_with_oauth_http_client(address, http).await;
    let manager = manager.map_err(|error| problem(&error, &transport))?;
    let found = manager.resolve_metadata().await.map_err(|error| problem(&error, &transport))?;
    if !found.source.is_discovered() {
        return Err(Problem::new("the server does not say where its users log in")
            .remedy(Remedy::ConfigureToken));
    }
    check(&found.metadata, &transport)?;
    let Some(issuer) = found.metadata.issuer.clone() else {
        return Err(Problem::new("the authorization server does not say who it is"));
    };
    let mut manager = manager;
    manager.set_metadata(found.metadata);
    Ok(Discovered { manager, issuer, transport })
}

/// Checks every address that the user or a token would be sent to.
fn check(metadata: &AuthorizationMetadata, transport: &Transport) -> Result<(), Problem> {
    let addresses = [
        ("authorization_endpoint", Some(&metadata.authorization_endpoint)),
        ("token_endpoint", Some(&metadata.token_endpoint)),
        ("registration_endpoint", metadata.registration_endpoint.as_ref()),
    ];
    for (name, address) in addresses {
        let Some(address) = address else { continue };
        if let Err(reason) = transport.check(address) {
            return Err(Problem::new(format!("its `{name}` is not used: {reason}")));
        }
    }
    Ok(())
}

impl Discovered {
    /// Converts an error of the SDK.
    pub(super) fn problem(&self, error: &AuthError) -> Problem {
        problem(error, &self.transport)
    }
}

/// Describes an error of the SDK. An authorization server's answer to a token request is not
/// repeated, since it may contain tokens.
fn problem(error: &AuthError, transport: &Transport) -> Problem {
    let said = |what: &str| match transport.error_code() {
        Some(code) => format!("{what}: `{code}`"),
        None => what.to_owned(),
    };
    match error {
        AuthError::AuthorizationRequired => Problem::ended("there is no token to renew it with"),
        AuthError::TokenRefreshRejected(_) => Problem::ended(said("the login has ended")),
        AuthError::TokenRefreshFailed(_) => Problem::new(said("the token could not be renewed")),
        AuthError::TokenExchangeFailed(_) => Problem::new(said("no token was given")),
        AuthError::RegistrationFailed(_) => {
            Problem::new(said("this program could not be registered"))
        }
        // These contain addresses and names from the metadata.
        other => Problem::new(truncated(&other.to_string())),
    }
}
