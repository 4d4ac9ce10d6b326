//! Full isolation: namespaces and a root file system of their own for each run.
//!
//! The helper makes the namespaces and forks once. The child is the first process of the new
//! process namespace: when it ends, for whatever reason, the kernel kills every other process in
//! there. It puts all layers in place, starts the script, and reports its end.

use std::{
    io,
    net::{Ipv4Addr, TcpListener},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    path::{Path, PathBuf},
};

use rustix::{
    process::{DumpableBehavior, Pid, WaitOptions, WaitStatus},
    thread::UnshareFlags,
};

use skillwire_syscalls::{CompiledFilter, FilterProfile, MemoryHold};

use super::{
    super::helper_protocol::{AtStep as _, HelperReport, IsolationStep, StepFailure, send},
    ReceivedJob, landlock, mounts, output_collector, privileges,
    process::{close_streams, die_with_parent, exit, fork, own_pidfd, wait_or_hang_up},
    report_failure, rlimits,
    script_exec::{PreparedScript, ScriptPaths},
    visible_paths,
};

/// Makes the namespaces, all but one, and the part of the root file system that every job needs.
///
/// All namespaces are made by one call. The user namespace comes first in it and owns the others,
/// so this process may mount and configure in them without any right outside.
pub(super) fn prepare() -> Result<(), StepFailure> {
    let uid = rustix::process::getuid().as_raw();
    let gid = rustix::process::getgid().as_raw();
    let namespaces = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS;
    unshare(namespaces).at(IsolationStep::Namespaces)?;
    let write = |name: &str, text: String| std::fs::write(format!("/proc/self/{name}"), text);
    // The kernel wants this before an unprivileged `gid_map`: a process that could drop a group
    // could open files that are closed to exactly that group. The maps have one id each, so the
    // script can become no other user, and set-user-id files of other owners mean nothing to it.
    write("setgroups", "deny".to_owned()).at(IsolationStep::IdMaps)?;
    write("uid_map", format!("{} {uid} 1", visible_paths::SCRIPT_UID)).at(IsolationStep::IdMaps)?;
    write("gid_map", format!("{} {gid} 1", visible_paths::SCRIPT_UID)).at(IsolationStep::IdMaps)?;
    rustix::system::sethostname(b"skill").at(IsolationStep::Namespaces)?;
    mounts::prepare_root().at(IsolationStep::Mounts)
}

fn unshare(namespaces: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: no flag that is used here makes descriptors unshared, and this process has one
    // thread.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }
}

/// Starts the first process of the namespaces, and waits until it is gone.
pub(super) fn run(
    job: &ReceivedJob,
    filter: &CompiledFilter,
    control: &UnixStream,
) -> Result<(), StepFailure> {
    // Not earlier: the supervisor has put this process into the run's cgroup only now, and a cgroup
    // namespace hides everything above the cgroup in which it is made.
    unshare(UnshareFlags::NEWCGROUP).at(IsolationStep::Namespaces)?;
    let helper = own_pidfd().at(IsolationStep::Fork)?;
    if let Some(first) = fork().at(IsolationStep::Fork)? {
        return wait_or_hang_up(first, control, &|_| None).map(drop);
    }
    let result = first_process(job, filter, control, &helper);
    if let Err(failure) = result {
        report_failure(control, failure);
    }
    exit(result)
}

