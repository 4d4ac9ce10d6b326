//! The user's policy, and the budgets of a server.

use std::time::Duration;

use skillwire_core::received::EntryLimits;

/// How the host treats skills without digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DynamicPolicy {
    /// The host refuses them.
    #[default]
    Decline,
    /// The host asks the user each time it loads one.
    Ask,
}

/// The user's policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// How the host treats skills without digests.
    pub dynamic: DynamicPolicy,
    /// The largest skill that the host accepts.
    pub limits: EntryLimits,
    /// Whether a skill can be approved without asking the user, by a flag or a program.
    pub unattended_approvals: bool,
    /// The budgets of one server.
    pub budgets: Budgets,
    /// Whether the host also keeps entries as servers wrote them, for programs that pass them on.
    pub keeps_entry_text: bool,
    /// How often the host may ask the user about one skill within [`Self::asking_period`].
    pub questions_per_skill: usize,
    /// How often the host may ask about skills of one server within [`Self::asking_period`].
    pub questions_per_server: usize,
    /// The period in which questions are counted.
    pub asking_period: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            dynamic: DynamicPolicy::default(),
            limits: EntryLimits::default(),
            unattended_approvals: true,
            budgets: Budgets::default(),
            keeps_entry_text: false,
            questions_per_skill: 3,
            questions_per_server: 20,
            asking_period: Duration::from_hours(1),
        }
    }
}

/// The budgets of one server; nothing else limits how many skills it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// The most pages of one listing.
    pub pages: usize,
    /// The most entries of one listing.
    pub entries: usize,
    /// The most bytes of one listing.
    pub listing_bytes: u64,
    /// The longest time one listing may take.
    pub listing_time: Duration,
    /// The most bytes of one page or entry.
    pub answer_bytes: usize,
    /// The longest time that the listing of all servers together may take. A server that is not
    /// listed by then is reported, and the others do not wait for it.
    pub discovery_time: Duration,
    /// The longest time one answer may take.
    pub answer_time: Duration,
    /// The most bytes of files read from one server in one session.
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
            discovery_time: Duration::from_secs(10),
            answer_time: Duration::from_secs(30),
            session_bytes: 512 << 20,
        }
    }
}
