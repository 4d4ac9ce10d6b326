//! URIs as a lenient server may understand them.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::{InvalidUri, ResourceUri};
use crate::path::SKILL_FILE;

/// How many layers of percent-encoding a URI is read without: a server may decode what its library
/// has already decoded.
const LAYERS: usize = 2;

/// What begins a query or a fragment.
const END_OF_PATH: [char; 2] = ['?', '#'];

/// A URI in every form in which a server may understand it: without case, escapes, user, port, query,
/// fragment, and empty segments.
///
/// A server may answer for a spelling that [`ResourceUri`] refuses, so a host that has to know what a
/// URI could lead to compares these forms. Some resources that a strict server keeps apart are equal
/// in them: they are a reason to refuse, and never one to allow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LenientUri {
    /// Distinct, and never empty.
    forms: Vec<Form>,
}

/// One way to understand a URI.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Form {
    scheme: String,
    segments: Vec<String>,
}

impl LenientUri {
    /// Reads a URI that a host is asked to read.
    ///
    /// It refuses what servers understand in ways too different to compare: many libraries drop tabs
    /// and line breaks from the middle of a URI, read a backslash as a slash, and disagree on where a
    /// dot segment leads.
    pub fn parse(text: &str) -> Result<Self, InvalidUri> {
        if text.contains(char::is_whitespace) {
            return Err(InvalidUri("has white space"));
        }
        for plain in layers(text) {
            if plain.contains(char::is_control) {
                return Err(InvalidUri("has a control character"));
            }
            if plain.contains('\\') {
                return Err(InvalidUri("has a backslash"));
            }
            let mut segments = plain.split(|c| c == '/' || END_OF_PATH.contains(&c));
            if segments.any(|segment| matches!(segment, "." | "..")) {
                return Err(InvalidUri("has a dot segment"));
            }
        }
        Ok(Self::read(text))
    }

    /// Reads any text, such as an address that a server listed.
    pub fn read(text: &str) -> Self {
        let mut forms = Vec::new();
        // Some servers decode a URI before they look for its query, and others afterwards.
        let late = layers(text).map(|plain| Form::read(before_query(&plain)));
        let early = layers(before_query(text)).map(|plain| Form::read(&plain));
        for form in late.chain(early) {
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        Self { forms }
    }

    /// Reads the address of a skill's root from that of its own file; any other address is taken for
    /// the root itself.
    pub fn root_of(address: &str) -> Self {
        let mut root = Self::read(address);
        for form in root.forms.iter_mut().filter(|form| form.names_skill_file()) {
            form.segments.pop();
        }
        root
    }

    /// Tells whether the URI may have this scheme.
    pub fn may_have_scheme(&self, scheme: &str) -> bool {
        self.forms.iter().any(|form| form.scheme == scheme)
    }

    /// Tells whether this may be the other resource or lie below it.
    pub fn may_be_within(&self, other: &Self) -> bool {
        let within = |form: &Form, root: &Form| {
            form.scheme == root.scheme && form.segments.starts_with(&root.segments)
        };
        self.forms.iter().any(|form| other.forms.iter().any(|root| within(form, root)))
    }

    /// Tells whether this may have the name of a skill's own file.
    pub fn may_name_skill_file(&self) -> bool {
        self.forms.iter().any(Form::names_skill_file)
    }
}

impl Form {
    fn read(plain: &str) -> Self {
        let plain = plain.to_lowercase();
        let (scheme, path) = plain.split_once(':').unwrap_or(("", &plain));
        let (authority, path) = match path.strip_prefix("//") {
            Some(path) => path.split_once('/').unwrap_or((path, "")),
            None => ("", path),
        };
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let host = match host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => host,
        };
        // Windows opens `x.md` for `x.md.` and `x.md `.
        let name = |segment: &str| segment.trim().trim_end_matches(['.', ' ']).to_owned();
        let segments = std::iter::once(host).chain(path.split('/')).map(name);
        let segments = segments.filter(|segment| !segment.is_empty()).collect();
        Self { scheme: scheme.trim().to_owned(), segments }
    }

    fn names_skill_file(&self) -> bool {
        self.segments.last().is_some_and(|last| last.eq_ignore_ascii_case(SKILL_FILE))
    }
}

