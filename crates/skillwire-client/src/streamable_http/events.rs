//! The events of a response.

use hyper::body::Incoming;

use super::sse::SseParser;
use crate::{error::ClientError, http_client::BodyChunks};

/// The events of a body, one after the other.
pub(super) struct EventStream {
    chunks: BodyChunks,
    parser: SseParser,
    event_limit: usize,
}

impl EventStream {
    /// Reads the events of an answer, all of them within one limit.
    pub(super) fn of_answer(body: Incoming, limit: usize) -> Self {
        let chunks = BodyChunks::limited(body, limit);
        Self { chunks, parser: SseParser::new(limit), event_limit: limit }
    }

    /// Reads the events of an endless stream, each within the limit.
    pub(super) fn of_stream(body: Incoming, event_limit: usize) -> Self {
        let chunks = BodyChunks::endless(body);
        Self { chunks, parser: SseParser::new(event_limit), event_limit }
    }

    /// Waits for the data of the next event; returns `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        loop {
            if let Some(event) = self.parser.next() {
                return Ok(Some(event));
            }
            let Some(chunk) = self.chunks.next().await? else { return Ok(None) };
            let too_large = |_| ClientError::TooLarge(self.event_limit);
            self.parser.push(&chunk).map_err(too_large)?;
        }
    }
}
