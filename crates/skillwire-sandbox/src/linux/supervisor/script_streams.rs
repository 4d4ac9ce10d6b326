//! The script's standard streams, as the supervisor feeds and keeps them.

use std::{
    fs::File,
    io::{self, ErrorKind, Read as _, Write as _},
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{Mode, OFlags, fchmod, fcntl_getfl, fcntl_setfl},
    pipe::{PipeFlags, pipe_with},
};

use crate::{job::ScriptJob, limits::RunLimits, sanitise::TextCleaner};

/// The supervisor's ends of all three streams.
pub(super) struct ScriptStreams<'a> {
    pub(super) stdin: InputFeed<'a>,
    pub(super) stdout: CapturedStream,
    pub(super) stderr: CapturedStream,
}

impl<'a> ScriptStreams<'a> {
    /// Makes the pipes. Returns the script's ends of standard input, output and error as well.
    ///
    /// All ends are closed on exec, so that no program that the caller starts meanwhile keeps one
    /// open.
    ///
    /// With `live`, text is also kept for an observer until it is taken.
    pub(super) fn new(job: &'a ScriptJob, live: bool) -> io::Result<([OwnedFd; 3], Self)> {
        let (in_read, in_write) = pipe_with(PipeFlags::CLOEXEC)?;
        let (out_read, out_write) = pipe_with(PipeFlags::CLOEXEC)?;
        let (err_read, err_write) = pipe_with(PipeFlags::CLOEXEC)?;
        let streams = Self {
            stdin: InputFeed::new(File::from(in_write), job.arguments.stdin())?,
            stdout: CapturedStream::new(File::from(out_read), job.limits.stream_bytes, live)?,
            stderr: CapturedStream::new(File::from(err_read), job.limits.stream_bytes, live)?,
        };
        // A pipe belongs to the user who made it. A script of another user, as under root, could not
        // open `/dev/stdin` again. Only processes that have a pipe open can find it.
        if rustix::process::geteuid().is_root() {
            for end in [&in_read, &out_write, &err_write] {
                fchmod(end, Mode::from_raw_mode(0o666))?;
            }
        }
        Ok(([in_read, out_write, err_write], streams))
    }
}

/// Makes the supervisor's end of a pipe non-blocking. The flag belongs to the open file, not to the
/// pipe, so the script's end still blocks as scripts expect.
fn set_nonblocking(file: &File) -> io::Result<()> {
    Ok(fcntl_setfl(file, fcntl_getfl(file)? | OFlags::NONBLOCK)?)
}

/// Bytes on their way to the script's standard input.
pub(super) struct InputFeed<'a> {
    pipe: Option<File>,
    left: &'a [u8],
}

impl<'a> InputFeed<'a> {
    fn new(pipe: File, bytes: &'a [u8]) -> io::Result<Self> {
        set_nonblocking(&pipe)?;
        Ok(Self { pipe: Some(pipe), left: bytes })
    }

    /// The pipe, while there is something to write.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    /// Writes as much as fits. Closes the pipe when all is written, or when the script closed its
    /// end.
    pub(super) fn write(&mut self) {
        while let (Some(pipe), false) = (&mut self.pipe, self.left.is_empty()) {
            match pipe.write(self.left) {
                Ok(written) => self.left = &self.left[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // A script need not read its input.
                Err(_) => break,
            }
        }
        self.pipe = None;
    }
}

/// Bytes that a script writes to a stream, of which the first are kept.
pub(super) struct CapturedStream {
    pipe: Option<File>,
    kept: Vec<u8>,
    max_kept: usize,
    written: usize,
    live: Option<LiveText>,
}

/// Cleaned text that no observer has taken yet.
#[derive(Default)]
struct LiveText {
    cleaner: TextCleaner,
    text: String,
}

impl CapturedStream {
    fn new(pipe: File, max_kept: usize, live: bool) -> io::Result<Self> {
        set_nonblocking(&pipe)?;
        let live = live.then(LiveText::default);
        Ok(Self { pipe: Some(pipe), kept: Vec::new(), max_kept, written: 0, live })
    }

    /// The pipe, until the script has closed it.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    /// How many bytes the script wrote, kept or not.
    pub(super) fn written(&self) -> usize {
        self.written
    }

    /// Whether the script wrote so much that it is stopped for it.
    pub(super) fn is_flood(&self) -> bool {
        self.written > self.max_kept.saturating_mul(RunLimits::FLOOD_FACTOR)
    }

    /// Reads once, so that a script that writes without end cannot keep the supervisor from its
    /// limits and the other stream.
    pub(super) fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        match pipe.read(&mut buffer) {
            Ok(0) => {
                self.pipe = None;
                if let Some(live) = &mut self.live {
                    live.cleaner.finish(&mut live.text);
                }
            }
            Ok(read) => {
                self.written = self.written.saturating_add(read);
                let room = self.max_kept - self.kept.len();
                self.kept.extend_from_slice(&buffer[..read.min(room)]);
                if let Some(live) = &mut self.live {
                    live.cleaner.push(&buffer[..read], &mut live.text);
                }
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Reads what is left in the pipe after the script has ended.
    pub(super) fn drain(&mut self) {
        loop {
            let before = self.written;
            if self.read().is_err() || self.written == before || self.is_flood() {
                return;
            }
        }
    }

    /// Takes the text that was written since the last call.
    pub(super) fn take_live_text(&mut self) -> String {
        self.live.as_mut().map(|live| std::mem::take(&mut live.text)).unwrap_or_default()
    }

    /// The bytes that were kept, and whether the script wrote more.
    pub(super) fn into_bytes(self) -> (Vec<u8>, bool) {
        let more = self.written > self.kept.len();
        (self.kept, more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_held_than_is_kept_however_much_is_written() {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let mut captured = CapturedStream::new(File::from(read), 10, false).unwrap();
        let mut write = File::from(write);
        for _ in 0..3 {
            write.write_all(b"1234567").unwrap();
            captured.read().unwrap();
            assert!(captured.kept.len() <= 10, "{} bytes are held", captured.kept.len());
        }
        assert_eq!(captured.written(), 21);
        assert_eq!(captured.into_bytes(), (b"1234567123".to_vec(), true));
    }
}
