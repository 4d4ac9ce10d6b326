//! HTTP responses.

use http::{HeaderValue, Response, StatusCode, header};
use skillwire_protocol::{
    error::{ErrorCode, RpcError},
    id::RequestId,
    message,
};

use super::body::ResponseBody;

/// Makes a response of one JSON text.
pub(super) fn json(status: StatusCode, text: String) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Makes a response that is one JSON-RPC error.
pub(super) fn error(
    status: StatusCode,
    id: Option<&RequestId>,
    error: &RpcError,
) -> Response<ResponseBody> {
    json(status, message::error_response(id, error))
}

/// Refuses a request before or beside its message.
pub(super) fn refuse(status: StatusCode, text: &str) -> Response<ResponseBody> {
    error(status, None, &RpcError::new(ErrorCode::InvalidRequest, text))
}

/// Makes a response without a body.
pub(super) fn empty(status: StatusCode) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty());
    *response.status_mut() = status;
    response
}

/// Refuses a method of HTTP.
pub(super) fn not_allowed(allowed: &'static str) -> Response<ResponseBody> {
    let mut response = refuse(StatusCode::METHOD_NOT_ALLOWED, "Send messages with POST.");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}
