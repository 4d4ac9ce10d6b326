//! `add`, `update` and `remove`: skills of repositories, archives and origins for agents.

mod adding;
mod bad_input;
mod forge;
mod keeping;
#[cfg(unix)]
mod picking;
#[cfg(all(unix, feature = "review"))]
mod pictures;
mod removing;
mod renamed;
mod syncing;
mod updating;
mod web_forge;
