//! The error that ends a command: what happened, and what the user can do next.

use std::fmt;

use skillwire_trust::Refusal;

use crate::{
    exit::Exit,
    output::{ERROR, HELP},
    refusals,
};

/// An error that ends the program.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
    hint: Option<String>,
    refusal: Option<Box<Refusal>>,
}

/// A refusal ends the program with the exit code of its class.
impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.reason.meaning().to_owned();
        let exit = refusals::exit(refusal.class());
        Self { exit, message, hint: None, refusal: Some(Box::new(refusal)) }
    }
}

impl Failure {
    /// Makes a failure for an error in the command line or the configuration.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Makes a failure with this exit code.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None, refusal: None }
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

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(refusal) = &self.refusal {
            return refusals::RefusalText(refusal).fmt(f);
        }
        write!(f, "{ERROR}error:{ERROR:#} {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n{HELP}help:{HELP:#} {hint}")?;
        }
        Ok(())
    }
}

/// Turns an error of a write into a failure. A pipe that the reader has closed is not an error.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::new(Exit::Ok, String::new()),
            _ => Self::new(Exit::Internal, format!("Output could not be written: {error}.")),
        }
    }
}

impl Failure {
    /// Tells whether no message is printed.
    pub(crate) fn is_silent(&self) -> bool {
        self.exit == Exit::Ok
    }
}
