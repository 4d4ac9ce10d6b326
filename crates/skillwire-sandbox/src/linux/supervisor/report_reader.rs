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
use crate::{limits::RunLimits, outcome::OutputFile, sanitise};

/// Reads reports from a control socket.
///
/// It keeps at most one message, or the output files of a run up to the run's limits: the counts
/// and sizes in a report are checked before their contents are awaited.
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
    /// Whether every process of the script is gone.
    pub(super) script_is_gone: bool,
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

    /// Whether the helper reported that no process of the script is left. It may still send files.
    pub(super) fn script_is_gone(&self) -> bool {
        self.received.script_is_gone
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
                HelperReport::Collecting => self.received.script_is_gone = true,
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
            let bytes = bytes.split_to(size);
            // Parsed here: a path of a script must never lead out of the caller's folder. Names are
            // shown to users and models, so they hold nothing that hides or acts on a terminal.
            let path = RelPath::parse(&sanitise::name(&path)).map_err(io::Error::other)?;
            if end.files.iter().any(|file| in_the_way(&file.path, &path)) {
                end.skipped_files = end.skipped_files.saturating_add(1);
            } else {
                end.files.push(OutputFile { path, bytes });
            }
        }
        self.received.end = Some(end);
        Ok(())
    }
}

/// Whether two paths are the same, or one needs the other as a folder. Names that differed only in
/// hidden characters can become so.
fn in_the_way(one: &RelPath, other: &RelPath) -> bool {
    let one: Vec<_> = one.segments().collect();
    let other: Vec<_> = other.segments().collect();
    let shared = one.len().min(other.len());
    one[..shared] == other[..shared]
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::{super::super::helper_protocol::send, *};

    /// Reads what a helper sends, and returns the reader or its error.
    fn read(helper: impl FnOnce(&UnixStream)) -> io::Result<ReportReader> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        helper(&theirs);
        let limits = RunLimits::default().with_folder_bytes(10).with_output_files(2);
        let mut reader = ReportReader::new(&limits);
        reader.read(&ours).map(|_| reader)
    }

    fn ended(files: &[(&str, usize)]) -> HelperReport {
        let spec =
            |(path, size): &(&str, usize)| FileSpec { path: (*path).to_owned(), size: *size };
        HelperReport::Ended {
            exit: Some(0),
            signal: None,
            files: files.iter().map(spec).collect(),
            skipped_files: 0,
            usage: KernelUsage::default(),
        }
    }

    #[test]
    fn files_are_cut_out_of_what_follows_the_last_report() {
        let reader = read(|helper| {
            send(helper, &HelperReport::Started { notes: vec!["note".to_owned()] }, &[]).unwrap();
            send(helper, &ended(&[("a", 2), ("b/c", 3)]), &[]).unwrap();
            (&*helper).write_all(b"12345").unwrap();
        });
        let reports = reader.unwrap().into_reports();
        assert!(reports.started);
        assert_eq!(reports.notes, ["note"]);
        let files = reports.end.unwrap().files;
        let files: Vec<_> =
            files.iter().map(|file| (file.path.as_str(), &file.bytes[..])).collect();
        assert_eq!(files, [("a", &b"12"[..]), ("b/c", b"345")]);
    }

    #[test]
    fn the_end_is_known_only_with_all_of_its_files() {
        let reader = read(|helper| {
            send(helper, &ended(&[("a", 2)]), &[]).unwrap();
            (&*helper).write_all(b"1").unwrap();
        });
        assert!(!reader.unwrap().has_ended());
    }

    #[test]
    fn a_report_of_more_than_the_limits_allow_is_refused() {
        for files in [&[("a", 11)][..], &[("a", 1), ("b", 1), ("c", 1)], &[("a", usize::MAX); 2]] {
            let refused = read(|helper| send(helper, &ended(files), &[]).unwrap());
            assert_eq!(refused.err().map(|error| error.kind()), Some(ErrorKind::InvalidData));
        }
        let refused = read(|mut helper| helper.write_all(&u32::MAX.to_le_bytes()).unwrap());
        assert_eq!(refused.err().map(|error| error.kind()), Some(ErrorKind::InvalidData));
    }

    #[test]
    fn a_path_that_leads_out_of_the_output_folder_is_refused() {
        for path in ["../x", "/x", "a/../../x", ""] {
            let refused = read(|helper| {
                send(helper, &ended(&[(path, 1)]), &[]).unwrap();
                (&*helper).write_all(b"1").unwrap();
            });
            assert!(refused.is_err(), "{path}");
        }
    }

    #[test]
    fn names_of_files_hold_nothing_hidden_and_stay_apart_b_12() {
        let reader = read(|helper| {
            send(helper, &ended(&[("a\u{1b}[2J\n", 1), ("a\u{202e}[2J\u{e0041}", 1)]), &[])
                .unwrap();
            (&*helper).write_all(b"12").unwrap();
        });
        let end = reader.unwrap().into_reports().end.unwrap();
        let names: Vec<_> = end.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((names, end.skipped_files), (vec!["a_[2J_"], 1));
    }

    #[test]
    fn the_first_failure_is_the_reason() {
        use super::super::super::helper_protocol::IsolationStep;
        let reader = read(|helper| {
            for step in [IsolationStep::Landlock, IsolationStep::Exec] {
                send(helper, &HelperReport::StepFailed { step, errno: 1 }, &[]).unwrap();
            }
        });
        let failure = reader.unwrap().into_reports().failure.unwrap();
        assert_eq!(failure.step, IsolationStep::Landlock);
    }
}
