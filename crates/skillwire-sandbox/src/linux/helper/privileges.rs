//! Gives up root and every capability for good.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt as _};

use rustix::{
    process::DumpableBehavior,
    thread::{
        CapabilitySet, CapabilitySets, Gid, Uid, clear_ambient_capability_set,
        remove_capability_from_bounding_set, set_capabilities, set_no_new_privs, set_thread_groups,
        set_thread_res_gid, set_thread_res_uid,
    },
};

use super::super::process_tree;

/// The first of the user ids that runs get when the supervisor is root. No system hands out ids in
/// this range.
const FIRST_RUN_UID: u32 = 1_900_000_000;

/// The first of the ids that runs get in a container to which the range above is not mapped. Systems
/// hand out no ids below 65,534 that are this high, but to services while they run.
const FIRST_CONTAINER_UID: u32 = 61_184;

/// How many ids there are in a container.
const CONTAINER_UIDS: u32 = 4096;

/// Whether runs of root get this user id.
pub(in super::super) fn is_run_uid(uid: u32) -> bool {
    uid >= FIRST_RUN_UID
        || (FIRST_CONTAINER_UID..FIRST_CONTAINER_UID + CONTAINER_UIDS).contains(&uid)
}

/// Becomes a user whose id no other process has.
///
/// Two runs with the same id could signal and trace each other, and a shared `nobody` may own
/// files.
///
/// Groups go first, then the group id, then the user id: a process that is no longer root can
/// change neither of the others, and would keep root's groups.
pub(super) fn drop_root() -> rustix::io::Result<()> {
    let id = unused_id();
    let uid = Uid::from_raw(id);
    let gid = Gid::from_raw(id);
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    // The kernel makes a process that changed its user unreadable, and gives its `/proc` entries to
    // root. The id maps of the user namespace are written there, so it has to be its own again.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
}

/// An id that this process may take and that no other process has.
fn unused_id() -> u32 {
    let pid = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
    let wanted = FIRST_RUN_UID + pid;
    if ["/proc/self/uid_map", "/proc/self/gid_map"].iter().all(|map| is_mapped(map, wanted)) {
        return wanted;
    }
    // A container without root has 65,536 ids in most cases, and more processes can come and go than
    // there are ids here. So an id that a process has is passed over.
    let used: BTreeSet<u32> = process_tree::all_processes()
        .filter_map(|pid| Some(fs::metadata(format!("/proc/{pid}")).ok()?.uid()))
        .collect();
    let candidates = (0..CONTAINER_UIDS).map(|n| FIRST_CONTAINER_UID + (pid + n) % CONTAINER_UIDS);
    candidates.into_iter().find(|id| !used.contains(id)).unwrap_or(wanted)
}

/// Whether an id has a meaning in the user namespace of this process.
fn is_mapped(map: &str, id: u32) -> bool {
    let map = fs::read_to_string(map).unwrap_or_default();
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
        let (first, count) = (numbers.next(), numbers.nth(1));
        first.zip(count).is_some_and(|(first, count)| (first..first + count).contains(&id.into()))
    })
}

/// Drops every capability, and the chance to get one by executing a program.
///
/// In the full tier this process has all capabilities in its user namespace. A script that
/// inherited them could mount file systems or change the network there, and would reach much more
/// kernel code.
pub(super) fn drop_capabilities() -> rustix::io::Result<()> {
    for capability in (0..u64::BITS).filter_map(|bit| CapabilitySet::from_bits(1 << bit)) {
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // The restricted tier may lack the right to change the bounding set. It needs none:
            // `no_new_privs` below keeps files from adding capabilities. The other error means that
            // the kernel knows no capability with this or a higher number.
            Err(rustix::io::Errno::PERM | rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(error),
        }
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    // From now on a set-user-id program, or one with file capabilities, runs with the rights of its
    // caller. The kernel cannot unset this.
    set_no_new_privs(true)
}
