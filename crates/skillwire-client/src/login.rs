//! The result of a login to one server, and the store that keeps it.

use std::time::SystemTime;

use skillwire_trust::{ServerLabel, StoreError};

use crate::{config::ServerUrl, secret::Secret};

/// The result of a login to one server. Its printed form shows no token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The server that the login is for; no token goes to a server at another address.
    pub server: ServerUrl,
    /// The authorization server that issued the tokens and renews them.
    pub issuer: String,
    /// This program's client id at the issuer.
    pub client_id: String,
    /// The client secret, if the issuer requires one.
    pub client_secret: Option<Secret>,
    /// The token that the client sends to the server.
    pub access_token: Secret,
    /// The token that the client sends to the issuer to get a new access token.
    pub refresh_token: Option<Secret>,
    /// When the access token expires, if the issuer said so.
    pub expires_at: Option<SystemTime>,
    /// The scopes that the issuer granted.
    pub scopes: Vec<String>,
}

/// A store of logins.
pub trait LoginStore: Send + Sync {
    /// Returns the login to a server, if there is one.
    fn load(&self, label: &ServerLabel) -> Result<Option<Login>, StoreError>;

    /// Waits until no other process holds this login, then locks it; this may block the thread.
    fn lock(&self, label: &ServerLabel) -> Result<Box<dyn LockedLogin>, StoreError>;
}

/// A login that no other process can change while this value lives.
pub trait LockedLogin: Send + Sync {
    /// Returns the login, if there still is one.
    fn load(&self) -> Result<Option<Login>, StoreError>;

    /// Saves a login in place of the previous one.
    fn save(&self, login: &Login) -> Result<(), StoreError>;
}
