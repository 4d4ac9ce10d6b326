//! Short-lived tokens: fetched when the client sends a request, renewed when a server refuses one.

use futures_util::future::BoxFuture;

use super::error::ClientError;
use crate::secret::Secret;

/// Supplies the bearer token of one server, and a new one when the server refuses it.
///
/// The client sends a token to the URL of its endpoint and nowhere else.
pub trait Bearer: Send + Sync {
    /// Returns the token for the next request.
    fn token(&self) -> BoxFuture<'_, Result<Secret, ClientError>>;

    /// Returns a token that replaces one the server refused.
    fn renew<'a>(&'a self, refused: &'a Secret) -> BoxFuture<'a, Result<Secret, ClientError>>;
}
