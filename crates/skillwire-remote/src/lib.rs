//! One origin of skills as a host sees it ([`Remote`]): a server in whatever dialect, or a web site.
//! It is connected when needed, listed once while that is fresh, asked for entries, and read.
//!
//! This crate never knows what the user approved, and nothing that it returns may reach a model: the
//! caller compares the bytes with what was approved. The formats of the dialects are read in
//! [`skillwire_dialects`]; how a server is asked for them is decided here.
//!
//! ```
//! use std::sync::Arc;
//! use skillwire_remote::{Endpoint, InvalidLabel, Reason, Remote, RemoteSettings, ServerLabel};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), InvalidLabel> {
//! let (end, _) = tokio::io::duplex(64);
//! let (input, output) = tokio::io::split(end);
//! let pipes = Endpoint::Pipes { input: Box::new(input), output: Box::new(output) };
//! let remote = Remote::new(ServerLabel::parse("acme")?, pipes.into(), RemoteSettings::default());
//! // The other end of the pipes is closed.
//! let refused = remote.list().await.unwrap_err();
//! assert_eq!(refused.reason, Reason::ServerUnreachable);
//! # Ok(())
//! # }
//! ```

mod dialect;
mod page;
mod remote;

pub use skillwire_client::{
    Client, ClientError, ClientOptions, Endpoint, FetchedContent, Limits, RawAnswer, WebClient,
    WebOrigin,
};
pub use skillwire_core::{Frontmatter, RelPath, ResourceUri, SkillResource, SkillUri};
pub use skillwire_dialects::{Dialect, SkillOffer, skills_page::RemoteRun};
pub use skillwire_trust::{
    Clock, DialectMemory, EntrySource, InvalidLabel, KnownSkill, ListedSkill, Origin, Policy,
    Reason, Refusal, ServerLabel, SkillId,
};

pub use self::{
    dialect::{SettleDepth, pin, with_frontmatter},
    page::protocol_error,
    remote::{Listing, OriginAddress, Remote, RemoteSettings},
};
