//! A call that a server works on.

use std::sync::Arc;

use serde_json::{Map, Value};
use skillwire_client::{CallAnswer, CallMessage, CallTerms, ClientError, Limits, call_messages};
use skillwire_protocol::{ErrorCode, RpcError};
use skillwire_trust::Refusal;
use tokio::{sync::mpsc, time::timeout};

use super::offer::OfferState;
use crate::passing_on::files::AbortOnDrop;

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallFailure {
    /// The server cannot be reached.
    #[error(transparent)]
    Unconnected(#[from] Refusal),
    /// The request failed.
    #[error(transparent)]
    Failed(#[from] ClientError),
    /// The server has too many calls.
    #[error("The server has as many calls as it may have at the same time.")]
    Busy,
    /// The task that waited for the answer ended early.
    #[error("The call was given up.")]
    GivenUp,
}

/// A call that a server works on. Dropping it cancels the call at the server.
pub(super) struct RunningCall {
    pub(super) messages: mpsc::Receiver<CallMessage>,
    pub(super) answer: AbortOnDrop<Result<CallAnswer, CallFailure>>,
}

impl RunningCall {
    /// Sends a request to the server, on the runtime of its connection.
    pub(super) fn start(
        state: &Arc<OfferState>,
        method: &'static str,
        params: Map<String, Value>,
        terms: CallTerms,
    ) -> Self {
        let (caller, messages) = call_messages();
        let of_task = Arc::clone(state);
        let task = state.runtime.spawn(async move {
            let state = of_task;
            let permit = timeout(state.limits.silence, state.permits.acquire()).await;
            let _permit = permit.map_err(|_| CallFailure::Busy)?;
            let client = state.relay.client().await.inspect_err(|_| state.doubt())?;
            let limits = Limits::default()
                .with_bytes(state.limits.result_bytes)
                .with_timeout(state.limits.call_time);
            let answer = client.converse(method, params, terms, caller, limits).await;
            if let Err(error) = &answer {
                state.relay.noticed(error).await;
                if !matches!(error, ClientError::Rpc { .. } | ClientError::TooLarge(_)) {
                    state.doubt();
                }
            }
            Ok(answer?)
        });
        Self { messages, answer: AbortOnDrop(task) }
    }
}

impl CallFailure {
    /// Words the failure for a client. What is wrong with a request stays that; every other failure
    /// is this server's own, and nothing of the upstream's words is repeated.
    pub(super) fn to_error(&self, state: &OfferState) -> RpcError {
        let label = state.relay.label();
        if let Self::Failed(error @ ClientError::Rpc { message, .. }) = self
            && let Some(ErrorCode::InvalidParams | ErrorCode::LegacyResourceNotFound) = error.code()
        {
            return RpcError::invalid_params(message.clone());
        }
        tracing::warn!(upstream = %label, "a call cannot be passed on: {self}");
        let why = match self {
            Self::Failed(ClientError::Timeout(_)) => "did not answer in time",
            Self::Failed(ClientError::TooLarge(_)) => "sent a larger result than is passed on",
            Self::Busy => "has as many calls as it may have; try again later",
            Self::Unconnected(_) => "cannot be reached",
            _ => "could not answer; the log of this server says why",
        };
        RpcError::new(ErrorCode::Internal, format!("The server `{label}` {why}."))
    }
}
