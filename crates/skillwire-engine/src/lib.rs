//! Answers MCP requests from a catalogue of skills, for both protocol eras and in older dialects.
//!
//! This crate never knows which transport carries a request, nor where a skill comes from.
//!
//! ```
//! use std::sync::Arc;
//!
//! use skillwire_engine::{
//!     Answer, Caller, Catalog, CursorSeal, Engine, Era,
//!     message::{self, Message},
//! };
//!
//! let catalog = Arc::new(Catalog::new(Default::default()));
//! catalog.publish(&Default::default());
//! // A server takes random bytes here, so that clients cannot forge cursors.
//! let engine = Engine::builder(catalog, CursorSeal::new([7; 32])).build();
//!
//! let text = br#"{"jsonrpc":"2.0","id":1,"method":"skills/list"}"#;
//! let Ok(Message::Request(request)) = message::read(text) else { panic!("it is a request") };
//! let answer = engine.answer(&Caller::default(), Era::Modern, &request);
//! assert!(matches!(answer, Answer::Now(Ok(_))));
//! ```

mod caller;
mod config;
pub mod dialect;
mod engine;
pub mod offer;
mod payload;
mod read_observer;
mod subscription;
pub mod tools;

pub use skillwire_catalog::{Catalog, CatalogChanges, CursorSeal, Snapshot, ViewId};
pub use skillwire_core::{Digest, RelPath};
pub use skillwire_protocol::{
    ClientCapabilities, Era, Icon, RequestId, RpcError, ServerIdentity,
    message::{self, Request},
};
pub use skillwire_source::{Skill, SkillLookup, UriTemplate};

/// What a running server counts.
pub use skillwire_metrics as metrics;

pub use self::{
    caller::Caller,
    config::{CacheScope, Config},
    engine::{Answer, Engine, EngineBuilder, Outcome, ReservedMemory},
    payload::{OutgoingMessage, Payload},
    read_observer::ReadObserver,
    subscription::{
        Feed, Filter, Followed, LegacySubscriptions, MAX_SUBSCRIBED_URIS, Subscription,
        SubscriptionQuota,
    },
};
