//! Descriptors, signals, forks and waits of the fork server and the helpers.

use std::{
    io,
    os::{
        fd::{FromRawFd as _, OwnedFd, RawFd},
        unix::net::UnixStream,
    },
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::retry_on_intr,
    process::{
        Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, pidfd_open, pidfd_send_signal, waitpid,
    },
};

use super::super::helper_protocol::{AtStep as _, IsolationStep, StepFailure};

/// The descriptor of the request socket.
const REQUESTS: RawFd = 3;

/// Moves the request socket away from standard input, and closes every other descriptor.
///
/// The caller may have left descriptors open over the exec: files with credentials, listening
/// sockets, connections to databases. A script that inherited one could use it whatever Landlock
/// and the network namespace say, for both decide only when something is opened.
pub(super) fn take_requests() -> io::Result<UnixStream> {
    reset_signals();
    // SAFETY: nothing in this process owns a descriptor from 3 on yet: it was just started, and the
    // standard library opens none. What is there was inherited and must go.
    let failed = unsafe {
        libc::dup2(libc::STDIN_FILENO, REQUESTS) < 0
            || libc::fcntl(REQUESTS, libc::F_SETFD, libc::FD_CLOEXEC) < 0
            || libc::syscall(libc::SYS_close_range, REQUESTS + 1, libc::c_uint::MAX, 0) < 0
    };
    if failed {
        return Err(io::Error::last_os_error());
    }
    close_streams()?;
    // SAFETY: the descriptor was just made above and has no other owner.
    Ok(UnixStream::from(unsafe { OwnedFd::from_raw_fd(REQUESTS) }))
}

/// Gives every signal its default meaning again. What the caller ignores stays ignored over an
/// exec, and a script that ignores `SIGPIPE` or `SIGXCPU` without knowing it would not end when it
/// should.
fn reset_signals() {
    for signal in 1..=64 {
        // SAFETY: setting a disposition to the default touches no memory; the kernel refuses
        // numbers that cannot be set.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Replaces the standard streams by `/dev/null`.
///
/// A helper holds copies of the script's pipes. The supervisor sees the end of the script's output
/// only once every copy is closed.
pub(super) fn close_streams() -> rustix::io::Result<()> {
    use rustix::fs::{Mode, OFlags, open};
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)
}

/// Forks. Returns the child's id in the parent and `None` in the child.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: this process has one thread, so the child finds no lock held by another thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Refers to this process, for children that are made later.
pub(super) fn own_pidfd() -> rustix::io::Result<OwnedFd> {
    pidfd_open(rustix::process::getpid(), PidfdFlags::empty())
}

/// Has the kernel kill this process when its parent dies. `parent` was opened before the fork.
///
/// Fails if the parent is dead already. The kernel sends no signal for that, so a helper that is
/// killed right after it forked would leave a process that no supervisor knows. The parent's id
/// cannot tell: the first process of a namespace sees none.
pub(super) fn die_with_parent(parent: &OwnedFd) -> rustix::io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if has_ended(parent)? { Err(rustix::io::Errno::SRCH) } else { Ok(()) }
}

/// Whether the process of a pidfd has ended.
fn has_ended(pidfd: &OwnedFd) -> rustix::io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    retry_on_intr(|| poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&now)))
        .map(|ready| ready > 0)
}

/// Ends this process at once, without the exit handlers that it has copied from the fork server.
pub(super) fn exit(result: Result<(), StepFailure>) -> ! {
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(i32::from(result.is_err())) }
}

/// How often children that lost their parents are waited for.
const REAP_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Waits for a child, and kills it when the supervisor hangs up. Returns `None` in that case.
///
/// `reap_others` waits for other children that have ended, and returns the child's end if it came
/// upon that.
///
/// The supervisor never says anything on the control socket after the job, so the socket becomes
/// ready only when the supervisor has closed it or has died. In either case nothing may go on.
pub(super) fn wait_or_hang_up(
    child: Pid,
    control: &UnixStream,
    reap_others: &dyn Fn(Pid) -> Option<WaitStatus>,
) -> Result<Option<WaitStatus>, StepFailure> {
    close_streams().at(IsolationStep::Wait)?;
    let pidfd = pidfd_open(child, PidfdFlags::empty()).at(IsolationStep::Wait)?;
    let mut hung_up = false;
    loop {
        let mut events =
            [PollFd::new(&pidfd, PollFlags::IN), PollFd::new(control, PollFlags::RDHUP)];
        let watched = if hung_up { &mut events[..1] } else { &mut events[..] };
        match poll(watched, Some(&REAP_INTERVAL)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).at(IsolationStep::Wait),
        }
        let [child_ended, control_closed] = events.map(|event| !event.revents().is_empty());
        if control_closed && !hung_up {
            hung_up = true;
            kill_child(child, &pidfd);
        }
        if let Some(status) = reap_others(child) {
            return Ok(Some(status).filter(|_| !hung_up));
        }
        if child_ended {
            let status = waitpid(Some(child), WaitOptions::empty()).at(IsolationStep::Wait)?;
            return Ok(status.map(|(_, status)| status).filter(|_| !hung_up));
        }
    }
}

/// Kills a child that was not waited for yet. It still has its id then, so that the older call, which
/// some policies allow alone, cannot hit another process.
fn kill_child(child: Pid, pidfd: &OwnedFd) {
    if pidfd_send_signal(pidfd, Signal::KILL).is_err() {
        let _ = rustix::process::kill_process(child, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_parent_that_is_dead_already_is_noticed() {
        let mut parent =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let pid = Pid::from_raw(i32::try_from(parent.id()).unwrap()).unwrap();
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        assert_eq!(has_ended(&pidfd), Ok(false));
        drop(parent.stdin.take());
        parent.wait().unwrap();
        assert_eq!(has_ended(&pidfd), Ok(true));
    }
}
