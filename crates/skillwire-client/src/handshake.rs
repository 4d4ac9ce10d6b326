//! The handshake: `server/discover` first, `initialize` if the server does not know that.

use std::pin::pin;

use serde_json::{Map, Value, json};
use skillwire_protocol::{
    Era, ErrorCode, method,
    version::{LEGACY, MODERN},
};
use tokio::time::timeout;

use super::{
    RawAnswer, call,
    connection::ServerConnection,
    description::{HandshakeAnswer, ServerDescription},
    endpoint::Limits,
    error::ClientError,
};

/// The largest description of a server that is read.
const DESCRIPTION_BYTES: usize = 1024 * 1024;

/// Finds out which era a server speaks and what it offers.
///
/// A server that does not know `server/discover` may answer with any error, or not at all. A slow
/// modern server may still answer after the client has sent `initialize`; the first useful answer
/// counts.
pub(super) async fn greet(connection: &ServerConnection) -> Result<ServerDescription, ClientError> {
    match connection.options.era {
        None => {}
        Some(Era::Modern) => return rediscover(connection).await,
        Some(Era::Legacy) => return initialize(connection).await,
    }
    let mut probe = pin!(discover(connection));
    if let Ok(outcome) = timeout(connection.options.probe_timeout, &mut probe).await {
        return match verdict(outcome)? {
            Some(description) => Ok(description),
            None => initialize(connection).await,
        };
    }
    let mut handshake = pin!(initialize(connection));
    tokio::select! {
        biased;
        outcome = &mut probe => match verdict(outcome)? {
            Some(description) => Ok(description),
            None => handshake.await,
        },
        outcome = &mut handshake => outcome,
    }
}

/// Asks a modern server to describe itself again.
pub(super) async fn rediscover(
    connection: &ServerConnection,
) -> Result<ServerDescription, ClientError> {
    let outcome = discover(connection).await;
    let failed = outcome.as_ref().err().cloned();
    let not_modern = || ClientError::protocol("it does not speak the modern era");
    verdict(outcome)?.ok_or_else(|| failed.unwrap_or_else(not_modern))
}

async fn discover(connection: &ServerConnection) -> Result<RawAnswer, ClientError> {
    let call = connection.call(Some(MODERN), method::DISCOVER, Map::new());
    connection.send(&call, limits(connection)).await
}

/// Decides from the answer to `server/discover`; `None` means that the server is a legacy one.
fn verdict(
    outcome: Result<RawAnswer, ClientError>,
) -> Result<Option<ServerDescription>, ClientError> {
    match outcome {
        Ok(answer) => {
            let described = HandshakeAnswer::read(answer.raw())?;
            let Some(supported) = &described.supported else {
                return Err(ClientError::protocol("its description has no `supportedVersions`"));
            };
            let speaks = |version: &&str| supported.iter().any(|known| known == version);
            if speaks(&MODERN) {
                Ok(Some(described.settle(Era::Modern, MODERN)))
            } else if LEGACY.iter().any(speaks) {
                Ok(None)
            } else {
                Err(ClientError::protocol("it speaks no protocol version that is known here"))
            }
        }
        // Only modern servers use these two codes, so the client does not try `initialize`.
        Err(error)
            if matches!(
                error.code(),
                Some(ErrorCode::HeaderMismatch | ErrorCode::MissingCapability)
            ) =>
        {
            Err(error)
        }
        Err(ClientError::Rpc { .. }) => Ok(None),
        // A server that refuses or throttles this client would do the same with `initialize`.
        Err(ClientError::HttpStatus(status @ 400..500))
            if !matches!(status, 401 | 403 | 407 | 408 | 429) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Opens a legacy session.
pub(super) async fn initialize(
    connection: &ServerConnection,
) -> Result<ServerDescription, ClientError> {
    let options = &connection.options;
    let Value::Object(params) = json!({
        "protocolVersion": LEGACY[0],
        "capabilities": call::capabilities(options.relays_forms),
        "clientInfo": call::client_info(options),
    }) else {
        unreachable!("an object was written");
    };
    let call = connection.call(None, method::INITIALIZE, params);
    let answer = connection.send(&call, limits(connection)).await?;
    let described = HandshakeAnswer::read(answer.raw())?;
    let chosen = described.chosen.as_deref();
    let version = LEGACY.into_iter().find(|version| chosen == Some(version));
    let Some(version) = version else {
        return Err(ClientError::protocol("it chose a protocol version that is not known here"));
    };
    connection.notify(version, method::INITIALIZED).await?;
    Ok(described.settle(Era::Legacy, version))
}

fn limits(connection: &ServerConnection) -> Limits {
    Limits::default().with_bytes(DESCRIPTION_BYTES).with_timeout(connection.options.connect_timeout)
}
