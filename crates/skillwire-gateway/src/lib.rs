//! Offers skills of other MCP servers and of this machine's folders to the clients of one server.
//!
//! A gateway stands between a [`Host`], which connects to servers, lists their skills and verifies
//! what they send, and an MCP server, which offers these skills to its own clients. It does so in
//! three ways:
//!
//! - [`FollowedServers`] passes skills on: each server is a [`SkillSource`]. Its entries are passed on
//!   as the server wrote them, under URIs that name the server ([`UriMapping`]). The gateway fetches a
//!   file only when a client reads it. A file with a listed digest is sent only if it matches that
//!   digest. An [`Admission`] decides which skills are passed on.
//! - [`UpstreamOffer`] passes the tools, prompts and resources of a server on beside its skills, as far as
//!   a [`ToolAdmission`] admits them.
//! - A [`Bridge`] offers skills as tools, prompts and instructions to clients that do not know the
//!   Skills extension. It asks the user before it loads a skill, and passes on what they approved.
//!
//! This crate never knows a transport, a terminal, the environment or a file system.
//!
//! ```
//! use skillwire_gateway::{Origin, Scheme, SkillUri, UriMapping};
//!
//! // Skills of the server `docs` are passed on under URIs that name it.
//! let mapping = UriMapping::new(Scheme::default(), Origin::parse("docs")?);
//! let own = SkillUri::parse("skill://acme/pdf/SKILL.md")?;
//! let passed_on = mapping.passed_on_skill(&own).expect("every URI can be passed on");
//! assert_eq!(passed_on.as_str(), "skill://docs/acme/pdf/SKILL.md");
//! assert_eq!(mapping.own_skill(&passed_on), Some(own));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "bridge")]
mod bridge;
mod followed;
mod passing_on;
mod passing_on_offers;

pub use skillwire_core::{Frontmatter, RelPath, Scheme, SkillResource, SkillUri};
pub use skillwire_dialects::hands_out_skills;
pub use skillwire_engine::{
    Caller,
    offer::{Linked, ListChanges},
};
pub use skillwire_host::{Host, OriginAddress, Relay};
pub use skillwire_source::{
    BoxFuture, CachePolicy, ChangeTracker, LookupOutcome, PathPatterns, SkillSource,
};
pub use skillwire_trust::{
    ApprovalCard, Handle, InputPath, ListedSkill, Origin, Refusal, RunGrants, ServerLabel, SkillId,
    UriMapping, VerifiedFile,
};

#[cfg(feature = "bridge")]
pub use self::bridge::{
    Bridge,
    card_notes::{BridgeExtras, CardNotes},
    options::{ApprovalCommand, BridgeOptions, WantedApproval},
    script_runner::{
        BridgeScript, BridgeScripts, MissingPackages, ScriptFailure, ScriptReport, ScriptResult,
    },
};
pub use self::{
    followed::{
        folders::FollowedFolders,
        server::{FollowOptions, FollowedServer, ServerStanding},
        servers::{FollowedServers, StartError},
        skills::enclosing_skills,
        source::{EntryNotes, PassingRules, ServerSource},
    },
    passing_on::{
        admission::{Admission, AdmitAll},
        entry::{NotPassedOn, passed_on_entry, text_of as entry_text},
        provenance::{GatewayId, NoRandomness},
    },
    passing_on_offers::{
        admission::{AllowedTools, ToolAdmission},
        audit::{CallAudit, CallOutcome, CallRecord, LoggedCalls},
        limits::OfferLimits,
        name_prefix::NamePrefix,
        offer::{UpstreamOffer, UpstreamOfferOptions},
        resources::FollowedResources,
    },
};
