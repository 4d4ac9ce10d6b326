//! URIs as a lenient server may understand them.

use percent_encoding::percent_decode_str;

use super::ResourceUri;
use crate::path::SKILL_FILE;

/// A URI in the form in which all spellings of one resource are equal: without case, escapes, query,
/// fragment, and empty or dot segments.
///
/// A server may answer for a spelling that [`ResourceUri`] refuses, so a host that has to know what a
/// URI could lead to compares this form. Some resources that a strict server keeps apart are equal
/// in it: it is a reason to refuse, and never one to allow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LenientUri {
    scheme: String,
    segments: Vec<String>,
}

impl LenientUri {
    /// Reads any text.
    pub fn read(text: &str) -> Self {
        let plain = percent_decode_str(text.trim()).decode_utf8_lossy().to_lowercase();
        let plain = plain.replace('\\', "/");
        let end = plain.find(['?', '#']).unwrap_or(plain.len());
        let (scheme, path) = plain[..end].split_once(':').unwrap_or(("", &plain[..end]));
        let mut segments = Vec::new();
        for segment in path.split('/').map(str::trim) {
            match segment {
                "" | "." => {}
                ".." => {
                    segments.pop();
                }
                segment => segments.push(segment.to_owned()),
            }
        }
        Self { scheme: scheme.to_owned(), segments }
    }

    /// Returns the scheme; empty if the text has none.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Tells whether this is the other resource or lies below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.segments.starts_with(&other.segments)
    }

    /// Tells whether this has the name of a skill's own file.
    pub fn names_skill_file(&self) -> bool {
        self.segments.last().is_some_and(|last| last.eq_ignore_ascii_case(SKILL_FILE))
    }
}

impl From<&ResourceUri> for LenientUri {
    fn from(uri: &ResourceUri) -> Self {
        Self::read(uri.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_file_lies_within_its_skill_p_05() {
        let root = LenientUri::read("skill://acme/refunds");
        for spelling in [
            "skill://acme/refunds",
            "skill://acme/refunds/",
            "skill://acme/refunds/SKILL.md",
            "SKILL://Acme/REFUNDS/skill.md",
            "skill://acme/./refunds//x.md",
            "skill://acme/other/../refunds/x.md",
            "skill://acme/%72efunds/%53KILL.md",
            "skill%3A//acme/refunds/x.md",
            "skill:\\\\acme\\refunds\\x.md",
            "skill:acme/refunds/x.md",
            " skill://acme/refunds/x.md?v=1#top ",
        ] {
            assert!(LenientUri::read(spelling).is_within(&root), "{spelling}");
        }
        for other in ["skill://acme", "skill://acme/refunds2/x.md", "docs://acme/refunds/x.md", ""]
        {
            assert!(!LenientUri::read(other).is_within(&root), "{other}");
        }
    }

    #[test]
    fn the_file_of_a_skill_is_known_by_its_name_in_any_spelling_p_05() {
        for named in ["docs://x/SKILL.md", "file:///x/skill.MD", "https://x/a/%53kill.md?raw=1"] {
            assert!(LenientUri::read(named).names_skill_file(), "{named}");
        }
        for other in ["docs://x/SKILL.md/y", "docs://x/MY-SKILL.md", "SKILL:md", ""] {
            assert!(!LenientUri::read(other).names_skill_file(), "{other}");
        }
    }
}
