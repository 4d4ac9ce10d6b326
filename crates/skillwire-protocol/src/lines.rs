//! Messages on lines of bounded length, for both sides of a pipe.
//!
//! This module does no I/O: a transport passes in the chunks that arrive, and gets lines back.

/// The result of taking the bytes of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEvent {
    /// The line goes on in the next chunk.
    Unfinished,
    /// A whole line is in [`LineAssembler::line`], without its end.
    Complete,
    /// The line is longer than allowed. Its beginning is in [`LineAssembler::line`] until the next
    /// chunk, and the rest will be skipped.
    TooLong,
    /// The end of a line that was too long has been skipped.
    Skipped,
}

/// Assembles lines from chunks, and holds no more of a line than a limit.
#[derive(Debug, Default)]
pub struct LineAssembler {
    line: Vec<u8>,
    state: LineState,
}

#[derive(Debug, Default)]
enum LineState {
    /// The next chunk begins a line.
    #[default]
    Start,
    /// The next chunk goes on with the line that is held.
    Middle,
    /// The next chunk belongs to a line that is too long.
    Skipping { bytes: usize },
}

impl LineAssembler {
    /// The most memory that the buffer keeps for the next line.
    const KEPT_BYTES: usize = 1024 * 1024;

    /// Takes bytes up to the end of a line, and returns how many it took.
    ///
    /// The limit may change from chunk to chunk; a line of exactly `limit` bytes is complete.
    pub fn take(&mut self, chunk: &[u8], limit: usize) -> (usize, LineEvent) {
        let end = memchr::memchr(b'\n', chunk);
        let content = end.unwrap_or(chunk.len());
        let taken = content + usize::from(end.is_some());
        if let LineState::Skipping { bytes } = &mut self.state {
            self.line.clear();
            *bytes += taken;
            if end.is_none() {
                return (taken, LineEvent::Unfinished);
            }
            self.state = LineState::Start;
            return (taken, LineEvent::Skipped);
        }
        if matches!(self.state, LineState::Start) {
            self.line.clear();
            self.line.shrink_to(Self::KEPT_BYTES);
        }
        if self.line.len() + content > limit {
            self.state = LineState::Skipping { bytes: 0 };
            return (0, LineEvent::TooLong);
        }
        self.line.extend_from_slice(&chunk[..content]);
        self.state = if end.is_some() { LineState::Start } else { LineState::Middle };
        (taken, if end.is_some() { LineEvent::Complete } else { LineEvent::Unfinished })
    }

    /// Returns the line, or as much of it as has arrived.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Returns how many bytes of a line that is too long have been skipped.
    pub fn skipped(&self) -> usize {
        match self.state {
            LineState::Skipping { bytes } => bytes,
            LineState::Start | LineState::Middle => 0,
        }
    }

    /// Tells whether the input may end here without cutting a line in two.
    pub fn is_between_lines(&self) -> bool {
        matches!(self.state, LineState::Start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of taking an input in chunks of a fixed size.
    fn events(input: &[u8], size: usize, limit: usize) -> Vec<(LineEvent, Vec<u8>)> {
        let mut lines = LineAssembler::default();
        let mut events = Vec::new();
        for mut chunk in input.chunks(size) {
            while !chunk.is_empty() {
                let (taken, event) = lines.take(chunk, limit);
                assert!(lines.line().len() <= limit);
                if event != LineEvent::Unfinished {
                    events.push((event, lines.line().to_vec()));
                }
                chunk = &chunk[taken..];
            }
        }
        events
    }

    #[test]
    fn lines_are_the_same_however_they_arrive_h_70() {
        let whole = |text: &str| (LineEvent::Complete, text.as_bytes().to_vec());
        for size in [1, 2, 3, 100] {
            let found = events(b"{}\r\n\nlonger line\nhalf", size, 100);
            assert_eq!(found, [whole("{}\r"), whole(""), whole("longer line")]);
        }
    }

    #[test]
    fn long_lines_are_passed_over_and_the_next_one_is_read_v_29() {
        let mut input = vec![b'x'; 101];
        input.extend_from_slice(b"\n{}\n");
        for size in [1, 7, 100, 101, 200] {
            let found: Vec<_> =
                events(&input, size, 100).into_iter().map(|(event, _)| event).collect();
            assert_eq!(
                found,
                [LineEvent::TooLong, LineEvent::Skipped, LineEvent::Complete],
                "{size}"
            );
        }
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_a_message_v_29() {
        let mut input = vec![b'x'; 100];
        input.push(b'\n');
        assert_eq!(events(&input, 7, 100), [(LineEvent::Complete, vec![b'x'; 100])]);
    }

    #[test]
    fn the_beginning_of_a_long_line_can_be_looked_at_h_70() {
        let found = events(b"{\"id\":1,\"result\":\"xxxxxxxxxxxxxxxxxx\"}\n", 8, 24);
        assert_eq!(found[0], (LineEvent::TooLong, b"{\"id\":1,\"result\":\"xxxxxx".to_vec()));
    }

    #[test]
    fn what_is_passed_over_is_counted_h_70() {
        let mut lines = LineAssembler::default();
        assert_eq!(lines.take(b"xxxx", 3), (0, LineEvent::TooLong));
        assert_eq!(lines.take(b"xxxx", 3), (4, LineEvent::Unfinished));
        assert_eq!(lines.take(b"xxxx", 3), (4, LineEvent::Unfinished));
        assert_eq!(lines.skipped(), 8);
        assert!(!lines.is_between_lines());
        assert_eq!(lines.take(b"x\ny", 3), (2, LineEvent::Skipped));
        assert_eq!((lines.skipped(), lines.is_between_lines()), (0, true));
    }
}
