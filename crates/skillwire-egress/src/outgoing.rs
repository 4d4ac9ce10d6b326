//! Connections to granted destinations, which end with the run that they are made for.

use std::{
    io,
    net::{SocketAddr, TcpStream, ToSocketAddrs as _},
    os::fd::OwnedFd,
    sync::mpsc::{RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt::socket_error},
};

use crate::{NetworkDestination, address_rules::is_public};

/// How long a connection may take, with finding the address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a wait goes on after the run has ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(25);

/// Why a destination was not reached.
#[derive(Debug)]
pub(crate) enum UnreachableHost {
    /// The name leads to this machine or to a private network, which only an address may be granted
    /// for.
    NotPublic,
    Failed(io::Error),
}

impl From<io::Error> for UnreachableHost {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Connects to a destination, unless `has_ended` becomes true before.
pub(crate) fn reach(
    destination: &NetworkDestination,
    has_ended: &dyn Fn() -> bool,
) -> Result<TcpStream, UnreachableHost> {
    let deadline = Instant::now() + CONNECT_TIMEOUT;
    let addresses = if let Some(address) = destination.address() {
        vec![SocketAddr::new(address, destination.port())]
    } else {
        // The address that is looked at is the one that is used: a name that leads elsewhere a moment
        // later changes nothing.
        let mut found = resolve(destination, deadline, has_ended)?;
        found.retain(|found| is_public(found.ip().to_canonical()));
        if found.is_empty() {
            return Err(UnreachableHost::NotPublic);
        }
        found
    };
    let mut last_error = io::ErrorKind::NotFound.into();
    for address in addresses {
        match connect_within(address, deadline, has_ended) {
            Ok(stream) => return Ok(stream),
            Err(error) => last_error = error,
        }
    }
    Err(UnreachableHost::Failed(last_error))
}

/// Finds the addresses of a name. The system's resolver cannot be interrupted, so that it works in a
/// thread of its own, which is left alone when the wait ends.
fn resolve(
    destination: &NetworkDestination,
    deadline: Instant,
    has_ended: &dyn Fn() -> bool,
) -> io::Result<Vec<SocketAddr>> {
    if destination.is_domain() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let host = destination.host().to_owned();
    let port = destination.port();
    let (found, wait) = channel();
    std::thread::Builder::new().name("script-resolver".to_owned()).spawn(move || {
        let _ = found.send((host.as_str(), port).to_socket_addrs().map(Vec::from_iter));
    })?;
    loop {
        match wait.recv_timeout(CHECK_INTERVAL) {
            Ok(found) => return found,
            Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::NotFound.into()),
            Err(RecvTimeoutError::Timeout) => check(deadline, has_ended)?,
        }
    }
}

fn check(deadline: Instant, has_ended: &dyn Fn() -> bool) -> io::Result<()> {
    if has_ended() {
        Err(io::ErrorKind::Interrupted.into())
    } else if Instant::now() >= deadline {
        Err(io::ErrorKind::TimedOut.into())
    } else {
        Ok(())
    }
}

fn connect_within(
    address: SocketAddr,
    deadline: Instant,
    has_ended: &dyn Fn() -> bool,
) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket: OwnedFd = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &address) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    loop {
        let interval = Timespec::try_from(CHECK_INTERVAL).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&socket, PollFlags::OUT)], Some(&interval)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => check(deadline, has_ended)?,
            Ok(_) => break,
            Err(error) => return Err(error.into()),
        }
    }
    socket_error(&socket)??;
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}
