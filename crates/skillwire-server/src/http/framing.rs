//! Refuses requests whose end two readers could see at different places.
//!
//! hyper forgives what a proxy in front of it may read differently: a `Content-Length` beside a
//! `Transfer-Encoding`, the same length twice, codings besides `chunked`, lines that end without a
//! carriage return. Where the two disagree, a client can hide a second request in the body of the
//! first. Some of this cannot be seen in the headers that hyper hands over, so the bytes are checked
//! before hyper reads them.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

/// The bytes of a line that are looked at; the rest of a long line is none of the two headers.
const LINE_BYTES: usize = 256;

/// Passes on what a client sends, up to the first request with ambiguous framing.
#[derive(Debug)]
pub(super) struct FramingGuard<T> {
    inner: T,
    framing: RequestFraming,
}

impl<T> FramingGuard<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, framing: RequestFraming::default() }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for FramingGuard<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let read = &mut buffer.filled_mut()[before..];
        if let Err(at) = self.framing.follow(read) {
            // No part of a request may contain this byte, so hyper answers 400 and closes.
            read[at..].fill(0);
        }
        Poll::Ready(Ok(()))
    }
}

/// Follows requests on a connection, from the first byte of each to the last.
#[derive(Debug, Default)]
struct RequestFraming {
    part: RequestPart,
    /// The beginning of the current line.
    line: Vec<u8>,
    /// The last byte, which tells how a line ends.
    last: u8,
    length: Option<u64>,
    chunked: bool,
}

/// The part of a request that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum RequestPart {
    #[default]
    RequestLine,
    Headers,
    Body(u64),
    ChunkSize,
    Chunk(u64),
    ChunkEnd,
    Trailers,
    /// The framing was ambiguous; nothing after it can be trusted.
    Refused,
}

/// The error for a line that makes the framing ambiguous.
#[derive(Debug)]
struct AmbiguousFraming;

impl RequestFraming {
    /// Follows the next bytes, or returns the position from which on they are refused.
    fn follow(&mut self, bytes: &[u8]) -> Result<(), usize> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match self.part {
                RequestPart::Body(left) => {
                    let taken = left.min(rest.len() as u64);
                    self.part = next_in(left - taken, RequestPart::Body, RequestPart::RequestLine);
                    at += usize::try_from(taken).unwrap_or(rest.len());
                }
                RequestPart::Chunk(left) => {
                    let taken = left.min(rest.len() as u64);
                    self.part = next_in(left - taken, RequestPart::Chunk, RequestPart::ChunkEnd);
                    at += usize::try_from(taken).unwrap_or(rest.len());
                }
                RequestPart::Refused => return Err(at),
                _ => {
                    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                        self.keep(rest);
                        return Ok(());
                    };
                    self.keep(&rest[..end]);
                    if self.last != b'\r' || self.line_ended().is_err() {
                        self.part = RequestPart::Refused;
                        return Err(at + end);
                    }
                    self.line.clear();
                    self.last = 0;
                    at += end + 1;
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) {
        let free = LINE_BYTES.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(free)]);
        self.last = bytes.last().copied().unwrap_or(self.last);
    }

    /// Handles a whole line, which ended as it must.
    fn line_ended(&mut self) -> Result<(), AmbiguousFraming> {
        let is_empty = self.line == b"\r";
        self.part = match self.part {
            // Servers skip empty lines before a request.
            RequestPart::RequestLine | RequestPart::Trailers if is_empty => {
                RequestPart::RequestLine
            }
            RequestPart::RequestLine => {
                self.length = None;
                self.chunked = false;
                RequestPart::Headers
            }
            RequestPart::Headers if is_empty && self.chunked => RequestPart::ChunkSize,
            RequestPart::Headers if is_empty => {
                next_in(self.length.unwrap_or(0), RequestPart::Body, RequestPart::RequestLine)
            }
            RequestPart::Headers => {
                self.header()?;
                RequestPart::Headers
            }
            RequestPart::ChunkSize => match self.chunk_size()? {
                0 => RequestPart::Trailers,
                size => RequestPart::Chunk(size),
            },
            RequestPart::ChunkEnd if is_empty => RequestPart::ChunkSize,
            RequestPart::ChunkEnd => return Err(AmbiguousFraming),
            other => other,
        };
        Ok(())
    }

    /// Notes what a header says about the length of the body.
    fn header(&mut self) -> Result<(), AmbiguousFraming> {
        let Some(colon) = self.line.iter().position(|byte| *byte == b':') else { return Ok(()) };
        let (name, value) = (&self.line[..colon], self.line[colon + 1..].trim_ascii());
        let is = |wanted: &[u8]| name.trim_ascii().eq_ignore_ascii_case(wanted);
        if is(b"content-length") {
            // Some readers take a name with a space for the header, others do not.
            if name.len() != b"content-length".len() || self.length.is_some() || self.chunked {
                return Err(AmbiguousFraming);
            }
            self.length = Some(number(value, 10).ok_or(AmbiguousFraming)?);
        } else if is(b"transfer-encoding") {
            let plain = name.len() == b"transfer-encoding".len();
            let chunked = value.eq_ignore_ascii_case(b"chunked");
            if !plain || !chunked || self.length.is_some() || self.chunked {
                return Err(AmbiguousFraming);
            }
            self.chunked = true;
        }
        Ok(())
    }

    /// Reads the size of a chunk, which an extension may follow.
    fn chunk_size(&self) -> Result<u64, AmbiguousFraming> {
        let size = self.line.split(|byte| *byte == b';').next().unwrap_or_default();
        number(size.trim_ascii_end(), 16).ok_or(AmbiguousFraming)
    }
}

