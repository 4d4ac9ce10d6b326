//! Full isolation: namespaces, a root of its own, and a first process that outlives all others.

use std::{
    io,
    net::{Ipv4Addr, TcpListener},
    os::{fd::AsFd as _, unix::net::UnixStream},
    path::{Path, PathBuf},
};

use rustix::{
    process::{DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus},
    thread::UnshareFlags,
};

use super::{
    super::protocol::{At as _, Broken, Program, Report, Step, send},
    Work, capabilities, collect, end,
    filter::{Around, Filter},
    fork, landlock, mounts,
    payload::{Places, Script},
    rlimits, silence, tell_broken, view, watch,
};
use crate::isolation::Tier;

/// Starts the first process of the namespaces, and waits until it is gone.
pub(super) fn run(work: &Work, filter: &Filter, control: &UnixStream) -> Result<(), Broken> {
    // Not before: the group that this process was put into for the job is the root of what it sees.
    unshare(UnshareFlags::NEWCGROUP).at(Step::Namespaces)?;
    if let Some(first) = fork().at(Step::Fork)? {
        return watch(first, control).map(drop);
    }
    let ended = first_process(work, filter, control);
    if let Err(broken) = ended {
        tell_broken(control, broken);
    }
    end(ended)
}

/// Makes the namespaces, all but one, and the part of the root that every job needs.
pub(super) fn prepare() -> Result<(), Broken> {
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let all = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS;
    unshare(all).at(Step::Namespaces)?;
    let write = |name: &str, text: String| std::fs::write(format!("/proc/self/{name}"), text);
    write("setgroups", "deny".to_owned()).at(Step::IdMaps)?;
    write("uid_map", format!("{} {uid} 1", view::USER)).at(Step::IdMaps)?;
    write("gid_map", format!("{} {gid} 1", view::USER)).at(Step::IdMaps)?;
    rustix::system::sethostname(b"skill").at(Step::Namespaces)?;
    mounts::lay_out().at(Step::Mounts)
}

fn unshare(what: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: no flag that is used here makes descriptors unshared, and this process has one thread.
    unsafe { rustix::thread::unshare_unsafe(what) }
}

/// The namespace's first process: confines itself, starts the script, and ends what is left of it.
fn first_process(work: &Work, filter: &Filter, control: &UnixStream) -> Result<(), Broken> {
    let spec = &work.spec;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).at(Step::Fork)?;
    let port = if spec.network { Some(listen(control).at(Step::Network)?) } else { None };
    let program_root = match &spec.program {
        Program::Interpreter { root, .. } => root.as_deref(),
        Program::Script(_) => None,
    };
    let notes = mounts::change_root(work, program_root).at(Step::Mounts)?;
    // What is open here is nothing that a process of the same user may look into.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).at(Step::Capabilities)?;
    capabilities::drop_all().at(Step::Capabilities)?;
    landlock::confine(&allowed(program_root, &spec.program, port)).at(Step::Landlock)?;
    if spec.network {
        Filter::new(Around::Namespaces { tcp: true }).and_then(|filter| filter.apply())
    } else {
        filter.apply()
    }
    .at(Step::Seccomp)?;
    send(control, &Report::Started { notes }, &[]).at(Step::Exec)?;
    let places = Places {
        skill: Path::new("/skill"),
        output: Path::new("/output"),
        temporary: Path::new("/tmp"),
        proxy: port,
    };
    let script = Script::new(spec, &places).at(Step::Exec)?;
    let limit = || rlimits::set(&spec.limits, Tier::Full, spec.bound_addresses);
    let script = script.start(&limit)?;
    silence().at(Step::Wait)?;
    let status = reap(script).at(Step::Wait)?;
    let end = (status.exit_status(), status.terminating_signal());
    collect::tell_end(control, places.output, &spec.limits, end).at(Step::Wait)
}

/// Waits for the script, ends everything that it left behind, and waits for that, too.
fn reap(script: Pid) -> io::Result<WaitStatus> {
    let mut ended = None;
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == script => {
                ended = Some(status);
                end_all_others();
            }
            Ok(_) => {
                if ended.is_some() {
                    end_all_others();
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CHILD) => {
                return ended.ok_or_else(|| io::Error::from_raw_os_error(libc::ECHILD));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Ends every process of this namespace but its first.
fn end_all_others() {
    // SAFETY: signals touch no memory of this process; -1 is everybody it can see, and it sees only
    // its namespace. That nobody is left is no failure.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// What may be opened in the new root, which holds little else.
fn allowed(program_root: Option<&Path>, program: &Program, port: Option<u16>) -> landlock::Allowed {
    let mut execute = view::system();
    execute.extend(program_root.map(Path::to_owned));
    if let Program::Script(script) = program {
        execute.push(Path::new("/skill").join(script));
    }
    landlock::Allowed {
        execute,
        // All that there is was put there for the script.
        read: vec![PathBuf::from("/")],
        write: ["/tmp", "/output"].map(PathBuf::from).to_vec(),
        // Nothing else is there, and nothing can be added.
        devices: vec![PathBuf::from("/dev")],
        port,
    }
}

/// Listens for the script's connections and hands them to the supervisor, which is not in this
/// network and decides where they lead.
fn listen(control: &UnixStream) -> io::Result<u16> {
    loopback_up()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    send(control, &Report::Listening, &[listener.as_fd()])?;
    Ok(port)
}

fn loopback_up() -> io::Result<()> {
    let socket = rustix::net::socket_with(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: the structure is plain numbers and a union of such, for which zeros are values.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP).unwrap_or(1);
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&socket);
    // SAFETY: the call reads a structure of this type, which lives through it.
    let answer = unsafe { libc::ioctl(descriptor, libc::SIOCSIFFLAGS, &raw const request) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
