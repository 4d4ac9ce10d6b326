//! Text that may be given to a model.

use std::fmt;

/// Text for a model, made from verified content or neutralised strings only.
///
/// It belongs into a tool result or another message without authority, never into a system or
/// developer message: what servers say must not gain authority above other context. The catalogue
/// is the exception that hosts commonly make, which is why every string in it is neutralised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelText(String);

impl ModelText {
    /// Takes text that this module has framed.
    pub(super) fn framed(text: String) -> Self {
        Self(text)
    }

    /// Takes a note that the host writes itself; whatever it repeats is neutralised by the writer.
    pub(crate) fn of_host(note: String) -> Self {
        Self(note)
    }

    /// Appends another text.
    #[must_use]
    pub(crate) fn followed_by(mut self, other: &Self) -> Self {
        self.0.push_str(&other.0);
        self
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, without a copy.
    pub fn into_string(self) -> String {
        self.0
    }

    /// An estimate of the number of tokens, as in [`tokens`].
    pub fn tokens(&self) -> usize {
        tokens(&self.0)
    }
}

impl fmt::Display for ModelText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Estimates the tokens of a text: a quarter of its bytes in UTF-8, rounded up.
///
/// Tokenisers differ. For English prose this is close; for source code, other scripts and escapes
/// it is rough, and the estimate is the same on every machine, which budgets need more.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}
