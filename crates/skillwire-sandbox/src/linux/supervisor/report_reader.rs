//! Reads a helper's reports as they arrive, piece by piece, without blocking.

use std::{
    io::{self, ErrorKind},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
};

use bytes::Bytes;
use rustix::net::RecvFlags;
use skillwire_core::RelPath;

use super::super::helper_protocol::{
    FileSpec, HelperReport, KernelUsage, StepFailure, message_length, receive_some,
};
use crate::{limits::RunLimits, outcome::OutputFile};

/// Reads reports from a control socket.
///
/// It keeps at most one message, or the output files of a run up to the run's limits: the counts and
/// sizes in a report are checked before their contents are awaited.
pub(super) struct ReportReader {
    buffer: Vec<u8>,
    max_bytes: u64,
    max_files: usize,
    listener: Option<OwnedFd>,
    received: ReceivedReports,
    /// The end of the script, while contents of its files are still to come.
    awaited: Option<(Vec<FileSpec>, ScriptEnd)>,
}

/// What a helper has reported so far.
#[derive(Default)]
pub(super) struct ReceivedReports {
    pub(super) failure: Option<StepFailure>,
    pub(super) started: bool,
    pub(super) notes: Vec<String>,
    pub(super) end: Option<ScriptEnd>,
}

/// How the script ended, and the files that it left.
pub(super) struct ScriptEnd {
    pub(super) exit: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) files: Vec<OutputFile>,
    pub(super) skipped_files: u64,
    pub(super) usage: KernelUsage,
}

impl ReportReader {
    pub(super) fn new(limits: &RunLimits) -> Self {
        Self {
            buffer: Vec::new(),
            max_bytes: limits.folder_bytes,
            max_files: limits.output_files,
            listener: None,
            received: ReceivedReports::default(),
            awaited: None,
        }
    }

    /// Takes the socket at which the script's connections arrive, once the helper has sent it.
    pub(super) fn take_listener(&mut self) -> Option<OwnedFd> {
        self.listener.take()
    }

    /// Whether the helper reported that no process of the script is left, and sent its files.
    pub(super) fn has_ended(&self) -> bool {
        self.received.end.is_some()
    }

    pub(super) fn into_reports(self) -> ReceivedReports {
        self.received
    }

    /// Reads what has arrived. Returns whether nothing more will come.
    pub(super) fn read(&mut self, control: &UnixStream) -> io::Result<bool> {
        let mut piece = [0; 16 * 1024];
        loop {
            match receive_some(control.as_fd(), &mut piece, RecvFlags::empty()) {
                Ok((0, _)) => return Ok(true),
                Ok((read, mut descriptors)) => {
                    self.buffer.extend_from_slice(&piece[..read]);
                    if let Some(listener) = descriptors.pop() {
                        self.listener = Some(listener);
                    }
                    self.parse()?;
                    if self.received.end.is_some() || self.received.failure.is_some() {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                // The helper hung up before it had read all that the supervisor sent.
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(true),
                Err(error) => return Err(error),
            }
        }
    }

    fn parse(&mut self) -> io::Result<()> {
        while self.awaited.is_none() {
            let Some(length) = self.buffer.first_chunk::<4>() else { return Ok(()) };
            let length = message_length(*length)?;
            let Some(body) = self.buffer.get(4..4 + length) else { return Ok(()) };
            let report: HelperReport = serde_json::from_slice(body)?;
            self.buffer.drain(..4 + length);
            match report {
                HelperReport::StepFailed { step, errno } => {
                    // Later failures follow from the first one.
                    self.received.failure.get_or_insert(StepFailure { step, errno });
                }
                HelperReport::Ready | HelperReport::Listening => {}
                HelperReport::Started { notes } => {
                    self.received.started = true;
                    self.received.notes = notes;
                }
                HelperReport::Ended { exit, signal, files, skipped_files, usage } => {
                    let sizes = files.iter().map(|file| file.size as u64);
                    let size = sizes.fold(0, u64::saturating_add);
                    if files.len() > self.max_files || size > self.max_bytes {
                        return Err(ErrorKind::InvalidData.into());
                    }
                    let end = ScriptEnd { exit, signal, files: Vec::new(), skipped_files, usage };
                    self.awaited = Some((files, end));
                }
            }
        }
        self.take_files()
    }

    /// Cuts the contents of the files out of the buffer, once all of them have arrived.
    fn take_files(&mut self) -> io::Result<()> {
        let size = |files: &[FileSpec]| files.iter().map(|file| file.size).sum::<usize>();
        if self.awaited.as_ref().is_none_or(|(files, _)| self.buffer.len() < size(files)) {
            return Ok(());
        }
        let Some((files, mut end)) = self.awaited.take() else { return Ok(()) };
        let mut bytes = Bytes::from(std::mem::take(&mut self.buffer));
        for FileSpec { path, size } in files {
            // Parsed again here: a path of a script must never lead out of the caller's folder.
            let path = RelPath::parse(&path).map_err(io::Error::other)?;
            end.files.push(OutputFile { path, bytes: bytes.split_to(size) });
        }
        self.received.end = Some(end);
        Ok(())
    }
}
