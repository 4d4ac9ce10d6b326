//! Servers under load: trees that change while clients read them, and more requests than a server
//! can hold.
//!
//! Each test has a short form that always runs and a long form that `bash tools/soak` runs.

mod client;
#[cfg(target_os = "linux")]
mod crowd;
mod history;
#[cfg(target_os = "linux")]
mod memory;
mod mutation;
mod mutator;
#[cfg(target_os = "linux")]
mod soak;
#[cfg(target_os = "linux")]
mod subscribers;
#[cfg(target_os = "linux")]
mod vitals;

/// Prints how far a test is, for a run with `--nocapture`.
#[expect(clippy::print_stdout, reason = "the harness keeps what tests print to itself")]
fn say(line: impl std::fmt::Display) {
    println!("{line}");
}
