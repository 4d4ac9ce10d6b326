//! The body of a response, limited while it arrives.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};

use crate::error::ClientError;

/// The chunks of a body, counted against a limit if it has one.
pub(crate) struct BodyChunks {
    body: Incoming,
    limit: Option<usize>,
    received: usize,
}

impl BodyChunks {
    /// Reads a body of at most `limit` bytes.
    pub(crate) fn limited(body: Incoming, limit: usize) -> Self {
        Self { body, limit: Some(limit), received: 0 }
    }

    /// Reads a body without an end.
    pub(crate) fn endless(body: Incoming) -> Self {
        Self { body, limit: None, received: 0 }
    }

    /// Waits for the next chunk; returns `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame
                .map_err(|error| ClientError::closed("the answer was cut off").caused_by(error))?;
            let Ok(data) = frame.into_data() else { continue };
            self.received = self.received.saturating_add(data.len());
            return match self.limit {
                Some(limit) if self.received > limit => Err(ClientError::TooLarge(limit)),
                _ => Ok(Some(data)),
            };
        }
        Ok(None)
    }
}

/// Reads a whole body.
pub(crate) async fn collect(body: Incoming, limit: usize) -> Result<Vec<u8>, ClientError> {
    let declared = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if declared > limit {
        return Err(ClientError::TooLarge(limit));
    }
    let mut chunks = BodyChunks::limited(body, limit);
    let mut bytes = Vec::with_capacity(declared);
    while let Some(chunk) = chunks.next().await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
