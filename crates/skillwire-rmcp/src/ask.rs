//! Asks the engine on behalf of the SDK.

use rmcp::{ErrorData, model::ErrorCode};
use serde_json::{Value, json};
use skillwire_protocol::{
    Era, RpcError,
    message::{self, Message, Request},
};

use skillwire_engine::{Answer, Caller, Engine};

/// Answers a request as one of our own transports would.
pub(super) async fn ask(
    engine: &Engine,
    era: Era,
    method: &str,
    params: Option<Value>,
) -> Result<Value, ErrorData> {
    let text = text(method, params);
    let answer = read(&text, |request| engine.answer(&Caller::default(), era, request))?;
    let outcome = match answer {
        Answer::Now(outcome) => outcome,
        Answer::Later(work) => work.await,
        // The SDK handles subscriptions itself.
        Answer::Stream(_) => return Err(internal()),
    };
    let result = outcome.map_err(|refusal| error(&refusal))?;
    serde_json::from_slice(&result.into_bytes()).map_err(|_| internal())
}

/// Writes a request; its id does not matter, because the SDK keeps the real one.
pub(super) fn text(method: &str, params: Option<Value>) -> String {
    let mut message = json!({ "jsonrpc": "2.0", "id": 0, "method": method });
    if let Some(params) = params {
        message["params"] = params;
    }
    message.to_string()
}

/// Reads a request as our own transports do, so that parameters are checked in one place.
pub(super) fn read<T>(text: &str, then: impl FnOnce(&Request<'_>) -> T) -> Result<T, ErrorData> {
    match message::read(text.as_bytes()) {
        Ok(Message::Request(request)) => Ok(then(&request)),
        Ok(_) => Err(internal()),
        Err(malformed) => Err(error(&malformed.error)),
    }
}

/// Converts an error to the SDK's type.
pub(super) fn error(error: &RpcError) -> ErrorData {
    ErrorData::new(ErrorCode(error.code.number()), error.message.clone(), error.data.clone())
}

/// Returns the error for a fault of this server.
pub(super) fn internal() -> ErrorData {
    error(&RpcError::internal())
}
