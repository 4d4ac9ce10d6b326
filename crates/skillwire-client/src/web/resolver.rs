//! Looking up names so that only addresses that were checked are connected to.

use std::{
    io,
    net::SocketAddr,
    task::{Context, Poll},
    vec,
};

use futures_util::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use super::address;

/// Looks up names and leaves out every address that must not be connected to.
///
/// The connection is made to what this returns, so that a name cannot mean one address when it is
/// checked and another when it is used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guarded {
    loopback: bool,
}

impl Guarded {
    /// For names of this machine, or for names of the public internet.
    pub(super) fn new(loopback: bool) -> Self {
        Self { loopback }
    }

    fn allows(self, found: &SocketAddr) -> bool {
        if self.loopback { found.ip().is_loopback() } else { address::is_public(found.ip()) }
    }
}

impl Service<Name> for Guarded {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, Result<Self::Response, io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let guard = *self;
        Box::pin(async move {
            // The port is filled in by the connector.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<_> = found.filter(|found| guard.allows(found)).collect();
            if allowed.is_empty() {
                let problem = "the name leads to no address that may be connected to";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
            }
            Ok(allowed.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_only_used_where_that_was_typed_d11() {
        let name = || "localhost".parse::<Name>().unwrap();
        assert!(Guarded::new(true).call(name()).await.is_ok());
        let error = Guarded::new(false).call(name()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}
