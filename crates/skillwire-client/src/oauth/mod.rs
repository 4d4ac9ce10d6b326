//! Logging in to a server that requires it, with the OAuth client of the official SDK.
//!
//! A server names its authorization server. The user logs in there with a browser, and the result
//! is a [`Login`] for this server's URL alone. The SDK discovers, registers and exchanges; all its
//! requests go through `transport`, which follows no redirect, requires `https` outside this
//! machine and bounds the responses. No type of the SDK leaves this module.

mod discovery;
mod redirect;
mod renewing;
mod tokens;
mod transport;

use std::{fmt, time::Duration};

use rmcp::transport::auth::{AuthorizationManager, OAuthClientConfig};
use skillwire_trust::{Reason, Refusal, Remedy, ServerLabel};

pub use self::renewing::StoredLogin;
use self::{discovery::DiscoveredIssuer, redirect::RedirectListener, tokens::TokenResponse};
use crate::{config::ServerUrl, endpoint::ClientOptions, login::Login, secret::Secret};

/// The client name that this program registers with.
const CLIENT_NAME: &str = "Skillwire";

/// A login that waits for the user.
pub struct PendingLogin {
    label: ServerLabel,
    server: ServerUrl,
    discovered: DiscoveredIssuer,
    client: OAuthClientConfig,
    url: String,
    state: String,
    redirect: RedirectListener,
}

impl fmt::Debug for PendingLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingLogin").field("label", &self.label).finish_non_exhaustive()
    }
}

/// Finds out where a server's users log in, and prepares the login.
///
/// Without a client id, this program registers itself if the authorization server allows that.
#[tracing::instrument(skip_all, fields(%label, %server))]
pub async fn begin(
    label: &ServerLabel,
    server: &ServerUrl,
    client_id: Option<&str>,
    options: &ClientOptions,
) -> Result<PendingLogin, Refusal> {
    let failed = |problem: LoginProblem| problem.refuse(label);
    let mut discovered = discovery::discover(server, options).await.map_err(failed)?;
    let redirect = RedirectListener::open().await.map_err(failed)?;
    let scopes = discovered.manager.select_initial_scopes(&[]).await;
    let client = client(&mut discovered, client_id, &redirect, &scopes).await.map_err(failed)?;
    let configured = discovered.manager.configure_client(client.clone());
    configured.map_err(|error| failed(discovered.problem(&error)))?;
    let wanted: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let url = discovered.manager.get_authorization_url(&wanted).await;
    let url = url.map_err(|error| failed(discovered.problem(&error)))?;
    let state = redirect::parameter(&url, "state")
        .ok_or_else(|| failed(LoginProblem::new("the address to log in at has no `state`")))?;
    let (label, server) = (label.clone(), server.clone());
    Ok(PendingLogin { label, server, discovered, client, url, state, redirect })
}

async fn client(
    discovered: &mut DiscoveredIssuer,
    client_id: Option<&str>,
    redirect: &RedirectListener,
    scopes: &[String],
) -> Result<OAuthClientConfig, LoginProblem> {
    if let Some(client_id) = client_id {
        return Ok(OAuthClientConfig::new(client_id, redirect.uri()));
    }
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let registered = discovered.manager.register_client(CLIENT_NAME, redirect.uri(), &scopes).await;
    registered.map_err(|error| {
        let problem = discovered.problem(&error);
        problem.remedy(Remedy::RegisterClient)
    })
}

impl PendingLogin {
    /// Returns the URL at which the user logs in.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits until the user has logged in, at most for `patience`.
    pub async fn finish(self, patience: Duration) -> Result<Login, Refusal> {
        let label = self.label.clone();
        self.tokens(patience).await.map_err(|problem| problem.refuse(&label))
    }

    async fn tokens(self, patience: Duration) -> Result<Login, LoginProblem> {
        let late = |_| LoginProblem::new(format!("the user did not log in within {patience:?}"));
        let waited = tokio::time::timeout(patience, self.redirect.wait(&self.state)).await;
        let answer = waited.map_err(late)??;
        let manager: &AuthorizationManager = &self.discovered.manager;
        let exchanged = manager
            .exchange_code_for_token_with_issuer(
                &answer.code,
                &self.state,
                answer.issuer.as_deref(),
            )
            .await;
        let exchanged = exchanged.map_err(|error| self.discovered.problem(&error))?;
        let tokens = TokenResponse::read(&exchanged)?;
        Ok(Login {
            server: self.server,
            issuer: self.discovered.issuer,
            client_id: self.client.client_id,
            client_secret: self.client.client_secret.map(Secret::new),
            access_token: tokens.access,
            refresh_token: tokens.refresh,
            expires_at: tokens.expires_at,
            scopes: manager.get_current_scopes().await,
        })
    }
}

/// Why a login failed: a clause that contains no token.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LoginProblem {
    clause: String,
    hint: Option<&'static str>,
    remedy: Option<Remedy>,
    /// Whether only another login by the user can help.
    ended: bool,
}

impl LoginProblem {
    fn new(clause: impl Into<String>) -> Self {
        Self { clause: clause.into(), hint: None, remedy: None, ended: false }
    }

    fn ended(clause: impl Into<String>) -> Self {
        Self { ended: true, ..Self::new(clause) }
    }

    fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    fn remedy(self, remedy: Remedy) -> Self {
        Self { remedy: Some(remedy), ..self }
    }

    fn refuse(self, label: &ServerLabel) -> Refusal {
        let refusal = Refusal::new(Reason::LoginFailed).about(label).actual(self.clause);
        Refusal { hint: self.hint.map(Into::into), remedy: self.remedy.map(Box::new), ..refusal }
    }
}
