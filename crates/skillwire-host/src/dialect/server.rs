//! What reading older dialects needs of a server.

use serde_json::{Map, Value};
use skillwire_client::{ClientError, FetchedContent, RawAnswer, WebOrigin};
use skillwire_trust::{Origin, Policy, Reason, Refusal};

use super::OpenedArchives;
use crate::contents;

/// Why a server did not answer a request.
pub(crate) enum AskError {
    /// There is no connection to it.
    Unconnected(Refusal),
    /// The request failed.
    Failed(ClientError),
}

impl AskError {
    /// Tells whether the server does not know the method, or what it was asked about.
    pub(crate) fn is_unanswered(&self) -> bool {
        match self {
            Self::Unconnected(_) => false,
            Self::Failed(error) => error.is_not_found() || error.is_unknown_method(),
        }
    }
}

/// A server that can be asked for skills and read. The ladder and the fetch routes know a server by
/// this alone, so neither depends on how connections, budgets and memory are kept.
pub(crate) trait SkillServer: Sync {
    /// What refusals and skills name the server by.
    fn origin(&self) -> Origin;

    /// The limits that the user set.
    fn policy(&self) -> &Policy;

    /// The site, if this is no server but a site of the web.
    fn web(&self) -> Option<&WebOrigin>;

    /// The archives that were opened in this session.
    fn archives(&self) -> &OpenedArchives;

    /// Sends a request.
    fn ask(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> impl Future<Output = Result<RawAnswer, AskError>> + Send;

    /// Reads a resource and returns the whole answer; `most` bounds it before it is decoded.
    fn read_answer(
        &self,
        uri: &str,
        most: u64,
    ) -> impl Future<Output = Result<RawAnswer, Refusal>> + Send;

    /// Counts bytes against what one session may receive.
    fn spend(&self, bytes: usize) -> Result<(), Refusal>;

    /// Says what an error of the connection means, without repeating anything secret.
    fn refuse(&self, error: &ClientError) -> Refusal;

    /// Has the next listing find out anew how the server offers its skills.
    fn forget_dialect(&self);

    /// Reads a resource that need not belong to a skill.
    fn read_resource(
        &self,
        uri: &str,
        most: u64,
    ) -> impl Future<Output = Result<FetchedContent, Refusal>> + Send {
        async move {
            let answer = self.read_answer(uri, most).await?;
            contents::read(answer.text(), uri).map_err(|actual| {
                Refusal::new(Reason::ContentInvalid)
                    .about(self.origin())
                    .file(uri)
                    .expected("one content with this URI, as text or blob")
                    .actual(actual)
            })
        }
    }

    /// Says why a request was not answered.
    fn unanswered(&self, error: AskError) -> Refusal {
        match error {
            AskError::Unconnected(refusal) => refusal,
            AskError::Failed(error) => self.refuse(&error),
        }
    }

    /// Refuses because a budget is used up.
    fn exhausted(&self, expected: String, actual: &str) -> Refusal {
        let refusal = Refusal::new(Reason::BudgetExhausted).about(self.origin());
        refusal.expected(expected).actual(actual)
    }
}
