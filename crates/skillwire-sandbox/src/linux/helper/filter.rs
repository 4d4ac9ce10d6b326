//! The filter of system calls: an allow-list, closed to 32-bit and x32 callers.

use std::{collections::BTreeMap, io};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use super::{pieces, syscalls};

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: TargetArch = TargetArch::aarch64;

/// Every namespace that a new process could be put into.
const NEW_NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// Requests to a device that only ask, or concern one's own descriptor.
const IOCTLS: [u64; 7] = [
    libc::TCGETS,
    libc::TIOCGWINSZ,
    libc::FIONREAD,
    libc::FIONBIO,
    libc::FIOCLEX,
    libc::FIONCLEX,
    libc::TIOCGPGRP,
];

/// Attributes of oneself that threads, allocators and interpreters set or ask for.
const PRCTLS: [i32; 9] = [
    libc::PR_SET_NAME,
    libc::PR_GET_NAME,
    libc::PR_SET_PDEATHSIG,
    libc::PR_GET_PDEATHSIG,
    libc::PR_GET_DUMPABLE,
    libc::PR_CAPBSET_READ,
    libc::PR_GET_NO_NEW_PRIVS,
    libc::PR_GET_SECCOMP,
    libc::PR_SET_VMA,
];

/// Who is around a script.
#[derive(Debug, Clone, Copy)]
pub(super) enum Around {
    /// Only its own processes, in namespaces of their own; TCP to the proxy if that was granted.
    Namespaces { tcp: bool },
    /// Everybody: it is one process, with this id, and stays one.
    Everybody { pid: u32 },
}

/// Filters this process and its children from now on.
pub(super) fn apply(around: Around) -> io::Result<()> {
    for program in programs(around).map_err(io::Error::other)? {
        apply_filter(&program).map_err(|error| match error {
            seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
            other => io::Error::other(other),
        })?;
    }
    Ok(())
}

fn programs(around: Around) -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    // Whatever the allow-list says, the call whose flags a filter cannot see does not exist, so that
    // libraries use the older one.
    let hidden = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let no_such_call = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let hide = SeccompFilter::new(hidden, SeccompAction::Allow, no_such_call, ARCH)?;
    let denied = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let allow = pieces::filter(rules(around)?, &denied, &SeccompAction::Allow, ARCH)?;
    Ok([hide.try_into()?, allow])
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules(around: Around) -> Result<Rules, seccompiler::BackendError> {
    let whatever = [syscalls::COMMON, syscalls::OLDER].concat();
    let mut rules: Rules = whatever.into_iter().map(|call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_clone3, Vec::new());
    rules.insert(libc::SYS_ioctl, any_of(1, &Length::Dword, IOCTLS)?);
    rules.insert(
        libc::SYS_prctl,
        any_of(0, &Length::Dword, PRCTLS.map(|n| u64::from(n.unsigned_abs())))?,
    );
    // One's own limits only; 0 is oneself.
    rules.insert(libc::SYS_prlimit64, any_of(0, &Length::Dword, [0])?);
    let unix = u64::from(libc::AF_UNIX.unsigned_abs());
    rules.insert(libc::SYS_socketpair, any_of(0, &Length::Dword, [unix])?);
    #[cfg(target_arch = "x86_64")]
    // Only the question which personality there is.
    rules.insert(libc::SYS_personality, any_of(0, &Length::Dword, [0xffff_ffff])?);
    match around {
        Around::Namespaces { tcp } => among_own(&mut rules, tcp, unix)?,
        Around::Everybody { pid } => among_others(&mut rules, pid)?,
    }
    Ok(rules)
}

/// In namespaces of its own a script may make processes and sockets, and signal what it made.
fn among_own(rules: &mut Rules, tcp: bool, unix: u64) -> Result<(), seccompiler::BackendError> {
    let free = [
        syscalls::SOCKETS,
        syscalls::FORKS,
        &[
            libc::SYS_kill,
            libc::SYS_tkill,
            libc::SYS_tgkill,
            libc::SYS_pidfd_send_signal,
            libc::SYS_rt_sigqueueinfo,
            libc::SYS_setsid,
            libc::SYS_setpgid,
            libc::SYS_signalfd4,
        ],
    ];
    rules.extend(free.concat().into_iter().map(|call| (call, Vec::new())));
    let plain = SeccompCondition::new(0, Length::Qword, Op::MaskedEq(NEW_NAMESPACES), 0)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![plain])?]);
    let mut sockets = any_of(0, &Length::Dword, [unix])?;
    if tcp {
        let inet = u64::from(libc::AF_INET.unsigned_abs());
        let stream = u64::from(libc::SOCK_STREAM.unsigned_abs());
        sockets.push(SeccompRule::new(vec![
            SeccompCondition::new(0, Length::Dword, Op::Eq, inet)?,
            // The higher bits only say how the descriptor behaves.
            SeccompCondition::new(1, Length::Dword, Op::MaskedEq(0xf), stream)?,
        ])?);
    }
    rules.insert(libc::SYS_socket, sockets);
    Ok(())
}

/// Among everybody else's processes a script makes threads but no processes, no sockets but pairs,
/// and signals only itself. Sessions and process groups stay as they are, so that it can be found.
fn among_others(rules: &mut Rules, pid: u32) -> Result<(), seccompiler::BackendError> {
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    let flags = Op::MaskedEq(NEW_NAMESPACES | thread);
    let threads = SeccompCondition::new(0, Length::Qword, flags, thread)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![threads])?]);
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        rules.insert(call, any_of(0, &Length::Dword, [u64::from(pid)])?);
    }
    // Landlock does not know modes, times and watches, and the user's files are all around. A
    // descriptor exists only for what may be opened.
    for call in syscalls::BY_PATH {
        rules.remove(call);
    }
    rules.insert(libc::SYS_utimensat, any_of(1, &Length::Qword, [0])?);
    Ok(())
}

fn any_of(
    argument: u8,
    length: &Length,
    values: impl IntoIterator<Item = u64>,
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    values
        .into_iter()
        .map(|value| {
            let condition = SeccompCondition::new(argument, length.clone(), Op::Eq, value)?;
            SeccompRule::new(vec![condition])
        })
        .collect()
}
