//! Upstreams of a hub, each mode against servers that change, lie, hang and go away.

mod local;
mod modes;
mod mounts;
mod support;
mod tools;
