//! Streamable HTTP for both eras: a modern request stands alone, a legacy one has a session.

mod access;
mod access_log;
mod auth;
mod body;
mod cancellation;
mod compress;
mod content;
mod framing;
mod headers;
mod idle;
mod interactive;
mod legacy;
mod modern;
mod options;
mod protected;
mod rate;
mod refusal_log;
mod reply;
mod serve;
mod service;
mod sse;
mod stall;
mod stream_shares;
mod verified;
mod well_known;
mod workers;

pub use self::{
    access::{AccessRefusal, AccessRules, LiveAccessRules},
    access_log::{AccessDecision, AccessLog, AccessRecord},
    auth::{InvalidTokenFile, TokenChanges, Tokens},
    body::{Pieces, ResponseBody},
    options::{EndpointPresence, HttpOptions},
    protected::ProtectedResource,
    rate::{
        ConnectionPeer, InvalidRateLimit, RateBucket, RateKey, RateLimit, RateLimiter, RateRefusal,
    },
    serve::{ConnectionLimits, HttpHandler, run},
    service::HttpService,
    verified::{TokenRefusal, VerifiedCaller, VerifyToken, Verifying},
    workers::Workers,
};

pub(crate) use self::{auth::TokenTable, service::Admission};

/// The path of the MCP endpoint.
pub const ENDPOINT: &str = "/mcp";
