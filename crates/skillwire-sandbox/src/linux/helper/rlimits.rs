//! Limits that the kernel enforces for each process.

use std::fs;

use rustix::process::{Resource, Rlimit, setrlimit};

use super::super::process_tree;
use crate::limits::RunLimits;

/// How much more address space than memory a process may have, for libraries and stacks.
const EXTRA_ADDRESS_SPACE: u64 = 2 * 1024 * 1024 * 1024;

/// In the full tier, the helper and the first process of the namespace.
pub(super) const OTHERS_IN_NAMESPACE: u64 = 2;

/// How many processes and threads other programs of a user may start while a script of the restricted
/// tier runs. The supervisor counts those of the script; this only has to hold until it looks again.
const OTHERS_BESIDES: u64 = 2048;

/// How many processes and threads of the restricted tier's user may be none of the script's. `None`
/// where `/proc` does not tell.
///
/// A user of the run's own has no others than the helper.
pub(super) fn others_of_user(user_is_own: bool) -> Option<u64> {
    if user_is_own {
        return Some(1);
    }
    let user = rustix::process::getuid().as_raw();
    let tasks = process_tree::all_processes().filter_map(|pid| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        (field("Uid:")? == u64::from(user)).then(|| field("Threads:"))?
    });
    Some(tasks.sum::<u64>()).filter(|count| *count > 0).map(|count| count + OTHERS_BESIDES)
}

/// Sets what this process and each of its children may use.
///
/// `others` are the processes and threads of the same user that are not the script's: the kernel
/// counts all of a user's in its user namespace.
///
/// Called right before the script is executed: these limits also apply to this process, which may
/// hold the whole skill in memory.
pub(super) fn set(
    limits: &RunLimits,
    others: u64,
    limit_address_space: bool,
) -> rustix::io::Result<()> {
    lower(Resource::Nproc, limits.processes.saturating_add(others))?;
    lower(Resource::Data, limits.memory_bytes)?;
    if limit_address_space {
        lower(Resource::As, limits.memory_bytes.saturating_add(EXTRA_ADDRESS_SPACE))?;
    }
    lower(Resource::Fsize, limits.folder_bytes)?;
    lower(Resource::Nofile, limits.open_files)?;
    lower(Resource::Stack, 8 * 1024 * 1024)?;
    // A core file would hold granted variables.
    lower(Resource::Core, 0)?;
    // Memory that cannot be swapped, message queues, signals in a queue and priorities are taken
    // from all processes of the machine.
    lower(Resource::Memlock, 0)?;
    lower(Resource::Msgqueue, 0)?;
    lower(Resource::Sigpending, 1024)?;
    lower(Resource::Rtprio, 0)?;
    lower(Resource::Nice, 0)?;
    // The supervisor adds up all processes; this ends a single one even if the supervisor is late.
    lower(Resource::Cpu, limits.cpu_time.as_secs().saturating_add(1))
}

/// Sets both the soft and the hard limit, so that the script cannot raise it again. Never above the
/// hard limit that is there, which would fail.
fn lower(resource: Resource, wanted: u64) -> rustix::io::Result<()> {
    let maximum = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let value = Some(wanted.min(maximum));
    setrlimit(resource, Rlimit { current: value, maximum: value })
}
