//! HTTP responses.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use skillwire_protocol::{ErrorCode, RequestId, RpcError, message};

use super::{access_log::ErrorNumber, body::ResponseBody, rate::RateRefusal};
use skillwire_engine::{Outcome, OutgoingMessage};

/// Creates a response that carries one message.
pub(super) fn json(
    status: StatusCode,
    message: impl Into<OutgoingMessage>,
) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::message(message.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Creates the message that answers a request.
pub(super) fn message(id: &RequestId, outcome: Outcome) -> OutgoingMessage {
    match outcome {
        Ok(result) => result.into_response(id),
        Err(error) => message::error_response(Some(id), &error).into(),
    }
}

/// Creates a response that carries one JSON-RPC error.
pub(super) fn error(
    status: StatusCode,
    id: Option<&RequestId>,
    error: &RpcError,
) -> Response<ResponseBody> {
    let mut response = json(status, message::error_response(id, error));
    response.extensions_mut().insert(ErrorNumber(error.code.number()));
    response
}

/// Creates a refusal: a JSON-RPC error without the id of a request.
pub(super) fn refuse(status: StatusCode, text: &str) -> Response<ResponseBody> {
    error(status, None, &RpcError::new(ErrorCode::InvalidRequest, text))
}

/// Refuses a request of a caller that asks too often.
pub(super) fn too_often(refusal: RateRefusal) -> Response<ResponseBody> {
    let mut response = refuse(StatusCode::TOO_MANY_REQUESTS, &refusal.to_string());
    let seconds = HeaderValue::from(refusal.seconds().max(1));
    response.headers_mut().insert(header::RETRY_AFTER, seconds);
    response
}

/// Creates a response without a body.
pub(super) fn empty(status: StatusCode) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty());
    *response.status_mut() = status;
    response
}

/// Refuses an HTTP method and names the allowed ones.
pub(super) fn not_allowed(allowed: &'static str) -> Response<ResponseBody> {
    let mut response = refuse(StatusCode::METHOD_NOT_ALLOWED, "Send messages with POST.");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

/// Creates a response with a plain body of a media type.
pub(super) fn text(
    status: StatusCode,
    media_type: &'static str,
    text: impl Into<Bytes>,
) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::ready(vec![text.into()]));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
