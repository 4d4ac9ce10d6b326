//! Serves a catalogue of skills over MCP, on stdio and streamable HTTP, to both protocol eras.
//!
//! The server knows neither where a skill comes from nor what a method means. The engine answers
//! requests; this crate carries messages ([`stdio`], [`http`]) and keeps the catalogue up to date
//! with its sources ([`live`]).
//!
//! [`Skills::builder`] builds every server:
//!
//! ```
//! use skillwire_server::{EmbeddedSkill, Skills};
//!
//! const GREETING: EmbeddedSkill = EmbeddedSkill {
//!     path: "greeting",
//!     files: &[("SKILL.md", b"---\nname: greeting\ndescription: Greets. Use on arrival.\n---\n")],
//! };
//! let skills = Skills::builder().name("greeter", "1.0.0").embedded(&[GREETING]).build()?;
//! assert_eq!(skills.count(), 1);
//! // From here: `skills.serve_stdio()`, `skills.serve_http(listener, shutdown)`, or an axum router.
//! # Ok::<(), skillwire_server::BuildError>(())
//! ```

#[cfg(feature = "axum")]
mod axum_endpoint;
mod builder;
mod following;
pub mod http;
pub mod live;
mod skills;
pub mod stdio;

#[cfg(feature = "macros")]
pub use skillwire_macros::embed_skills;

pub use skillwire_catalog::{
    Catalog, Refreshed, SkillFilter, SnapshotOptions, ViewId, VisibleSkills,
};
pub use skillwire_core::Strictness;
pub use skillwire_engine::{
    CacheScope, Caller, Config, Engine, EngineBuilder, Icon, ReadObserver, ServerIdentity, dialect,
    metrics, metrics::Metrics, offer,
};
pub use skillwire_source::{
    EmbeddedSkill, FetchSkill, OnDemandSource, PathPatterns, ScanRequest, SkillGenerator,
    SkillLookup, SkillSource, UriTemplate,
};

#[cfg(feature = "axum")]
pub use self::axum_endpoint::Endpoint;
pub use self::{
    builder::{BuildError, SkillsBuilder},
    skills::Skills,
};

/// Compiles the program in `README.md`.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeProgram;
