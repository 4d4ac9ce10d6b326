//! Request bodies of bounded size and time, and response bodies of two kinds.

use std::{
    io::IoSlice,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes};
use http::StatusCode;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use skillwire_engine::{OutgoingMessage, ReservedMemory};
use tokio::{
    sync::{Semaphore, mpsc},
    time::{Instant, timeout_at},
};

/// The largest request body that is taken, in bytes.
pub(super) const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// The largest body that clients may send without a permit, in bytes.
const SMALL_BODY_BYTES: u64 = 64 * 1024;

/// Reads a whole body, or returns the status with which to refuse it.
///
/// A body that is announced as large, or turns out to be, needs a permit from `large`, which bounds
/// the memory that slow senders can occupy. Small bodies never wait, whether or not the client
/// announces their length.
pub(super) async fn read<B>(
    body: B,
    patience: Duration,
    large: &Semaphore,
) -> Result<Bytes, (StatusCode, &'static str)>
where
    B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let too_large = (StatusCode::PAYLOAD_TOO_LARGE, "The body is larger than 4 MiB.");
    // Refuse before reading: a client that sent `Expect: 100-continue` then need not send the body.
    if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
        return Err(too_large);
    }
    // Boxed, so that the future of a small body does not carry space for it.
    let turn = || {
        Box::pin(async {
            let turn = tokio::time::timeout(patience, large.acquire()).await;
            let busy = "Too many large bodies are being sent.";
            turn.map_err(|_| (StatusCode::SERVICE_UNAVAILABLE, busy))
        })
    };
    let mut memory =
        if body.size_hint().lower() > SMALL_BODY_BYTES { Some(turn().await?) } else { None };
    let mut body = pin!(Limited::new(body, MAX_BODY_BYTES));
    let mut received = ReceivedBody::default();
    let mut deadline = Instant::now() + patience;
    // Do not poll a body that reports its end: the connection has not looked for more data yet, so
    // the poll would wait, and waiting costs a timer.
    while !body.is_end_stream() {
        let piece = match timeout_at(deadline, body.frame()).await {
            Ok(None) => break,
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(mut data) => data.copy_to_bytes(data.remaining()),
                // Trailers have no meaning here.
                Err(_) => continue,
            },
            Ok(Some(Err(error))) if error.is::<LengthLimitError>() => return Err(too_large),
            Ok(Some(Err(_))) => {
                return Err((StatusCode::BAD_REQUEST, "The body could not be read."));
            }
            Err(_) => {
                return Err((StatusCode::REQUEST_TIMEOUT, "The body took too long to arrive."));
            }
        };
        if memory.is_none() && (received.len() + piece.len()) as u64 > SMALL_BODY_BYTES {
            memory = Some(turn().await?);
            // Waiting for a permit must not count against the sender.
            deadline = Instant::now() + patience;
        }
        received.add(piece);
    }
    Ok(received.into_bytes())
}

/// The part of a body that has arrived.
///
/// The client decides how its body is cut into pieces. A piece that is kept costs its bookkeeping and
/// the buffer it was read into, a hundred times more than a single byte, so only a body in one piece is
/// kept as it came; others are copied into one buffer.
#[derive(Debug)]
enum ReceivedBody {
    OnePiece(Bytes),
    Joined(Vec<u8>),
}

impl Default for ReceivedBody {
    fn default() -> Self {
        Self::OnePiece(Bytes::new())
    }
}

impl ReceivedBody {
    fn len(&self) -> usize {
        match self {
            Self::OnePiece(piece) => piece.len(),
            Self::Joined(bytes) => bytes.len(),
        }
    }

    fn add(&mut self, next: Bytes) {
        match self {
            Self::OnePiece(first) if first.is_empty() => *first = next,
            Self::OnePiece(first) => *self = Self::Joined([&first[..], &next[..]].concat()),
            Self::Joined(bytes) => bytes.extend_from_slice(&next),
        }
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::OnePiece(piece) => piece,
            Self::Joined(bytes) => bytes.into(),
        }
    }
}

/// Consecutive pieces that are written with one system call where possible.
///
/// hyper drops them when the last byte is written, which frees the memory that a large answer occupies.
#[derive(Debug, Default)]
pub struct Pieces {
    pieces: std::vec::IntoIter<Bytes>,
    memory: Option<ReservedMemory>,
}

impl Pieces {
    fn of(piece: Bytes) -> Self {
        Self { pieces: vec![piece].into_iter(), memory: None }
    }
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        self.pieces.as_slice().iter().map(Bytes::len).sum()
    }

    fn chunk(&self) -> &[u8] {
        self.pieces.as_slice().first().map_or(&[], |piece| piece)
    }

    fn chunks_vectored<'a>(&'a self, out: &mut [IoSlice<'a>]) -> usize {
        let pieces = self.pieces.as_slice();
        out.iter_mut().zip(pieces).for_each(|(slot, piece)| *slot = IoSlice::new(piece));
        out.len().min(pieces.len())
    }

    fn advance(&mut self, mut count: usize) {
        while let Some(first) = self.pieces.as_mut_slice().first_mut() {
            if count < first.len() {
                return first.advance(count);
            }
            count -= first.len();
            self.pieces.next();
        }
        assert_eq!(count, 0, "more bytes were sent than there are");
    }
}

/// The body of a response.
#[derive(Debug)]
pub enum ResponseBody {
    /// Pieces that are ready to be sent.
    Ready(Pieces),
    /// Server-sent events, as they happen.
    Events(mpsc::Receiver<Bytes>),
}

impl ResponseBody {
    /// Creates a body of pieces that are ready.
    pub fn ready(pieces: Vec<Bytes>) -> Self {
        Self::Ready(Pieces { pieces: pieces.into_iter(), memory: None })
    }

    /// Creates the body that carries one message.
    pub fn message(message: OutgoingMessage) -> Self {
        let (pieces, memory) = message.into_pieces();
        Self::ready(pieces).within(memory)
    }

    /// Keeps memory until a ready body has been sent.
    pub(super) fn within(mut self, memory: Option<ReservedMemory>) -> Self {
        if let Self::Ready(pieces) = &mut self {
            pieces.memory = memory;
        }
        self
    }

    /// Takes the pieces and their memory out of a ready body of at least `least` bytes.
    pub(super) fn take_large(
        &mut self,
        least: usize,
    ) -> Option<(Vec<Bytes>, Option<ReservedMemory>)> {
        match self {
            Self::Ready(pieces) if pieces.remaining() >= least => {
                let Pieces { pieces, memory } = std::mem::take(pieces);
                Some((pieces.collect(), memory))
            }
            Self::Ready(_) | Self::Events(_) => None,
        }
    }

    /// Creates an empty body.
    pub fn empty() -> Self {
        Self::ready(Vec::new())
    }
}

impl Body for ResponseBody {
    type Data = Pieces;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Pieces>, Self::Error>>> {
        match self.get_mut() {
            Self::Ready(pieces) => {
                let pieces = pieces.has_remaining().then(|| std::mem::take(pieces));
                Poll::Ready(pieces.map(|pieces| Ok(Frame::data(pieces))))
            }
            Self::Events(events) => events
                .poll_recv(context)
                .map(|event| event.map(|bytes| Ok(Frame::data(Pieces::of(bytes))))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Ready(pieces) if !pieces.has_remaining())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Ready(pieces) => SizeHint::with_exact(pieces.remaining() as u64),
            Self::Events(_) => SizeHint::default(),
        }
    }
}
