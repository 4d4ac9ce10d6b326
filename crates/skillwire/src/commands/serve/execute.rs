//! Scripts of skills, offered to clients.

use std::sync::Arc;

use skillwire_catalog::catalog::Catalog;
use skillwire_scripts::{scripts::Scripts, tool::RunTool};
use skillwire_server::offer::{ListChanges, Offer, Offers};

use crate::{exit::Exit, failure::Failure};

/// What is offered besides skills.
pub(super) fn offers(catalog: &Arc<Catalog>, scripts: Scripts) -> Result<Offers, Failure> {
    let tool: Arc<dyn Offer> = Arc::new(RunTool::new(Arc::clone(catalog), Arc::new(scripts)));
    // The list of tools never changes.
    Offers::joined(vec![tool], ListChanges::default())
        .map_err(|error| Failure::new(Exit::Internal, format!("{error}.")))
}