/// Stays in a part while bytes of it are left.
fn next_in(left: u64, part: fn(u64) -> RequestPart, then: RequestPart) -> RequestPart {
    if left == 0 { then } else { part(left) }
}

/// Reads digits and nothing else: no sign, no separator.
fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    let plain = text.chars().all(|digit| digit.is_digit(radix));
    plain.then(|| u64::from_str_radix(text, radix).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether all of the bytes pass, whatever pieces they arrive in.
    fn passes(text: &str) -> bool {
        let whole = RequestFraming::default().follow(text.as_bytes()).is_ok();
        for size in [1, 2, 3, 7] {
            let mut framing = RequestFraming::default();
            let cut = text.as_bytes().chunks(size).all(|piece| framing.follow(piece).is_ok());
            assert_eq!(cut, whole, "{text:?} in pieces of {size}");
        }
        whole
    }

    fn post(headers: &str, body: &str) -> String {
        format!("POST /mcp HTTP/1.1\r\nHost: a\r\n{headers}\r\n{body}")
    }

    #[test]
    fn a_request_has_one_end_for_every_reader_sec_08() {
        let next = post("", "");
        for good in [
            post("", ""),
            post("Content-Length: 2\r\n", "{}"),
            post("content-length:2\r\n", "\n\n"),
            post("Transfer-Encoding: Chunked\r\n", "2\r\n{}\r\n00;a=b\r\nTrailer: x\r\n\r\n"),
            format!("\r\n{next}"),
        ] {
            assert!(passes(&format!("{good}{next}{good}")), "{good:?}");
        }
        let chunks = "0\r\n\r\n";
        for bad in [
            post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", chunks),
            post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", chunks),
            post("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"),
            post("Content-Length: 2, 2\r\n", "{}"),
            post("Content-Length: +2\r\n", "{}"),
            post("Content-Length: \r\n", "{}"),
            post("Content-Length : 2\r\n", "{}"),
            post("Content-Length: 99999999999999999999\r\n", "{}"),
            post("Transfer-Encoding: gzip, chunked\r\n", chunks),
            post("Transfer-Encoding: chunked, chunked\r\n", chunks),
            post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", chunks),
            post("Transfer-Encoding: identity\r\n", chunks),
            post("Transfer-Encoding : chunked\r\n", chunks),
            post("Transfer-Encoding: chunked\r\n", "2\n{}\r\n0\r\n\r\n"),
            post("Transfer-Encoding: chunked\r\n", "2\r\n{}x\r\n0\r\n\r\n"),
            post("Transfer-Encoding: chunked\r\n", "0x2\r\n{}\r\n0\r\n\r\n"),
            post("Transfer-Encoding: chunked\r\n", "0\r\nTrailer: x\n\r\n"),
            post("X: y\n", ""),
            "POST /mcp HTTP/1.1\nHost: a\n\n".to_owned(),
        ] {
            assert!(!passes(&bad), "{bad:?}");
            assert!(!passes(&format!("{next}{bad}")), "{bad:?} after another");
        }
    }

    #[test]
    fn nothing_passes_after_a_refusal_and_long_lines_do_sec_08() {
        let mut framing = RequestFraming::default();
        assert_eq!(framing.follow(b"GET / HTTP/1.1\n"), Err(14));
        assert_eq!(framing.follow(b"GET / HTTP/1.1\r\n\r\n"), Err(0));
        let long = format!("X-Long: {}\r\n", "x".repeat(5 * LINE_BYTES));
        assert!(passes(&post(&format!("{long}Content-Length: 2\r\n"), "{}")));
    }
}
