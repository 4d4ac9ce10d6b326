//! Servers under load: trees that change while they are read, and more than a server can hold.
//!
//! Each test has a short form that always runs and a long one that is run with `bash tools/soak`.

mod client;
#[cfg(target_os = "linux")]
mod crowd;
mod history;
mod mutation;
mod mutator;
#[cfg(target_os = "linux")]
mod soak;
#[cfg(target_os = "linux")]
mod subscribers;
#[cfg(target_os = "linux")]
mod vitals;

/// Says how a test goes, to whoever runs it with `--nocapture`.
#[expect(clippy::print_stdout, reason = "the harness keeps what tests print to itself")]
fn say(line: impl std::fmt::Display) {
    println!("{line}");
}
