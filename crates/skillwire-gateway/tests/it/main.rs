//! A gateway between servers that may misbehave and clients, seen from the client's side of the
//! wire.
#![expect(clippy::unwrap_used, reason = "a test that finds nothing has failed")]

mod bridge;
mod passing_on;
mod passing_on_offers;
