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
#[non_exhaustive]
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

impl Policy {
    /// Says how the host treats skills without digests.
    #[must_use]
    pub fn with_dynamic(self, dynamic: DynamicPolicy) -> Self {
        Self { dynamic, ..self }
    }

    /// Sets the largest skill that the host accepts.
    #[must_use]
    pub fn with_limits(self, limits: EntryLimits) -> Self {
        Self { limits, ..self }
    }

    /// Says whether a skill can be approved without asking the user, by a flag or a program.
    #[must_use]
    pub fn with_unattended_approvals(self, unattended_approvals: bool) -> Self {
        Self { unattended_approvals, ..self }
    }

    /// Sets the budgets of one server.
    #[must_use]
    pub fn with_budgets(self, budgets: Budgets) -> Self {
        Self { budgets, ..self }
    }

    /// Says whether the host also keeps entries as servers wrote them, for programs that pass them on.
    #[must_use]
    pub fn with_entry_text(self, keeps_entry_text: bool) -> Self {
        Self { keeps_entry_text, ..self }
    }

    /// Says how often the host may ask the user about one skill within the period.
    #[must_use]
    pub fn with_questions_per_skill(self, questions_per_skill: usize) -> Self {
        Self { questions_per_skill, ..self }
    }

    /// Says how often the host may ask about skills of one server within the period.
    #[must_use]
    pub fn with_questions_per_server(self, questions_per_server: usize) -> Self {
        Self { questions_per_server, ..self }
    }

    /// Sets the period in which questions are counted.
    #[must_use]
    pub fn with_asking_period(self, asking_period: Duration) -> Self {
        Self { asking_period, ..self }
    }
}

/// The budgets of one server; nothing else limits how many skills it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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

impl Budgets {
    /// Sets the most pages of one listing.
    #[must_use]
    pub fn with_pages(self, pages: usize) -> Self {
        Self { pages, ..self }
    }

    /// Sets the most entries of one listing.
    #[must_use]
    pub fn with_entries(self, entries: usize) -> Self {
        Self { entries, ..self }
    }

    /// Sets the most bytes of one listing.
    #[must_use]
    pub fn with_listing_bytes(self, listing_bytes: u64) -> Self {
        Self { listing_bytes, ..self }
    }

    /// Sets the longest time one listing may take.
    #[must_use]
    pub fn with_listing_time(self, listing_time: Duration) -> Self {
        Self { listing_time, ..self }
    }

    /// Sets the most bytes of one page or entry.
    #[must_use]
    pub fn with_answer_bytes(self, answer_bytes: usize) -> Self {
        Self { answer_bytes, ..self }
    }

    /// Sets the longest time that the listing of all servers together may take.
    #[must_use]
    pub fn with_discovery_time(self, discovery_time: Duration) -> Self {
        Self { discovery_time, ..self }
    }

    /// Sets the longest time one answer may take.
    #[must_use]
    pub fn with_answer_time(self, answer_time: Duration) -> Self {
        Self { answer_time, ..self }
    }

    /// Sets the most bytes of files read from one server in one session.
    #[must_use]
    pub fn with_session_bytes(self, session_bytes: u64) -> Self {
        Self { session_bytes, ..self }
    }
}
