//! Calls that are allowed with some arguments and refused with others.

use seccompiler::{
    BackendError, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op, SeccompCondition,
    SeccompRule,
};

use super::bpf::CallDecision;

/// Commands of `fcntl` that concern a descriptor of the caller alone.
///
/// Not among them: `F_NOTIFY` and `F_SETLEASE`, which tell what other processes do with files of the
/// machine, and `F_SETOWN` and `F_SETSIG`, which make the kernel send a signal to a process that the
/// caller may not signal itself.
const FCNTL_COMMANDS: [i32; 14] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_GETLK,
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_OFD_GETLK,
    libc::F_OFD_SETLK,
    libc::F_OFD_SETLKW,
    libc::F_GETOWN,
    libc::F_GETPIPE_SZ,
    libc::F_GET_SEALS,
];

/// Options of `SOL_SOCKET` that make buffers larger. The supervisor counts sockets and takes each
/// for one with full buffers of the default size.
const BUFFER_OPTIONS: [i32; 4] =
    [libc::SO_SNDBUF, libc::SO_RCVBUF, libc::SO_SNDBUFFORCE, libc::SO_RCVBUFFORCE];

/// Descriptors may be duplicated, locked and asked about; `O_ASYNC`, which makes signals, may not be
/// set. Pipes may be made larger only with `larger_pipes`: the supervisor takes each for one of the
/// usual size.
pub(super) fn fcntl(larger_pipes: bool) -> Result<CallDecision, BackendError> {
    let size = larger_pipes.then_some(libc::F_SETPIPE_SZ);
    let mut rules = values(1, &Length::Dword, FCNTL_COMMANDS.into_iter().chain(size).map(number))?;
    rules.push(SeccompRule::new(vec![
        SeccompCondition::new(1, Length::Dword, Op::Eq, number(libc::F_SETFL))?,
        SeccompCondition::new(2, Length::Dword, Op::MaskedEq(number(libc::O_ASYNC)), 0)?,
    ])?);
    Ok(CallDecision::AllowIf(rules))
}

/// No anonymous memory that processes share. The kernel keeps its pages when no process has them
/// mapped any more, so that nothing but a cgroup can count them.
pub(super) fn mmap_without_shared_memory() -> Result<CallDecision, BackendError> {
    let without = |flag: i32| {
        let flag = Op::MaskedEq(number(flag));
        SeccompRule::new(vec![SeccompCondition::new(3, Length::Dword, flag, 0)?])
    };
    // `MAP_SHARED_VALIDATE` has the bit of `MAP_SHARED` as well.
    Ok(CallDecision::AllowIf(vec![without(libc::MAP_ANONYMOUS)?, without(libc::MAP_SHARED)?]))
}

/// Every option of sockets but larger buffers. Setting those succeeds without any effect: programs
/// set them to be faster, and some give up when they cannot.
pub(super) fn setsockopt_without_buffers() -> Result<CallDecision, BackendError> {
    let other_level = SeccompCondition::new(1, Length::Dword, Op::Ne, number(libc::SOL_SOCKET))?;
    let other_options = BUFFER_OPTIONS
        .into_iter()
        .map(|option| SeccompCondition::new(2, Length::Dword, Op::Ne, number(option)))
        .collect::<Result<_, _>>()?;
    let rules = vec![SeccompRule::new(vec![other_level])?, SeccompRule::new(other_options)?];
    Ok(CallDecision::AllowIfOr(rules, SeccompAction::Errno(0)))
}

/// Pipes with names, and no other kind of file that `mknod` makes. `mode` is the argument's place.
pub(super) fn mknod_pipes(mode: u8) -> Result<CallDecision, BackendError> {
    let kind = Op::MaskedEq(u64::from(libc::S_IFMT));
    let pipe = SeccompCondition::new(mode, Length::Dword, kind, u64::from(libc::S_IFIFO))?;
    Ok(CallDecision::AllowIf(vec![SeccompRule::new(vec![pipe])?]))
}

/// Closing many descriptors at once, or marking them to be closed; not `CLOSE_RANGE_UNSHARE`, by which a
/// thread gets descriptors of its own. See [`clone`].
pub(super) fn close_range() -> Result<CallDecision, BackendError> {
    allow_values(2, &Length::Dword, [0, u64::from(libc::CLOSE_RANGE_CLOEXEC)])
}

/// Threads that share the descriptors of their process, and, where `processes` allows it, processes;
/// neither in new namespaces.
///
/// A thread with descriptors of its own could hide open files from the supervisor.
pub(super) fn clone(processes: bool, new_namespaces: u64) -> Result<CallDecision, BackendError> {
    let thread = number(libc::CLONE_THREAD);
    let shares = thread | number(libc::CLONE_FILES);
    let rule = |mask, value| {
        let flags = Op::MaskedEq(new_namespaces | mask);
        SeccompRule::new(vec![SeccompCondition::new(0, Length::Qword, flags, value)?])
    };
    let mut rules = vec![rule(shares, shares)?];
    if processes {
        rules.push(rule(thread, 0)?);
    }
    Ok(CallDecision::AllowIf(rules))
}

/// Signals to one process by its id: not to a group, and not to all.
pub(super) fn kill_one_process() -> Result<CallDecision, BackendError> {
    let largest = u64::from(i32::MAX.unsigned_abs());
    Ok(CallDecision::AllowIf(vec![SeccompRule::new(vec![
        SeccompCondition::new(0, Length::Dword, Op::Gt, 0)?,
        SeccompCondition::new(0, Length::Dword, Op::Le, largest)?,
    ])?]))
}

/// Pairs of Unix sockets of these types. The higher bits of a type say only how the descriptors
/// behave.
pub(super) fn socket_pairs(types: &[i32]) -> Result<CallDecision, BackendError> {
    let rules = types.iter().map(|kind| {
        SeccompRule::new(vec![
            SeccompCondition::new(0, Length::Dword, Op::Eq, number(libc::AF_UNIX))?,
            SeccompCondition::new(1, Length::Dword, Op::MaskedEq(0xf), number(*kind))?,
        ])
    });
    Ok(CallDecision::AllowIf(rules.collect::<Result<_, _>>()?))
}

/// Allows a call where an argument is one of these values.
pub(super) fn allow_values(
    argument: u8,
    length: &Length,
    allowed: impl IntoIterator<Item = u64>,
) -> Result<CallDecision, BackendError> {
    values(argument, length, allowed).map(CallDecision::AllowIf)
}

/// One rule for each value of an argument.
pub(super) fn values(
    argument: u8,
    length: &Length,
    allowed: impl IntoIterator<Item = u64>,
) -> Result<Vec<SeccompRule>, BackendError> {
    allowed
        .into_iter()
        .map(|value| {
            let condition = SeccompCondition::new(argument, length.clone(), Op::Eq, value)?;
            SeccompRule::new(vec![condition])
        })
        .collect()
}

/// A constant of the C library as a filter compares it.
pub(super) fn number(constant: i32) -> u64 {
    u64::from(constant.cast_unsigned())
}
