//! Passes tools and prompts of other servers on to the clients of one server.

pub(crate) mod admission;
pub(crate) mod audit;
pub(crate) mod limits;
pub(crate) mod name_prefix;
pub(crate) mod offer;

mod calling;
mod lists;
mod parked;
mod questions;
mod running;
