//! Gives up root and every capability for good.

use rustix::{
    process::DumpableBehavior,
    thread::{
        CapabilitySet, CapabilitySets, Gid, Uid, clear_ambient_capability_set,
        remove_capability_from_bounding_set, set_capabilities, set_no_new_privs, set_thread_groups,
        set_thread_res_gid, set_thread_res_uid,
    },
};

/// The first of the user ids that runs get when the supervisor is root. No system hands out ids in
/// this range.
const FIRST_RUN_UID: u32 = 1_900_000_000;

/// Becomes a user whose id no other process has.
///
/// Two runs with the same id could signal and trace each other, and a shared `nobody` may own
/// files.
///
/// Groups go first, then the group id, then the user id: a process that is no longer root can
/// change neither of the others, and would keep root's groups.
pub(super) fn drop_root() -> rustix::io::Result<()> {
    let id = FIRST_RUN_UID + rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
    let uid = Uid::from_raw(id);
    let gid = Gid::from_raw(id);
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    // The kernel makes a process that changed its user unreadable, and gives its `/proc` entries to
    // root. The id maps of the user namespace are written there, so it has to be its own again.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
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
