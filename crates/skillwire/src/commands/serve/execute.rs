//! Scripts of skills, offered to clients.

use std::sync::Arc;

use skillwire_catalog::catalog::Catalog;
use skillwire_scripts::{page::PageScripts, scripts::Scripts, tool::RunTool};
use skillwire_server::{
    engine::Engine,
    offer::{ListChanges, Offer, Offers},
};

use crate::{exit::Exit, failure::Failure};

/// Lets an engine run scripts: as a tool for every client, and by a method for those that know it.
pub(super) fn scripts(
    engine: Engine,
    catalog: &Arc<Catalog>,
    scripts: Scripts,
) -> Result<Engine, Failure> {
    let scripts = Arc::new(scripts);
    let tool: Arc<dyn Offer> = Arc::new(RunTool::new(Arc::clone(catalog), Arc::clone(&scripts)));
    // The list of tools never changes.
    let offers = Offers::joined(vec![tool], ListChanges::default())
        .map_err(|error| Failure::new(Exit::Internal, format!("{error}.")))?;
    Ok(engine.offering(offers).with_scripts(Arc::new(PageScripts::new(scripts))))
}
