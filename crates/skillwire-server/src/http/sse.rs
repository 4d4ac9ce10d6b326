//! Server-sent events.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use tokio::sync::mpsc;

use super::body::ResponseBody;
use skillwire_engine::OutgoingMessage;

/// Events that may wait for a slow client.
const BACKLOG: usize = 64;

/// How often the server sends a comment on a quiet stream to show that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The sending end of a stream of events.
pub(super) struct EventSender(mpsc::Sender<Bytes>);

/// The error when the client of a stream is gone.
pub(super) struct Gone;

/// Opens a stream and returns the response that carries it and the sender.
pub(super) fn open() -> (Response<ResponseBody>, EventSender) {
    let (sender, receiver) = mpsc::channel(BACKLOG);
    let mut response = Response::new(ResponseBody::Events(receiver));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    (response, EventSender(sender))
}

impl EventSender {
    /// Sends one message as an event.
    pub(super) async fn send(&self, message: &str) -> Result<(), Gone> {
        let event = format!("event: message\ndata: {message}\n\n");
        self.0.send(Bytes::from(event)).await.map_err(|_| Gone)
    }

    /// Sends a message that consists of pieces.
    pub(super) async fn send_message(&self, message: OutgoingMessage) -> Result<(), Gone> {
        let text = message.into_pieces().concat();
        self.send(&String::from_utf8_lossy(&text)).await
    }

    /// Waits for `work` and sends comments meanwhile; ends early when the client goes away.
    pub(super) async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, Gone> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                () = self.0.closed() => return Err(Gone),
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    // If the backlog is full, the client has enough to read and needs no sign of
                    // life.
                    let _ = self.0.try_send(Bytes::from_static(b":\n\n"));
                }
            }
        }
    }
}
