//! A decision before the user has confirmed it, with words for what it costs.

use super::{model::SKILL_FILE, skill::SkillNumber, skill::WaitingSkill};
use crate::text::{StyledLine, Tone};

/// A decision about a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The next load is allowed, and none after it.
    Once,
    /// It may be loaded until it changes.
    Always {
        /// Whether it also gets the tools that it asks for.
        tools: bool,
    },
    /// It may not be loaded as it is.
    No,
}

/// A decision that the user was asked to confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// The decision.
    pub decision: Decision,
    /// The skills that it is about.
    pub skills: Vec<SkillNumber>,
    /// The server, if it is about everything that the server lists.
    pub server: Option<String>,
}

impl Confirmation {
    /// Says what the decision means, and by which keys it is made.
    pub(super) fn lines(&self, skills: &[&WaitingSkill]) -> Vec<StyledLine> {
        let what = match (&self.server, skills) {
            (Some(server), [_]) => format!("the one skill that waits of server {server}"),
            (Some(server), many) => {
                format!("all {} skills that wait of server {server}", many.len())
            }
            (None, [skill]) => skill.handle.clone(),
            (None, many) => skills_of(many.len()),
        };
        let mut price = StyledLine::default();
        match self.decision {
            Decision::Once => {
                price.push(format!("Approve {what} for one load? "), Tone::Strong);
                price.push("The next load is not asked about; the one after it is.", Tone::Plain);
            }
            Decision::Always { .. } if self.server.is_some() => {
                price.push(format!("Approve {what}? "), Tone::Strong);
                price.push(
                    "What it lists now loads without asking. What it changes or adds later asks again.",
                    Tone::Plain,
                );
            }
            Decision::Always { .. } => {
                price.push(format!("Always load {what}? "), Tone::Strong);
                price.push("It loads without asking until it changes.", Tone::Plain);
            }
            Decision::No => {
                price.push(format!("Decline {what}? "), Tone::Strong);
                price.push("You are not asked again until it changes.", Tone::Plain);
            }
        }
        let mut lines = vec![price];
        let unseen = skills.iter().filter(|skill| !skill.is_read(SKILL_FILE)).count();
        if unseen > 0 && self.decision != Decision::No {
            let words = match skills.len() {
                1 => "You have not read its text.".to_owned(),
                _ => format!("You have not read the text of {}.", skills_of(unseen)),
            };
            lines.push(StyledLine::new(words, Tone::Warning));
        }
        let mut tools: Vec<&str> =
            skills.iter().flat_map(|skill| skill.tools.iter().map(String::as_str)).collect();
        tools.sort_unstable();
        tools.dedup();
        if let (Decision::Always { tools: granted }, false) = (self.decision, tools.is_empty()) {
            let tools = tools.join(", ");
            let (words, tone) = if granted {
                (format!("With the tools {tools}; t takes them out."), Tone::Warning)
            } else {
                (format!("Without the tools {tools}; t grants them."), Tone::Faint)
            };
            lines.push(StyledLine::new(words, tone));
        }
        lines.push(StyledLine::new("Enter: yes   Esc: back", Tone::Note));
        lines
    }
}

fn skills_of(count: usize) -> String {
    if count == 1 { "1 skill".to_owned() } else { format!("{count} skills") }
}
