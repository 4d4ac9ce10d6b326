//! Decides which system calls a script may make: an allow-list, closed to 32-bit and x32 callers.
//!
//! This crate never knows paths, processes or jobs. A filter sees only the numbers that a call is made
//! with, not what pointers lead to. So it decides which kernel interfaces exist for a script, and
//! leaves paths to Landlock and mounts.
//!
//! ```
//! # #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
//! # fn main() -> std::io::Result<()> {
//! use skillwire_syscalls::{CompiledFilter, FilterProfile, MemoryHold};
//!
//! let profile = FilterProfile::OwnNamespaces { tcp: false, memory: MemoryHold::Supervisor };
//! let filter = CompiledFilter::new(profile)?;
//! assert_eq!(filter.profile(), profile);
//! // `filter.apply_for(profile)` filters this process from then on.
//! # Ok(())
//! # }
//! # #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
//! # fn main() {}
//! ```

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod allowed_calls;
mod bpf;
mod call_arguments;

use std::{collections::BTreeMap, io};

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op,
    SeccompCondition, SeccompRule, TargetArch, apply_filter,
};

use self::{
    bpf::CallDecision,
    call_arguments::{allow_values, number, values},
};

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
const IOCTLS: [libc::Ioctl; 7] = [
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterProfile {
    /// For the full tier, where a script sees only its own processes; with TCP to the egress proxy
    /// if that was granted.
    OwnNamespaces {
        /// Whether sockets of TCP may be made.
        tcp: bool,
        /// What holds the run's memory.
        memory: MemoryHold,
    },
    /// For the restricted tier, where a script sees all processes of the machine.
    SharedNamespaces {
        /// Whether it may make processes.
        processes: ProcessRule,
        /// What holds the run's memory.
        memory: MemoryHold,
    },
}

/// What holds the memory of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryHold {
    /// A cgroup, which counts every page.
    Cgroup,
    /// The supervisor, which counts what it can see. The filter refuses the rest.
    Supervisor,
}

impl MemoryHold {
    /// What holds the memory, given whether a cgroup does.
    pub fn new(is_held: bool) -> Self {
        if is_held { Self::Cgroup } else { Self::Supervisor }
    }
}

/// Whether a script of the restricted tier may make processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessRule {
    /// It may, because Landlock confines its signals to them.
    Several,
    /// It is one process, with this id, and stays one.
    One {
        /// The id of the process.
        pid: u32,
    },
}

/// A filter as the kernel takes it.
#[derive(Debug)]
pub struct CompiledFilter {
    profile: FilterProfile,
    program: BpfProgram,
}

impl CompiledFilter {
    /// Compiles the filter of a profile.
    pub fn new(profile: FilterProfile) -> io::Result<Self> {
        let denied = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let program =
            decisions(profile).and_then(|decisions| bpf::compile(&decisions, &denied, ARCH));
        Ok(Self { profile, program: program.map_err(io::Error::other)? })
    }

    /// The profile that the filter was compiled for.
    pub fn profile(&self) -> FilterProfile {
        self.profile
    }

    /// Applies this filter if it has the wanted profile, and otherwise one that has.
    pub fn apply_for(&self, profile: FilterProfile) -> io::Result<()> {
        if profile == self.profile { self.apply() } else { Self::new(profile)?.apply() }
    }

    /// Filters this process and its children from now on. A filter cannot be removed.
    fn apply(&self) -> io::Result<()> {
        apply_filter(&self.program).map_err(|error| match error {
            seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
            other => io::Error::other(other),
        })
    }
}

type CallDecisions = BTreeMap<i64, CallDecision>;

/// The number of a device request; filters compare its lower half, in which all of them lie.
#[cfg_attr(
    target_env = "gnu",
    expect(
        clippy::cast_possible_truncation,
        reason = "glibc has a wider type for requests than musl"
    )
)]
fn request_number(request: libc::Ioctl) -> u64 {
    u64::from(request as u32)
}

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
    decisions.insert(libc::SYS_ioctl, allow_values(1, &Length::Dword, IOCTLS.map(request_number))?);
    decisions.insert(libc::SYS_prctl, allow_prctls(&PRCTLS)?);
    // A process may ask for and lower limits of its own, for which the kernel takes the id 0, but
    // not limits of other processes of the user.
    decisions.insert(libc::SYS_prlimit64, allow_values(0, &Length::Dword, [0])?);
    decisions.insert(libc::SYS_close_range, call_arguments::close_range()?);
    decisions.insert(libc::SYS_fcntl, call_arguments::fcntl(true)?);
    decisions.insert(libc::SYS_mknodat, call_arguments::mknod_pipes(2)?);
    #[cfg(target_arch = "x86_64")]
    decisions.insert(libc::SYS_mknod, call_arguments::mknod_pipes(1)?);
    // As if the file system had no attributes: `cp -p` and `ls -l` go on without them.
    let no_attributes = SeccompAction::Errno(libc::EOPNOTSUPP.unsigned_abs());
    for call in allowed_calls::SET_ATTRIBUTES {
        decisions.insert(*call, CallDecision::Always(no_attributes.clone()));
    }
    #[cfg(target_arch = "x86_64")]
    // This value only asks. Others would switch off the random layout of addresses.
    decisions.insert(libc::SYS_personality, allow_values(0, &Length::Dword, [0xffff_ffff])?);
    let memory = match profile {
        FilterProfile::OwnNamespaces { tcp, memory } => {
            add_own_namespaces(&mut decisions, tcp)?;
            memory
        }
        FilterProfile::SharedNamespaces { processes, memory } => {
            add_shared_namespaces(&mut decisions, processes)?;
            for call in allowed_calls::GET_ATTRIBUTES_BY_PATH {
                decisions.insert(*call, CallDecision::Always(no_attributes.clone()));
            }
            memory
        }
    };
    if memory == MemoryHold::Supervisor {
        decisions.insert(libc::SYS_mmap, call_arguments::mmap_without_shared_memory()?);
        decisions.insert(libc::SYS_setsockopt, call_arguments::setsockopt_without_buffers()?);
        decisions.insert(libc::SYS_fcntl, call_arguments::fcntl(false)?);
        // Takes pages out of a process without freeing them.
        decisions.remove(&libc::SYS_vmsplice);
    }
    Ok(decisions)
}

