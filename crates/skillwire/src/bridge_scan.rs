//! Says on the forms of a bridge what the scanner finds.

use std::sync::Arc;

use skillwire_gateway::CardNotes;
use skillwire_host::Host;
use skillwire_trust::{ApprovalCard, Handle};

use crate::{refusals::argument, session::card_scan::CardScan};

/// Scans files that the host has read already.
struct ScanNotes;

/// What looks into skills for the forms of a bridge.
pub(crate) fn notes() -> Arc<dyn CardNotes> {
    Arc::new(ScanNotes)
}

impl CardNotes for ScanNotes {
    fn notes(&self, host: &Host, card: &ApprovalCard) -> Vec<String> {
        let CardScan { mut notes, unseen } = CardScan::of(host, card);
        notes.extend(unseen.map(|unseen| {
            let handle = Handle::Uri(card.skill.origin.clone(), card.skill.uri.clone());
            let handle = argument(&handle.to_string());
            format!(
                "{unseen}; `skillwire scan {handle}` in a terminal fetches and scans the skill."
            )
        }));
        notes
    }
}
