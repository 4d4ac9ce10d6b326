//! What a scan reports: findings with the text they were found in.

use serde::{Deserialize, Serialize};

use crate::Severity;

/// Something that a reviewer of a skill should see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanFinding {
    /// The rule, such as `remote-code/decode-to-shell`.
    pub rule: String,
    /// How much it matters here.
    pub severity: Severity,
    /// What was found, as a sentence.
    pub title: String,
    /// Whether the skill does it or speaks of it.
    pub usage: Usage,
    /// Identifiers of the OWASP Agentic Skills Top 10.
    pub owasp: Vec<String>,
    /// Where it was found. The first is the place that reports point at; for data that travels, it
    /// is followed by the steps from the source to the sink.
    pub evidence: Vec<Evidence>,
    /// How many more places of the same file the rule matched without being listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeated: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Whether a skill does something or speaks of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Usage {
    /// The skill does it, or tells its reader to.
    Used,
    /// The skill quotes it: a comment of code, a warning, an example with a made-up address.
    Mentioned,
}

/// One place that a finding rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The file, relative to the skill.
    pub file: String,
    /// The first line, counted from one; `None` if the finding is about the file as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<usize>,
    /// The text as the file has it, shortened, with keys and tokens blotted out.
    pub text: String,
    /// How the text was encoded, outermost first, if the finding is about what it decodes to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub encodings: Vec<Encoding>,
    /// The decoded text, if it differs from what the file has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoded: Option<String>,
    /// What happens here, such as `reads private keys`; for data that travels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// A way in which text was hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// Base64, standard or for URLs.
    Base64,
    /// Base64 of UTF-16, as `PowerShell` takes it.
    Base64Utf16,
    /// Pairs of hexadecimal digits.
    Hex,
    /// Escapes of a programming language, such as `\x63` and `\u0063`.
    Escapes,
    /// Numbers of characters, such as `chr(99)`.
    CharCodes,
    /// `%63`.
    Percent,
    /// `&#99;`.
    HtmlEntities,
    /// Written backwards.
    Reversed,
    /// Letters moved by thirteen places.
    Rot13,
    /// Unicode tag characters, which no reader sees.
    TagCharacters,
    /// Variation selectors, which no reader sees.
    VariationSelectors,
    /// A text field of an image.
    ImageText,
}

impl Encoding {
    /// The words for reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::Base64Utf16 => "base64 of UTF-16",
            Self::Hex => "hexadecimal",
            Self::Escapes => "escapes",
            Self::CharCodes => "character codes",
            Self::Percent => "percent-encoding",
            Self::HtmlEntities => "HTML entities",
            Self::Reversed => "written backwards",
            Self::Rot13 => "rot13",
            Self::TagCharacters => "tag characters",
            Self::VariationSelectors => "variation selectors",
            Self::ImageText => "text of an image",
        }
    }

    /// Tells whether an author who uses this hides something. Addresses and pages are
    /// percent-encoded and have entities for honest reasons.
    pub(crate) fn hides(self) -> bool {
        !matches!(self, Self::Percent | Self::HtmlEntities | Self::Escapes)
    }
}

impl ScanFinding {
    /// The file that the finding points at.
    pub fn file(&self) -> &str {
        self.evidence.first().map_or("", |evidence| &evidence.file)
    }

    /// The line that the finding points at.
    pub fn line(&self) -> Option<usize> {
        self.evidence.first().and_then(|evidence| evidence.line)
    }
}
