//! The official SDK as a client of our server, and as a server to which skills are added.

mod attached;
mod differential;
mod rmcp_peer;
mod support;
