//! What a bridge can say about the content of a skill, on a form that asks about it.

use std::sync::Arc;

use skillwire_host::Host;
use skillwire_trust::ApprovalCard;

use super::script_runner::BridgeScripts;

/// Looks into the content of a skill for a form that asks the user about it.
pub trait CardNotes: Send + Sync {
    /// Says what stands out, and what was not looked at; each text is a line of the form.
    ///
    /// Only files that the host has read already may be looked at: nothing is fetched for a form.
    /// This may take a while, so a bridge calls it on a thread that may wait.
    fn notes(&self, host: &Host, card: &ApprovalCard) -> Vec<String>;
}

/// What a program gives a bridge beyond its host.
#[derive(Clone, Default)]
pub struct BridgeExtras {
    /// Runs scripts, if this machine can.
    pub scripts: Option<Arc<dyn BridgeScripts>>,
    /// Looks into skills that the user is asked about.
    pub notes: Option<Arc<dyn CardNotes>>,
}