/// The first process of the namespace: confines itself, starts the script, and ends what is left of
/// it.
fn first_process(
    job: &ReceivedJob,
    filter: &CompiledFilter,
    control: &UnixStream,
    helper: &OwnedFd,
) -> Result<(), StepFailure> {
    let spec = &job.spec;
    // The kernel kills this process when the helper dies, and with it the whole namespace. First of
    // all, so that nothing of the run can outlive a helper that is killed.
    die_with_parent(helper).at(IsolationStep::Fork)?;
    // Before the capabilities go: the loopback device is brought up here. The filter lets the
    // script use TCP only if this was done.
    let proxy_port =
        if spec.network { Some(listen(control).at(IsolationStep::Network)?) } else { None };
    let notes = mounts::enter_root(job).at(IsolationStep::Mounts)?;
    // This process has the script's user id and holds the control socket and the skill in memory. A
    // process that is not dumpable cannot be traced or read through `/proc` by others of its user.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .at(IsolationStep::Capabilities)?;
    privileges::drop_capabilities().at(IsolationStep::Capabilities)?;
    landlock::confine(&path_rules(&spec.roots, proxy_port)).at(IsolationStep::Landlock)?;
    let memory = MemoryHold::new(spec.memory_is_held);
    filter
        .apply_for(FilterProfile::OwnNamespaces { tcp: spec.network, memory })
        .at(IsolationStep::Seccomp)?;
    // All layers hold for this process from here on, and the script inherits them.
    send(control, &HelperReport::Started { notes }, &[]).at(IsolationStep::Exec)?;
    let paths = ScriptPaths {
        skill: Path::new("/skill"),
        output: Path::new("/output"),
        temporary: Path::new("/tmp"),
        proxy_port,
    };
    let script = PreparedScript::new(spec, &paths).at(IsolationStep::Exec)?;
    let set_limits =
        || rlimits::set(&spec.limits, rlimits::OTHERS_IN_NAMESPACE, spec.limit_address_space);
    let script = script.start(&set_limits)?;
    close_streams().at(IsolationStep::Wait)?;
    let status = wait_for_all(script).at(IsolationStep::Wait)?;
    let folders = [paths.output, paths.temporary];
    output_collector::report_end(control, paths.output, job, status, &folders)
        .at(IsolationStep::Wait)
}

/// Waits for the script, kills everything that it left behind, and waits for that as well.
///
/// Orphans of the namespace become children of its first process, so when there is no child left,
/// no process is left. Processes may still fork while they are killed, so every end of a child is
/// followed by another round.
fn wait_for_all(script: Pid) -> io::Result<WaitStatus> {
    let mut script_status = None;
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == script => {
                script_status = Some(status);
                kill_all_others();
            }
            Ok(_) => {
                if script_status.is_some() {
                    kill_all_others();
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CHILD) => {
                return script_status.ok_or_else(|| io::Error::from_raw_os_error(libc::ECHILD));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Kills every process of this namespace but its first.
fn kill_all_others() {
    // SAFETY: signals touch no memory of this process. The target -1 is every process that this one
    // can see, and it sees only its namespace. It is no failure if there is none.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// What may be opened in the new root, which holds little else. These rules stand behind the
/// mounts: a flaw in one of the two is not enough to write to the system or to execute a file of
/// the script's own.
fn path_rules(roots: &[PathBuf], port: Option<u16>) -> landlock::PathRules {
    let mut execute = visible_paths::real_system_directories();
    execute.extend(roots.iter().cloned());
    // Scripts call each other. All of them are content that was approved, and read-only.
    execute.push(PathBuf::from("/skill"));
    landlock::PathRules {
        execute,
        // Everything in the new root was put there for the script.
        read: vec![PathBuf::from("/")],
        write: ["/tmp", "/output"].map(PathBuf::from).to_vec(),
        // The root is read-only, so no other device can be added here.
        devices: vec![PathBuf::from("/dev")],
        port,
    }
}

/// Listens for the script's connections and sends the listening socket to the supervisor, which is
/// outside of this network namespace and decides where connections lead.
fn listen(control: &UnixStream) -> io::Result<u16> {
    bring_loopback_up()?;
    // The kernel makes the buffers of busy connections larger, up to these sizes of the namespace. The
    // supervisor takes each socket for one with buffers of the default size, which are larger.
    for buffer in ["tcp_rmem", "tcp_wmem"] {
        let _ = std::fs::write(format!("/proc/sys/net/ipv4/{buffer}"), "4096 65536 131072");
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    send(control, &HelperReport::Listening, &[listener.as_fd()])?;
    Ok(port)
}

fn bring_loopback_up() -> io::Result<()> {
    let socket = rustix::net::socket_with(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: the structure consists of numbers and a union of such, for which zeros are valid
    // values.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP).unwrap_or(1);
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&socket);
    // SAFETY: the call reads a structure of this type, which lives through it.
    let answer =
        unsafe { libc::ioctl(descriptor, libc::SIOCSIFFLAGS as libc::Ioctl, &raw const request) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
