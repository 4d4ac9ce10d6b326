//! Attacks on the sandbox. Each is first seen to succeed outside of it.
//!
//! Every attack runs in both tiers, as root and as an ordinary user. Without root only the second
//! half can run. What a machine cannot show is reported as skipped; see `test_skip`.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod exhaustion;
mod files;
mod grants;
mod hidden_use;
mod hidden_ways;
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
mod test_skip;
mod user_manager;
