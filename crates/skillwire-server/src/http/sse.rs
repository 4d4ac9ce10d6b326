//! Server-sent events.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use tokio::sync::mpsc;

use super::body::ResponseBody;
use skillwire_engine::{OutgoingMessage, ReservedMemory};

/// Events that may wait for a slow client.
const BACKLOG: usize = 64;

/// How often the server sends a comment on a quiet stream to show that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

const EVENT_START: &[u8] = b"event: message\ndata: ";

/// The sending end of a stream of events.
pub(super) struct EventSender(mpsc::Sender<Bytes>);

/// A large event, which occupies memory until it has been sent.
struct OwnedEvent {
    event: Vec<u8>,
    _memory: ReservedMemory,
}

impl AsRef<[u8]> for OwnedEvent {
    fn as_ref(&self) -> &[u8] {
        &self.event
    }
}

/// The error when the client of a stream is gone.
pub(super) struct ClientGone;

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
    pub(super) async fn send(&self, message: &str) -> Result<(), ClientGone> {
        self.send_event(&[message.as_bytes()], None).await
    }

    /// Sends a message that consists of pieces.
    pub(super) async fn send_message(&self, message: OutgoingMessage) -> Result<(), ClientGone> {
        let (pieces, memory) = message.into_pieces();
        let pieces: Vec<&[u8]> = pieces.iter().map(|piece| &piece[..]).collect();
        self.send_event(&pieces, memory).await
    }

    /// Sends an event, which keeps the memory of its message until it has been sent.
    async fn send_event(
        &self,
        data: &[&[u8]],
        memory: Option<ReservedMemory>,
    ) -> Result<(), ClientGone> {
        let length: usize = data.iter().map(|piece| piece.len()).sum();
        let mut event = Vec::with_capacity(EVENT_START.len() + length + 2);
        event.extend_from_slice(EVENT_START);
        for piece in data {
            event.extend_from_slice(piece);
        }
        event.extend_from_slice(b"\n\n");
        let event = match memory {
            Some(memory) => Bytes::from_owner(OwnedEvent { event, _memory: memory }),
            None => Bytes::from(event),
        };
        self.0.send(event).await.map_err(|_| ClientGone)
    }

    /// Waits for `work` and sends comments meanwhile; ends early when the client goes away.
    pub(super) async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, ClientGone> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                () = self.0.closed() => return Err(ClientGone),
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    // If the backlog is full, the client has enough to read and needs no sign of
                    // life.
                    let _ = self.0.try_send(Bytes::from_static(b":\n\n"));
                }
            }
        }
    }
}
