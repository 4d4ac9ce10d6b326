//! `skillwire serve` as a real process.

mod access;
mod config;
mod folders;
mod lifecycle;
mod live;
mod logs;
mod operating;
mod options;
mod starting;
mod tools;
#[cfg(feature = "otel")]
mod traces;
mod transcripts;
