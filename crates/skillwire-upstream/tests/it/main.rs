//! Servers whose skills are passed on, seen from the client's side of the wire.
#![expect(clippy::unwrap_used, reason = "a test that finds nothing to unwrap has failed")]

mod passing_on;
mod support;
