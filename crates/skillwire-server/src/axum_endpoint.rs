//! Serves skills as part of an axum router, or of any other user of tower services.

use std::{
    convert::Infallible,
    task::{Context, Poll},
};

use axum::{Router, body::Body};
use bytes::Buf;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use http_body_util::BodyExt;
use tower_service::Service;

use crate::{
    http::{ENDPOINT, HttpOptions, HttpService, Pieces},
    skills::Skills,
};

/// The MCP endpoint as a tower service; it answers on whatever path it is mounted.
#[derive(Clone)]
pub struct Endpoint(HttpService);

impl Endpoint {
    /// Wraps a service; a program that keeps a clone can [`stop`](HttpService::stop) its streams.
    pub fn new(service: HttpService) -> Self {
        Self(service)
    }
}

impl<B> Service<Request<B>> for Endpoint
where
    B: http_body::Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.0.clone();
        Box::pin(async move {
            let response = service.endpoint(request).await;
            // axum wants each frame of data in one piece.
            let joined = |mut data: Pieces| data.copy_to_bytes(data.remaining());
            Ok(response.map(|body| Body::new(body.map_frame(move |frame| frame.map_data(joined)))))
        })
    }
}

impl Skills {
    /// Returns a router with the endpoint at `/mcp`, to be merged into or nested in another one.
    ///
    /// The options say which hosts and origins are accepted besides those of this machine; a layer
    /// of the surrounding router cannot loosen that.
    pub fn router<S: Clone + Send + Sync + 'static>(&self, options: HttpOptions) -> Router<S> {
        Router::new().route_service(ENDPOINT, Endpoint::new(self.http_service(options)))
    }
}
