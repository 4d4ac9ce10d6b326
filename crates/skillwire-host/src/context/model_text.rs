//! Text that may be given to a model.

use std::fmt;

/// Text for a model, built only from framed content and neutralised strings.
///
/// It belongs in a tool result or another message without authority, never in a system or developer
/// message: text from servers must not gain authority over other context. The catalogue is the
/// exception that hosts commonly make, which is why every string in it is neutralised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelText(String);

impl ModelText {
    /// Wraps text that this module has framed.
    pub(super) fn framed(text: String) -> Self {
        Self(text)
    }

    /// Wraps a note that the host writes; the caller must neutralise every string that it quotes.
    pub(crate) fn of_host(note: String) -> Self {
        Self(note)
    }

    /// Appends another text.
    #[must_use]
    pub(crate) fn followed_by(mut self, other: &Self) -> Self {
        self.0.push_str(&other.0);
        self
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text without copying it.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Estimates the number of tokens, as [`tokens`] does.
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
