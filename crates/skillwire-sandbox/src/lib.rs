//! Runs a skill's script in isolation, or says why it cannot.
//!
//! A [`Job`](job::Job) is a private copy of a skill's files, the script to run, and what was granted
//! to it. [`Sandbox::run`](sandbox::Sandbox::run) starts a fresh process of the same program, which
//! confines itself before it becomes the script; nothing happens between a fork and an exec of the
//! caller. There is no way to run a job without isolation: where a machine gives too little of it,
//! the answer is [`Unavailable`](isolation::Unavailable).
//!
//! A program that runs jobs calls [`helper::enter`] first thing in `main`.

#![cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))),
    expect(dead_code, reason = "what a job holds is only read where one can be run")
)]

pub mod arguments;
pub mod helper;
pub mod interpreter;
pub mod isolation;
pub mod job;
pub mod limits;
pub mod outcome;
pub mod record;
pub mod sandbox;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[expect(
    unsafe_code,
    reason = "forks, filters and mounts have no safe interface for all they need"
)]
mod linux;
mod sanitise;
#[cfg(test)]
mod test_skip;
