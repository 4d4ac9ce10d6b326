//! Limits that the kernel enforces for each process.

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::{isolation::IsolationTier, limits::RunLimits};

/// How much more address space than memory a process may have, for libraries and stacks.
const EXTRA_ADDRESS_SPACE: u64 = 2 * 1024 * 1024 * 1024;

/// The helper and the first process of the namespace, which have the same user id as the script.
const OTHER_PROCESSES: u64 = 2;

/// Sets what this process and each of its children may use.
///
/// Called right before the script is executed: these limits also apply to this process, which may
/// hold the whole skill in memory.
pub(super) fn set(
    limits: &RunLimits,
    tier: IsolationTier,
    limit_address_space: bool,
) -> rustix::io::Result<()> {
    // Counted for the user in its namespace. Outside of namespaces it would count all processes of
    // the user; there the filter allows no second process at all.
    if tier == IsolationTier::Full {
        lower(Resource::Nproc, limits.processes.saturating_add(OTHER_PROCESSES))?;
    }
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
