//! Name lookups that return only addresses that may be connected to.

use std::{
    io,
    net::SocketAddr,
    task::{Context, Poll},
    vec,
};

use futures_util::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use super::address::Destinations;

/// Looks up names and drops every address that must not be connected to.
///
/// The connector uses the addresses that this returns and does no lookup of its own. A name
/// therefore cannot resolve to a public address when it is checked and to a private one when it is
/// used (DNS rebinding).
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckedLookup(Destinations);

impl CheckedLookup {
    /// Creates a resolver for the names of these destinations.
    pub(super) fn new(destinations: Destinations) -> Self {
        Self(destinations)
    }
}

impl Service<Name> for CheckedLookup {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, Result<Self::Response, io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let Self(destinations) = *self;
        Box::pin(async move {
            // The connector fills in the port.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<_> = found.filter(|found| destinations.allows(found.ip())).collect();
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
        assert!(CheckedLookup::new(Destinations::ThisMachine).call(name()).await.is_ok());
        let error = CheckedLookup::new(Destinations::Public).call(name()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    #[tokio::test]
    async fn a_name_that_leads_into_a_private_network_is_not_followed_for_a_server_outside_sec_20()
    {
        let name = || "localhost".parse::<Name>().unwrap();
        let lookup = |private_network| {
            CheckedLookup::new(Destinations::Confidential { this_machine: false, private_network })
        };
        assert!(lookup(true).call(name()).await.is_ok());
        let error = lookup(false).call(name()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}
