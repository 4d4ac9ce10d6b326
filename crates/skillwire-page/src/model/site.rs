//! The page as a whole: whose it is, which sections it has, and how skills are named and marked.

use std::fmt;

use crate::provider::LiveState;

/// Names one skill, or one version of it, in addresses of the page. The provider makes it and reads it
/// again; it is compared with what the provider knows and never used as a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillKey(String);

impl SkillKey {
    /// Takes the text that a provider chose or a request has.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SkillKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A part of the page with an entry in its navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// All skills.
    Catalogue,
    /// What waits for a decision.
    Review,
    /// What was approved.
    Approvals,
    /// Which skills are in the context of a model.
    Context,
    /// Scripts that ran.
    Runs,
    /// Everything that happened.
    Audit,
    /// Where skills come from.
    Servers,
    /// The namespaces of a hub.
    Namespaces,
    /// The tokens of a hub.
    Tokens,
    /// How clients connect.
    Connect,
    /// What the user set.
    Settings,
}

impl Section {
    /// Every section, in the order of the navigation.
    pub const ALL: [Self; 11] = [
        Self::Catalogue,
        Self::Review,
        Self::Approvals,
        Self::Context,
        Self::Runs,
        Self::Audit,
        Self::Servers,
        Self::Namespaces,
        Self::Tokens,
        Self::Connect,
        Self::Settings,
    ];

    /// The address of the section.
    pub fn path(self) -> &'static str {
        match self {
            Self::Catalogue => "/",
            Self::Review => "/review",
            Self::Approvals => "/approvals",
            Self::Context => "/context",
            Self::Runs => "/runs",
            Self::Audit => "/audit",
            Self::Servers => "/servers",
            Self::Namespaces => "/namespaces",
            Self::Tokens => "/tokens",
            Self::Connect => "/connect",
            Self::Settings => "/settings",
        }
    }
}

/// Whose page this is, and what it offers to its reader.
#[derive(Debug, Clone)]
pub struct Site {
    /// The name in the corner and in titles.
    pub name: String,
    /// A few words below the name, such as an address.
    pub place: String,
    /// The sections that the reader may see.
    pub sections: Vec<Section>,
    /// What was known when the page was made; an open page compares it with what it hears later.
    pub live: LiveState,
    /// Who is signed in, if the page has more than one reader.
    pub reader: Option<String>,
}

/// How strongly a word is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing to do.
    Plain,
    /// Good.
    Good,
    /// Waits for the reader.
    Waiting,
    /// Look twice.
    Warning,
    /// Refused or dangerous.
    Bad,
}

impl Tone {
    /// The class of the style sheet.
    pub fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Waiting => "waiting",
            Self::Warning => "warning",
            Self::Bad => "bad",
        }
    }
}

/// The state of a skill or a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillState {
    /// The word, such as `approved`.
    pub word: String,
    /// How strongly it is marked.
    pub tone: Tone,
    /// What else there is to say about it, such as how an approval came.
    pub detail: Option<String>,
}

impl SkillState {
    /// Makes a state with a word and nothing else.
    pub fn new(word: impl Into<String>, tone: Tone) -> Self {
        Self { word: word.into(), tone, detail: None }
    }

    /// Adds what else there is to say.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}
