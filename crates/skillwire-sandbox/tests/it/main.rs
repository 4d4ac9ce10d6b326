//! Attacks on the sandbox, each first seen to succeed outside of it.
//!
//! Every group runs in both tiers, as root and as an ordinary user. Without root only the second
//! half can run; [`support::users`] says so, and `support::which_users_ran` asserts which.

#![cfg(target_os = "linux")]

mod files;
mod network;
mod support;
