//! Finding the authorization server that a server names.

use std::{sync::Arc, time::Duration};

use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationMetadata};
use skillwire_protocol::truncated;
use skillwire_trust::Remedy;

use super::{LoginProblem, transport::OAuthTransport};
use crate::{config::ServerUrl, endpoint::ClientOptions};

/// The time limit for all requests of one discovery together. The SDK tries several addresses, and each
/// may hang for the time limit of an exchange.
const DISCOVERY_TIME: Duration = Duration::from_secs(45);

/// An authorization server, and the SDK's manager for it.
pub(super) struct DiscoveredIssuer {
    pub(super) manager: AuthorizationManager,
    pub(super) issuer: String,
    transport: Arc<OAuthTransport>,
}

/// Asks a server for its authorization server; the metadata it answers with must be about this
/// server.
pub(super) async fn discover(
    server: &ServerUrl,
    options: &ClientOptions,
) -> Result<DiscoveredIssuer, LoginProblem> {
    let late = |_| LoginProblem::new("the server did not say in time where its users log in");
    tokio::time::timeout(DISCOVERY_TIME, Box::pin(resolve(server, options))).await.map_err(late)?
}

async fn resolve(
    server: &ServerUrl,
    options: &ClientOptions,
) -> Result<DiscoveredIssuer, LoginProblem> {
    // Some services expect a key in the query, which the authorization server must not see.
    let address = server.reveal().split('?').next().unwrap_or_default();
    let transport = Arc::new(OAuthTransport::new(address, options.connect_timeout).await?);
    let http = Arc::clone(&transport);
    let manager = AuthorizationManager::new_with_oauth_http_client(address, http).await;
    let manager = manager.map_err(|error| problem(&error, &transport))?;
    let found = manager.resolve_metadata().await.map_err(|error| problem(&error, &transport))?;
    if !found.source.is_discovered() {
        return Err(LoginProblem::new("the server does not say where its users log in")
            .remedy(Remedy::ConfigureToken));
    }
    check(&found.metadata, &transport)?;
    let Some(issuer) = found.metadata.issuer.clone() else {
        return Err(LoginProblem::new("the authorization server does not say who it is"));
    };
    let mut manager = manager;
    manager.set_metadata(found.metadata);
    Ok(DiscoveredIssuer { manager, issuer, transport })
}

/// Checks every address that the user or a token would be sent to.
fn check(metadata: &AuthorizationMetadata, transport: &OAuthTransport) -> Result<(), LoginProblem> {
    let addresses = [
        ("authorization_endpoint", Some(&metadata.authorization_endpoint)),
        ("token_endpoint", Some(&metadata.token_endpoint)),
        ("registration_endpoint", metadata.registration_endpoint.as_ref()),
    ];
    for (name, address) in addresses {
        let Some(address) = address else { continue };
        if let Err(reason) = transport.check(address) {
            return Err(LoginProblem::new(format!("its `{name}` is not used: {reason}")));
        }
    }
    Ok(())
}

impl DiscoveredIssuer {
    /// Converts an error of the SDK.
    pub(super) fn problem(&self, error: &AuthError) -> LoginProblem {
        problem(error, &self.transport)
    }
}

/// Describes an error of the SDK. An authorization server's answer to a token request is not
/// repeated, since it may contain tokens.
fn problem(error: &AuthError, transport: &OAuthTransport) -> LoginProblem {
    let said = |what: &str| match transport.error_code() {
        Some(code) => format!("{what}: `{code}`"),
        None => what.to_owned(),
    };
    match error {
        AuthError::AuthorizationRequired => {
            LoginProblem::ended("there is no token to renew it with")
        }
        AuthError::TokenRefreshRejected(_) => LoginProblem::ended(said("the login has ended")),
        AuthError::TokenRefreshFailed(_) => {
            LoginProblem::new(said("the token could not be renewed"))
        }
        AuthError::TokenExchangeFailed(_) => LoginProblem::new(said("no token was given")),
        AuthError::RegistrationFailed(_) => {
            LoginProblem::new(said("this program could not be registered"))
        }
        // These contain addresses and names from the metadata.
        other => LoginProblem::new(truncated(&other.to_string())),
    }
}
