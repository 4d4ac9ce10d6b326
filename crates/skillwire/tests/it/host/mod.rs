//! Commands that use skills of servers.

mod approving;
mod bridging;
#[cfg(feature = "sign")]
mod decisions;
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
#[cfg(all(unix, feature = "review"))]
mod reviewing;
#[cfg(all(unix, feature = "review"))]
pub(crate) mod screen;
mod servers;
#[cfg(feature = "sign")]
mod signers;
mod slow_servers;
mod state;
#[cfg(unix)]
pub(crate) mod terminal;
pub(crate) mod user;
mod verifying;
