//! A script's standard streams, as far as they are kept.

use std::{
    fs::File,
    io::{self, ErrorKind, Read as _, Write as _},
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    pipe::{PipeFlags, pipe_with},
};

use crate::{job::Job, limits::Limits};

/// The supervisor's ends of all three.
pub(super) struct Streams<'a> {
    pub(super) stdin: Feed<'a>,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
}

impl<'a> Streams<'a> {
    /// Makes them, and the script's own ends.
    pub(super) fn new(job: &'a Job) -> io::Result<([OwnedFd; 3], Self)> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        let (out_read, out_write) = pipe_with(PipeFlags::CLOEXEC)?;
        let (err_read, err_write) = pipe_with(PipeFlags::CLOEXEC)?;
        let streams = Self {
            stdin: Feed::new(File::from(write), job.arguments.stdin())?,
            stdout: Captured::new(File::from(out_read), job.limits.output)?,
            stderr: Captured::new(File::from(err_read), job.limits.output)?,
        };
        Ok(([read, out_write, err_write], streams))
    }
}

fn nonblocking(file: &File) -> io::Result<()> {
    Ok(fcntl_setfl(file, fcntl_getfl(file)? | OFlags::NONBLOCK)?)
}

/// What is written to a script's standard input.
pub(super) struct Feed<'a> {
    pipe: Option<File>,
    left: &'a [u8],
}

impl<'a> Feed<'a> {
    fn new(pipe: File, bytes: &'a [u8]) -> io::Result<Self> {
        nonblocking(&pipe)?;
        Ok(Self { pipe: Some(pipe), left: bytes })
    }

    pub(super) fn open(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    /// Writes what fits; closes the pipe when all is written or nobody reads.
    pub(super) fn feed(&mut self) {
        while let (Some(pipe), false) = (&mut self.pipe, self.left.is_empty()) {
            match pipe.write(self.left) {
                Ok(written) => self.left = &self.left[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // A script need not read what it is given.
                Err(_) => break,
            }
        }
        self.pipe = None;
    }
}

/// What a script writes to a stream.
pub(super) struct Captured {
    pipe: Option<File>,
    kept: Vec<u8>,
    most: usize,
    written: usize,
}

impl Captured {
    fn new(pipe: File, most: usize) -> io::Result<Self> {
        nonblocking(&pipe)?;
        Ok(Self { pipe: Some(pipe), kept: Vec::new(), most, written: 0 })
    }

    pub(super) fn open(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    /// How many bytes were written, kept or not.
    pub(super) fn written(&self) -> usize {
        self.written
    }

    /// Whether so much was written that the script cannot mean it.
    pub(super) fn is_flood(&self) -> bool {
        self.written > self.most.saturating_mul(Limits::FLOOD)
    }

    /// Reads once what is there, so that one stream cannot keep everything else waiting.
    pub(super) fn take(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        match pipe.read(&mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(read) => {
                self.written = self.written.saturating_add(read);
                let room = self.most - self.kept.len();
                self.kept.extend_from_slice(&buffer[..read.min(room)]);
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Reads what is left when nobody writes any more.
    pub(super) fn drain(&mut self) {
        loop {
            let before = self.written;
            if self.take().is_err() || self.written == before || self.is_flood() {
                return;
            }
        }
    }

    /// What was kept, and whether there was more.
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
        let mut captured = Captured::new(File::from(read), 10).unwrap();
        let mut write = File::from(write);
        for _ in 0..3 {
            write.write_all(b"1234567").unwrap();
            captured.take().unwrap();
            assert!(captured.kept.len() <= 10, "{} bytes are held", captured.kept.len());
        }
        assert_eq!(captured.into_bytes(), (b"1234567123".to_vec(), true));
    }
}
