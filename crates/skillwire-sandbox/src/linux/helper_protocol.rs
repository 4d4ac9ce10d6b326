//! The messages between supervisor, fork server and helper.
//!
//! Over the fork server's socket the supervisor sends a [`HelperRequest`] with one end of a new
//! control socket, and receives a [`HelperReply`] with a pidfd of the new helper.
//!
//! Over the control socket the supervisor sends a [`JobSpec`] with the script's standard streams as
//! descriptors, where a process has to enter its cgroup by itself also the file for that, and then the
//! bytes of the skill's files one after the other. The helper sends
//! [`HelperReport`]s.
//!
//! A message is its length in four bytes and then JSON. Both ends are the same program, so the
//! format needs no versions. A helper has the same user id as the script beside it. The layers keep
//! the script away from it, but the supervisor does not rely on that: it bounds every report and
//! checks every path (see `supervisor::report_reader`).

use std::{
    io::{self, IoSlice, IoSliceMut, Read as _},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{isolation::IsolationTier, limits::RunLimits};

/// The most descriptors that travel with one message.
const MAX_DESCRIPTORS: usize = 4;

/// The longest message, without the file contents that follow some messages.
const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// Asks the fork server for a helper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HelperRequest {
    pub(super) tier: IsolationTier,
    /// Where a run of the restricted tier makes its folder; the name cannot be guessed.
    pub(super) scratch: PathBuf,
    /// Whether jobs of the supervisor run in cgroups that bound their memory.
    pub(super) memory_is_held: bool,
}

/// The fork server's answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum HelperReply {
    /// The helper was started; a pidfd of it travels with the message.
    Started { pid: u32 },
    /// No helper could be started.
    Failed { errno: i32 },
}

/// The job of a helper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct JobSpec {
    pub(super) files: Vec<FileSpec>,
    /// Copies of the caller's files for the working folder. Their contents follow those of `files`.
    pub(super) inputs: Vec<InputSpec>,
    /// Paths in the skill that lead to folders of packages.
    pub(super) packages: Vec<(String, PathBuf)>,
    /// Directories that the script can read besides the system's.
    pub(super) roots: Vec<PathBuf>,
    pub(super) program: ScriptProgram,
    /// The words that follow the script's path on its command line.
    pub(super) words: Vec<String>,
    /// The granted variables.
    pub(super) environment: Vec<(String, String)>,
    /// Whether connections through the egress proxy were granted.
    pub(super) network: bool,
    pub(super) limits: RunLimits,
    /// Whether a cgroup bounds the memory of this run.
    pub(super) memory_is_held: bool,
    /// Whether the address space of each process is limited. Node reserves more addresses than any
    /// reasonable limit, without using them.
    pub(super) limit_address_space: bool,
}

/// The program that the helper executes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ScriptProgram {
    /// An interpreter with its options; `script` is a path in the skill.
    Interpreter { path: PathBuf, options: Vec<String>, script: String },
    /// The script itself, by its path in the skill.
    Static(String),
}

impl ScriptProgram {
    /// The script's path in the skill.
    pub(super) fn script(&self) -> &str {
        match self {
            Self::Interpreter { script, .. } | Self::Static(script) => script,
        }
    }
}

/// A file's path, and how many bytes of content follow the message for it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileSpec {
    pub(super) path: String,
    pub(super) size: usize,
}

/// An input's path in the working folder, and how many bytes of content follow the message for it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InputSpec {
    pub(super) path: String,
    pub(super) size: usize,
    pub(super) writable: bool,
}

/// What a helper tells the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum HelperReport {
    /// A step failed, so the script was not started.
    StepFailed { step: IsolationStep, errno: i32 },
    /// Everything that needs no job is done.
    Ready,
    /// The script's connections arrive at the listening socket that travels with the message.
    Listening,
    /// All layers of isolation are in place, and the script starts next.
    Started { notes: Vec<String> },
    /// All processes of the script are gone, and the helper looks at the files that it left.
    Collecting,
    /// How the script ended. The contents of the files follow.
    Ended {
        exit: Option<i32>,
        signal: Option<i32>,
        files: Vec<FileSpec>,
        skipped_files: u64,
        usage: KernelUsage,
    },
}

/// What the kernel counted for processes that are gone.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct KernelUsage {
    pub(super) cpu_micros: u64,
    /// The most memory that one process held.
    pub(super) peak_bytes: u64,
    /// Bytes in that of the two folders which held more of them, where they are file systems.
    pub(super) folder_bytes: u64,
    /// Files in that of the two folders which held more of them, where they are file systems.
    pub(super) folder_files: u64,
}

/// A step that can fail before a script runs, or while the helper waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum IsolationStep {
    Descriptors,
    DropRoot,
    Namespaces,
    IdMaps,
    Fork,
    Mounts,
    Network,
    Scratch,
    Limits,
    Capabilities,
    Landlock,
    Seccomp,
    Exec,
    Wait,
}

/// A step that failed, with the system's error.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepFailure {
    pub(super) step: IsolationStep,
    pub(super) errno: i32,
}

/// Says which step an error belongs to.
pub(super) trait AtStep<T> {
    fn at(self, step: IsolationStep) -> Result<T, StepFailure>;
}

impl<T, E: Into<io::Error>> AtStep<T> for Result<T, E> {
    fn at(self, step: IsolationStep) -> Result<T, StepFailure> {
        self.map_err(|error| {
            let errno = error.into().raw_os_error().unwrap_or(libc::EIO);
            StepFailure { step, errno }
        })
    }
}

/// Sends a message, and descriptors with it.
pub(super) fn send<T: Serialize>(
    socket: &UnixStream,
    message: &T,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?.to_le_bytes();
    let all = [length.as_slice(), &body].concat();
    if descriptors.is_empty() {
        return send_all(socket, &all);
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // The kernel attaches descriptors to the first byte, so one `sendmsg` takes all of them along
    // even when the socket's buffer has room for a part of the bytes only.
    let sent = sendmsg(socket, &[IoSlice::new(&all)], &mut ancillary, SendFlags::NOSIGNAL)?;
    send_all(socket, &all[sent..])
}

/// Sends bytes without a signal if the other end is closed, and by a call that also a filtered script
/// may make.
fn send_all(socket: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Receives a message, and the descriptors that travel with it.
pub(super) fn receive<T: DeserializeOwned>(socket: &UnixStream) -> io::Result<(T, Vec<OwnedFd>)> {
    let mut length = [0; 4];
    let (read, descriptors) = receive_some(socket.as_fd(), &mut length, RecvFlags::empty())?;
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut socket = socket;
    socket.read_exact(&mut length[read..])?;
    let mut body = vec![0; message_length(length)?];
    socket.read_exact(&mut body)?;
    Ok((serde_json::from_slice(&body)?, descriptors))
}

/// Reads the length of a message, and refuses one that is too long before anything is allocated for
/// it.
pub(super) fn message_length(bytes: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(bytes) as usize;
    if length > MAX_MESSAGE { Err(io::ErrorKind::InvalidData.into()) } else { Ok(length) }
}

/// Reads what has arrived, and the descriptors that travel with it.
///
/// Received descriptors are closed on exec. Otherwise a script could inherit one that arrived
/// between two steps.
pub(super) fn receive_some(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    flags: RecvFlags,
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let into = &mut [IoSliceMut::new(buffer)];
    let read = recvmsg(socket, into, &mut ancillary, flags | RecvFlags::CMSG_CLOEXEC)?.bytes;
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    Ok((read, descriptors))
}
