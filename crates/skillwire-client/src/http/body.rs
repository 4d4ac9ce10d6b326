//! The body of a response, limited while it arrives.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};

use super::sse::Parser;
use crate::error::ClientError;

/// The size limit of a body, and how much of it has arrived.
struct Budget {
    limit: usize,
    received: usize,
}

impl Budget {
    fn spend(&mut self, bytes: usize) -> Result<(), ClientError> {
        self.received = self.received.saturating_add(bytes);
        if self.received > self.limit { Err(ClientError::TooLarge(self.limit)) } else { Ok(()) }
    }
}

async fn next_chunk(body: &mut Incoming) -> Result<Option<Bytes>, ClientError> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| ClientError::Closed("the answer was cut off".to_owned()))?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// Reads a whole body.
pub(crate) async fn collect(mut body: Incoming, limit: usize) -> Result<Vec<u8>, ClientError> {
    let declared = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if declared > limit {
        return Err(ClientError::TooLarge(limit));
    }
    let mut budget = Budget { limit, received: 0 };
    let mut bytes = Vec::with_capacity(declared);
    while let Some(chunk) = next_chunk(&mut body).await? {
        budget.spend(chunk.len())?;
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// The events of a body, one after the other.
pub(super) struct Events {
    body: Incoming,
    parser: Parser,
    event_limit: usize,
    budget: Option<Budget>,
}

impl Events {
    /// Reads the events of an answer, all of them within one limit.
    pub(super) fn of_answer(body: Incoming, limit: usize) -> Self {
        let budget = Some(Budget { limit, received: 0 });
        Self { body, parser: Parser::new(limit), event_limit: limit, budget }
    }

    /// Reads the events of an endless stream, each within the limit.
    pub(super) fn of_stream(body: Incoming, event_limit: usize) -> Self {
        Self { body, parser: Parser::new(event_limit), event_limit, budget: None }
    }

    /// Waits for the data of the next event; returns `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        loop {
            if let Some(event) = self.parser.next() {
                return Ok(Some(event));
            }
            let Some(chunk) = next_chunk(&mut self.body).await? else { return Ok(None) };
            if let Some(budget) = &mut self.budget {
                budget.spend(chunk.len())?;
            }
            let too_large = |_| ClientError::TooLarge(self.event_limit);
            self.parser.push(&chunk).map_err(too_large)?;
        }
    }
}
