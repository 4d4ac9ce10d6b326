//! What the user's policy allows, and how much a server may cost.

use std::time::Duration;

use skillwire_core::received::EntryLimits;

/// How skills without digests are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DynamicPolicy {
    /// They are declined.
    #[default]
    Decline,
    /// The user is asked each time one is loaded.
    Ask,
}

/// The user's policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// How skills without digests are treated.
    pub dynamic: DynamicPolicy,
    /// The largest skill that is accepted.
    pub limits: EntryLimits,
    /// What one server may cost.
    pub budgets: Budgets,
    /// Whether entries are also kept as servers wrote them, for programs that pass them on.
    pub keeps_entry_text: bool,
    /// How often the user may be asked about one skill within [`Self::asking_period`].
    pub questions_per_skill: usize,
    /// How often the user may be asked about skills of one server within [`Self::asking_period`].
    pub questions_per_server: usize,
    /// The time in which questions are counted.
    pub asking_period: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            dynamic: DynamicPolicy::default(),
            limits: EntryLimits::default(),
            budgets: Budgets::default(),
            keeps_entry_text: false,
            questions_per_skill: 3,
            questions_per_server: 20,
            asking_period: Duration::from_hours(1),
        }
    }
}

/// What one server may cost before it is cut off; there is no ceiling on skills besides these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// Most pages of one listing.
    pub pages: usize,
    /// Most entries of one listing.
    pub entries: usize,
    /// Most bytes of one listing.
    pub listing_bytes: u64,
    /// The longest time one listing may take.
    pub listing_time: Duration,
    /// Most bytes of one page or entry.
    pub answer_bytes: usize,
    /// The longest time one answer may take.
    pub answer_time: Duration,
    /// Most bytes of files read from one server in one session.
    pub session_bytes: u64,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            pages: 20_000,
            entries: 250_000,
            listing_bytes: 1 << 30,
            listing_time: Duration::from_mins(2),
            answer_bytes: 16 << 20,
            answer_time: Duration::from_secs(30),
            session_bytes: 512 << 20,
        }
    }
}
