//! Serves a catalogue of skills over MCP, on stdio and streamable HTTP, to both protocol eras.
//!
//! This crate never knows where a skill comes from, nor what a method means. The engine answers
//! requests; this crate carries messages ([`stdio`], [`http`]) and keeps the catalogue up to date
//! with its sources ([`live`]). It exports every type that its functions take or return, and those
//! that a source of your own needs, so that a program depends on this crate alone.
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
#[doc(hidden)]
pub use skillwire_macros::embed_skills as embed_skills_as_expression;

pub use skillwire_catalog::{
    Catalog, Refreshed, Refresher, SkillFilter, SnapshotOptions, ViewId, VisibleSkills,
};
pub use skillwire_core::{
    Code, ContentId, Digest, Finding, Frontmatter, InvalidPath, Level, RelPath, ResourceUri,
    Scheme, SkillPath, SkillUri, Strictness,
};
pub use skillwire_engine::{
    CacheScope, Caller, Config, Engine, EngineBuilder, Icon, OutgoingMessage, ReadObserver,
    ServerIdentity, dialect, metrics, metrics::Metrics, offer,
};
pub use skillwire_protocol::trace::TraceParent;
pub use skillwire_source::{
    BoxFuture, Bytes, CachePolicy, ChangeCallback, ChangeTracker, DirectoryOptions,
    DirectorySource, EmbeddedSkill, FetchSkill, FetchedFiles, FileRecord, FileStore,
    FileStoreError, FileTree, GenerateError, GeneratedFiles, GeneratedSource, GroupKey,
    InspectedSkill, InvalidEmbedded, InvalidPattern, InvalidTemplate, LookupOutcome, MemoryFiles,
    MemorySource, OnDemandSource, PartialCoverage, PathPatterns, RemoteFiles, ResourceMetadata,
    ScanRequest, SingleSkillSource, Skill, SkillContent, SkillGenerator, SkillLookup, SkillSource,
    SourceChange, SourceUnavailable, UriTemplate, inspect_files, inspect_generated,
};

#[cfg(feature = "axum")]
pub use self::axum_endpoint::Endpoint;
pub use self::{
    builder::{BuildError, SkillsBuilder},
    skills::Skills,
};

/// Makes the skills of a folder a part of the program.
///
/// The folder is given relative to the crate's `Cargo.toml`. The result is a
/// `&'static [EmbeddedSkill]`, for [`SkillsBuilder::embedded`]. The folder is read and judged as
/// a server would: a skill that could not be served is a compile error that says what is wrong, and
/// files that are not part of a skill stay out of the program.
///
/// A file that changes is noticed by the compiler. A file that is new is noticed once something else
/// changes; a build script that prints `cargo::rerun-if-changed=skills` makes it notice at once.
///
/// ```
/// use skillwire_server::{EmbeddedSkill, Skills, embed_skills};
///
/// const SKILLS: &[EmbeddedSkill] = embed_skills!("examples/skills");
/// let skills = Skills::builder().embedded(SKILLS).build()?;
/// assert_eq!(skills.count(), SKILLS.len());
/// # Ok::<(), skillwire_server::BuildError>(())
/// ```
///
/// A folder without skills does not compile:
///
/// ```compile_fail
/// skillwire_server::embed_skills!("src");
/// ```
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! embed_skills {
    ($($folder:tt)*) => {{
        // The program may depend on this crate through another one and under any name, so only
        // `$crate` leads to the type.
        use $crate::EmbeddedSkill as SkillwireEmbeddedSkill;
        $crate::embed_skills_as_expression!($($folder)*)
    }};
}

/// Compiles the program in `README.md`.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeProgram;
