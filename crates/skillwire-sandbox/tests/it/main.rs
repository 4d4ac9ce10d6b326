//! Attacks on the sandbox, each first seen to succeed outside of it.
//!
//! Every group runs in both tiers, as root and as an ordinary user. Without root only the second
//! half can run; `support::users` says so, and `support::which_users_ran` asserts which.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]
#![expect(clippy::print_stderr, reason = "what a machine cannot show is said")]

mod exhaustion;
mod files;
mod grants;
mod layers;
mod leaks;
mod missing;
mod network;
mod ordinary;
mod output;
mod privileges;
mod processes;
mod support;
mod survivors;
