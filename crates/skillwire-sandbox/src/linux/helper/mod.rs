//! The process that confines itself and then becomes the script.

mod capabilities;
mod collect;
mod decisions;
mod filter;
mod full;
mod landlock;
mod mounts;
mod origin;
mod payload;
mod restricted;
mod rlimits;
mod syscalls;
mod view;

use std::{
    io::Read as _,
    os::{
        fd::{FromRawFd as _, OwnedFd, RawFd},
        unix::net::UnixStream,
    },
    process::ExitCode,
};

use rustix::{process::DumpableBehavior, thread};

use self::{filter::Filter, restricted::Folders};
use super::protocol::{At as _, Broken, Report, Request, Spec, Step, receive, send};
use crate::isolation::Tier;

/// Where the socket to the supervisor is kept.
const REQUESTS: RawFd = 3;

/// The first of the user ids that runs get when the supervisor is root; no system hands them out.
const FIRST_UID: u32 = 1_900_000_000;

/// A received job.
struct Work {
    spec: Spec,
    /// The skill's files, in the order of the spec.
    contents: Vec<Vec<u8>>,
}

/// Makes helpers for the supervisor, which asks for them over standard input.
pub(crate) fn run() -> ExitCode {
    match take_requests().and_then(origin::serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Does one job that comes over a socket, and ends.
fn help(request: &Request, filter: &Filter, control: &UnixStream) -> ! {
    let worked = work(request, filter, control);
    if let Err(broken) = worked {
        tell_broken(control, broken);
    }
    end(worked)
}

/// Ends this process without what the one that it is a copy of has set up for its own end.
fn end(worked: Result<(), Broken>) -> ! {
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(i32::from(worked.is_err())) }
}

fn tell_broken(control: &UnixStream, Broken { step, errno }: Broken) {
    // A supervisor that is gone needs no answer.
    let _ = send(control, &Report::Broken { step, errno }, &[]);
}

fn work(request: &Request, filter: &Filter, control: &UnixStream) -> Result<(), Broken> {
    // What comes first is the same for every job of a tier, and done before there is one.
    // No terminal, no signals from one, and nothing of the supervisor's to signal as a group.
    rustix::process::setsid().at(Step::Descriptors)?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    if rustix::process::geteuid().is_root() {
        drop_root().at(Step::DropRoot)?;
    }
    match request.tier {
        Tier::Full => {
            full::prepare()?;
            match next_job(control)? {
                Some(work) => full::run(&work, filter, control),
                None => Ok(()),
            }
        }
        Tier::Restricted => {
            let folders = Folders::make(&request.scratch).at(Step::Scratch)?;
            match next_job(control)? {
                Some(work) => restricted::run(&work, &folders, control),
                None => Ok(()),
            }
        }
    }
}

/// Says that everything is ready, and waits for a job.
fn next_job(control: &UnixStream) -> Result<Option<Work>, Broken> {
    send(control, &Report::Ready, &[]).at(Step::Descriptors)?;
    receive_work(control).at(Step::Descriptors)
}

/// Moves the socket out of the way of standard input and closes everything else.
fn take_requests() -> std::io::Result<UnixStream> {
    reset_signals();
    // SAFETY: nothing in this process owns a descriptor from 3 on yet: it was just started, and std
    // opens none. What is there was inherited and must go.
    let failed = unsafe {
        libc::dup2(libc::STDIN_FILENO, REQUESTS) < 0
            || libc::fcntl(REQUESTS, libc::F_SETFD, libc::FD_CLOEXEC) < 0
            || libc::syscall(libc::SYS_close_range, REQUESTS + 1, libc::c_uint::MAX, 0) < 0
    };
    if failed {
        return Err(std::io::Error::last_os_error());
    }
    silence()?;
    // SAFETY: the descriptor was just made above and has no other owner.
    Ok(UnixStream::from(unsafe { OwnedFd::from_raw_fd(REQUESTS) }))
}

/// Undoes what the supervisor ignored or blocked, which survives an exec.
fn reset_signals() {
    for signal in 1..=64 {
        // SAFETY: setting a disposition to the default touches no memory; numbers that cannot be
        // set are refused.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// The job; none where the supervisor has none and goes away.
fn receive_work(control: &UnixStream) -> std::io::Result<Option<Work>> {
    let (spec, streams): (Spec, _) = match receive(control) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        received => received?,
    };
    let [stdin, stdout, stderr] = streams.as_slice() else {
        return Err(std::io::ErrorKind::InvalidData.into());
    };
    rustix::stdio::dup2_stdin(stdin)?;
    rustix::stdio::dup2_stdout(stdout)?;
    rustix::stdio::dup2_stderr(stderr)?;
    let mut socket = control;
    let contents = spec
        .files
        .iter()
        .map(|file| {
            let mut bytes = vec![0; file.size];
            socket.read_exact(&mut bytes).map(|()| bytes)
        })
        .collect::<Result<_, _>>()?;
    Ok(Some(Work { spec, contents }))
}

/// Becomes a user that no other process has: the one of this run alone.
fn drop_root() -> rustix::io::Result<()> {
    let id = FIRST_UID + rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
    let (uid, gid) = (thread::Uid::from_raw(id), thread::Gid::from_raw(id));
    thread::set_thread_groups(&[])?;
    thread::set_thread_res_gid(gid, gid, gid)?;
    thread::set_thread_res_uid(uid, uid, uid)?;
    // A change of user takes the right to one's own `/proc`, where id maps are written.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
}

/// Makes a second process; it gets nothing, this one the id of it.
fn fork() -> std::io::Result<Option<rustix::process::Pid>> {
    // SAFETY: this process has one thread, so the new one finds no lock held and everything as it was.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()),
        pid => Ok(rustix::process::Pid::from_raw(pid)),
    }
}

/// Waits for a process, and ends it when the supervisor hangs up. Nothing when it was ended so.
fn watch(
    process: rustix::process::Pid,
    control: &UnixStream,
) -> Result<Option<rustix::process::WaitStatus>, Broken> {
    use rustix::{
        event::{PollFd, PollFlags, poll},
        process::{PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid},
    };
    silence().at(Step::Wait)?;
    let handle = pidfd_open(process, PidfdFlags::empty()).at(Step::Wait)?;
    let mut hung_up = false;
    loop {
        let mut events = [
            PollFd::new(&handle, PollFlags::IN),
            // A supervisor that hangs up is the only thing waited for there.
            PollFd::new(control, PollFlags::RDHUP),
        ];
        let watched = if hung_up { &mut events[..1] } else { &mut events[..] };
        match poll(watched, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).at(Step::Wait),
        }
        let [ended, gone] = events.map(|event| !event.revents().is_empty());
        if gone && !hung_up {
            hung_up = true;
            // It may be gone already.
            let _ = pidfd_send_signal(&handle, Signal::KILL);
        }
        if ended {
            let status = waitpid(Some(process), WaitOptions::empty()).at(Step::Wait)?;
            return Ok(status.map(|(_, status)| status).filter(|_| !hung_up));
        }
    }
}

/// Lets go of the script's input and output, so that their ends are seen.
fn silence() -> rustix::io::Result<()> {
    use rustix::fs::{Mode, OFlags, open};
    let nothing = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)
}
