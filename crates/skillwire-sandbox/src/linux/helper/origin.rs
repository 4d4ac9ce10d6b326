//! The process that helpers are copies of.
//!
//! Loading a program takes longer than everything that a helper does before it becomes a script. So
//! this process is loaded once; it has one thread, no variables and nothing open, learns nothing of any
//! job, and makes a copy of itself whenever the supervisor asks for a helper.

use std::{
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
};

use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open};

use super::{
    super::protocol::{Copied, Request, receive, send},
    filter::{Around, Filter},
    fork, help,
};

/// Answers requests until the supervisor goes away.
pub(super) fn serve(requests: UnixStream) -> io::Result<()> {
    // Most runs have the same one.
    let filter = Filter::new(Around::Namespaces { tcp: false })?;
    loop {
        let (request, mut along): (Request, _) = match receive(&requests) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            received => received?,
        };
        let control = UnixStream::from(along.pop().ok_or(io::ErrorKind::InvalidData)?);
        // One that ends at once has to be there until it is opened.
        reap_by_itself(false);
        let helper = match fork() {
            Ok(None) => {
                drop(requests);
                help(&request, &filter, &control);
            }
            Ok(Some(helper)) => open(helper),
            Err(error) => Err(error),
        };
        reap_by_itself(true);
        reap_ended();
        answer(&requests, helper)?;
    }
}

fn open(helper: Pid) -> io::Result<(Pid, OwnedFd)> {
    Ok((helper, pidfd_open(helper, PidfdFlags::empty())?))
}

fn answer(requests: &UnixStream, copied: io::Result<(Pid, OwnedFd)>) -> io::Result<()> {
    match copied {
        Ok((helper, handle)) => {
            let pid = helper.as_raw_nonzero().get().unsigned_abs();
            send(requests, &Copied::Helper { pid }, &[handle.as_fd()])
        }
        Err(error) => {
            send(requests, &Copied::Failed { errno: error.raw_os_error().unwrap_or(0) }, &[])
        }
    }
}

/// Waits for those that ended while somebody had to.
fn reap_ended() {
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
}

/// Whether nobody has to wait for children. The supervisor waits for helpers, which are not its own.
fn reap_by_itself(by_itself: bool) {
    let disposition = if by_itself { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: neither disposition runs any code.
    unsafe { libc::signal(libc::SIGCHLD, disposition) };
}
