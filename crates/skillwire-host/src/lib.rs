//! The host side of the Skills extension: discovers skills, verifies them, has the user approve
//! them and loads them.
//!
//! This crate never knows a terminal, an environment or a home directory: the embedder supplies
//! storage, the user and the time through the small traits of [`skillwire_trust`], whose types are
//! re-exported here.
//!
//! ```
//! use skillwire_host::{Handle, Host, Reason};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), skillwire_host::Refusal> {
//! // Without servers and folders there is nothing to find; `add_server` makes a server known.
//! let host = Host::builder().build();
//! assert!(host.discover().await.registry.items().is_empty());
//! let refused = host.resolve(&Handle::parse("acme:refunds")?).await.unwrap_err();
//! assert_eq!(refused.reason, Reason::ServerUnknown);
//! # Ok(())
//! # }
//! ```

pub mod context;
mod host;
pub mod tools;
pub mod verification;
mod window;

/// Skills in folders of this machine.
pub use skillwire_folders as local;

pub use skillwire_client::{
    Changes, Client, ClientError, ClientOptions, CommandEndpoint, Endpoint, Interest, Secret,
    ServerDescription, WebOrigin,
};
pub use skillwire_core::{
    ContentSet, Digest, RelPath, ResourceUri, SkillEntry, SkillResource, SkillUri,
};
pub use skillwire_dialects::{
    sep_2076::ArgumentValues, skills_page::RemoteRun, templates::SkillTemplate,
};
pub use skillwire_remote::{Listing, OriginAddress};
pub use skillwire_trust::{
    Action, Answer, AnsweredReview, Approval, ApprovalBinding, ApprovalCard, ApprovalReview,
    ApprovedBy, ApprovedSkill, Audit, Budgets, Cache, CatalogueItem, CatalogueOptions, Clock,
    Decision, DecisionChannel, DecisionCheck, DecisionKeys, Dialect, DialectMemory, DynamicPolicy,
    EntrySource, Event, Grants, Handle, Integrity, KnownDialect, KnownSkill, ListedSkill, LockFile,
    NoAudit, NoCache, NoPrompter, Origin, Policy, Prompter, Question, Reason, Record, RecordStore,
    Refusal, RefusalClass, Registry, RegistryItem, Remedy, RunGrants, RunRequest, ServerLabel,
    ShownReview, SignatureCheck, SignatureRule, SignatureRules, SkillId, SkillOffer, Standing,
    StoreError, Subject, SystemClock, UnreadSkill, VerifiedFile, Voucher, requested_tools,
};

pub use self::{
    host::{
        DirectoryChild, Discovered, ExportedFile, FileComparison, FreshEntry, FreshListing, Host,
        HostBuilder, Inspected, Loaded, Relay, ResourceContent, SkillDecision, UndoableDecision,
        fill_template,
    },
    window::{Child, DynamicContent, FileContent, FileForModel, FirstSeen, ToolCall, Window},
};
