//! Origins whose skills are followed: listed, listened to, and listed again.

pub(crate) mod folders;
pub(crate) mod server;
pub(crate) mod server_state;
pub(crate) mod servers;
pub(crate) mod skills;

mod follow;
mod signal;