fn allow() -> CallDecision {
    CallDecision::Always(SeccompAction::Allow)
}

/// In namespaces of its own a script may make processes and sockets, and signal what it made.
fn add_own_namespaces(decisions: &mut CallDecisions, tcp: bool) -> Result<(), BackendError> {
    let calls = [
        allowed_calls::SOCKETS,
        allowed_calls::FORKS,
        // In the new root a script owns its two folders and nothing else that is writable.
        allowed_calls::CHANGE_OWNERS,
        &[
            libc::SYS_kill,
            libc::SYS_tkill,
            libc::SYS_tgkill,
            libc::SYS_pidfd_send_signal,
            libc::SYS_rt_sigqueueinfo,
            libc::SYS_setsid,
            libc::SYS_setpgid,
            libc::SYS_signalfd4,
            libc::SYS_sendmsg,
            libc::SYS_sendmmsg,
        ],
    ];
    decisions.extend(calls.concat().into_iter().map(|call| (call, allow())));
    // A script may change what happens when its own parent dies: the namespace ends with its first
    // process in any case. In the restricted tier this signal is what ends a script with its
    // helper.
    let prctls = [&PRCTLS[..], &[libc::PR_SET_PDEATHSIG]].concat();
    decisions.insert(libc::SYS_prctl, allow_prctls(&prctls)?);
    decisions.insert(libc::SYS_clone, call_arguments::clone(true, NEW_NAMESPACES)?);
    let unix = number(libc::AF_UNIX);
    decisions.insert(libc::SYS_socketpair, allow_values(0, &Length::Dword, [unix])?);
    let mut sockets = values(0, &Length::Dword, [unix])?;
    if tcp {
        sockets.push(SeccompRule::new(vec![
            SeccompCondition::new(0, Length::Dword, Op::Eq, number(libc::AF_INET))?,
            // The higher bits say only how the descriptor behaves.
            SeccompCondition::new(1, Length::Dword, Op::MaskedEq(0xf), number(libc::SOCK_STREAM))?,
        ])?);
    }
    decisions.insert(libc::SYS_socket, CallDecision::AllowIf(sockets));
    Ok(())
}

/// Among the processes of the machine a script may make socket pairs but no sockets, and signal only
/// its own processes. It cannot leave its session and process group, by which all of its processes
/// are found and ended.
fn add_shared_namespaces(
    decisions: &mut CallDecisions,
    processes: ProcessRule,
) -> Result<(), BackendError> {
    let several = processes == ProcessRule::Several;
    decisions.insert(libc::SYS_clone, call_arguments::clone(several, NEW_NAMESPACES)?);
    match processes {
        ProcessRule::Several => {
            decisions.extend(allowed_calls::FORKS.iter().map(|call| (*call, allow())));
            for call in [libc::SYS_kill, libc::SYS_tgkill] {
                decisions.insert(call, call_arguments::kill_one_process()?);
            }
        }
        ProcessRule::One { pid } => {
            for call in [libc::SYS_kill, libc::SYS_tgkill] {
                decisions.insert(call, allow_values(0, &Length::Dword, [u64::from(pid)])?);
            }
        }
    }
    // A datagram socket of a pair can send to any socket that has a name. Those of the other types
    // send to each other alone.
    let pairs = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
    decisions.insert(libc::SYS_socketpair, call_arguments::socket_pairs(&pairs)?);
    // Landlock does not govern modes and times, and all files of the user are in reach by their
    // paths. Calls that take a descriptor are safe: one exists only for what Landlock let be
    // opened. So `utimensat` is allowed without a path.
    for call in allowed_calls::BY_PATH {
        decisions.remove(call);
    }
    decisions.insert(libc::SYS_utimensat, allow_values(1, &Length::Qword, [0])?);
    Ok(())
}

fn allow_prctls(prctls: &[i32]) -> Result<CallDecision, BackendError> {
    allow_values(0, &Length::Dword, prctls.iter().map(|prctl| number(*prctl)))
}
