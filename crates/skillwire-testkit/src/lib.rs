//! Test support for servers and clients of Agent Skills over MCP.
//!
//! This crate knows the wire, and never knows how the programs under test work. Its clients are
//! deliberately plain: they send exactly the bytes that a test wants and show exactly the bytes
//! that come back, so that no library between test and server can repair either.
//!
//! - [`SkillFolder`] makes folders of skills, [`reference_skills`] one whose digests are known.
//! - [`TestServer`] runs the real server in the test's process; [`HttpConnection`] and
//!   [`StdioClient`] talk to it, and [`Transcript`] replays a conversation from a file.
//! - [`HostileServer`] is an MCP server that misbehaves on demand, [`LoginServer`] one that wants a
//!   login, [`DocumentedServer`] one that answers with the literal JSON of a dialect's document,
//!   [`WebSite`] a plain web server, and [`archives`] writes archives byte by byte.
//! - [`HubPlace`] is a database of PostgreSQL and a bucket of an S3 server for one hub.
//! - [`source_contract!`] tests a `SkillSource`, also one of another project.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use skillwire_testkit::{SkillFolder, TestServer};
//!
//! let folder = SkillFolder::with_skills(&["acme/refunds"]);
//! let server = TestServer::start(folder.path()).await;
//! let skills = server.skills().await;
//! assert_eq!(skills[0]["uri"], "skill://acme/refunds/SKILL.md");
//! # }
//! ```

pub mod archives;
pub mod contract;
pub mod reference_skills;

mod documented;
mod hostile;
mod http_client;
#[cfg(unix)]
mod hub_place;
mod login;
mod rpc;
mod skill_folder;
mod stdio_client;
mod test_server;
mod transcript;
mod web_site;

#[cfg(unix)]
pub use crate::hub_place::HubPlace;
pub use crate::{
    documented::{DocumentedDialect, DocumentedServer},
    hostile::{
        Fault, HostileServer, ListeningServer, LoggedMessage, OlderDialect, ReceivedRequest,
        ReplyGate, ScriptedReply, refunds_frontmatter,
    },
    http_client::{HttpConnection, HttpReply},
    login::{LoginFault, LoginRequest, LoginServer},
    rpc::{RpcReply, initialize_params, legacy_request, modern_meta, modern_request},
    skill_folder::{SkillFolder, skill_md},
    stdio_client::{ServerExit, StdioClient},
    test_server::{LEGACY_HEADERS, TestOptions, TestServer, modern_headers},
    transcript::{Transcript, TranscriptBlock},
    web_site::{ServedWebSite, WebSite},
};
