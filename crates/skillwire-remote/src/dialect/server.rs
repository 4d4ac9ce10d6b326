//! What reading older dialects requires of a server.

use serde_json::{Map, Value};
use skillwire_client::{ClientError, FetchedContent, RawAnswer, WebClient, only_content};
use skillwire_trust::{Origin, Policy, Reason, Refusal};

use super::OpenedArchives;

/// Why a server did not answer a request.
pub(crate) enum AskError {
    /// There is no connection to it.
    Unconnected(Refusal),
    /// The request failed.
    Failed(ClientError),
}

impl AskError {
    /// Tells whether the server does not know the method.
    pub(crate) fn is_unknown_method(&self) -> bool {
        matches!(self, Self::Failed(error) if error.is_unknown_method())
    }

    /// Tells whether the server does not know the method or what the request was about.
    pub(crate) fn is_unanswered(&self) -> bool {
        match self {
            Self::Unconnected(_) => false,
            Self::Failed(error) => error.is_not_found() || error.is_unknown_method(),
        }
    }
}

/// A server that the host can list and read. The detection of dialects and the fetch routes use only
/// this trait, so they do not depend on how connections, budgets and memory are kept.
pub(crate) trait SkillServer: Sync {
    /// Returns the origin that refusals and skills name.
    fn origin(&self) -> Origin;

    /// Returns the user's policy.
    fn policy(&self) -> &Policy;

    /// Returns the web origin, if this is a web site and not an MCP server.
    fn web(&self) -> Option<&WebClient>;

    /// Returns the archives that were opened in this session.
    fn archives(&self) -> &OpenedArchives;

    /// Sends a request.
    fn ask(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> impl Future<Output = Result<RawAnswer, AskError>> + Send;

    /// Reads a resource and returns the whole answer; `most` limits its size before it is decoded.
    fn read_answer(
        &self,
        uri: &str,
        most: u64,
    ) -> impl Future<Output = Result<RawAnswer, Refusal>> + Send;

    /// Counts bytes against the budget of the session.
    fn spend(&self, bytes: usize) -> Result<(), Refusal>;

    /// Converts an error of the connection, without repeating anything secret.
    fn refuse(&self, error: &ClientError) -> Refusal;

    /// Makes the next listing find out again how the server offers its skills.
    fn forget_dialect(&self);

    /// Reads a resource that need not belong to a skill.
    fn read_resource(
        &self,
        uri: &str,
        most: u64,
    ) -> impl Future<Output = Result<FetchedContent, Refusal>> + Send {
        async move {
            let answer = self.read_answer(uri, most).await?;
            only_content(answer.text(), uri).map_err(|actual| {
                Refusal::new(Reason::ContentInvalid)
                    .about(self.origin())
                    .file(uri)
                    .expected("one content with this URI, as text or blob")
                    .actual(actual)
            })
        }
    }

    /// Converts the error of a request to a refusal.
    fn unanswered(&self, error: AskError) -> Refusal {
        match error {
            AskError::Unconnected(refusal) => refusal,
            AskError::Failed(error) => self.refuse(&error),
        }
    }

    /// Refuses because a budget is exhausted.
    fn exhausted(&self, expected: String, actual: &str) -> Refusal {
        let refusal = Refusal::new(Reason::BudgetExhausted).about(self.origin());
        refusal.expected(expected).actual(actual)
    }
}
