//! Asking the user at the terminal.

use std::io::Write as _;

use futures_util::future::BoxFuture;
use skillwire_core::visible::one_line;
use skillwire_trust::{Answer, ApprovalCard, Grants, Prompter, Question};

use super::card;
use crate::terminal::{agrees, is_interactive};

/// Asks the user at the terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TerminalPrompter;

impl Prompter for TerminalPrompter {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        if !is_interactive() {
            return Box::pin(std::future::ready(Answer::Unavailable));
        }
        // This blocks the thread until the user answers; the program has nothing else to do
        // meanwhile.
        let answer = match agrees(&words(question)) {
            Some(true) => Answer::Yes(Grants::load_only()),
            Some(false) => Answer::No,
            None => Answer::Unavailable,
        };
        Box::pin(std::future::ready(answer))
    }
}

/// Prints what a question is about, and returns the question.
fn words(question: &Question) -> String {
    match question {
        Question::Approve(asked) => {
            let ApprovalCard { skill, changes, asked_before, .. } = &**asked;
            let mut err = anstream::stderr().lock();
            // Errors are ignored: on a broken terminal the question below gets no answer, which
            // approves nothing.
            let _ = card::write(&mut err, &skill.to_string(), asked);
            if let Some(changes) = changes {
                let _ = card::changes(&mut err, &skill.uri, changes);
            }
            if *asked_before > 0 {
                let _ =
                    writeln!(err, "You were asked about this skill {asked_before} times before.");
            }
            format!("Load it from {}?", card::origin(&skill.origin))
        }
        Question::Execute { skill, call } => {
            format!("May `{}` run while acting on {skill}?", one_line(call))
        }
        Question::CrossOriginRead { skill, server, uri } => format!(
            "While acting on {skill}, may {} be read from the server {server}?",
            one_line(uri)
        ),
    }
}
