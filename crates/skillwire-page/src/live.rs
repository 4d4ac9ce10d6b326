//! Tells open pages that something changed.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use tokio::sync::{mpsc, watch};

use crate::{
    provider::LiveState,
    response::{PageBody, PageResponse},
};

/// How often a quiet stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Changes that come faster are told together.
const PAUSE: Duration = Duration::from_millis(300);

/// Opens a stream of events. It says what changed, never how: the page asks for that when its reader
/// wants to see it.
pub(crate) fn open(
    mut changes: watch::Receiver<LiveState>,
    mut stopping: watch::Receiver<bool>,
) -> PageResponse {
    let (sender, receiver) = mpsc::channel(8);
    tokio::spawn(async move {
        // Browsers try again after this time, in milliseconds. What changed while the page was on its
        // way, or while the connection was lost, is told at once.
        let mut next = Bytes::from(format!("retry: 2000\n{}", event(*changes.borrow_and_update())));
        loop {
            if sender.send(next).await.is_err() {
                return;
            }
            next = tokio::select! {
                news = changes.changed() => {
                    if news.is_err() {
                        return;
                    }
                    tokio::time::sleep(PAUSE).await;
                    event(*changes.borrow_and_update()).into()
                }
                () = tokio::time::sleep(KEEP_ALIVE) => Bytes::from_static(b":\n\n"),
                () = sender.closed() => return,
                _ = stopping.changed() => return,
            };
        }
    });
    let mut response = Response::new(PageBody::Events(receiver));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn event(state: LiveState) -> String {
    let LiveState { skills, events, waiting } = state;
    let numbers = format!("{{\"skills\":{skills},\"events\":{events},\"waiting\":{waiting}}}");
    format!("event: change\ndata: {numbers}\n\n")
}
