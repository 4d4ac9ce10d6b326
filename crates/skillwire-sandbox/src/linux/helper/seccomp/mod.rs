//! The system call filter: an allow-list, closed to 32-bit and x32 callers.
//!
//! A filter sees only the numbers that a call is made with, not what pointers lead to. So it
//! decides which kernel interfaces exist for a script, and leaves paths to Landlock and mounts.

mod allowed_calls;
mod bpf;

use std::{collections::BTreeMap, io};

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op,
    SeccompCondition, SeccompRule, TargetArch, apply_filter,
};

use self::bpf::CallDecision;

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: TargetArch = TargetArch::aarch64;

/// The flags of every namespace that a new process could be put into. A script in a user namespace
/// of its own would have all capabilities there, and reach much more kernel code.
const NEW_NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// Device requests that only ask, or change a descriptor of the caller.
///
/// `TIOCSTI` and `TIOCLINUX` in particular are not among them: they write to a terminal's input.
const IOCTLS: [u64; 7] = [
    libc::TCGETS,
    libc::TIOCGWINSZ,
    libc::FIONREAD,
    libc::FIONBIO,
    libc::FIOCLEX,
    libc::FIONCLEX,
    libc::TIOCGPGRP,
];

/// Attributes of its own that threads, allocators and interpreters set or ask for.
const PRCTLS: [i32; 8] = [
    libc::PR_SET_NAME,
    libc::PR_GET_NAME,
    libc::PR_GET_PDEATHSIG,
    libc::PR_GET_DUMPABLE,
    libc::PR_CAPBSET_READ,
    libc::PR_GET_NO_NEW_PRIVS,
    libc::PR_GET_SECCOMP,
    libc::PR_SET_VMA,
];

/// What a filter must allow, which depends on the processes that a script can see.
#[derive(Debug, Clone, Copy)]
pub(super) enum FilterProfile {
    /// For the full tier, where a script sees only its own processes; with TCP to the egress proxy
    /// if that was granted.
    OwnNamespaces { tcp: bool },
    /// For the restricted tier, where a script sees all processes of the machine. It is one
    /// process, with this id, and stays one.
    SharedNamespaces { pid: u32 },
}

/// A compiled filter.
pub(super) struct SyscallFilter(BpfProgram);

impl SyscallFilter {
    pub(super) fn new(profile: FilterProfile) -> io::Result<Self> {
        let denied = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let program =
            decisions(profile).and_then(|decisions| bpf::compile(&decisions, &denied, ARCH));
        program.map(Self).map_err(io::Error::other)
    }

    /// Filters this process and its children from now on. A filter cannot be removed.
    pub(super) fn apply(&self) -> io::Result<()> {
        apply_filter(&self.0).map_err(|error| match error {
            seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
            other => io::Error::other(other),
        })
    }
}

type CallDecisions = BTreeMap<i64, CallDecision>;

fn decisions(profile: FilterProfile) -> Result<CallDecisions, BackendError> {
    let mut decisions = CallDecisions::new();
    for call in [allowed_calls::COMMON, allowed_calls::OLDER].concat() {
        decisions.insert(call, allow());
    }
    // `clone3` takes its flags through a pointer, so a filter cannot see whether it makes
    // namespaces. It fails as if the kernel did not have it, upon which libraries use `clone`. With
    // any other error they would give up.
    let no_such_call = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    decisions.insert(libc::SYS_clone3, CallDecision::Always(no_such_call));
    decisions.insert(libc::SYS_ioctl, allow_values(1, &Length::Dword, IOCTLS)?);
    decisions.insert(libc::SYS_prctl, allow_prctls(&PRCTLS)?);
    // A process may ask for and lower limits of its own, for which the kernel takes the id 0, but
    // not limits of other processes of the user.
    decisions.insert(libc::SYS_prlimit64, allow_values(0, &Length::Dword, [0])?);
    let unix = u64::from(libc::AF_UNIX.unsigned_abs());
    decisions.insert(libc::SYS_socketpair, allow_values(0, &Length::Dword, [unix])?);
    #[cfg(target_arch = "x86_64")]
    // This value only asks. Others would switch off the random layout of addresses.
    decisions.insert(libc::SYS_personality, allow_values(0, &Length::Dword, [0xffff_ffff])?);
    match profile {
        FilterProfile::OwnNamespaces { tcp } => add_own_namespaces(&mut decisions, tcp, unix)?,
        FilterProfile::SharedNamespaces { pid } => add_shared_namespaces(&mut decisions, pid)?,
    }
    Ok(decisions)
}

