//! Signing in at the identity provider of the hub's users.

use skillwire_hub_server::SignedReader;
use skillwire_page::{Filled, PageProblem, SignInAnswer, SignInPlace};

use super::HubPage;

impl HubPage {
    pub(super) fn places(&self) -> Vec<SignInPlace> {
        Vec::new()
    }

    pub(super) async fn address_at(&self, _: &str, _: &str, _: &str) -> Filled<String> {
        Err(PageProblem::NotFound)
    }

    pub(super) async fn reader_of(&self, _: SignInAnswer<'_>) -> Filled<SignedReader> {
        Err(PageProblem::NotFound)
    }
}
