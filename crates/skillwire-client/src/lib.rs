//! A client of one MCP server, of either era, over pipes or HTTP, and of web origins that publish
//! skills.
//!
//! Results come back as the text that the server sent, so that nothing is lost and nothing is
//! guessed. The caller decides what they mean: this crate never knows what a skill is. Everything a
//! server sends is bounded in bytes, depth and time while it arrives. Only this crate starts
//! servers, and it starts only what an [`Endpoint::Command`] names.
//!
//! ```
//! use skillwire_client::{ServerUrl, WebOrigin};
//!
//! // A key in the query is sent, and never shown.
//! let server = ServerUrl::parse("https://skills.example.com/mcp?key=hush")?;
//! assert_eq!(server.to_string(), "https://skills.example.com/mcp?***");
//! // A web origin of a private network is never asked.
//! assert!(WebOrigin::parse("https://192.168.1.1").is_err());
//! # Ok::<(), skillwire_client::InvalidServer>(())
//! ```

mod bearer;
mod call;
mod changes;
mod client;
mod config;
mod connection;
mod contents;
mod conversation;
mod description;
mod endpoint;
mod error;
mod handshake;
mod http_client;
mod incoming;
mod login;
mod masking;
#[cfg(feature = "oauth")]
pub mod oauth;
mod pipe;
mod rest;
mod secret;
mod streamable_http;
mod task;
mod web;

pub use skillwire_core::Digest;
pub use skillwire_protocol::{Era, ErrorCode};
pub use skillwire_trust::{Refusal, ServerLabel, StoreError};

pub use self::{
    bearer::Bearer,
    call::CallTerms,
    changes::{Change, Changes, Interest},
    client::{Client, RawAnswer},
    config::{
        HttpServer, InvalidServer, ServerConfig, ServerUrl, StdioServer, UnsetVariable,
        WellKnownOrigin, expand,
    },
    contents::only_content,
    conversation::{CallAnswer, CallMessage, ProgressReport, Question, call_messages},
    description::{ServerDescription, SkillsOffer},
    endpoint::{ClientOptions, CommandEndpoint, Endpoint, Limits},
    error::{Cause, ClientError},
    login::{LockedLogin, Login, LoginStore},
    rest::RestClient,
    secret::Secret,
    web::{FetchedContent, InvalidOrigin, WebClient, WebOrigin},
};
