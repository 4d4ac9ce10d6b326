//! Adds skills to a server written with `rmcp`, the official MCP SDK.
//!
//! [`WithSkills`] wraps a handler. The engine answers requests about skills, lists of resources
//! contain both, and everything else goes to the wrapped handler as before. No other crate of the
//! server side knows the SDK, and this one never knows where a skill comes from. What most servers
//! need of `skillwire-server` is exported here, and the whole crate is [`server`].
//!
//! ```
//! use rmcp::ServerHandler;
//! use skillwire_rmcp::{EmbeddedSkill, Skills, WithSkills};
//!
//! struct Weather;
//! impl ServerHandler for Weather {}
//!
//! const GUIDE: EmbeddedSkill = EmbeddedSkill {
//!     path: "weather",
//!     files: &[("SKILL.md", b"---\nname: weather\ndescription: Reads forecasts.\n---\n")],
//! };
//! let skills = Skills::builder().embedded(&[GUIDE]).build()?;
//! let handler = WithSkills::new(Weather, &skills);
//! assert!(handler.get_info().capabilities.extensions.is_some());
//! # Ok::<(), skillwire_rmcp::BuildError>(())
//! ```

mod ask;
mod changes;
mod handler;
mod merge;

use rmcp::{
    ErrorData, ServerHandler,
    model::{ErrorCode, ServerCapabilities},
    service::{RequestContext, RoleServer},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use skillwire_catalog::ViewId;
use skillwire_protocol::{Era, meta, method, version::MODERN};

/// The crate `skillwire-server`: sources of your own, tokens, options, transports.
pub use skillwire_server as server;
#[cfg(feature = "macros")]
pub use skillwire_server::embed_skills;
pub use skillwire_server::{BuildError, EmbeddedSkill, Skills, SkillsBuilder};

use self::changes::SessionChanges;

/// A handler that offers skills besides its own tools, prompts and resources.
///
/// It holds the subscriptions of one session, so each session needs its own: create one per
/// session, as the SDK's HTTP service does. A clone is for another session.
#[derive(Debug)]
pub struct WithSkills<H> {
    server: H,
    skills: Skills,
    session: SessionChanges,
}

impl<H: Clone> Clone for WithSkills<H> {
    fn clone(&self) -> Self {
        Self::new(self.server.clone(), &self.skills)
    }
}

impl<H> WithSkills<H> {
    /// Adds skills to a handler that may have tools, prompts and resources of its own.
    ///
    /// If both serve a resource at one URI, the skill's is served. Clients see the name and version
    /// of the handler.
    pub fn new(server: H, skills: &Skills) -> Self {
        Self { server, skills: skills.clone(), session: SessionChanges::default() }
    }
}

impl<H: ServerHandler> WithSkills<H> {
    /// Returns the wrapped handler.
    pub fn server(&self) -> &H {
        &self.server
    }

    /// Asks the engine, and names this server in the answer.
    async fn ask(&self, era: Era, method: &str, params: Option<Value>) -> Result<Value, ErrorData> {
        let mut result = ask::ask(self.skills.engine(), era, method, params).await?;
        if let Some(info) = result.pointer_mut("/_meta").and_then(|m| m.get_mut(meta::SERVER_INFO))
        {
            *info = serde_json::to_value(self.server.get_info().server_info).unwrap_or_default();
        }
        Ok(result)
    }

    /// Returns the error for a known method whose parameters the SDK could not read.
    async fn refuse(&self, era: Era, method: &str, params: Option<Value>) -> ErrorData {
        let refused = match method {
            // The engine handles these methods too, so it can say what is wrong with their
            // parameters.
            method::RESOURCES_READ
            | method::RESOURCES_LIST
            | method::RESOURCES_TEMPLATES_LIST
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_UNSUBSCRIBE
            | method::COMPLETE
            | method::LISTEN => self.ask(era, method, params).await.err(),
            _ => None,
        };
        let malformed = format!("The parameters of `{method}` are malformed.");
        refused.unwrap_or_else(|| ErrorData::new(ErrorCode::INVALID_PARAMS, malformed, None))
    }

    /// Tells whether a URI is a file of a skill that is served here.
    fn serves(&self, uri: &str) -> bool {
        let snapshot = self.skills.engine().catalog().now(ViewId::EVERYTHING);
        snapshot.is_some_and(|snapshot| snapshot.file(uri).is_some())
    }

    /// Tells whether a URI has a scheme of the skills that are served here.
    fn is_ours(&self, uri: &str) -> bool {
        let scheme = uri.split_once("://").map(|(scheme, _)| scheme);
        let snapshot = self.skills.engine().catalog().now(ViewId::EVERYTHING);
        snapshot.is_some_and(|snapshot| snapshot.schemes().any(|ours| Some(ours) == scheme))
    }

    /// Returns the capabilities of the wrapped handler.
    fn own(&self) -> ServerCapabilities {
        self.server.get_info().capabilities
    }
}

/// Returns the era of a request, as the SDK has established it.
fn era(context: &RequestContext<RoleServer>) -> Era {
    // Revisions are dates, so their order is that of their text.
    let modern = context.protocol_version().is_some_and(|version| version.as_str() >= MODERN);
    if modern { Era::Modern } else { Era::Legacy }
}

/// Converts an answer to the SDK's type.
fn typed<T: DeserializeOwned>(result: Value) -> Result<T, ErrorData> {
    serde_json::from_value(result).map_err(|error| {
        tracing::error!(%error, "an answer does not fit the SDK's type");
        ask::internal()
    })
}
