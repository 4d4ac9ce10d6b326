//! Tools that a server offers besides its skills, where its operator wants them.

use std::sync::Arc;

use skillwire_catalog::catalog::Catalog;
use skillwire_scripts::{RunScriptTool, ScriptRunner, SkillsPageScripts};
use skillwire_search::FindTool;
use skillwire_server::{
    EngineBuilder,
    offer::{ListChanges, Offer, Offers},
};

use crate::{exit::Exit, failure::Failure};

/// Lets an engine find skills and run scripts: as tools for every client, and scripts also by a
/// method for clients that know it.
pub(super) fn offer(
    mut engine: EngineBuilder,
    catalog: &Arc<Catalog>,
    find_tool: bool,
    scripts: Option<ScriptRunner>,
) -> Result<EngineBuilder, Failure> {
    let mut tools: Vec<Arc<dyn Offer>> = Vec::new();
    if find_tool {
        tools.push(Arc::new(FindTool::new(Arc::clone(catalog))));
    }
    if let Some(scripts) = scripts.map(Arc::new) {
        tools.push(Arc::new(RunScriptTool::new(Arc::clone(catalog), Arc::clone(&scripts))));
        engine = engine.scripts(Arc::new(SkillsPageScripts::new(scripts)));
    }
    // The list of tools never changes.
    let offers = Offers::joined(tools, ListChanges::default())
        .map_err(|error| Failure::new(Exit::Internal, format!("{error}.")))?;
    Ok(engine.offers(offers))
}
