//! The options of a bridge.

use std::{fmt, sync::Arc, time::Duration};

use skillwire_trust::RunGrants;

/// The default limit of the catalogue in the instructions, in tokens.
const USUAL_BUDGET: usize = 2_000;

/// How many skills the description of `load_skill` names by default.
const USUAL_HANDLES: usize = 200;

/// How long calls wait by default for the first listing of origins.
const FIRST_LISTING: Duration = Duration::from_secs(10);

/// What an approval is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WantedApproval<'a> {
    /// To load the skill.
    Load,
    /// To run its scripts on this machine, with these grants.
    Run(&'a RunGrants),
    /// To have its server run its scripts.
    RemoteRun,
}

/// Words the command with which a user approves a skill in a terminal.
///
/// The bridge knows no command line. Its refusals name a command only if the program that runs the
/// bridge words one.
pub trait ApprovalCommand: fmt::Debug + Send + Sync {
    /// Returns the command that approves a skill.
    ///
    /// The handle or URI in `skill` may be a server's choice, so the command has to quote it.
    fn approve(&self, skill: &str, wanted: WantedApproval<'_>) -> String;
}

/// Options of a bridge.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BridgeOptions {
    /// How many skills the description of `load_skill` names before it only counts them.
    pub max_handles: usize,
    /// The most tokens of the catalogue in the instructions, estimated as a quarter of the bytes.
    pub catalogue_budget: usize,
    /// Words the command that approves a skill in a terminal; without it, no command is named.
    pub approval_command: Option<Arc<dyn ApprovalCommand>>,
    /// Whether the bridge may ask the user; with a lock file, the file alone decides.
    pub asks_user: bool,
    /// Whether folders of this machine are read after the start, so that calls wait for them.
    pub reads_folders: bool,
    /// How long after the start calls wait for the first listing of every origin.
    pub first_listing: Duration,
    /// Whether something runs scripts; the bridge sets it when it starts.
    pub(crate) runs_scripts: bool,
}

impl Default for BridgeOptions {
    fn default() -> Self {
        Self {
            max_handles: USUAL_HANDLES,
            catalogue_budget: USUAL_BUDGET,
            approval_command: None,
            asks_user: true,
            reads_folders: false,
            first_listing: FIRST_LISTING,
            runs_scripts: false,
        }
    }
}

impl BridgeOptions {
    /// Sets how many skills the description of `load_skill` names.
    #[must_use]
    pub fn max_handles(self, max_handles: usize) -> Self {
        Self { max_handles, ..self }
    }

    /// Sets the most tokens of the catalogue in the instructions.
    #[must_use]
    pub fn catalogue_budget(self, catalogue_budget: usize) -> Self {
        Self { catalogue_budget, ..self }
    }

    /// Sets what words the command that approves a skill in a terminal.
    #[must_use]
    pub fn approval_command(self, command: impl ApprovalCommand + 'static) -> Self {
        Self { approval_command: Some(Arc::new(command)), ..self }
    }

    /// Returns the command that approves a skill, in backticks and after `before`; nothing if this
    /// program has no such command.
    pub(crate) fn approving(
        &self,
        before: &str,
        skill: &str,
        wanted: WantedApproval<'_>,
    ) -> String {
        self.approval_command.as_ref().map_or_else(String::new, |command| {
            format!("{before}`{}`", command.approve(skill, wanted))
        })
    }

    /// Sets whether the bridge may ask the user.
    #[must_use]
    pub fn asks_user(self, asks_user: bool) -> Self {
        Self { asks_user, ..self }
    }

    /// Sets whether folders of this machine are read after the start.
    #[must_use]
    pub fn reads_folders(self, reads_folders: bool) -> Self {
        Self { reads_folders, ..self }
    }

    /// Sets how long after the start calls wait for the first listing of every origin.
    #[must_use]
    pub fn first_listing(self, first_listing: Duration) -> Self {
        Self { first_listing, ..self }
    }
}
