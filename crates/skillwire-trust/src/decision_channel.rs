//! How a decision about a skill reached the host.

use serde::{Deserialize, Serialize};

/// How a decision about a skill reached the host. A program may answer a form or pass a flag in the
/// user's name, so such a decision says less than one that the user typed at a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionChannel {
    /// The user answered a question at a terminal.
    Terminal,
    /// A client answered a form.
    Form,
    /// The user answered in the page of this program.
    Page,
    /// A flag or a program decided; the user was asked nothing.
    Unattended,
    /// A signer decided that the user's rules trust instead of a question.
    Signature,
    /// The server's signed decision counted, by a key that the user trusts instead of a question.
    Decision,
}

impl DecisionChannel {
    /// Every channel.
    pub const ALL: [Self; 6] =
        [Self::Terminal, Self::Form, Self::Page, Self::Unattended, Self::Signature, Self::Decision];

    /// Tells whether a signer decided, and not the user or a program of theirs.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::Signature | Self::Decision)
    }

    /// Returns the word that records and JSON output use; it never changes.
    pub fn code(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Form => "form",
            Self::Page => "page",
            Self::Unattended => "unattended",
            Self::Signature => "signature",
            Self::Decision => "decision",
        }
    }

    /// Reads the word of a record.
    pub fn parse(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|channel| channel.code() == code)
    }

    /// Returns the words that the audit log uses.
    pub fn words(self) -> &'static str {
        match self {
            Self::Terminal => "at a terminal",
            Self::Form => "in a form",
            Self::Page => "in the page",
            Self::Unattended => "unattended",
            Self::Signature => "by a signature",
            Self::Decision => "by a signed decision",
        }
    }

    /// Returns what listings add to the word `approved`; nothing for an answer at a terminal.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Terminal => "",
            Self::Form => " in a form",
            Self::Page => " in the page",
            Self::Unattended => ", unattended",
            Self::Signature => " by a signature",
            Self::Decision => " by a signed decision",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_reads_back_as_its_channel_and_is_the_word_in_json() {
        for channel in DecisionChannel::ALL {
            assert_eq!(DecisionChannel::parse(channel.code()), Some(channel));
            assert_eq!(serde_json::json!(channel), channel.code());
        }
        assert_eq!(DecisionChannel::parse("telepathy"), None);
    }
}
