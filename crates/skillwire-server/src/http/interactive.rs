//! Answers that messages may precede: a plain response without messages, else a stream of events.

use futures_util::future::BoxFuture;
use http::{Response, StatusCode};
use tokio::sync::mpsc;

use super::{
    body::ResponseBody,
    reply,
    sse::{self, ClientGone, EventSender},
};
use skillwire_engine::{Engine, Outcome, OutgoingMessage, metrics::OpenGuard};

/// Messages that may wait to be sent before the sender has to wait.
const BACKLOG: usize = 16;

/// Creates the channel for messages that precede an answer.
pub(super) fn channel() -> (mpsc::Sender<OutgoingMessage>, mpsc::Receiver<OutgoingMessage>) {
    mpsc::channel(BACKLOG)
}

/// Waits for `work`. `write` turns its outcome into a response, `message` into the last event of a
/// stream.
///
/// Cancelled work has no outcome: the client gets an empty response, or the stream ends.
pub(super) async fn answer(
    engine: &Engine,
    mut work: BoxFuture<'static, Option<Outcome>>,
    mut said: mpsc::Receiver<OutgoingMessage>,
    write: impl FnOnce(Outcome) -> Response<ResponseBody>,
    message: impl FnOnce(Outcome) -> OutgoingMessage + Send + 'static,
) -> Response<ResponseBody> {
    let first = tokio::select! {
        biased;
        outcome = &mut work => {
            return outcome.map_or_else(|| reply::empty(StatusCode::ACCEPTED), write);
        }
        Some(first) = said.recv() => first,
    };
    let (response, events) = sse::open();
    let open = OpenGuard::new(&engine.metrics().streams);
    tokio::spawn(async move {
        // If the client goes away, `follow` ends and drops the work.
        let _ = follow(first, work, said, &events, message).await;
        drop(open);
    });
    response
}

async fn follow(
    first: OutgoingMessage,
    mut work: BoxFuture<'static, Option<Outcome>>,
    mut said: mpsc::Receiver<OutgoingMessage>,
    events: &EventSender,
    message: impl FnOnce(Outcome) -> OutgoingMessage,
) -> Result<(), ClientGone> {
    events.send_message(first).await?;
    let outcome = loop {
        let next = async {
            tokio::select! {
                // Messages come first, so that those sent before the work ended precede the answer.
                biased;
                Some(next) = said.recv() => Ok(next),
                outcome = &mut work => Err(outcome),
            }
        };
        match events.wait(next).await? {
            Ok(next) => events.send_message(next).await?,
            Err(Some(outcome)) => break outcome,
            Err(None) => return Ok(()),
        }
    };
    while let Ok(next) = said.try_recv() {
        events.send_message(next).await?;
    }
    events.send_message(message(outcome)).await
}
