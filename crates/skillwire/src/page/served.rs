//! Joins the page with the HTTP server.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use skillwire_page::{MAX_FORM_BYTES, Page, PageBody, PageProvider};
use skillwire_server::{
    Metrics,
    http::{ConnectionPeer, HttpHandler, HttpService, ResponseBody},
};

use super::texts;

/// How long a form may take to arrive.
const FORM_TIME: Duration = Duration::from_secs(30);

/// Answers the requests of a listener that serves a page and nothing else.
pub(crate) struct PageServer<P: PageProvider> {
    page: Page<P>,
    metrics: Arc<Metrics>,
}

impl<P: PageProvider> Clone for PageServer<P> {
    fn clone(&self) -> Self {
        Self { page: self.page.clone(), metrics: Arc::clone(&self.metrics) }
    }
}

impl<P: PageProvider> PageServer<P> {
    pub(crate) fn new(page: Page<P>) -> Self {
        Self { page, metrics: Arc::new(Metrics::default()) }
    }
}

impl<P: PageProvider> HttpHandler for PageServer<P> {
    async fn handle(&self, request: Request<Incoming>) -> Response<ResponseBody> {
        answer(&self.page, request).await
    }

    fn stop(&self) {
        self.page.stop();
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

/// Answers the requests of a server that may have a page beside its endpoint.
pub(crate) struct ServiceWithPage<S, P: PageProvider> {
    service: S,
    page: Option<Page<P>>,
}

impl<S: Clone, P: PageProvider> Clone for ServiceWithPage<S, P> {
    fn clone(&self) -> Self {
        Self { service: self.service.clone(), page: self.page.clone() }
    }
}

impl<S, P: PageProvider> ServiceWithPage<S, P> {
    pub(crate) fn new(service: S, page: Option<Page<P>>) -> Self {
        Self { service, page }
    }
}

impl<S: HttpHandler, P: PageProvider> HttpHandler for ServiceWithPage<S, P> {
    async fn handle(&self, request: Request<Incoming>) -> Response<ResponseBody> {
        match &self.page {
            Some(page) if Page::<P>::has(request.uri().path()) => {
                match self.service.charge_request(request.headers()) {
                    Ok(()) => Box::pin(answer(page, request)).await,
                    Err(refusal) => HttpService::too_often(refusal),
                }
            }
            _ => self.service.handle(request).await,
        }
    }

    fn of_peer(&self, peer: Arc<ConnectionPeer>) -> Self {
        Self { service: self.service.of_peer(peer), page: self.page.clone() }
    }

    fn stop(&self) {
        if let Some(page) = &self.page {
            page.stop();
        }
        self.service.stop();
    }

    fn metrics(&self) -> &Metrics {
        self.service.metrics()
    }
}

/// Answers one request of a page.
pub(crate) async fn answer<P: PageProvider>(
    page: &Page<P>,
    request: Request<Incoming>,
) -> Response<ResponseBody> {
    let (parts, body) = request.into_parts();
    let body = Limited::new(body, MAX_FORM_BYTES).collect();
    let Ok(Ok(body)) = tokio::time::timeout(FORM_TIME, body).await else {
        let mut refused = Response::new(ResponseBody::ready(vec![Bytes::from_static(
            texts::FORM_REFUSED.as_bytes(),
        )]));
        *refused.status_mut() = StatusCode::BAD_REQUEST;
        return refused;
    };
    let request = Request::from_parts(parts, body.to_bytes());
    Box::pin(page.handle(request)).await.map(|body| match body {
        PageBody::Full(bytes) if bytes.is_empty() => ResponseBody::empty(),
        PageBody::Full(bytes) => ResponseBody::ready(vec![bytes]),
        PageBody::Events(events) => ResponseBody::Events(events),
    })
}
