//! Results in pieces, so that parts that are already serialised are sent without a copy.

use bytes::Bytes;
use skillwire_protocol::RequestId;

use crate::engine::budget::{LARGE_ANSWER, ReservedMemory};

/// Pieces of at most this many bytes are copied to their neighbour, because sending a separate
/// piece costs more than copying them.
const SMALL: usize = 1_024;

/// A result object as JSON, cut into pieces at any place.
#[derive(Debug)]
pub struct Payload {
    pieces: Vec<Bytes>,
    /// The memory that these bytes occupy; pieces may hold memory of their own.
    memory: Option<ReservedMemory>,
    /// Whether all large pieces hold memory of their own.
    counted: bool,
}

impl Payload {
    /// Creates a result from consecutive pieces.
    pub(crate) fn new(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        // Includes space for the pieces that a response adds around them.
        let mut all = Vec::with_capacity(5);
        all.extend(pieces);
        Self { pieces: all, memory: None, counted: false }
    }

    /// Marks a result whose large pieces hold memory of their own.
    pub(crate) fn counted(self) -> Self {
        Self { counted: true, ..self }
    }

    /// Holds the memory that was taken for the result, as far as it needs it.
    pub(crate) fn within(mut self, memory: Option<ReservedMemory>) -> Self {
        if let Some(mut memory) = memory {
            memory.resize(self.pieces.iter().map(Bytes::len).sum::<usize>() as u64);
            self.memory = Some(memory);
        }
        self
    }

    /// Holds memory until the bytes have been sent.
    pub(crate) fn hold(&mut self, memory: ReservedMemory) {
        self.memory = Some(memory);
    }

    /// Returns the bytes of memory that a large result still needs.
    pub(crate) fn needs_memory(&self) -> Option<u64> {
        if self.counted || self.memory.is_some() {
            return None;
        }
        let length: usize = self.pieces.iter().map(Bytes::len).sum();
        (length > LARGE_ANSWER).then_some(length as u64)
    }

    /// Returns the result as one text.
    pub fn into_bytes(self) -> Vec<u8> {
        self.pieces.concat()
    }

    /// Wraps the result into the response to a request.
    pub fn into_response(self, id: &RequestId) -> OutgoingMessage {
        let Self { mut pieces, memory, counted: _ } = self;
        let (start, id, result) =
            (&br#"{"jsonrpc":"2.0","id":"#[..], id.as_json().as_bytes(), &br#","result":"#[..]);
        let is_small = |piece: &&mut Bytes| piece.len() <= SMALL;
        match pieces.first_mut().filter(is_small) {
            Some(first) => *first = [start, id, result, &first[..]].concat().into(),
            None => pieces.insert(0, [start, id, result].concat().into()),
        }
        match pieces.last_mut().filter(is_small) {
            Some(last) => *last = [&last[..], b"}"].concat().into(),
            None => pieces.push(Bytes::from_static(b"}")),
        }
        OutgoingMessage { pieces, memory }
    }
}

impl From<Bytes> for Payload {
    fn from(text: Bytes) -> Self {
        Self::new([text])
    }
}

/// A whole message, cut into pieces at any place.
#[derive(Debug)]
pub struct OutgoingMessage {
    pieces: Vec<Bytes>,
    memory: Option<ReservedMemory>,
}

impl OutgoingMessage {
    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// Tells whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the pieces in order, and the memory that a large message occupies. A transport keeps the
    /// memory until the pieces have been sent.
    pub fn into_pieces(self) -> (Vec<Bytes>, Option<ReservedMemory>) {
        (self.pieces, self.memory)
    }

    /// Joins the pieces to one line that ends with a line feed.
    pub fn into_line(self) -> Vec<u8> {
        let mut line = Vec::with_capacity(self.len() + 1);
        self.pieces.iter().for_each(|piece| line.extend_from_slice(piece));
        line.push(b'\n');
        line
    }
}

impl From<String> for OutgoingMessage {
    fn from(text: String) -> Self {
        Self { pieces: vec![Bytes::from(text)], memory: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_the_same_however_its_result_is_cut() {
        let id = RequestId::from_raw(&serde_json::value::to_raw_value("a").unwrap()).unwrap();
        let long = format!(r#""x":"{}""#, "y".repeat(2 * SMALL));
        for (pieces, most) in [
            (vec![], 1),
            (vec!["{}"], 1),
            (vec!["{", &long, "}"], 3),
            (vec!["{", r#""x":1"#, "}"], 3),
            (vec![&long, "}"], 3),
            (vec!["{", &long], 3),
            (vec![&long], 3),
        ] {
            let payload = Payload::new(pieces.iter().map(|piece| Bytes::from((*piece).to_owned())));
            let sent = payload.into_response(&id).into_pieces().0;
            let result = pieces.concat();
            let expected = format!(r#"{{"jsonrpc":"2.0","id":"a","result":{result}}}"#);
            assert_eq!(String::from_utf8(sent.concat()).unwrap(), expected);
            assert!(sent.len() <= most, "{} of {}", sent.len(), pieces.len());
        }
    }
}
