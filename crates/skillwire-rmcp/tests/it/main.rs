//! The official SDK as a client of our server, and as a server that skills are added to.

mod attached;
mod differential;
mod rmcp_peer;
mod support;
