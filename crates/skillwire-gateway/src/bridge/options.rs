//! What can be set about a bridge.

/// How many tokens of the catalogue stand in the instructions.
const USUAL_BUDGET: usize = 2_000;

/// What can be set about a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeOptions {
    /// How many handles the schema of `load_skill` lists before it points to `list_skills`.
    pub handles: usize,
    /// The most tokens of the catalogue in the instructions, estimated as a quarter of the bytes.
    pub budget: usize,
    /// What the user types before a handle to approve a skill in a terminal.
    pub approve_command: String,
    /// Whether the user may be asked at all; with a lock file, the file alone decides.
    pub asks: bool,
}

impl Default for BridgeOptions {
    fn default() -> Self {
        Self {
            handles: skillwire_host::tools::MOST_HANDLES,
            budget: USUAL_BUDGET,
            approve_command: "skillwire approve".to_owned(),
            asks: true,
        }
    }
}
