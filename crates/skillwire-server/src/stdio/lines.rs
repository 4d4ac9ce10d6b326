//! Lines of bounded length.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// The longest message that is taken, in bytes.
pub(super) const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// What came next on the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, now in the buffer, without its end.
    Message,
    /// A line that was passed over because it is too long.
    TooLong,
    /// The end of input; a last line without an end is not a message.
    End,
}

/// Reads the next line that is not blank, holding at most [`MAX_LINE_BYTES`] of it.
pub(super) async fn read(
    reader: &mut (impl AsyncBufRead + Unpin),
    buffer: &mut Vec<u8>,
) -> std::io::Result<Line> {
    buffer.clear();
    let mut too_long = false;
    loop {
        let chunk = reader.fill_buf().await?;
        if chunk.is_empty() {
            return Ok(Line::End);
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(chunk.len());
        too_long |= buffer.len() + taken > MAX_LINE_BYTES;
        if too_long {
            buffer.clear();
        } else {
            buffer.extend_from_slice(&chunk[..taken]);
        }
        reader.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            if too_long {
                return Ok(Line::TooLong);
            }
            if buffer.trim_ascii().is_empty() {
                buffer.clear();
                continue;
            }
            return Ok(Line::Message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8]) -> Vec<(Line, Vec<u8>)> {
        let (mut reader, mut buffer, mut found) = (input, Vec::new(), Vec::new());
        loop {
            let line = read(&mut reader, &mut buffer).await.unwrap();
            if line == Line::End {
                return found;
            }
            found.push((line, buffer.clone()));
        }
    }

    #[tokio::test]
    async fn long_lines_are_passed_over_and_the_next_one_is_read_v_29() {
        let mut input = vec![b'x'; MAX_LINE_BYTES + 1];
        input.extend_from_slice(b"\n\n \r\n{}\r\nhalf");
        let found = lines(&input).await;
        assert_eq!(found, [(Line::TooLong, vec![]), (Line::Message, b"{}\r".to_vec())]);
    }

    #[tokio::test]
    async fn a_line_of_exactly_the_limit_is_a_message_v_29() {
        let mut input = vec![b'x'; MAX_LINE_BYTES];
        input.push(b'\n');
        assert_eq!(lines(&input).await[0].0, Line::Message);
    }
}
