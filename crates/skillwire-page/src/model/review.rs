//! Deciding: the queue, one review, and what a reader can do.

use super::{CatalogueQuery, DiffView, FilterGroup, ScanResult, SkillKey, SkillState, SkillView};

/// The skills that wait for a decision, one page at a time.
#[derive(Debug, Clone, Default)]
pub struct QueueView {
    /// The skills of the page.
    pub items: Vec<QueueItem>,
    /// How many wait.
    pub total: usize,
    /// The page, counted from zero.
    pub page: usize,
    /// The filters that the provider knows.
    pub filters: Vec<FilterGroup>,
    /// What the reader asked for.
    pub query: CatalogueQuery,
    /// Whether several can be decided at once.
    pub has_batch: bool,
    /// The answers that several can be given at once: yes and no.
    pub batch: BatchAnswers,
    /// What an empty queue says, if not the usual.
    pub empty: Option<String>,
}

/// A skill that waits.
#[derive(Debug, Clone)]
pub struct QueueItem {
    /// The skill.
    pub key: SkillKey,
    /// Its name.
    pub name: String,
    /// What it says that it does.
    pub description: String,
    /// Where it comes from.
    pub origin: String,
    /// Its state.
    pub state: SkillState,
    /// What a scan found, if one was made.
    pub scan: ScanResult,
    /// Identifies what the reader is shown.
    pub shown: String,
}

/// One skill with everything that a decision rests on.
#[derive(Debug, Clone)]
pub struct ReviewView {
    /// The skill.
    pub skill: SkillView,
    /// What changed since the last decision.
    pub diff: Option<DiffView>,
    /// Identifies what the reader is shown; a decision about anything else is refused.
    pub shown: String,
    /// The answers that can be given.
    pub answers: Vec<AnswerKind>,
    /// Whether more than loading can be granted.
    pub can_grant: bool,
    /// Whether running the skill's scripts can be granted.
    pub can_run: bool,
    /// What the reader should know before deciding, as sentences.
    pub cautions: Vec<String>,
    /// How often the reader was asked before.
    pub asked_before: usize,
    /// The next skill of the queue.
    pub next: Option<SkillKey>,
    /// How many wait, this one included.
    pub waiting: usize,
}

/// The two answers that several skills can be given at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchAnswers(pub AnswerKind, pub AnswerKind);

impl Default for BatchAnswers {
    fn default() -> Self {
        Self(AnswerKind::Always, AnswerKind::No)
    }
}

/// An answer to a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerKind {
    /// The next load alone.
    Once,
    /// Until the skill changes.
    Always,
    /// Not at all.
    No,
    /// A place approves it for its readers.
    Approve,
    /// A place rejects it for its readers.
    Reject,
}

impl AnswerKind {
    /// The word in forms.
    pub fn word(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Always => "always",
            Self::No => "no",
            Self::Approve => "approve",
            Self::Reject => "reject",
        }
    }

    /// Reads the word of a form.
    pub fn parse(word: &str) -> Option<Self> {
        let all = [Self::Once, Self::Always, Self::No, Self::Approve, Self::Reject];
        all.into_iter().find(|answer| answer.word() == word)
    }
}

/// A reader's decision about what was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The skill.
    pub key: SkillKey,
    /// Identifies what the reader was shown.
    pub shown: String,
    /// The answer.
    pub answer: AnswerKind,
    /// The tools that are granted.
    pub tools: Vec<String>,
    /// Whether the skill's scripts may run.
    pub run: bool,
    /// Why, in the reader's words.
    pub reason: Option<String>,
}

/// What a reader asks a provider to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageAct {
    /// Record a decision.
    Decide(Decision),
    /// Take a decision back.
    Undo(RecordedDecision),
    /// Read files of a skill: one, or all that were not read.
    Read(SkillKey, Option<String>),
    /// Ask the origin for a skill as it is now.
    Refresh(SkillKey),
    /// Withdraw the approval of a skill.
    Revoke(SkillKey),
    /// Switch a skill on or off.
    SetEnabled(SkillKey, bool),
    /// An act that only the provider knows: its name, and what it is about.
    Own(String, String),
}

/// What an act led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActOutcome {
    /// It was done; the sentence says what.
    Done(String),
    /// A decision was recorded, and can be taken back for now.
    Decided(String, RecordedDecision),
    /// The skill is not what the reader was shown: the reader has to look again.
    Moved(String),
    /// What the reader was shown is no longer there: there is nothing to look at again.
    Gone(String),
    /// It was refused, for this reason.
    Refused(String),
}

/// A recorded decision, as far as is needed to take it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedDecision {
    /// The skill.
    pub key: SkillKey,
    /// Its name.
    pub name: String,
    /// The answer.
    pub answer: AnswerKind,
    /// What the provider needs to take it back.
    pub token: u64,
}

/// Several decisions that are shown once more before they are recorded.
#[derive(Debug, Clone)]
pub struct BatchView {
    /// The answer for all of them.
    pub answer: AnswerKind,
    /// The skills.
    pub items: Vec<BatchItem>,
    /// Why, in the reader's words.
    pub reason: Option<String>,
}

/// One skill of a batch.
#[derive(Debug, Clone)]
pub struct BatchItem {
    /// The review.
    pub review: ReviewView,
    /// Whether it is still what the reader chose.
    pub is_as_chosen: bool,
}
