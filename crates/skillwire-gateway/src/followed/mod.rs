//! Origins that the gateway follows: servers, which it lists again and again, and folders.

pub(crate) mod folders;
pub(crate) mod server;
pub(crate) mod server_state;
pub(crate) mod servers;
pub(crate) mod skills;
pub(crate) mod source;

mod added;
mod breaker;
mod follow;
mod signal;
