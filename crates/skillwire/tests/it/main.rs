//! Tests of the program as users and clients see it: real processes, their output and their exit
//! codes.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod archives;
mod authoring;
#[cfg(all(feature = "bridge", feature = "execute"))]
mod bridge_runs;
mod check;
mod execution;
mod first_use;
mod generated;
mod help;
mod host;
#[cfg(all(feature = "hub", unix))]
mod hub;
#[cfg(feature = "add")]
mod installing;
mod load;
mod manifest;
mod matrix;
mod new;
mod pipes;
mod running;
#[cfg(feature = "scan")]
mod scan;
#[cfg(all(feature = "bridge", feature = "scan"))]
mod scan_cards;
mod serve;
mod server_runs;
#[cfg(feature = "setup")]
mod setup;
#[cfg(feature = "sign")]
mod signatures;
mod support;
