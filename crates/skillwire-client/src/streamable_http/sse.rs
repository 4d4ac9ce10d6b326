//! Server-sent events, limited while they arrive.

use std::collections::VecDeque;

/// The error for an event that is larger than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// A parser that takes bytes as they arrive and yields the data of complete events.
#[derive(Debug)]
pub(super) struct SseParser {
    limit: usize,
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    foreign: bool,
    after_return: bool,
    at_start: bool,
    ready: VecDeque<Vec<u8>>,
}

impl SseParser {
    /// Creates a parser of events that hold at most `limit` bytes each.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            data: None,
            foreign: false,
            after_return: false,
            at_start: true,
            ready: VecDeque::new(),
        }
    }

    /// Returns the data of the next complete event.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    /// Takes more bytes.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<(), TooLarge> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let taken = &bytes[..end.unwrap_or(bytes.len())];
            let held = self.data.as_ref().map_or(0, Vec::len);
            if held + self.line.len() + taken.len() > self.limit {
                return Err(TooLarge);
            }
            self.line.extend_from_slice(taken);
            let Some(end) = end else { return Ok(()) };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_line();
        }
        Ok(())
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.at_start) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            let data = self.data.take();
            if !std::mem::take(&mut self.foreign) {
                self.ready.extend(data);
            }
            return;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let field = &line[..colon.unwrap_or(line.len())];
        let value = colon.map_or(&[][..], |colon| &line[colon + 1..]);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            // Messages have this type or none.
            b"event" => self.foreign = value != b"message",
            // Comments, and the fields for resuming a stream, which this client does not do.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &[u8], chunk: usize) -> Vec<String> {
        let mut parser = SseParser::new(1_000);
        let mut found = Vec::new();
        for bytes in text.chunks(chunk) {
            parser.push(bytes).unwrap();
            while let Some(event) = parser.next() {
                found.push(String::from_utf8(event).unwrap());
            }
        }
        found
    }

    #[test]
    fn events_are_read_however_they_are_cut_hst_05() {
        let text = b"\xef\xbb\xbf: hello\r\n\r\nid: 7\ndata: {\"a\":\ndata:1}\n\n\
            event: ping\ndata: x\n\nevent: message\rdata: two\r\rdata\n\nretry: 5\n\ndata: cut off\n";
        for chunk in 1..text.len() {
            assert_eq!(events(text, chunk), ["{\"a\":\n1}", "two", ""], "in chunks of {chunk}");
        }
    }

    #[test]
    fn an_event_is_given_up_at_the_limit_h_35() {
        let mut parser = SseParser::new(10);
        assert_eq!(parser.push(b"data: 1234\n\ndata: 12"), Ok(()));
        assert_eq!(parser.push(b"345"), Err(TooLarge));
        let mut parser = SseParser::new(10);
        parser.push(b"data:1234\n").unwrap();
        assert_eq!(parser.push(b"data:12"), Err(TooLarge), "lines of one event add up");
    }
}
