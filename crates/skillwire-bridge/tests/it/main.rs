//! A bridge between servers that may misbehave and clients that know tools and prompts.

mod approving;
mod listing;
mod prompts;
mod support;
mod windows;
