//! A bridge between servers that may misbehave and clients that know tools and prompts.

mod approving;
mod listing;
mod older_servers;
mod passing_on;
mod prompts;
mod resources;
mod searching;
mod server_words;
mod support;
mod windows;
