//! Request bodies of bounded size and time, and response bodies of two kinds.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::StatusCode;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::mpsc;

/// The largest request body that is taken, in bytes.
pub(super) const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Reads a whole body, or says with which status to refuse it.
pub(super) async fn read<B>(
    body: B,
    patience: Duration,
) -> Result<Bytes, (StatusCode, &'static str)>
where
    B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let too_large = (StatusCode::PAYLOAD_TOO_LARGE, "The body is larger than 4 MiB.");
    // What is announced too large need not be sent; a client that asks first is spared it.
    if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
        return Err(too_large);
    }
    match tokio::time::timeout(patience, Limited::new(body, MAX_BODY_BYTES).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large),
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "The body could not be read.")),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "The body took too long to arrive.")),
    }
}

/// What an answer carries.
#[derive(Debug)]
pub enum ResponseBody {
    /// Everything at once; nothing when it was taken or there is none.
    Whole(Option<Bytes>),
    /// Events as they happen.
    Events(mpsc::Receiver<Bytes>),
}

impl ResponseBody {
    /// Makes a body of ready bytes.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Some(bytes.into()))
    }

    /// Makes an empty body.
    pub fn empty() -> Self {
        Self::Whole(None)
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(events) => {
                events.poll_recv(context).map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64))
            }
            Self::Events(_) => SizeHint::default(),
        }
    }
}
