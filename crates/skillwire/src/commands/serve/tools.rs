//! The tools that a server offers besides its skills, if its operator enables them.

use std::sync::Arc;

#[cfg(feature = "execute")]
use skillwire_catalog::Catalog;
#[cfg(feature = "execute")]
use skillwire_scripts::{RunScriptTool, ScriptRunner};
#[cfg(feature = "search")]
use skillwire_search::SearchTool;
use skillwire_server::offer::{DuplicateTool, ListChanges, Offer, Offers};

/// The tools of one server.
#[derive(Default)]
pub(super) struct Tools {
    offers: Vec<Arc<dyn Offer>>,
    changes: ListChanges,
}

impl Tools {
    /// Adds the tool that finds skills by words.
    #[cfg(feature = "search")]
    pub(super) fn search_skills(&mut self, tool: SearchTool) {
        self.offers.push(Arc::new(tool));
    }

    /// Adds the tool that runs scripts.
    #[cfg(feature = "execute")]
    pub(super) fn run_scripts(&mut self, catalog: &Arc<Catalog>, scripts: Arc<ScriptRunner>) {
        self.offers.push(Arc::new(RunScriptTool::new(Arc::clone(catalog), scripts)));
    }

    /// Adds tools and prompts of other servers, whose lists change.
    #[cfg(feature = "host")]
    pub(super) fn pass_on(&mut self, offers: Vec<Arc<dyn Offer>>, changes: ListChanges) {
        self.offers.extend(offers);
        self.changes = changes;
    }

    /// Combines the tools into one list.
    pub(super) fn joined(self) -> Result<Offers, DuplicateTool> {
        Offers::joined(self.offers, self.changes)
    }
}
