//! The person at the terminal, if there is one.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use futures_util::future::BoxFuture;
use skillwire_host::context::text::one_line;
use skillwire_trust::{Answer, Grants, Prompter, Question};

use crate::{
    output::STRONG,
    skill::{self, Offered},
};

/// Lines are cut to this width when the terminal does not say its own.
const USUAL_WIDTH: usize = 100;

/// Tells whether somebody can be asked: they see standard error and type on standard input.
fn somebody() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// The width to cut lines of standard output to; a pipe has none.
pub(crate) fn width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let size = terminal_size::terminal_size();
    Some(size.map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0).max(20)))
}

/// Asks a question; there is no answer where nobody can be asked or nobody says anything.
pub(crate) fn agrees(question: &str) -> Option<bool> {
    if !somebody() {
        return None;
    }
    let mut err = anstream::stderr().lock();
    write!(err, "{STRONG}{question}{STRONG:#} [y/N] ").and_then(|()| err.flush()).ok()?;
    let mut answer = String::new();
    match std::io::stdin().lock().read_line(&mut answer) {
        Ok(0) | Err(_) => {
            writeln!(err).ok()?;
            None
        }
        Ok(_) => Some(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")),
    }
}

/// Asks whoever sits at the terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal;

impl Prompter for Terminal {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        if !somebody() {
            return Box::pin(std::future::ready(Answer::Unavailable));
        }
        // Nothing else runs in this program while somebody thinks.
        let answer = match agrees(&words(question)) {
            Some(true) => Answer::Yes(Grants::load_only()),
            Some(false) => Answer::No,
            None => Answer::Unavailable,
        };
        Box::pin(std::future::ready(answer))
    }
}

/// Shows what a question is about and returns the question itself.
fn words(question: &Question) -> String {
    match question {
        Question::Approve { skill, entry, changes, asked_before, dialect, first_seen, .. } => {
            let mut err = anstream::stderr().lock();
            let offered = Offered { dialect: *dialect, first_seen: *first_seen };
            // A terminal that cannot be written to cannot agree either.
            let _ = skill::card(&mut err, &skill.to_string(), (&skill.origin, entry), offered);
            if let Some(changes) = changes {
                let _ = skill::changes(&mut err, &skill.uri, changes);
            }
            if *asked_before > 0 {
                let _ =
                    writeln!(err, "You were asked about this skill {asked_before} times before.");
            }
            format!("Load it from {}?", skill::origin(&skill.origin))
        }
        Question::Execute { skill, call } => {
            format!("May `{}` run while acting on {skill}?", one_line(call))
        }
        Question::CrossOriginRead { skill, server, uri } => format!(
            "While acting on {skill}, may {} be read from the server {server}?",
            one_line(uri)
        ),
        Question::TrustProject { folder } => {
            format!("May skills in `{}` be used?", one_line(folder))
        }
    }
}
