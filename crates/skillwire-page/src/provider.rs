//! What fills the page: one provider for each kind of place that has one.

use tokio::sync::watch;

use crate::model::{
    ActOutcome, CatalogueQuery, CatalogueView, ConnectView, DiffView, FileView, Image, PageAct,
    QueueView, ReviewView, Section, Site, SkillKey, SkillView, TableQuery, TableView,
};

/// Why a view cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageProblem {
    /// There is no such thing, or the reader may not know of it.
    #[error("There is nothing at this address.")]
    NotFound,
    /// The sentence says why, and what to do next.
    #[error("{0}")]
    Refused(String),
}

/// The result of filling a view.
pub type Filled<T> = Result<T, PageProblem>;

/// A place where readers sign in, such as an identity provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInPlace {
    /// What names it in addresses.
    pub id: String,
    /// Its name for readers.
    pub label: String,
}

/// What a place answered at which a reader signed in. Nothing in it is believed before it was checked.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SignInAnswer<'a> {
    /// The secret of the browser that the answer came with; `sign_in_address` had the same.
    pub secret: &'a str,
    /// What ties the answer to the question.
    pub state: &'a str,
    /// What is exchanged for the name of the reader.
    pub code: Option<&'a str>,
    /// Who says that it answered.
    pub issuer: Option<&'a str>,
    /// Why the place refused.
    pub error: Option<&'a str>,
    /// The address that the place led back to.
    pub back: &'a str,
}

/// Marks what a reader sees, so that open pages can say that something is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveState {
    /// Differs whenever the list of skills, or the state of one, changed; at most 2^53 - 1.
    pub skills: u64,
    /// Differs whenever something was logged.
    pub events: u64,
    /// How many skills wait for a decision.
    pub waiting: usize,
}

/// A place with skills, as the page needs it.
///
/// Filling a view never makes a server read anything: what was not read yet is shown as such, and
/// [`act`](Self::act) reads it when the reader asks for that.
pub trait PageProvider: Send + Sync + 'static {
    /// A reader of the page, and what is known about their rights.
    type Reader: Clone + Send + Sync + 'static;

    /// Exchanges a secret, such as a one-time link or a token, for a reader.
    fn sign_in(&self, secret: &str) -> impl Future<Output = Option<Self::Reader>> + Send;

    /// Lists other places where readers sign in.
    fn sign_in_places(&self) -> Vec<SignInPlace> {
        Vec::new()
    }

    /// Returns the address at which a browser with a secret signs in, and which leads it `back`.
    fn sign_in_address(
        &self,
        _place: &str,
        _secret: &str,
        _back: &str,
    ) -> impl Future<Output = Filled<String>> + Send {
        async { Err(PageProblem::NotFound) }
    }

    /// Returns the reader whom a place named.
    fn signed_in_at(
        &self,
        _answer: SignInAnswer<'_>,
    ) -> impl Future<Output = Filled<Self::Reader>> + Send {
        async { Err(PageProblem::NotFound) }
    }

    /// Returns the reader of a request without a session, if such a reader sees anything.
    fn visitor(&self) -> Option<Self::Reader> {
        None
    }

    /// Tells whether a session still counts: its token may have been revoked.
    fn is_current(&self, _reader: &Self::Reader) -> impl Future<Output = bool> + Send {
        async { true }
    }

    /// Describes the page to its reader.
    fn site(&self, reader: &Self::Reader) -> impl Future<Output = Site> + Send;

    /// Returns one page of the catalogue.
    fn catalogue(
        &self,
        reader: &Self::Reader,
        query: &CatalogueQuery,
    ) -> impl Future<Output = Filled<CatalogueView>> + Send;

    /// Returns one skill.
    fn skill(
        &self,
        reader: &Self::Reader,
        key: &SkillKey,
    ) -> impl Future<Output = Filled<SkillView>> + Send;

    /// Returns one file of a skill.
    fn file(
        &self,
        reader: &Self::Reader,
        key: &SkillKey,
        path: &str,
    ) -> impl Future<Output = Filled<FileView>> + Send;

    /// Returns an image of a skill that was read already.
    fn image(
        &self,
        reader: &Self::Reader,
        key: &SkillKey,
        path: &str,
    ) -> impl Future<Output = Filled<Image>> + Send;

    /// Returns what changed: since the reader's last decision, or since another version. With a path,
    /// the lines of that file alone are compared.
    fn diff(
        &self,
        _reader: &Self::Reader,
        _key: &SkillKey,
        _since: Option<&str>,
        _path: Option<&str>,
    ) -> impl Future<Output = Filled<DiffView>> + Send {
        async { Err(PageProblem::NotFound) }
    }

    /// Returns one page of what waits for a decision.
    fn queue(
        &self,
        _reader: &Self::Reader,
        _query: &CatalogueQuery,
    ) -> impl Future<Output = Filled<QueueView>> + Send {
        async { Err(PageProblem::NotFound) }
    }

    /// Returns everything that a decision about a skill rests on.
    fn review(
        &self,
        _reader: &Self::Reader,
        _key: &SkillKey,
    ) -> impl Future<Output = Filled<ReviewView>> + Send {
        async { Err(PageProblem::NotFound) }
    }

    /// Returns the table of a section.
    fn table(
        &self,
        _reader: &Self::Reader,
        _section: Section,
        _query: &TableQuery,
    ) -> impl Future<Output = Filled<TableView>> + Send {
        async { Err(PageProblem::NotFound) }
    }

    /// Returns everything in a section that fits a query, in a format that its table names.
    fn export(
        &self,
        _reader: &Self::Reader,
        _section: Section,
        _query: &TableQuery,
        _format: &str,
    ) -> impl Future<Output = Filled<String>> + Send {
        async { Err(PageProblem::NotFound) }
    }

    /// Returns how clients connect.
    fn connect(&self, _reader: &Self::Reader) -> impl Future<Output = Filled<ConnectView>> + Send {
        async { Err(PageProblem::NotFound) }
    }

    /// Does what the reader asked for.
    fn act(
        &self,
        _reader: &Self::Reader,
        _act: PageAct,
    ) -> impl Future<Output = Filled<ActOutcome>> + Send {
        async { Err(PageProblem::NotFound) }
    }

    /// Follows the changes that concern a reader, for pages that are open.
    fn live(
        &self,
        _reader: &Self::Reader,
    ) -> impl Future<Output = Option<watch::Receiver<LiveState>>> + Send {
        async { None }
    }
}
