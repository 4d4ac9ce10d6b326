//! Requests of the modern era, which need no session.

use std::sync::Arc;

use futures_util::FutureExt as _;
use http::{HeaderMap, Response, StatusCode};
use skillwire_protocol::{Era, ErrorCode, RequestId, RpcError, message::Request};
use tokio::sync::watch;

use super::{
    auth::Grant,
    body::ResponseBody,
    headers, interactive, reply,
    sse::{self, ClientGone, EventSender},
    stream_shares::StreamShares,
};
use skillwire_engine::{
    Answer, Caller, Engine, Outcome, Subscription, metrics::OpenGuard, offer::Link,
};

/// Answers one request after checking that its headers and body agree.
pub(super) async fn answer(
    engine: &Engine,
    grant: &Arc<Grant>,
    headers: &HeaderMap,
    request: &Request<'_>,
    (streams, stopping): (&StreamShares, &watch::Sender<bool>),
) -> Response<ResponseBody> {
    let caller = &grant.caller;
    if let Err(error) = headers::check(headers, request) {
        return reply::error(StatusCode::BAD_REQUEST, Some(&request.id), &error);
    }
    if engine.may_send_messages(&request.method) {
        return Box::pin(answer_interactively(engine, caller, request)).await;
    }
    match engine.answer(caller, Era::Modern, request) {
        Answer::Now(outcome) => respond(&request.id, outcome),
        Answer::Later(work) => respond(&request.id, work.await),
        Answer::Stream(subscription) => {
            let Some(share) = streams.open(caller) else {
                let error = RpcError::new(ErrorCode::InvalidRequest, streams.refusal());
                return reply::error(StatusCode::TOO_MANY_REQUESTS, Some(&request.id), &error);
            };
            let (response, events) = sse::open();
            let open = (share, OpenGuard::new(&engine.metrics().streams));
            let (stopping, grant) = (stopping.subscribe(), Arc::clone(grant));
            tokio::spawn(async move {
                follow(*subscription, events, stopping, &grant).await;
                drop(open);
            });
            response
        }
    }
}

/// Answers a request whose client may be sent progress before the answer.
async fn answer_interactively(
    engine: &Engine,
    caller: &Caller,
    request: &Request<'_>,
) -> Response<ResponseBody> {
    let (messages, said) = interactive::channel();
    let link = Link { messages: Some(messages), session: None };
    let answer = engine.answer_over(&link, caller, Era::Modern, request);
    drop(link);
    let id = request.id.clone();
    match answer {
        Answer::Now(outcome) => respond(&id, outcome),
        Answer::Later(work) => {
            let last = id.clone();
            let message = move |outcome| reply::message(&last, outcome);
            let work = work.map(Some).boxed();
            interactive::answer(engine, work, said, |outcome| respond(&id, outcome), message).await
        }
        Answer::Stream(_) => reply::refuse(StatusCode::BAD_REQUEST, "There is no such stream."),
    }
}

fn respond(id: &RequestId, outcome: Outcome) -> Response<ResponseBody> {
    match outcome {
        Ok(result) => reply::json(StatusCode::OK, result.into_response(id)),
        Err(error) => reply::error(status(&error), Some(id), &error),
    }
}

/// Returns the HTTP status of an error: only an unknown method has one of its own.
fn status(error: &RpcError) -> StatusCode {
    match error.code {
        ErrorCode::MethodNotFound => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

/// Sends the notifications of a subscription until either side ends it.
async fn follow(
    mut subscription: Subscription,
    events: EventSender,
    mut stopping: watch::Receiver<bool>,
    grant: &Grant,
) {
    let Ok(()) = events.send(&subscription.acknowledgment()).await else { return };
    loop {
        let next = async {
            tokio::select! {
                // A client whose token was taken away gets no change after that.
                biased;
                () = grant.revoked() => None,
                messages = subscription.next() => messages,
                _ = stopping.wait_for(|stopping| *stopping) => None,
            }
        };
        match events.wait(next).await {
            Ok(Some(messages)) => {
                for message in messages {
                    if let Err(ClientGone) = events.send(&message).await {
                        return;
                    }
                }
            }
            Ok(None) => {
                let _ = events.send(&subscription.completion()).await;
                return;
            }
            Err(ClientGone) => return,
        }
    }
}
