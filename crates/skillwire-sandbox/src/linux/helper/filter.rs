//! The filter of system calls: an allow-list, closed to 32-bit and x32 callers.

use std::{collections::BTreeMap, io};

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op,
    SeccompCondition, SeccompRule, TargetArch, apply_filter,
};

use super::{
    decisions::{self, Answer},
    syscalls,
};

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

/// Who is around a script.
#[derive(Debug, Clone, Copy)]
pub(super) enum Around {
    /// Only its own processes, in namespaces of their own; TCP to the proxy if that was granted.
    Namespaces { tcp: bool },
    /// Everybody: it is one process, with this id, and stays one.
    Everybody { pid: u32 },
}

/// A filter that is ready to be applied.
pub(super) struct Filter(BpfProgram);

impl Filter {
    pub(super) fn new(around: Around) -> io::Result<Self> {
        let denied = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let program =
            answers(around).and_then(|answers| decisions::filter(&answers, &denied, ARCH));
        program.map(Self).map_err(io::Error::other)
    }

    /// Filters this process and its children from now on.
    pub(super) fn apply(&self) -> io::Result<()> {
        apply_filter(&self.0).map_err(|error| match error {
            seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
            other => io::Error::other(other),
        })
    }
}

type Answers = BTreeMap<i64, Answer>;

fn answers(around: Around) -> Result<Answers, BackendError> {
    let mut answers = Answers::new();
    for call in [syscalls::COMMON, syscalls::OLDER].concat() {
        answers.insert(call, allowed());
    }
    // A filter cannot see the flags of this call, so it does not exist, and libraries use the older
    // one.
    let no_such_call = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    answers.insert(libc::SYS_clone3, Answer::Always(no_such_call));
    answers.insert(libc::SYS_ioctl, any_of(1, &Length::Dword, IOCTLS)?);
    answers.insert(libc::SYS_prctl, attributes(&PRCTLS)?);
    // One's own limits only; 0 is oneself.
    answers.insert(libc::SYS_prlimit64, any_of(0, &Length::Dword, [0])?);
    let unix = u64::from(libc::AF_UNIX.unsigned_abs());
    answers.insert(libc::SYS_socketpair, any_of(0, &Length::Dword, [unix])?);
    #[cfg(target_arch = "x86_64")]
    // Only the question which personality there is.
    answers.insert(libc::SYS_personality, any_of(0, &Length::Dword, [0xffff_ffff])?);
    match around {
        Around::Namespaces { tcp } => among_own(&mut answers, tcp, unix)?,
        Around::Everybody { pid } => among_others(&mut answers, pid)?,
    }
    Ok(answers)
}

fn allowed() -> Answer {
    Answer::Always(SeccompAction::Allow)
}

/// In namespaces of its own a script may make processes and sockets, and signal what it made.
fn among_own(answers: &mut Answers, tcp: bool, unix: u64) -> Result<(), BackendError> {
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
    answers.extend(free.concat().into_iter().map(|call| (call, allowed())));
    // The namespace ends with its first process, whatever others say about their parents' ends. Among
    // others it is that of the helper that ends a script.
    answers
        .insert(libc::SYS_prctl, attributes(&[&PRCTLS[..], &[libc::PR_SET_PDEATHSIG]].concat())?);
    let plain = SeccompCondition::new(0, Length::Qword, Op::MaskedEq(NEW_NAMESPACES), 0)?;
    answers.insert(libc::SYS_clone, Answer::Allowed(vec![SeccompRule::new(vec![plain])?]));
    let mut sockets = rules(0, &Length::Dword, [unix])?;
    if tcp {
        let inet = u64::from(libc::AF_INET.unsigned_abs());
        let stream = u64::from(libc::SOCK_STREAM.unsigned_abs());
        sockets.push(SeccompRule::new(vec![
            SeccompCondition::new(0, Length::Dword, Op::Eq, inet)?,
            // The higher bits only say how the descriptor behaves.
            SeccompCondition::new(1, Length::Dword, Op::MaskedEq(0xf), stream)?,
        ])?);
    }
    answers.insert(libc::SYS_socket, Answer::Allowed(sockets));
    Ok(())
}

/// Among everybody else's processes a script makes threads but no processes, no sockets but pairs,
/// and signals only itself. Sessions and process groups stay as they are, so that it can be found.
fn among_others(answers: &mut Answers, pid: u32) -> Result<(), BackendError> {
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    let flags = Op::MaskedEq(NEW_NAMESPACES | thread);
    let threads = SeccompCondition::new(0, Length::Qword, flags, thread)?;
    answers.insert(libc::SYS_clone, Answer::Allowed(vec![SeccompRule::new(vec![threads])?]));
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        answers.insert(call, any_of(0, &Length::Dword, [u64::from(pid)])?);
    }
    // Landlock does not know modes, times and watches, and the user's files are all around. A
    // descriptor exists only for what may be opened.
    for call in syscalls::BY_PATH {
        answers.remove(call);
    }
    answers.insert(libc::SYS_utimensat, any_of(1, &Length::Qword, [0])?);
    Ok(())
}

fn attributes(prctls: &[i32]) -> Result<Answer, BackendError> {
    any_of(0, &Length::Dword, prctls.iter().map(|n| u64::from(n.unsigned_abs())))
}

/// Allowed where the argument is one of these values.
fn any_of(
    argument: u8,
    length: &Length,
    values: impl IntoIterator<Item = u64>,
) -> Result<Answer, BackendError> {
    rules(argument, length, values).map(Answer::Allowed)
}

fn rules(
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
