//! The error that ends a command: what happened, and what the user can do next.

use std::{error::Error, fmt};

use skillwire_trust::{Refusal, SkillId, StoreError};

use crate::{
    exit::Exit,
    output::{ERROR, HELP},
    refusals, remedies,
};

/// An error that ends the program.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
    cause: Option<Cause>,
    hint: Option<String>,
    refusal: Option<Box<Refusal>>,
}

/// The error of a library or of the system that caused a failure.
type Cause = Box<dyn Error + Send + Sync>;

/// A refusal ends the program with the exit code of its class.
impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.reason.meaning().to_owned();
        let exit = refusals::exit(refusal.class());
        Self { exit, message, cause: None, hint: None, refusal: Some(Box::new(refusal)) }
    }
}

impl Failure {
    /// Makes a failure for an error in the command line or the configuration.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Makes a failure with this exit code.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), cause: None, hint: None, refusal: None }
    }

    /// Makes a failure that an error describes by itself.
    pub(crate) fn caused(exit: Exit, cause: impl Into<Cause>) -> Self {
        Self::new(exit, String::new()).because(cause)
    }

    /// Keeps the error that caused the failure; it is printed after the message, with its own
    /// causes.
    pub(crate) fn because(mut self, cause: impl Into<Cause>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Adds a hint what to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The refusal, if it is one.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_deref()
    }

    /// Words a refusal's remedy with the handles by which the user knows skills; `quote` makes each
    /// one word of a command.
    pub(crate) fn naming(
        mut self,
        handle: impl Fn(&SkillId) -> Option<String>,
        quote: impl Fn(&str) -> String,
    ) -> Self {
        if let Some(refusal) = &mut self.refusal {
            let name = |id: &SkillId| quote(&handle(id).unwrap_or_else(|| id.to_string()));
            **refusal = refusal.worded(|remedy| remedies::sentence(remedy, name));
        }
        self
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(refusal) = &self.refusal {
            return refusals::RefusalText(refusal).fmt(f);
        }
        write!(f, "{ERROR}error:{ERROR:#} ")?;
        match self.source() {
            None => f.write_str(&self.message)?,
            Some(cause) => {
                let mut text = self.message.trim_end_matches('.').to_owned();
                for error in std::iter::successors(Some(cause), |error| (*error).source()) {
                    let said = error.to_string();
                    let said = said.trim_end_matches('.');
                    if text.is_empty() {
                        said.clone_into(&mut text);
                    } else if !text.ends_with(said) {
                        // Some errors repeat their cause.
                        text = format!("{text}: {said}");
                    }
                }
                write!(f, "{text}.")?;
            }
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n{HELP}help:{HELP:#} {hint}")?;
        }
        Ok(())
    }
}

/// State that cannot be read or written ends the program.
impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::caused(Exit::Usage, error)
    }
}

/// Turns an error of a write into a failure. A pipe that the reader has closed is not an error.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::new(Exit::Ok, String::new()),
            _ => Self::new(Exit::Internal, "Output could not be written.").because(error),
        }
    }
}

impl Failure {
    /// Tells whether no message is printed.
    pub(crate) fn is_silent(&self) -> bool {
        self.exit == Exit::Ok
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the server closed the connection")]
    struct Outer(#[source] std::io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("No answer: {0}")]
    struct Sentence(#[source] std::io::Error);

    #[test]
    fn causes_are_kept_and_printed_once() {
        let inner = std::io::Error::other("broken");
        let failure = Failure::usage("`a` cannot be read.").because(Outer(inner)).hint("Do x.");
        let text = anstream::adapter::strip_str(&failure.to_string()).to_string();
        let said =
            "error: `a` cannot be read: the server closed the connection: broken.\nhelp: Do x.";
        assert_eq!(text, said);
        assert!(failure.source().unwrap().is::<Outer>());
        let repeated = Failure::usage("The hub cannot be reached.")
            .because(Sentence(std::io::Error::other("refused.")));
        let text = anstream::adapter::strip_str(&repeated.to_string()).to_string();
        assert_eq!(text, "error: The hub cannot be reached: No answer: refused.");
        let plain = Failure::usage("No folder was named.").to_string();
        assert_eq!(anstream::adapter::strip_str(&plain).to_string(), "error: No folder was named.");
    }
}
