//! The error that ends a command: what happened, and what the user can do next.

use std::{error::Error, fmt, io};

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

    /// Says what the user usually does next, where the failure says nothing special.
    pub(crate) fn or_usual_hint(self) -> Self {
        let has_own = match self.refusal() {
            Some(refusal) => refusal.hint.is_some() || refusal.remedy.is_some(),
            None => self.hint.is_some(),
        };
        if has_own || self.is_silent() {
            return self;
        }
        let io_error = std::iter::successors(self.source(), |error| (*error).source())
            .find_map(|error| error.downcast_ref::<io::Error>());
        let hint = io_error.and_then(|error| io_hint(error.kind()));
        let hint = hint.unwrap_or_else(|| usual_hint(self.exit));
        match self.refusal {
            Some(refusal) => Self { refusal: Some(Box::new(refusal.hint(hint))), ..self },
            None => self.hint(hint),
        }
    }
}

/// What to do about an error of the system.
fn io_hint(kind: io::ErrorKind) -> Option<&'static str> {
    Some(match kind {
        io::ErrorKind::NotFound => "Check the path: nothing is there.",
        io::ErrorKind::PermissionDenied => {
            "Change its permissions, or run the command as a user who may use it."
        }
        io::ErrorKind::AlreadyExists => "Choose another name, or remove what is there.",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "Free some space on the disk, and run the command again."
        }
        io::ErrorKind::ReadOnlyFilesystem => "Choose a place that can be written to.",
        io::ErrorKind::IsADirectory => "It is a folder. Name a file.",
        io::ErrorKind::NotADirectory => "It is a file. Name a folder.",
        _ => return None,
    })
}

/// What to do about a failure of which only the exit code is known.
fn usual_hint(exit: Exit) -> &'static str {
    match exit {
        Exit::Ok => "Nothing is left to do.",
        Exit::Findings => "Correct what was named, and run the command again.",
        Exit::Usage => {
            "Correct this and run the command again; with `--help` it says what it takes."
        }
        Exit::Verification => {
            "Nothing of it was used. Report it to the author of the skill or the operator of its server."
        }
        Exit::Approval if cfg!(feature = "review") => {
            "Run the command again to decide otherwise; `skillwire review` shows what waits for you."
        }
        Exit::Approval => {
            "Run the command again to decide otherwise; `skillwire list` shows what waits for you."
        }
        Exit::NotFound => {
            "`skillwire list` shows the skills there are, and `skillwire server list` the servers."
        }
        Exit::Ambiguous => "`skillwire list` shows the whole names; use one of them.",
        Exit::Unreachable => {
            "Make sure that the address is right and that the server runs, and try again."
        }
        Exit::Declined => {
            "Run the command again to decide otherwise, or change the setting that declines it."
        }
        Exit::Internal => {
            "Run the command again. If it fails again, report it with what `skillwire --version` prints."
        }
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

    #[test]
    fn every_failure_says_what_to_do_next() {
        let said = |failure: Failure| {
            let text = failure.or_usual_hint().to_string();
            let text = anstream::adapter::strip_str(&text).to_string();
            text.split_once("\nhelp: ").map(|(_, hint)| hint.to_owned()).unwrap_or_default()
        };
        for exit in [
            Exit::Findings,
            Exit::Usage,
            Exit::Verification,
            Exit::Approval,
            Exit::NotFound,
            Exit::Ambiguous,
            Exit::Unreachable,
            Exit::Declined,
            Exit::Internal,
        ] {
            assert!(!said(Failure::new(exit, "x.")).is_empty(), "{exit:?}");
            assert_eq!(said(Failure::new(exit, "x.").hint("Do y.")), "Do y.");
        }
        for reason in skillwire_trust::Reason::ALL {
            assert!(!said(Refusal::new(*reason).into()).is_empty(), "{reason:?}");
            assert_eq!(said(Refusal::new(*reason).hint("Do y.").into()), "Do y.");
        }
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(said(Failure::usage("x.").because(Outer(denied))).contains("permissions"));
    }
}