fn allow() -> CallDecision {
    CallDecision::Always(SeccompAction::Allow)
}

/// In namespaces of its own a script may make processes and sockets, and signal what it made.
fn add_own_namespaces(
    decisions: &mut CallDecisions,
    tcp: bool,
    unix: u64,
) -> Result<(), BackendError> {
    let calls = [
        allowed_calls::SOCKETS,
        allowed_calls::FORKS,
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
    decisions.extend(calls.concat().into_iter().map(|call| (call, allow())));
    // A script may change what happens when its own parent dies: the namespace ends with its first
    // process in any case. In the restricted tier this signal is what ends a script with its
    // helper.
    let prctls = [&PRCTLS[..], &[libc::PR_SET_PDEATHSIG]].concat();
    decisions.insert(libc::SYS_prctl, allow_prctls(&prctls)?);
    let no_namespaces = SeccompCondition::new(0, Length::Qword, Op::MaskedEq(NEW_NAMESPACES), 0)?;
    let clone = SeccompRule::new(vec![no_namespaces])?;
    decisions.insert(libc::SYS_clone, CallDecision::AllowIf(vec![clone]));
    let mut sockets = value_rules(0, &Length::Dword, [unix])?;
    if tcp {
        let inet = u64::from(libc::AF_INET.unsigned_abs());
        let stream = u64::from(libc::SOCK_STREAM.unsigned_abs());
        sockets.push(SeccompRule::new(vec![
            SeccompCondition::new(0, Length::Dword, Op::Eq, inet)?,
            // The higher bits say only how the descriptor behaves.
            SeccompCondition::new(1, Length::Dword, Op::MaskedEq(0xf), stream)?,
        ])?);
    }
    decisions.insert(libc::SYS_socket, CallDecision::AllowIf(sockets));
    Ok(())
}

/// Among the processes of the machine a script may make threads but no processes, socket pairs but
/// no sockets, and signal only itself. It cannot leave its session and process group.
fn add_shared_namespaces(decisions: &mut CallDecisions, pid: u32) -> Result<(), BackendError> {
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    let flags = Op::MaskedEq(NEW_NAMESPACES | thread);
    let is_thread = SeccompCondition::new(0, Length::Qword, flags, thread)?;
    let clone = SeccompRule::new(vec![is_thread])?;
    decisions.insert(libc::SYS_clone, CallDecision::AllowIf(vec![clone]));
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        decisions.insert(call, allow_values(0, &Length::Dword, [u64::from(pid)])?);
    }
    // Landlock does not govern modes, times and watches, and all files of the user are in reach by
    // their paths. Calls that take a descriptor are safe: one exists only for what Landlock let be
    // opened. So `utimensat` is allowed without a path.
    for call in allowed_calls::BY_PATH {
        decisions.remove(call);
    }
    decisions.insert(libc::SYS_utimensat, allow_values(1, &Length::Qword, [0])?);
    Ok(())
}

fn allow_prctls(prctls: &[i32]) -> Result<CallDecision, BackendError> {
    allow_values(0, &Length::Dword, prctls.iter().map(|n| u64::from(n.unsigned_abs())))
}

/// Allows a call where an argument is one of these values.
fn allow_values(
    argument: u8,
    length: &Length,
    values: impl IntoIterator<Item = u64>,
) -> Result<CallDecision, BackendError> {
    value_rules(argument, length, values).map(CallDecision::AllowIf)
}

fn value_rules(
    argument: u8,
    length: &Length,
    values: impl IntoIterator<Item = u64>,
) -> Result<Vec<SeccompRule>, BackendError> {
    values
        .into_iter()
        .map(|value| {
            let condition = SeccompCondition::new(argument, length.clone(), Op::Eq, value)?;
            SeccompRule::new(vec![condition])
        })
        .collect()
}
