//! What a supervisor and its helper say to each other over one socket.
//!
//! To the helper: when there is a job for it a [`Spec`], the script's standard streams as descriptors,
//! and the bytes of the skill's files one after the other. From the helper: [`Report`]s.
//!
//! Over another socket a supervisor asks for helpers: by a [`Request`] and the helper's end of a new
//! socket, answered by [`Copied`] and a handle of the process.

use std::{
    io::{self, IoSlice, IoSliceMut, Read as _, Write as _},
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

use crate::{isolation::Tier, limits::Limits};

/// The most descriptors that go along with a message.
const MAX_ALONG: usize = 3;

/// The longest message without what follows it.
const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// Everything a helper needs to know.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Spec {
    pub(super) files: Vec<FileSpec>,
    /// The script's path in the skill, if it is itself the program.
    pub(super) program: Program,
    /// The words after the program and its options: for an interpreter, those of the script.
    pub(super) words: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    /// Whether connections through the proxy were granted.
    pub(super) network: bool,
    pub(super) limits: Limits,
    /// Whether address space is bounded; Node reserves more than there is memory.
    pub(super) bound_addresses: bool,
}

/// Asks for a helper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) tier: Tier,
    /// Where the folder of a run without namespaces is made; its name is unguessable.
    pub(super) scratch: PathBuf,
}

/// What is executed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Program {
    /// An interpreter with its options, and the script in the skill's folder.
    Interpreter { path: PathBuf, options: Vec<String>, script: String, root: Option<PathBuf> },
    /// The script itself.
    Script(String),
}

impl Program {
    pub(super) fn script(&self) -> &str {
        match self {
            Self::Interpreter { script, .. } | Self::Script(script) => script,
        }
    }
}

/// A file's path and how many bytes of it follow.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileSpec {
    pub(super) path: String,
    pub(super) size: usize,
}

/// The answer to a request for a helper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Copied {
    /// There is one; the descriptor that came along stands for it.
    Helper { pid: u32 },
    /// There is none.
    Failed { errno: i32 },
}

/// What a helper says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The script was not started, because a step of the isolation failed.
    Broken { step: Step, errno: i32 },
    /// What can be done without a job is done.
    Ready,
    /// Connections of the script arrive at the descriptor that came along.
    Listening,
    /// All layers are in place; what follows is the script.
    Started { notes: Vec<String> },
    /// All of its processes are gone; the bytes of the files follow.
    Ended {
        exit: Option<i32>,
        signal: Option<i32>,
        files: Vec<FileSpec>,
        left_out: u64,
        usage: Used,
    },
}

/// What the kernel counted.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Used {
    pub(super) cpu_micros: u64,
    /// The most that one process held.
    pub(super) peak_bytes: u64,
}

/// The steps that can fail before a script runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
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

/// A step that failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Broken {
    pub(super) step: Step,
    pub(super) errno: i32,
}

/// Says which step an error belongs to.
pub(super) trait At<T> {
    fn at(self, step: Step) -> Result<T, Broken>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, step: Step) -> Result<T, Broken> {
        self.map_err(|error| {
            let errno = error.into().raw_os_error().unwrap_or(libc::EIO);
            Broken { step, errno }
        })
    }
}

/// Sends a message, with descriptors if some go along.
pub(super) fn send<T: Serialize>(
    socket: &UnixStream,
    message: &T,
    along: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?.to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_ALONG))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !along.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(along)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let all = [length.as_slice(), &body].concat();
    let sent = sendmsg(socket, &[IoSlice::new(&all)], &mut ancillary, SendFlags::NOSIGNAL)?;
    let mut socket = socket;
    socket.write_all(&all[sent..])
}

/// Receives a message, and the descriptors that came along.
pub(super) fn receive<T: DeserializeOwned>(socket: &UnixStream) -> io::Result<(T, Vec<OwnedFd>)> {
    let mut length = [0; 4];
    let (read, along) = receive_some(socket.as_fd(), &mut length, RecvFlags::empty())?;
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut socket = socket;
    socket.read_exact(&mut length[read..])?;
    let mut body = vec![0; message_length(length)?];
    socket.read_exact(&mut body)?;
    Ok((serde_json::from_slice(&body)?, along))
}

/// The length of a message, if it is one that may be sent.
pub(super) fn message_length(bytes: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(bytes) as usize;
    if length > MAX_MESSAGE { Err(io::ErrorKind::InvalidData.into()) } else { Ok(length) }
}

/// Reads what there is, with the descriptors that came along.
pub(super) fn receive_some(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    flags: RecvFlags,
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_ALONG))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let into = &mut [IoSliceMut::new(buffer)];
    let read = recvmsg(socket, into, &mut ancillary, flags | RecvFlags::CMSG_CLOEXEC)?.bytes;
    let mut along = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            along.extend(descriptors);
        }
    }
    Ok((read, along))
}
