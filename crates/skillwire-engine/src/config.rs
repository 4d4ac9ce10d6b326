//! Options for how a server answers.

use std::time::Duration;

use skillwire_protocol::ServerIdentity;
use skillwire_source::UriTemplate;

use crate::dialect::{Dialects, Usage};

/// The clients and caches that may reuse an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CacheScope {
    /// Any client or shared cache.
    #[default]
    Public,
    /// Only the caller it was made for.
    Private,
}

impl CacheScope {
    /// Returns the value in the protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

/// Options for how requests are answered.
///
/// ```
/// use skillwire_engine::{Config, ServerIdentity};
///
/// let identity = ServerIdentity::new("acme-skills", "1.2.0").title("Skills of Acme");
/// let config = Config::default().identity(identity).page_size(50);
/// assert_eq!(config.page_size, 50);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The number of items on one page of a listing.
    pub page_size: usize,
    /// How long a client may reuse an answer, in milliseconds.
    pub ttl_ms: u64,
    /// Who may reuse answers; callers with a token always get `private`.
    pub cache_scope: CacheScope,
    /// Whether `resources/directory/read` is offered.
    pub directory_read: bool,
    /// The most bytes of files that are cached, and the most bytes of pages of listings; memory is
    /// used only as clients read files and request pages again.
    pub cache_bytes: u64,
    /// The most bytes of large answers that wait for their clients to read them, besides what is
    /// cached, but at least 64 MiB. A request for a large file waits until there is memory for it.
    pub answer_bytes: u64,
    /// How long a request waits for memory before it is refused.
    pub answer_wait: Duration,
    /// The dialects that are enabled besides the extension.
    pub dialects: Dialects,
    /// The skill that is the guide to this server's tools.
    pub usage: Option<Usage>,
    /// What the server says about itself.
    pub identity: ServerIdentity,
    /// Whether clients get read-only tools that list, load and read skills.
    pub skill_tools: bool,
    /// Patterns of URIs that the operator or a source names, for users who fill them in.
    pub templates: Vec<UriTemplate>,
    /// The tools of a server that these skills are a part of, besides what the engine offers.
    pub host_tools: Vec<String>,
    /// Whether the instructions also describe the catalogue and its methods when offers have
    /// instructions of their own. A bridge turns this off: its instructions are for models, which
    /// can call tools and no methods.
    pub catalogue_instructions: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            page_size: 100,
            ttl_ms: 60_000,
            cache_scope: CacheScope::Public,
            directory_read: true,
            cache_bytes: 128 * 1024 * 1024,
            answer_bytes: 256 * 1024 * 1024,
            answer_wait: Duration::from_secs(20),
            dialects: Dialects::default(),
            usage: None,
            identity: ServerIdentity::default(),
            skill_tools: false,
            templates: Vec::new(),
            host_tools: Vec::new(),
            catalogue_instructions: true,
        }
    }
}

impl Config {
    /// Sets the number of items on one page of a listing.
    #[must_use]
    pub fn page_size(mut self, items: usize) -> Self {
        self.page_size = items;
        self
    }

    /// Sets how long a client may reuse an answer, in milliseconds.
    #[must_use]
    pub fn ttl_ms(mut self, milliseconds: u64) -> Self {
        self.ttl_ms = milliseconds;
        self
    }

    /// Sets who may reuse answers.
    #[must_use]
    pub fn cache_scope(mut self, scope: CacheScope) -> Self {
        self.cache_scope = scope;
        self
    }

    /// Sets the most bytes of large answers that wait for their clients to read them.
    #[must_use]
    pub fn answer_bytes(mut self, bytes: u64) -> Self {
        self.answer_bytes = bytes;
        self
    }

    /// Sets how long a request waits for memory before it is refused.
    #[must_use]
    pub fn answer_wait(mut self, time: Duration) -> Self {
        self.answer_wait = time;
        self
    }

    /// Sets whether the instructions describe the catalogue besides the instructions of offers.
    #[must_use]
    pub fn catalogue_instructions(mut self, described: bool) -> Self {
        self.catalogue_instructions = described;
        self
    }

    /// Sets whether `resources/directory/read` is offered.
    #[must_use]
    pub fn directory_read(mut self, offered: bool) -> Self {
        self.directory_read = offered;
        self
    }

    /// Sets the most bytes of files that are cached, and the most bytes of pages.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Sets the dialects that are enabled besides the extension.
    #[must_use]
    pub fn dialects(mut self, dialects: Dialects) -> Self {
        self.dialects = dialects;
        self
    }

    /// Sets the skill that is the guide to this server's tools.
    #[must_use]
    pub fn usage(mut self, usage: Option<Usage>) -> Self {
        self.usage = usage;
        self
    }

    /// Sets what the server says about itself.
    #[must_use]
    pub fn identity(mut self, identity: ServerIdentity) -> Self {
        self.identity = identity;
        self
    }

    /// Sets whether clients get read-only tools that list, load and read skills.
    #[must_use]
    pub fn skill_tools(mut self, offered: bool) -> Self {
        self.skill_tools = offered;
        self
    }

    /// Adds patterns of URIs, for users who fill them in.
    #[must_use]
    pub fn templates(mut self, templates: impl IntoIterator<Item = UriTemplate>) -> Self {
        self.templates.extend(templates);
        self
    }

    /// Names the tools of a server that these skills are a part of, so that skills may depend on
    /// them.
    #[must_use]
    pub fn host_tools<S: Into<String>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        self.host_tools.extend(tools.into_iter().map(Into::into));
        self
    }
}
