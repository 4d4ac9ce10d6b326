//! Privileges are given up for good.

use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// Drops every capability, and the chance to get one by executing something.
pub(super) fn drop_all() -> rustix::io::Result<()> {
    for capability in (0..u64::BITS).filter_map(|bit| CapabilitySet::from_bits(1 << bit)) {
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // Without the right to change the bounding set there is nothing to lose from it:
            // `no_new_privs` below keeps files from adding any. And the kernel does not know the last
            // ones.
            Err(rustix::io::Errno::PERM | rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(error),
        }
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    set_no_new_privs(true)
}
