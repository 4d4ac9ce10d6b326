//! The pieces of a file that rules are applied to.

use std::sync::Arc;

use super::mapped::MappedText;
use crate::{finding::Encoding, language::Language};

/// A piece of a file that belongs together: a paragraph, a block of code, a comment, a script.
#[derive(Debug, Clone)]
pub(crate) struct Passage {
    /// The index of the file.
    pub(crate) file: usize,
    pub(crate) kind: PassageKind,
    /// The language, for code.
    pub(crate) language: Option<Language>,
    /// The folded text, with a map to the bytes of the file.
    pub(crate) text: MappedText,
    /// The number of the section, which a heading begins.
    pub(crate) section: usize,
    /// Whether what leads to the passage says that it shows something bad.
    pub(crate) warned: bool,
    /// How the text was hidden, outermost first; empty for text that stands in the file.
    pub(crate) encodings: Vec<Encoding>,
    /// Text that was decoded, before it was folded; none if it is ASCII or stands in the file.
    pub(crate) unfolded: Option<Arc<Unfolded>>,
}

/// Text that does not stand in the file, as it was before it was folded.
#[derive(Debug)]
pub(crate) struct Unfolded {
    pub(crate) source: String,
    /// The text of the passage, with a map to `source`.
    pub(crate) text: MappedText,
}

impl Unfolded {
    /// Keeps a text if folding may have changed letters of it.
    pub(crate) fn of(source: String, text: &MappedText) -> Option<Arc<Self>> {
        (!source.is_ascii()).then(|| Arc::new(Self { source, text: text.clone() }))
    }
}

/// What a passage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PassageKind {
    /// The YAML at the top of `SKILL.md`.
    Frontmatter,
    /// A paragraph, an item of a list, a heading or a row of a table.
    Prose,
    /// A block of code in a document.
    Code,
    /// A comment of a document, which its readers do not see and models do.
    Comment,
    /// A file that runs.
    Script,
    /// Another text file.
    Data,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileRole {
    /// `SKILL.md`: instructions that a model gets.
    Instructions,
    /// Another document.
    Reference,
    /// A file that runs.
    Script,
    /// Everything else.
    Data,
}
