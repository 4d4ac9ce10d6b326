//! Passes tools, prompts and resources of other servers on to the clients of one server.

pub(crate) mod admission;
pub(crate) mod audit;
pub(crate) mod limits;
pub(crate) mod name_prefix;
pub(crate) mod offer;
pub(crate) mod resources;

mod calling;
mod lists;
mod parked;
mod questions;
mod resource_uris;
mod rewriting;
mod running;

pub(crate) use self::resource_uris::decode as decode_uri;
