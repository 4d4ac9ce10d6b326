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
    let mut room =
        if body.size_hint().lower() > SMALL_BODY_BYTES { Some(turn().await?) } else { None };
    let mut body = pin!(Limited::new(body, MAX_BODY_BYTES));
    let (mut pieces, mut length) = (Vec::new(), 0);
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
        length += piece.len();
        if room.is_none() && length as u64 > SMALL_BODY_BYTES {
            room = Some(turn().await?);
            // Waiting for a permit must not count against the sender.
            deadline = Instant::now() + patience;
        }
        pieces.push(piece);
    }
    Ok(joined(pieces, length))
}

/// Joins the pieces; a single piece, which is the usual case, is not copied.
fn joined(mut pieces: Vec<Bytes>, length: usize) -> Bytes {
    if pieces.len() <= 1 {
        return pieces.pop().unwrap_or_default();
    }
    let mut whole = Vec::with_capacity(length);
    for piece in pieces {
        whole.extend_from_slice(&piece);
    }
    whole.into()
}

/// Consecutive pieces that are written with one system call where possible.
#[derive(Debug, Default)]
pub struct Pieces(std::vec::IntoIter<Bytes>);

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        self.0.as_slice().iter().map(Bytes::len).sum()
    }

    fn chunk(&self) -> &[u8] {
        self.0.as_slice().first().map_or(&[], |piece| piece)
    }

    fn chunks_vectored<'a>(&'a self, out: &mut [IoSlice<'a>]) -> usize {
        let pieces = self.0.as_slice();
        out.iter_mut().zip(pieces).for_each(|(slot, piece)| *slot = IoSlice::new(piece));
        out.len().min(pieces.len())
    }

    fn advance(&mut self, mut count: usize) {
        while let Some(first) = self.0.as_mut_slice().first_mut() {
            if count < first.len() {
                return first.advance(count);
            }
            count -= first.len();
            self.0.next();
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
        Self::Ready(Pieces(pieces.into_iter()))
    }

    /// Takes the pieces out of a ready body of at least `least` bytes.
    pub(super) fn take_large(&mut self, least: usize) -> Option<Vec<Bytes>> {
        match self {
            Self::Ready(pieces) if pieces.remaining() >= least => {
                Some(std::mem::take(pieces).0.collect())
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
                .map(|event| event.map(|bytes| Ok(Frame::data(Pieces(vec![bytes].into_iter()))))),
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
