//! Limits that the kernel keeps for each process.

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::{isolation::Tier, limits::Limits};

/// How much more address space than memory a process may have, for libraries and stacks.
const ADDRESSES_OVER_MEMORY: u64 = 2 * 1024 * 1024 * 1024;

/// Sets what this process and its children may use each.
pub(super) fn set(limits: &Limits, tier: Tier, bound_addresses: bool) -> rustix::io::Result<()> {
    // The helper and the namespace's first process count; outside of namespaces all of the user's
    // would.
    if tier == Tier::Full {
        hard(Resource::Nproc, limits.processes.saturating_add(2))?;
    }
    hard(Resource::Data, limits.memory)?;
    if bound_addresses {
        hard(Resource::As, limits.memory.saturating_add(ADDRESSES_OVER_MEMORY))?;
    }
    hard(Resource::Fsize, limits.scratch)?;
    hard(Resource::Nofile, limits.open_files)?;
    hard(Resource::Stack, 8 * 1024 * 1024)?;
    hard(Resource::Core, 0)?;
    hard(Resource::Memlock, 0)?;
    hard(Resource::Msgqueue, 0)?;
    hard(Resource::Sigpending, 1024)?;
    hard(Resource::Rtprio, 0)?;
    hard(Resource::Nice, 0)?;
    // The supervisor adds up all processes; this one ends a single process in time by itself.
    hard(Resource::Cpu, limits.cpu.as_secs().saturating_add(1))
}

/// Lowers a limit, never above what is there.
fn hard(resource: Resource, wanted: u64) -> rustix::io::Result<()> {
    let most = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let value = Some(wanted.min(most));
    setrlimit(resource, Rlimit { current: value, maximum: value })
}
