//! Signing in at the identity provider of the hub's users.

use std::sync::Arc;

use skillwire_hub_server::SignedReader;
use skillwire_jwt::{NotSignedIn, SignInFlow, TrustedIssuer};
use skillwire_page::{Filled, PageProblem, SignInAnswer, SignInPlace};

use super::HubPage;
use crate::page::texts;

impl HubPage {
    /// The issuers at which users sign in, as they are configured now.
    fn issuers(&self) -> Vec<Arc<TrustedIssuer>> {
        let access = self.readers().access().now();
        access.issuers.iter().filter(|issuer| issuer.rules().client.is_some()).cloned().collect()
    }

    pub(super) fn places(&self) -> Vec<SignInPlace> {
        let place = |issuer: &Arc<TrustedIssuer>| {
            let id = issuer.rules().issuer.clone();
            let label = id.split_once("://").map_or(id.as_str(), |(_, rest)| rest).to_owned();
            SignInPlace { id, label }
        };
        self.issuers().iter().map(place).collect()
    }

    pub(super) async fn address_at(&self, place: &str, secret: &str, back: &str) -> Filled<String> {
        let issuers = self.issuers();
        let issuer = issuers.iter().find(|issuer| issuer.rules().issuer == place);
        let issuer = issuer.ok_or(PageProblem::NotFound)?;
        let flow = SignInFlow::new(secret, place, back);
        issuer.sign_in_address(&flow).await.map_err(problem)
    }

    pub(super) async fn reader_of(&self, answer: SignInAnswer<'_>) -> Filled<SignedReader> {
        // The state fits the one issuer that this browser was sent to.
        let begun = self.issuers().into_iter().find_map(|issuer| {
            let flow = SignInFlow::new(answer.secret, &issuer.rules().issuer, answer.back);
            flow.is_answered_by(answer.state).then_some((issuer, flow))
        });
        let (issuer, flow) = begun.ok_or_else(|| refused(texts::OTHER_SIGN_IN))?;
        if answer.issuer.is_some_and(|named| named != issuer.rules().issuer) {
            return Err(refused(texts::OTHER_ISSUER));
        }
        let (None, Some(code)) = (answer.error, answer.code) else {
            return Err(refused(texts::ISSUER_REFUSED));
        };
        let says = issuer.signed_in(&flow, code).await.map_err(problem)?;
        let reader = self.readers().sign_in_as(says).await;
        reader.ok_or_else(|| refused(texts::NOT_ADMITTED))
    }
}

fn refused(sentence: &str) -> PageProblem {
    PageProblem::Refused(texts::begin_again(sentence))
}

#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
fn problem(error: NotSignedIn) -> PageProblem {
    tracing::warn!(%error, "a user could not sign in");
    refused(texts::ISSUER_UNUSABLE)
}
