//! Tools that a server offers besides its skills, where its operator wants them.

use std::sync::Arc;

#[cfg(any(feature = "search", feature = "execute"))]
use skillwire_catalog::catalog::Catalog;
#[cfg(feature = "execute")]
use skillwire_scripts::{RunScriptTool, ScriptRunner, SkillsPageScripts};
#[cfg(feature = "search")]
use skillwire_search::FindTool;
use skillwire_server::{
    EngineBuilder,
    offer::{ListChanges, Offer, Offers},
};

use crate::{exit::Exit, failure::Failure};

/// The tools of one server.
#[derive(Default)]
pub(super) struct Tools {
    offers: Vec<Arc<dyn Offer>>,
    #[cfg(feature = "execute")]
    scripts: Option<Arc<ScriptRunner>>,
}

impl Tools {
    /// Lets clients find skills by words.
    #[cfg(feature = "search")]
    pub(super) fn find_skills(&mut self, catalog: &Arc<Catalog>) {
        self.offers.push(Arc::new(FindTool::new(Arc::clone(catalog))));
    }

    /// Lets clients run scripts: with a tool, and with a method where a client knows it.
    #[cfg(feature = "execute")]
    pub(super) fn run_scripts(&mut self, catalog: &Arc<Catalog>, scripts: ScriptRunner) {
        let scripts = Arc::new(scripts);
        self.offers.push(Arc::new(RunScriptTool::new(Arc::clone(catalog), Arc::clone(&scripts))));
        self.scripts = Some(scripts);
    }

    /// Lets an engine offer these tools.
    pub(super) fn offered_by(self, engine: EngineBuilder) -> Result<EngineBuilder, Failure> {
        #[cfg(feature = "execute")]
        let engine = match self.scripts {
            Some(scripts) => engine.scripts(Arc::new(SkillsPageScripts::new(scripts))),
            None => engine,
        };
        // The list of tools never changes.
        let offers = Offers::joined(self.offers, ListChanges::default())
            .map_err(|error| Failure::new(Exit::Internal, format!("{error}.")))?;
        Ok(engine.offers(offers))
    }
}
