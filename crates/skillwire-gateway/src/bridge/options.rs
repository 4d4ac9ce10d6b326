//! The options of a bridge.

/// The default limit of the catalogue in the instructions, in tokens.
const USUAL_BUDGET: usize = 2_000;

/// Options of a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BridgeOptions {
    /// How many handles the schema of `load_skill` lists before it points to `list_skills`.
    pub max_handles: usize,
    /// The most tokens of the catalogue in the instructions, estimated as a quarter of the bytes.
    pub catalogue_budget: usize,
    /// The command that approves a skill in a terminal; the user adds the handle.
    pub approve_command: String,
    /// Whether the bridge may ask the user; with a lock file, the file alone decides.
    pub asks_user: bool,
}

impl Default for BridgeOptions {
    fn default() -> Self {
        Self {
            max_handles: skillwire_host::tools::MOST_HANDLES,
            catalogue_budget: USUAL_BUDGET,
            approve_command: "skillwire approve".to_owned(),
            asks_user: true,
        }
    }
}

impl BridgeOptions {
    /// Sets how many handles the schema of `load_skill` lists.
    #[must_use]
    pub fn max_handles(self, max_handles: usize) -> Self {
        Self { max_handles, ..self }
    }

    /// Sets the most tokens of the catalogue in the instructions.
    #[must_use]
    pub fn catalogue_budget(self, catalogue_budget: usize) -> Self {
        Self { catalogue_budget, ..self }
    }

    /// Sets the command that approves a skill in a terminal.
    #[must_use]
    pub fn approve_command(self, approve_command: impl Into<String>) -> Self {
        Self { approve_command: approve_command.into(), ..self }
    }

    /// Sets whether the bridge may ask the user.
    #[must_use]
    pub fn asks_user(self, asks_user: bool) -> Self {
        Self { asks_user, ..self }
    }
}
