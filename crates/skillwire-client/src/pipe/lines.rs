//! Lines from a server, held to a limit while they arrive.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// The most that is passed over to find the end of a line that is too long.
const MAX_SKIPPED: usize = 64 * 1024 * 1024;

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, now in the buffer, without its end.
    Message,
    /// The beginning of a line that is longer than the limit; the rest is still to come.
    TooLong,
    /// The end, with nothing or with half a line in the buffer.
    End,
}

/// Reads the next line, holding at most as much of it as `limit` says at that moment.
pub(super) async fn read(
    reader: &mut (impl AsyncBufRead + Unpin),
    buffer: &mut Vec<u8>,
    limit: impl Fn() -> usize,
) -> std::io::Result<Line> {
    buffer.clear();
    loop {
        let chunk = reader.fill_buf().await?;
        if chunk.is_empty() {
            return Ok(Line::End);
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(chunk.len());
        if buffer.len() + taken > limit() {
            return Ok(Line::TooLong);
        }
        buffer.extend_from_slice(&chunk[..taken]);
        reader.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(Line::Message);
        }
    }
}

/// Passes over the rest of a line; false when its end is not found.
pub(super) async fn skip(reader: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<bool> {
    let mut skipped = 0;
    loop {
        let chunk = reader.fill_buf().await?;
        if chunk.is_empty() || skipped > MAX_SKIPPED {
            return Ok(false);
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(chunk.len(), |end| end + 1);
        reader.consume(taken);
        skipped += taken;
        if end.is_some() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_long_line_is_given_up_at_the_limit_and_the_next_one_is_read_h_70() {
        let mut input = vec![b'x'; 101];
        input.extend_from_slice(b"\n{}\nhalf");
        let (mut reader, mut buffer) =
            (tokio::io::BufReader::with_capacity(7, &*input), Vec::new());
        assert_eq!(read(&mut reader, &mut buffer, || 100).await.unwrap(), Line::TooLong);
        assert!(buffer.len() <= 100);
        assert!(skip(&mut reader).await.unwrap());
        assert_eq!(read(&mut reader, &mut buffer, || 100).await.unwrap(), Line::Message);
        assert_eq!(buffer, b"{}");
        assert_eq!(read(&mut reader, &mut buffer, || 100).await.unwrap(), Line::End);
        assert_eq!(buffer, b"half");
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_not_followed_for_ever_h_70() {
        let endless = tokio::io::repeat(b'x');
        let mut reader = tokio::io::BufReader::with_capacity(1024 * 1024, endless);
        assert!(!skip(&mut reader).await.unwrap());
    }
}
