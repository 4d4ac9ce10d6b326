//! The process that helpers are copies of.
//!
//! Loading a program takes longer than everything that a helper does before it becomes a script. So
//! this process is loaded once. It has one thread, no variables and nothing open, learns nothing of
//! any job, and copies itself whenever the supervisor asks for a helper. A helper therefore starts
//! without any secret that an earlier run could have left.

use std::{
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
};

use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open};

use skillwire_syscalls::CompiledFilter;

use super::{
    super::helper_protocol::{HelperReply, HelperRequest, receive, send},
    process::fork,
    serve_job,
};

/// Answers requests until the supervisor goes away.
pub(super) fn serve(requests: UnixStream) -> io::Result<()> {
    // Compiled with the first request: most runs use this one.
    let mut filter: Option<CompiledFilter> = None;
    loop {
        let (request, mut descriptors): (HelperRequest, _) = match receive(&requests) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            received => received?,
        };
        let control = UnixStream::from(descriptors.pop().ok_or(io::ErrorKind::InvalidData)?);
        let profile = super::usual_profile(&request);
        let compiled = match filter.take().filter(|compiled| compiled.profile() == profile) {
            Some(compiled) => compiled,
            None => CompiledFilter::new(profile)?,
        };
        let filter = filter.insert(compiled);
        // A helper that ends at once must stay a zombie until its pidfd is open. If the kernel
        // reaped it by itself, the id could belong to another process by then, which the supervisor
        // would kill.
        reap_automatically(false);
        let helper = match fork() {
            Ok(None) => {
                drop(requests);
                serve_job(&request, filter, &control);
            }
            Ok(Some(helper)) => open_pidfd(helper),
            Err(error) => Err(error),
        };
        reap_automatically(true);
        reap_ended();
        reply(&requests, helper)?;
    }
}

fn open_pidfd(helper: Pid) -> io::Result<(Pid, OwnedFd)> {
    Ok((helper, pidfd_open(helper, PidfdFlags::empty())?))
}

fn reply(requests: &UnixStream, helper: io::Result<(Pid, OwnedFd)>) -> io::Result<()> {
    match helper {
        Ok((helper, pidfd)) => {
            let pid = helper.as_raw_nonzero().get().unsigned_abs();
            send(requests, &HelperReply::Started { pid }, &[pidfd.as_fd()])
        }
        Err(error) => {
            send(requests, &HelperReply::Failed { errno: error.raw_os_error().unwrap_or(0) }, &[])
        }
    }
}

/// Waits for helpers that ended while the kernel did not reap them by itself.
fn reap_ended() {
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
}

/// Chooses whether the kernel reaps children by itself. The supervisor, which is not their parent,
/// waits for helpers by their pidfds.
fn reap_automatically(automatically: bool) {
    let disposition = if automatically { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: neither disposition runs any code.
    unsafe { libc::signal(libc::SIGCHLD, disposition) };
}
