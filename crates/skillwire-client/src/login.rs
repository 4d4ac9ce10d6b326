//! What a login to one server brought, and who keeps it.

use std::time::SystemTime;

use skillwire_trust::{ServerLabel, StoreError};

use crate::{config::ServerUrl, secret::Secret};

/// What a login to one server brought. Printed, it shows no token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The server it is for; a server at another address gets nothing of it.
    pub server: ServerUrl,
    /// Who gave the tokens, and may be asked for new ones.
    pub issuer: String,
    /// What this program is called there.
    pub client_id: String,
    /// What proves that, where the issuer wants it.
    pub client_secret: Option<Secret>,
    /// What is sent to the server.
    pub access_token: Secret,
    /// What is sent to the issuer for a new one.
    pub refresh_token: Option<Secret>,
    /// When the access token ends, if the issuer said so.
    pub expires_at: Option<SystemTime>,
    /// What was granted.
    pub scopes: Vec<String>,
}

/// Keeps logins.
pub trait LoginStore: Send + Sync {
    /// The login to a server, if there is one.
    fn load(&self, label: &ServerLabel) -> Result<Option<Login>, StoreError>;

    /// Waits until no other process renews this login; the caller may block.
    fn lock(&self, label: &ServerLabel) -> Result<Box<dyn LockedLogin>, StoreError>;
}

/// A login that no other process changes while this value lives.
pub trait LockedLogin: Send + Sync {
    /// The login, if there still is one.
    fn load(&self) -> Result<Option<Login>, StoreError>;

    /// Keeps a login in the place of the one before.
    fn save(&self, login: &Login) -> Result<(), StoreError>;
}
