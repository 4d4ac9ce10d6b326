//! Commands that use skills of servers.

mod approving;
mod bridging;
mod dialects;
mod discovering;
mod earlier;
mod exporting;
mod folders;
mod inspecting;
mod loading;
mod locking;
mod login;
mod older;
mod passing_on;
mod reaching;
mod refusing;
mod servers;
#[cfg(feature = "sign")]
mod signers;
mod state;
#[cfg(unix)]
pub(crate) mod terminal;
pub(crate) mod user;
mod verifying;
