//! The terminal: its width, questions to the user, and texts to look at.

use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    process::{Command, Stdio},
};

use crate::{output::STRONG, settings};

/// The width that is assumed if the terminal does not report its own.
const USUAL_WIDTH: usize = 100;

/// How often a question is repeated after an answer that is not one of the choices.
const MOST_TRIES: usize = 10;

/// Tells whether the user can be asked: standard error and standard input must be a terminal.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The width to which lines of standard output are cut; `None` for a pipe.
pub(crate) fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let size = terminal_size::terminal_size();
    Some(size.map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0).max(20)))
}

/// The width for texts that go with a question; `None` if the user cannot be asked.
pub(crate) fn width_of_questions() -> Option<usize> {
    let size = is_interactive().then(|| terminal_size::terminal_size_of(io::stderr()))?;
    Some(size.map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0).max(20)))
}

/// One of the answers to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Once,
    Always,
    Yes,
    No,
    View,
}

impl Choice {
    fn word(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Always => "always",
            Self::Yes => "yes",
            Self::No => "no",
            Self::View => "view",
        }
    }

    /// Reads an answer: the word of a choice or the beginning of it.
    fn read(choices: &[Self], typed: &str) -> Option<Self> {
        let typed = typed.to_ascii_lowercase();
        choices.iter().copied().find(|choice| choice.word().starts_with(&typed))
    }
}

/// What the user typed: a choice, and the words after it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ChosenAnswer {
    pub(crate) choice: Choice,
    pub(crate) rest: String,
}

/// Asks the user to choose. `None` if the user cannot be asked or types nothing: then nothing is
/// decided.
pub(crate) fn choose(question: &str, choices: &[Choice]) -> Option<ChosenAnswer> {
    let key = |choice: &Choice| {
        let (first, rest) = choice.word().split_at(1);
        format!("[{first}]{rest}")
    };
    let keys: Vec<_> = choices.iter().map(key).collect();
    for _ in 0..MOST_TRIES {
        let line = read_answer(question, &format!("{}:", keys.join(", ")))?;
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if word.is_empty() {
            return None;
        }
        if let Some(choice) = Choice::read(choices, word) {
            return Some(ChosenAnswer { choice, rest: rest.trim().to_owned() });
        }
        let words: Vec<_> = choices.iter().map(|choice| format!("`{}`", choice.word())).collect();
        let words = words.join(", ");
        writeln!(anstream::stderr(), "Type one of {words}, or its first letter.").ok()?;
    }
    None
}

/// Asks the user a question; `None` if the user cannot be asked or does not answer.
pub(crate) fn agrees(question: &str) -> Option<bool> {
    let answer = read_answer(question, "[y/N]")?;
    Some(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Asks the user for a line of text; `None` if the user cannot be asked or types nothing.
#[cfg(any(feature = "hub", feature = "setup"))]
pub(crate) fn ask(question: &str) -> Option<String> {
    read_answer(question, "")
}

fn read_answer(question: &str, keys: &str) -> Option<String> {
    if !is_interactive() {
        return None;
    }
    let mut err = anstream::stderr().lock();
    let space = if keys.is_empty() { "" } else { " " };
    // In one piece: a user who types ahead sees the answer behind the question, and not within it.
    let prompt = format!("{STRONG}{question}{STRONG:#}{space}{keys} ");
    err.write_all(prompt.as_bytes()).and_then(|()| err.flush()).ok()?;
    let mut answer = String::new();
    match io::stdin().lock().read_line(&mut answer) {
        Ok(0) | Err(_) => {
            writeln!(err).ok()?;
            None
        }
        Ok(_) => Some(answer),
    }
}

/// Shows a text with styles in the user's pager, or prints it where there is none. It goes to the
/// terminal of standard error, so that the result of the command stays apart.
pub(crate) fn page(text: &str) -> io::Result<()> {
    if is_interactive()
        && let Some(Pager { mut command, shows_styles }) = pager()
        && let Ok(mut child) = command.stdin(Stdio::piped()).stdout(io::stderr()).spawn()
    {
        let has_styles = shows_styles
            && anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
        let plain = anstream::adapter::strip_str(text).to_string();
        if let Some(mut input) = child.stdin.take() {
            // The user may leave the pager before it has read everything.
            let _ = input.write_all(if has_styles { text } else { &plain }.as_bytes());
        }
        child.wait()?;
        return Ok(());
    }
    print(text)
}

/// Prints a text to standard error.
pub(crate) fn print(text: &str) -> io::Result<()> {
    anstream::stderr().lock().write_all(text.as_bytes())
}

struct Pager {
    command: Command,
    /// Whether it passes styles on to the terminal.
    shows_styles: bool,
}

fn pager() -> Option<Pager> {
    let words = shlex::split(&settings::pager())?;
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments);
    let shows_styles = program == "less" && arguments.is_empty();
    if shows_styles {
        // Short texts are printed without waiting for a key, and styles are passed on.
        command.args(["-F", "-R", "-X"]);
    }
    Some(Pager { command, shows_styles })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_is_no_answer_where_once_and_always_are_choices_fu_05() {
        let choices = [Choice::Once, Choice::Always, Choice::No, Choice::View];
        for (typed, choice) in [
            ("o", Some(Choice::Once)),
            ("ALWAYS", Some(Choice::Always)),
            ("n", Some(Choice::No)),
            ("view", Some(Choice::View)),
            ("y", None),
            ("yes", None),
            ("oncee", None),
        ] {
            assert_eq!(Choice::read(&choices, typed), choice, "{typed}");
        }
    }
}
