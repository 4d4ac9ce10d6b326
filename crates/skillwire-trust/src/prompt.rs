//! Asking the user.

use futures_util::future::BoxFuture;

use crate::{
    approval_card::ApprovalCard,
    grants::Grants,
    label::ServerLabel,
    origin::{Origin, SkillId},
};

/// Something only the user can decide.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// May this skill be loaded?
    Approve(Box<ApprovalCard>),
    /// May code run while acting on this skill?
    Execute {
        /// The skill.
        skill: SkillId,
        /// The tool and its input, as the model gave them.
        call: String,
    },
    /// May a resource of another origin be read while acting on this skill? There is no "always".
    CrossOriginRead {
        /// The skill that is acted on.
        skill: SkillId,
        /// The server that would be asked.
        server: ServerLabel,
        /// What would be read there.
        uri: String,
    },
}

impl Question {
    /// The origin the question is about.
    pub fn origin(&self) -> &Origin {
        match self {
            Self::Approve(card) => &card.skill.origin,
            Self::Execute { skill, .. } | Self::CrossOriginRead { skill, .. } => &skill.origin,
        }
    }
}

/// What the user decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes; for an approval, with these grants.
    Yes(Grants),
    /// No.
    No,
    /// The user cannot be asked.
    Unavailable,
}

/// Reaches the user.
pub trait Prompter: Send + Sync {
    /// Asks one question.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer>;
}

/// Answers that the user cannot be asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPrompter;

impl Prompter for NoPrompter {
    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(std::future::ready(Answer::Unavailable))
    }
}
