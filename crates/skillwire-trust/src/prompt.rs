//! Questions to the user.

use futures_util::future::BoxFuture;

use crate::{
    approval_card::ApprovalCard,
    decision_channel::DecisionChannel,
    grants::Grants,
    label::ServerLabel,
    origin::{Origin, SkillId},
};

/// A question that only the user can decide.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// Whether the skill may be loaded.
    Approve(Box<ApprovalCard>),
    /// Whether code may run while an agent acts on the skill.
    Execute {
        /// The skill.
        skill: SkillId,
        /// The tool and its input, as the model wrote them.
        call: String,
    },
    /// Whether a resource of another origin may be read while an agent acts on the skill. The user
    /// is asked each time.
    CrossOriginRead {
        /// The skill that the agent acts on.
        skill: SkillId,
        /// The server that the host would read from.
        server: ServerLabel,
        /// The resource that the host would read.
        uri: String,
    },
}

impl Question {
    /// Returns the origin that the question is about.
    pub fn origin(&self) -> &Origin {
        match self {
            Self::Approve(card) => &card.skill.origin,
            Self::Execute { skill, .. } | Self::CrossOriginRead { skill, .. } => &skill.origin,
        }
    }
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes; for an approval, with these grants, until the skill changes.
    Yes(Grants),
    /// Yes, but only this time: nothing is remembered.
    Once(Grants),
    /// No.
    No,
    /// The user cannot be asked.
    Unavailable,
}

/// Puts questions to the user.
pub trait Prompter: Send + Sync {
    /// Asks one question.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer>;

    /// Returns how answers reach this prompter, which is recorded with each approval.
    fn channel(&self) -> DecisionChannel {
        DecisionChannel::Terminal
    }
}

/// A prompter that answers that the user cannot be asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPrompter;

impl Prompter for NoPrompter {
    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(std::future::ready(Answer::Unavailable))
    }
}
