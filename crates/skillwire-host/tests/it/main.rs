//! The host against servers that keep the rules and servers that do not.

mod discovery;
mod support;
