//! Reports of a helper, as they arrive piece by piece.

use std::{
    io::{self, ErrorKind},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
};

use bytes::Bytes;
use rustix::net::RecvFlags;
use skillwire_core::path::RelPath;

use super::super::protocol::{Broken, FileSpec, Report, Used, message_length, receive_some};
use crate::{limits::Limits, outcome::OutputFile};

/// What was read so far.
pub(super) struct Incoming {
    buffer: Vec<u8>,
    most_bytes: u64,
    most_files: usize,
    listener: Option<OwnedFd>,
    taken: Taken,
    /// The files whose bytes are still to come.
    awaited: Option<(Vec<FileSpec>, Ended)>,
}

/// What a helper reported.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) broken: Option<Broken>,
    pub(super) started: bool,
    pub(super) notes: Vec<String>,
    pub(super) ended: Option<Ended>,
}

pub(super) struct Ended {
    pub(super) exit: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) files: Vec<OutputFile>,
    pub(super) left_out: u64,
    pub(super) used: Used,
}

impl Incoming {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            buffer: Vec::new(),
            most_bytes: limits.scratch,
            most_files: limits.output_files,
            listener: None,
            taken: Taken::default(),
            awaited: None,
        }
    }

    /// The socket at which the script's connections arrive, once.
    pub(super) fn listener(&mut self) -> Option<OwnedFd> {
        self.listener.take()
    }

    /// Whether the helper told that no process of the script is left, and gave its files.
    pub(super) fn has_ended(&self) -> bool {
        self.taken.ended.is_some()
    }

    pub(super) fn into_taken(self) -> Taken {
        self.taken
    }

    /// Reads what is there. Says whether nothing more will come.
    pub(super) fn take(&mut self, control: &UnixStream) -> io::Result<bool> {
        let mut piece = [0; 16 * 1024];
        loop {
            match receive_some(control.as_fd(), &mut piece, RecvFlags::empty()) {
                Ok((0, _)) => return Ok(true),
                Ok((read, mut along)) => {
                    self.buffer.extend_from_slice(&piece[..read]);
                    if let Some(listener) = along.pop() {
                        self.listener = Some(listener);
                    }
                    self.understand()?;
                    if self.taken.ended.is_some() || self.taken.broken.is_some() {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                // It hung up with something of ours unread.
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(true),
                Err(error) => return Err(error),
            }
        }
    }

    fn understand(&mut self) -> io::Result<()> {
        while self.awaited.is_none() {
            let Some(length) = self.buffer.first_chunk::<4>() else { return Ok(()) };
            let length = message_length(*length)?;
            let Some(body) = self.buffer.get(4..4 + length) else { return Ok(()) };
            let report: Report = serde_json::from_slice(body)?;
            self.buffer.drain(..4 + length);
            match report {
                Report::Broken { step, errno } => {
                    // The first one is the reason of the others.
                    self.taken.broken.get_or_insert(Broken { step, errno });
                }
                Report::Ready | Report::Listening => {}
                Report::Started { notes } => {
                    self.taken.started = true;
                    self.taken.notes = notes;
                }
                Report::Ended { exit, signal, files, left_out, usage: used } => {
                    let size: u64 = files.iter().map(|file| file.size as u64).sum();
                    if files.len() > self.most_files || size > self.most_bytes {
                        return Err(ErrorKind::InvalidData.into());
                    }
                    let ended = Ended { exit, signal, files: Vec::new(), left_out, used };
                    self.awaited = Some((files, ended));
                }
            }
        }
        self.take_files()
    }

    fn take_files(&mut self) -> io::Result<()> {
        let size = |files: &[FileSpec]| files.iter().map(|file| file.size).sum::<usize>();
        if self.awaited.as_ref().is_none_or(|(files, _)| self.buffer.len() < size(files)) {
            return Ok(());
        }
        let Some((files, mut ended)) = self.awaited.take() else { return Ok(()) };
        let mut bytes = Bytes::from(std::mem::take(&mut self.buffer));
        for FileSpec { path, size } in files {
            let path = RelPath::parse(&path).map_err(io::Error::other)?;
            ended.files.push(OutputFile { path, bytes: bytes.split_to(size) });
        }
        self.taken.ended = Some(ended);
        Ok(())
    }
}
