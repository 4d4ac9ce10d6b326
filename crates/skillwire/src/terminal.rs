//! The terminal: its width, and questions to the user.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use crate::output::STRONG;

/// The width that is assumed if the terminal does not report its own.
const USUAL_WIDTH: usize = 100;

/// Tells whether the user can be asked: standard error and standard input must be a terminal.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// The width to which lines of standard output are cut; `None` for a pipe.
pub(crate) fn width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let size = terminal_size::terminal_size();
    Some(size.map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0).max(20)))
}

/// Asks the user a question; `None` if the user cannot be asked or does not answer.
pub(crate) fn agrees(question: &str) -> Option<bool> {
    if !is_interactive() {
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
