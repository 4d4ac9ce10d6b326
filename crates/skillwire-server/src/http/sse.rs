//! Server-sent events.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use tokio::sync::mpsc;

use super::body::ResponseBody;
use skillwire_engine::OutgoingMessage;

/// Events that may wait for a slow reader.
const BACKLOG: usize = 64;

/// How often a quiet stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The sending end of a stream of events.
pub(super) struct EventSender(mpsc::Sender<Bytes>);

/// The reader of a stream is gone.
pub(super) struct Gone;

/// Opens a stream: the response that carries it, and the end to send on.
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

    /// Sends a message that is in pieces.
    pub(super) async fn send_message(&self, message: OutgoingMessage) -> Result<(), Gone> {
        let text = message.into_pieces().concat();
        self.send(&String::from_utf8_lossy(&text)).await
    }

    /// Waits for `work`, sending comments meanwhile; ends early when the reader goes away.
    pub(super) async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, Gone> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                () = self.0.closed() => return Err(Gone),
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    // A full backlog means that the reader has enough to read.
                    let _ = self.0.try_send(Bytes::from_static(b":\n\n"));
                }
            }
        }
    }
}
