//! Reading the log line by line; a line that holds no event is reported and skipped.

use std::{
    collections::VecDeque,
    fmt,
    fs::File,
    io::{BufRead, BufReader, Read},
};

use skillwire_trust::Event;

use super::{MAX_LINE_BYTES, line};
use crate::folder::Folder;

/// A line that holds no event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableLine {
    /// The file it is in.
    pub file: String,
    /// The line number, starting at 1.
    pub line: usize,
    /// What is wrong, as a clause that follows "it".
    pub problem: String,
}

impl fmt::Display for UnreadableLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Line {} of `{}` cannot be read: it {}.", self.line, self.file, self.problem)
    }
}

impl std::error::Error for UnreadableLine {}

/// The lines of all logs, oldest first.
#[derive(Debug)]
pub struct AuditLines {
    /// The folder from which rotated logs are opened, one after the other.
    folder: Option<Folder>,
    earlier: VecDeque<String>,
    /// The current log, opened while no process could rotate it.
    current: Option<(String, File)>,
    reading: Option<LogReader>,
}

#[derive(Debug)]
struct LogReader {
    name: String,
    line: usize,
    file: BufReader<File>,
    /// Set when the file has no more lines to give.
    over: bool,
}

impl AuditLines {
    pub(super) fn none() -> Self {
        Self { folder: None, earlier: VecDeque::new(), current: None, reading: None }
    }

    pub(super) fn new(
        folder: Folder,
        earlier: VecDeque<String>,
        current: Option<(String, File)>,
    ) -> Self {
        Self { folder: Some(folder), earlier, current, reading: None }
    }

    /// Opens the next log; one that cannot be opened is reported and skipped.
    fn open_next(&mut self) -> Option<Result<LogReader, UnreadableLine>> {
        let (name, file) = match self.earlier.pop_front() {
            None => self.current.take()?,
            Some(name) => {
                let problem = match self.folder.as_ref()?.file(&name) {
                    Ok(Some(file)) => return Some(Ok(LogReader::new(name, file))),
                    Ok(None) => "was removed meanwhile".to_owned(),
                    Err(fault) => format!("cannot be opened: {fault}"),
                };
                return Some(Err(UnreadableLine { file: name, line: 1, problem }));
            }
        };
        Some(Ok(LogReader::new(name, file)))
    }
}

impl Iterator for AuditLines {
    type Item = Result<Event, UnreadableLine>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.reading.as_mut().and_then(LogReader::next) {
                return Some(item);
            }
            match self.open_next()? {
                Ok(reading) => self.reading = Some(reading),
                Err(problem) => return Some(Err(problem)),
            }
        }
    }
}

impl LogReader {
    fn new(name: String, file: File) -> Self {
        Self { name, line: 0, file: BufReader::new(file), over: false }
    }

    fn next(&mut self) -> Option<Result<Event, UnreadableLine>> {
        if self.over {
            return None;
        }
        let most = MAX_LINE_BYTES as u64 + 1;
        let mut bytes = Vec::new();
        let read = self.file.by_ref().take(most).read_until(b'\n', &mut bytes);
        self.line += 1;
        let event = match read {
            Ok(0) => return None,
            Ok(_) if bytes.pop() != Some(b'\n') => Err(self.unfinished(most, bytes.len() + 1)),
            Ok(_) => match std::str::from_utf8(&bytes) {
                Ok(text) => line::read(text),
                Err(_) => Err("is not text".to_owned()),
            },
            Err(error) => {
                self.over = true;
                Err(format!("cannot be read: {error}"))
            }
        };
        Some(event.map_err(|problem| UnreadableLine {
            file: self.name.clone(),
            line: self.line,
            problem,
        }))
    }

    /// Skips the rest of a line that is too long or incomplete, and says what is wrong with it.
    fn unfinished(&mut self, most: u64, read: usize) -> String {
        if (read as u64) < most {
            return "ends in the middle, as after a write that was cut off".to_owned();
        }
        // Skips in pieces, so that a long line takes no memory.
        loop {
            let (skip, done) = match self.file.fill_buf() {
                Ok([]) | Err(_) => return "is too long".to_owned(),
                Ok(bytes) => match bytes.iter().position(|byte| *byte == b'\n') {
                    Some(end) => (end + 1, true),
                    None => (bytes.len(), false),
                },
            };
            self.file.consume(skip);
            if done {
                return "is too long".to_owned();
            }
        }
    }
}
