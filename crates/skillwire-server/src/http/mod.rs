//! Streamable HTTP for both eras: a modern request stands alone, a legacy one has a session.

mod access;
mod auth;
mod body;
mod compress;
mod headers;
mod legacy;
mod modern;
mod quiet;
mod reply;
mod running;
mod serve;
mod service;
mod sse;
mod stall;
mod talk;
mod well_known;
mod workers;

pub use self::{
    access::AccessRules,
    auth::{InvalidTokenFile, Tokens},
    body::{Pieces, ResponseBody},
    serve::{ConnectionLimits, run},
    service::{HttpOptions, HttpService},
    workers::Workers,
};

/// The path of the MCP endpoint.
pub const ENDPOINT: &str = "/mcp";
