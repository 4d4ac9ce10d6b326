//! Skills as a part of an axum router, or of anything else that takes a tower service.

use std::{
    convert::Infallible,
    task::{Context, Poll},
};

use axum::Router;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::Skills;
use crate::http::{ENDPOINT, HttpOptions, HttpService, ResponseBody};

/// The MCP endpoint as a tower service: it answers on whatever path it is mounted.
#[derive(Clone)]
pub struct Endpoint(HttpService);

impl Endpoint {
    /// Mounts a service; whoever keeps it can [`stop`](HttpService::stop) its streams.
    pub fn new(service: HttpService) -> Self {
        Self(service)
    }
}

impl<B> Service<Request<B>> for Endpoint
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.0.clone();
        Box::pin(async move { Ok(service.endpoint(request).await) })
    }
}

impl Skills {
    /// A router with the endpoint at `/mcp`, to be merged into or nested in another one.
    ///
    /// The options say which hosts and origins are let in besides those of this machine, and with
    /// which tokens; a layer of the router around it cannot loosen that.
    pub fn router<S: Clone + Send + Sync + 'static>(&self, options: HttpOptions) -> Router<S> {
        Router::new().route_service(ENDPOINT, Endpoint::new(self.http_service(options)))
    }
}
