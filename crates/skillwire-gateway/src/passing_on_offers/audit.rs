//! What is recorded of each call that is passed on.

use std::{fmt, sync::Arc, time::Duration};

use skillwire_engine::{Caller, offer::Interrupt};
use skillwire_trust::ServerLabel;
use tokio::time::Instant;

/// How a call that was passed on ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// The server answered with a result, which may say that the tool failed.
    Answered,
    /// The call ended with an error of this code.
    Failed(i32),
    /// The call waits for an answer of the user.
    Asked,
    /// The client cancelled the call or went away.
    Cancelled,
}

/// A call that was passed on.
#[derive(Debug, Clone, Copy)]
pub struct CallRecord<'a> {
    /// Who called.
    pub caller: &'a Caller,
    /// The server that was called.
    pub upstream: &'a ServerLabel,
    /// The method, such as `tools/call`.
    pub method: &'static str,
    /// The server's own name of the tool or prompt, or its URI of the resource.
    pub name: &'a str,
    /// How the call ended.
    pub outcome: CallOutcome,
    /// How long it took.
    pub took: Duration,
}

/// Takes a record of each call that is passed on.
///
/// The gateway calls this once for each request, when it has ended. It must not block.
pub trait CallAudit: Send + Sync + fmt::Debug {
    /// Takes the record of a call.
    fn called(&self, record: &CallRecord<'_>);
}

/// Writes each call into the log of the program.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoggedCalls;

impl CallAudit for LoggedCalls {
    fn called(&self, record: &CallRecord<'_>) {
        let CallRecord { caller, upstream, method, name, outcome, took } = record;
        tracing::info!(caller = caller.name, %upstream, method, name, ?outcome, ?took, "passed on");
    }
}

/// A call that is under way; one that is dropped without an end was cancelled.
#[derive(Debug)]
pub(crate) struct AuditedCall {
    pub(crate) audit: Arc<dyn CallAudit>,
    pub(crate) caller: Caller,
    pub(crate) upstream: ServerLabel,
    pub(crate) method: &'static str,
    pub(crate) name: String,
    started: Instant,
    outcome: CallOutcome,
}

impl AuditedCall {
    pub(crate) fn begin(
        audit: &Arc<dyn CallAudit>,
        caller: &Caller,
        upstream: &ServerLabel,
        method: &'static str,
        name: &str,
    ) -> Self {
        Self {
            audit: Arc::clone(audit),
            caller: caller.clone(),
            upstream: upstream.clone(),
            method,
            name: name.to_owned(),
            started: Instant::now(),
            outcome: CallOutcome::Cancelled,
        }
    }

    /// Notes how the call ended.
    pub(crate) fn end<T>(mut self, outcome: &Result<T, Interrupt>) {
        self.outcome = match outcome {
            Ok(_) => CallOutcome::Answered,
            Err(interrupt) => interrupt
                .error()
                .map_or(CallOutcome::Asked, |error| CallOutcome::Failed(error.code.number())),
        };
    }
}

impl Drop for AuditedCall {
    fn drop(&mut self) {
        let Self { audit, caller, upstream, method, name, started, outcome } = self;
        let (method, outcome, took) = (*method, *outcome, started.elapsed());
        audit.called(&CallRecord { caller, upstream, method, name, outcome, took });
    }
}