/// Returns the text as it is, and without one layer of percent-encoding after another.
fn layers(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    std::iter::successors(Some(Cow::Borrowed(text)), |outer| {
        let inner = percent_decode_str(outer).decode_utf8_lossy();
        (inner != *outer).then(|| Cow::Owned(inner.into_owned()))
    })
    .take(1 + LAYERS)
}

fn before_query(text: &str) -> &str {
    text.find(END_OF_PATH).map_or(text, |end| &text[..end])
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
            "skill://acme/refunds//x.md",
            "skill:///acme//refunds/x.md",
            "skill://acme/%72efunds/%53KILL.md",
            "skill://acme/%2572efunds/x.md",
            "skill://acme%2Frefunds%2Fx.md",
            "skill%3A//acme/refunds/x.md",
            "skill:acme/refunds/x.md",
            "skill://acme/refunds/x.md?v=1#top",
            "skill://acme/refunds?x.md",
            "skill://acme/refunds%3Fx.md",
            "skill://acme/refunds%253Fx.md",
            "skill://user@acme:80/refunds/x.md",
            "skill://acme/refunds./x.md",
        ] {
            assert!(LenientUri::parse(spelling).unwrap().may_be_within(&root), "{spelling}");
        }
        for other in [
            "skill://acme",
            "skill://acme/refunds2/x.md",
            "docs://acme/refunds/x.md",
            "docs://x?skill://acme/refunds/x.md",
            "",
        ] {
            assert!(!LenientUri::parse(other).unwrap().may_be_within(&root), "{other}");
        }
    }

    #[test]
    fn what_servers_understand_differently_is_no_uri_to_read_p_05() {
        for (text, problem) in [
            ("sk\till://acme/refunds/SK\tILL.md", "has white space"),
            ("docs://acme/re\nfunds/x.md", "has white space"),
            (" docs://acme/x.md", "has white space"),
            ("docs://acme/re\u{1b}funds/x.md", "has a control character"),
            ("docs://acme/re%09funds/x.md", "has a control character"),
            ("docs://acme/re%250Afunds/x.md", "has a control character"),
            ("docs:\\\\acme\\refunds\\x.md", "has a backslash"),
            ("docs://acme%5Crefunds/x.md", "has a backslash"),
            ("docs://acme/../refunds/x.md", "has a dot segment"),
            ("docs://acme/other/./refunds/x.md", "has a dot segment"),
            ("docs://acme/%3F/../refunds/x.md", "has a dot segment"),
            ("docs://acme/x%2F%2e%2E/refunds/x.md", "has a dot segment"),
            ("docs://acme/x/%252e%252e/refunds/x.md", "has a dot segment"),
            ("docs://acme/x?/../refunds/x.md", "has a dot segment"),
        ] {
            let refused = LenientUri::parse(text).unwrap_err();
            assert_eq!(refused.to_string(), problem, "{text:?}");
        }
        for text in ["docs://acme/a%20b.md?u=http%3A%2F%2Fx&y=..z", "file:///C:/x.y/é", "docs:x"] {
            assert!(LenientUri::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn the_file_of_a_skill_is_known_by_its_name_in_any_spelling_p_05() {
        for named in [
            "docs://x/SKILL.md",
            "file:///x/skill.MD",
            "https://x/a/%53kill.md?raw=1",
            "docs://x/SKILL.md%3Fraw",
            "docs://x/%2553KILL.md",
        ] {
            assert!(LenientUri::parse(named).unwrap().may_name_skill_file(), "{named}");
        }
        for other in ["docs://x/SKILL.md/y", "docs://x/MY-SKILL.md", "SKILL:md", ""] {
            assert!(!LenientUri::parse(other).unwrap().may_name_skill_file(), "{other}");
        }
    }

    #[test]
    fn the_root_of_a_skill_is_where_its_own_file_lies_p_05() {
        let file = LenientUri::parse("docs://acme/Refunds_2/x.md").unwrap();
        for address in ["docs://acme/Refunds_2/SKILL.md", "docs://acme/Refunds_2"] {
            assert!(file.may_be_within(&LenientUri::root_of(address)), "{address}");
        }
        let other = LenientUri::root_of("docs://acme/Refunds_2/other.md");
        assert!(!file.may_be_within(&other));
    }
}
