//! The server on the wire, row by row.

mod affordances;
mod authorization;
mod base_protocol;
mod change;
mod declaration;
mod directories;
mod disclosure;
mod entries;
mod errors;
mod getting;
mod hostile;
mod http_headers;
mod large_answers;
mod legacy_era;
mod listing;
mod mapping;
mod metadata;
mod nested;
mod peers;
mod reading;
mod rmcp_peer;
mod snapshot;
mod stdio;
mod subscriptions;
mod support;
mod transport;
