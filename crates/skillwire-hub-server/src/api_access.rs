//! What operators see and limit of the API: its callers, its numbers and its part of the access log.

use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

use axum::response::IntoResponse as _;
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use skillwire_server::http::{
    AccessDecision, AccessRecord, ConnectionPeer, HttpService, RateRefusal,
};

use crate::api::{self, ProblemKind};

/// Where the name of the caller is put once a request was authenticated.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallerSlot(Arc<OnceLock<String>>);

impl CallerSlot {
    pub(crate) fn fill(&self, subject: &impl ToString) {
        // A request has one sender; asking for it twice gives the same name.
        let _ = self.0.set(subject.to_string());
    }
}

/// One request to the API, from its arrival to its record.
pub(crate) struct ApiRequest {
    /// When it came, if the access log wants it.
    started: Option<Instant>,
    method: http::Method,
    path: String,
    caller: CallerSlot,
    /// Whether the hub refused its host or its origin.
    foreign: bool,
}

impl ApiRequest {
    /// Begins a request. Its sender is named later, where the API finds it out.
    pub(crate) fn begin(service: &HttpService, request: &mut Request<Incoming>) -> Self {
        let wanted = service.access_log().is_some_and(|log| log.wants());
        let caller = CallerSlot::default();
        if wanted {
            request.extensions_mut().insert(caller.clone());
        }
        let path = if wanted { request.uri().path().to_owned() } else { String::new() };
        let method = request.method().clone();
        Self { started: wanted.then(Instant::now), method, path, caller, foreign: false }
    }

    /// Notes that the hub does not accept the host or the origin.
    pub(crate) fn is_foreign(&mut self) {
        self.foreign = true;
    }

    /// Counts the request, and writes its record.
    pub(crate) fn finish(
        &self,
        service: &HttpService,
        peer: Option<&ConnectionPeer>,
        status: StatusCode,
    ) {
        let decision = match status {
            _ if self.foreign => AccessDecision::ForeignHost,
            StatusCode::UNAUTHORIZED => AccessDecision::NoToken,
            StatusCode::FORBIDDEN => AccessDecision::Forbidden,
            StatusCode::TOO_MANY_REQUESTS => AccessDecision::RateLimited,
            _ => AccessDecision::Admitted,
        };
        let method = known_method(&self.method);
        let requests = service.metrics().labelled_counter(
            "api_requests",
            "Requests to the API by method and status",
            &["method", "status"],
        );
        requests.with(&[method, status.as_str()]).inc();
        let Some((started, log)) = self.started.zip(service.access_log()) else { return };
        let mut record = AccessRecord::new(api::ROOT, method, status.as_u16(), started.elapsed());
        record.peer = peer.map(ConnectionPeer::address);
        record.caller = self.caller.0.get().map(String::as_str);
        record.uri = Some(&self.path);
        record.decision = decision;
        log.record(&record);
    }
}

/// Returns the name of a method that the API takes; a client can make up others without bound.
fn known_method(method: &http::Method) -> &'static str {
    ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
        .into_iter()
        .find(|known| *known == method.as_str())
        .unwrap_or("other")
}

/// Refuses a request of a caller that asks too often.
pub(crate) fn too_often(refusal: RateRefusal) -> axum::response::Response {
    let mut response: Response<_> =
        ProblemKind::TooOften.because(refusal.to_string()).into_response();
    let seconds = HeaderValue::from(refusal.seconds().max(1));
    response.headers_mut().insert(header::RETRY_AFTER, seconds);
    response
}
