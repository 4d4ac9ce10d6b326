//! Tokens that do not last: fetched when a request is sent, renewed when a server refuses one.

use futures_util::future::BoxFuture;

use super::error::ClientError;
use crate::secret::Secret;

/// Gives the bearer token of one server, and another one when that one no longer works.
///
/// A token is sent to the URL of its endpoint and nowhere else.
pub trait Bearer: Send + Sync {
    /// The token for the next request.
    fn token(&self) -> BoxFuture<'_, Result<Secret, ClientError>>;

    /// A token in the place of one that the server refused.
    fn renew<'a>(&'a self, refused: &'a Secret) -> BoxFuture<'a, Result<Secret, ClientError>>;
}
