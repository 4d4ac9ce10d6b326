//! The host side of the Skills extension: discover, verify, approve, load.
//!
//! This crate never knows a terminal, an environment or a home directory: storage, prompting and
//! time come in through the small traits of [`skillwire_trust`].

pub mod context;
pub mod dialect;
mod host;
pub mod local;
mod remote;
mod system_clock;
pub mod tools;
pub mod verification;
mod window;

mod contents;
mod page;

pub use skillwire_client::{
    Changes, ClientError, ClientOptions, Endpoint, Interest, Secret, ServerDescription, WebOrigin,
};
pub use skillwire_trust::{
    Action, Answer, AnsweredReview, Approval, ApprovalBinding, ApprovalCard, ApprovalReview,
    ApprovedBy, ApprovedSkill, Audit, Budgets, Cache, Class, Clock, Decision, Dialect,
    DialectMemory, DynamicPolicy, EntrySource, Event, Grants, Handle, Integrity, KnownDialect,
    KnownSkill, ListedSkill, Lock, NoAudit, NoCache, Nobody, Offer, Origin, Policy, Prompter,
    Question, Reason, Record, RecordStore, Refusal, Registry, RegistryItem, Remedy, ServerLabel,
    ShownReview, SkillId, Standing, StoreError, Subject, UnreadSkill, VerifiedFile,
    requested_tools,
};

pub use self::{
    host::{
        DirectoryChild, Discovered, ExportedFile, FileComparison, FreshEntry, FreshListing, Host,
        HostBuilder, Inspected, Loaded, Relay, ResourceContent,
    },
    remote::Listing,
    system_clock::SystemClock,
    window::{Child, DynamicContent, FileContent, FirstSeen, ToolCall, Window},
};
