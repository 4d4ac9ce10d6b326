//! Results in pieces, so that what was serialised once is sent and not copied.

use bytes::Bytes;
use skillwire_protocol::id::RequestId;

/// A result object as JSON, cut anywhere.
#[derive(Debug, Clone, Default)]
pub struct Payload(Vec<Bytes>);

impl Payload {
    /// Makes a result of pieces that follow each other.
    pub(crate) fn new(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        Self(pieces.into_iter().collect())
    }

    /// The result as one text.
    #[cfg(feature = "rmcp")]
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0.concat()
    }

    /// Wraps the result into the response to a request.
    pub(crate) fn into_response(self, id: &RequestId) -> Message {
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
        let mut pieces = Vec::with_capacity(self.0.len() + 2);
        pieces.push(Bytes::from(head));
        pieces.extend(self.0);
        pieces.push(Bytes::from_static(b"}"));
        Message(pieces)
    }
}

impl From<String> for Payload {
    fn from(text: String) -> Self {
        Self(vec![Bytes::from(text)])
    }
}

/// A whole message, cut anywhere.
#[derive(Debug, Clone)]
pub struct Message(Vec<Bytes>);

impl Message {
    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    /// Tells whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pieces, in order.
    pub fn into_pieces(self) -> Vec<Bytes> {
        self.0
    }

    /// One piece, ended by a new line.
    pub(crate) fn into_line(self) -> Vec<u8> {
        let mut line = Vec::with_capacity(self.len() + 1);
        self.0.iter().for_each(|piece| line.extend_from_slice(piece));
        line.push(b'\n');
        line
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self(vec![Bytes::from(text)])
    }
}
