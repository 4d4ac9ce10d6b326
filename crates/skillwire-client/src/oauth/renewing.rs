//! A stored login: its token is renewed before it expires or when the server refuses it.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::future::BoxFuture;
use rmcp::transport::auth::{
    CredentialStore as _, InMemoryCredentialStore, OAuthClientConfig, StoredCredentials,
};
use skillwire_trust::{ServerLabel, StoreError};

use super::{
    LoginProblem, discovery,
    tokens::{self, TokenResponse},
};
use crate::{
    bearer::Bearer,
    config::ServerUrl,
    endpoint::ClientOptions,
    error::ClientError,
    login::{Login, LoginStore},
    secret::Secret,
};

/// A token that expires within this time is renewed before it is sent.
const MARGIN: Duration = Duration::from_secs(30);

/// The stored login to one server.
pub struct StoredLogin {
    inner: Arc<RenewingLogin>,
}

struct RenewingLogin {
    logins: Arc<dyn LoginStore>,
    label: ServerLabel,
    options: ClientOptions,
    /// The login as this process saw it last.
    ///
    /// A renewal holds this lock from reading the stored login to saving the new one. Many issuers
    /// accept a refresh token once, so a second request that found the same old token must wait and
    /// then use the result of the first renewal.
    held: tokio::sync::Mutex<Login>,
}

impl StoredLogin {
    /// Finds the login to a server, if there is one for exactly this URL.
    pub fn find(
        logins: Arc<dyn LoginStore>,
        label: &ServerLabel,
        server: &ServerUrl,
        options: ClientOptions,
    ) -> Result<Option<Self>, StoreError> {
        let login = logins.load(label)?.filter(|login| login.server == *server);
        Ok(login.map(|login| {
            let label = label.clone();
            let held = tokio::sync::Mutex::new(login);
            Self { inner: Arc::new(RenewingLogin { logins, label, options, held }) }
        }))
    }

    /// Returns a token that is not `refused` and does not expire within [`MARGIN`].
    async fn current(&self, refused: Option<&Secret>) -> Result<Secret, ClientError> {
        {
            let held = self.inner.held.lock().await;
            if is_good(&held, refused) {
                return Ok(held.access_token.clone());
            }
        }
        let (inner, refused) = (Arc::clone(&self.inner), refused.cloned());
        // The renewal runs in its own task, so that it ends with a saved login even if the caller
        // drops this future. Otherwise the issuer could have spent the old refresh token while the
        // new one is lost, and the user would have to log in again.
        let renewal = tokio::spawn(async move { inner.renew(refused.as_ref()).await });
        match renewal.await {
            Ok(Ok(token)) => Ok(token),
            Ok(Err(problem)) if problem.ended => Err(ClientError::LoginRequired(problem.clause)),
            Ok(Err(problem)) => Err(ClientError::unreachable(problem.clause)),
            Err(_) => Err(ClientError::unreachable("the token could not be renewed")),
        }
    }
}

impl Bearer for StoredLogin {
    fn token(&self) -> BoxFuture<'_, Result<Secret, ClientError>> {
        Box::pin(self.current(None))
    }

    fn renew<'a>(&'a self, refused: &'a Secret) -> BoxFuture<'a, Result<Secret, ClientError>> {
        Box::pin(self.current(Some(refused)))
    }
}

impl RenewingLogin {
    async fn renew(&self, refused: Option<&Secret>) -> Result<Secret, LoginProblem> {
        let mut held = self.held.lock().await;
        let logins = Arc::clone(&self.logins);
        let label = self.label.clone();
        let locked = tokio::task::spawn_blocking(move || logins.lock(&label)).await;
        let locked = locked
            .map_err(|_| LoginProblem::new("the login cannot be locked"))?
            .map_err(|error| unusable(&error))?;
        // Another process may have renewed the login or logged out before this one got the lock.
        let stored = locked.load().map_err(|error| unusable(&error))?;
        let stored = stored.filter(|login| login.server == held.server);
        *held = stored.ok_or_else(|| LoginProblem::ended("the user logged out"))?;
        if is_good(&held, refused) {
            return Ok(held.access_token.clone());
        }
        let renewed = renewed(&held, &self.options).await?;
        let saved = locked.save(&renewed);
        saved.map_err(|error| unusable(&error))?;
        *held = renewed;
        Ok(held.access_token.clone())
    }
}

fn is_good(login: &Login, refused: Option<&Secret>) -> bool {
    let lasts = |end: SystemTime| end > SystemTime::now() + MARGIN;
    refused != Some(&login.access_token) && login.expires_at.is_none_or(lasts)
}

/// Gets new tokens from the issuer of the old ones, and from no other.
async fn renewed(login: &Login, options: &ClientOptions) -> Result<Login, LoginProblem> {
    let refresh = login.refresh_token.as_ref();
    let refresh =
        refresh.ok_or_else(|| LoginProblem::ended("there is no token to renew it with"))?;
    let mut discovered = discovery::discover(&login.server, options).await?;
    if discovered.issuer != login.issuer {
        return Err(LoginProblem::ended("another authorization server speaks for it now"));
    }
    let mut client = OAuthClientConfig::new(&login.client_id, login.server.reveal());
    client.client_secret = login.client_secret.as_ref().map(|secret| secret.reveal().to_owned());
    let store = InMemoryCredentialStore::new();
    let old = tokens::to_renew(&login.access_token, refresh);
    let kept = StoredCredentials::new(login.client_id.clone(), old, login.scopes.clone(), None);
    let kept = store.save(kept).await;
    discovered.manager.set_credential_store(store);
    let configured = kept.and_then(|()| discovered.manager.configure_client(client));
    configured.map_err(|error| discovered.problem(&error))?;
    let response = discovered.manager.refresh_token().await;
    let tokens = TokenResponse::read(&response.map_err(|error| discovered.problem(&error))?)?;
    Ok(Login {
        access_token: tokens.access,
        refresh_token: tokens.refresh.or_else(|| Some(refresh.clone())),
        expires_at: tokens.expires_at,
        ..login.clone()
    })
}

fn unusable(error: &StoreError) -> LoginProblem {
    LoginProblem::new(error.to_string())
}
