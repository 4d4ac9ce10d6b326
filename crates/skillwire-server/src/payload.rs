//! Results in pieces, so that what was serialised once is sent and not copied.

use bytes::Bytes;
use skillwire_protocol::id::RequestId;

/// A result object as JSON, cut anywhere.
#[derive(Debug, Clone, Default)]
pub struct Payload(Vec<Bytes>);

impl Payload {
    /// Makes a result of pieces that follow each other.
    pub(crate) fn new(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        // Room for what a response puts around them as well.
        let mut all = Vec::with_capacity(5);
        all.extend(pieces);
        Self(all)
    }

    /// The result as one text.
    #[cfg(feature = "rmcp")]
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0.concat()
    }

    /// Wraps the result into the response to a request.
    pub(crate) fn into_response(self, id: &RequestId) -> Message {
        let Self(mut pieces) = self;
        let (before, after) = (br#"{"jsonrpc":"2.0","id":"#, br#","result":"#);
        let id = id.as_json().as_bytes();
        let mut head = Vec::with_capacity(before.len() + id.len() + after.len());
        head.extend_from_slice(before);
        head.extend_from_slice(id);
        head.extend_from_slice(after);
        pieces.insert(0, Bytes::from(head));
        pieces.push(Bytes::from_static(b"}"));
        Message(pieces)
    }
}

impl From<Bytes> for Payload {
    fn from(text: Bytes) -> Self {
        Self::new([text])
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
