//! URIs of skills and their files.
//!
//! Each file has exactly one URI, and two files never share one. Parsing never rewrites a URI: it
//! refuses a text that is not already in normal form.

use std::{fmt, sync::Arc};

use fluent_uri::Uri;
use serde::{Serialize, Serializer};

mod lenient;
pub mod percent;

pub use self::lenient::LenientUri;
use self::percent::{decode, decode_or_keep, decode_path, encode};
use crate::{
    name::SkillName,
    path::{RelPath, SKILL_FILE, SkillPath},
};

/// The reason why a text is not an acceptable URI; the text continues "the URI".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidUri(&'static str);

/// The scheme skills are served under, `skill` unless the operator chose another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scheme(Box<str>);

impl Scheme {
    /// Parses a lower-case URI scheme.
    pub fn parse(text: &str) -> Result<Self, InvalidUri> {
        let mut bytes = text.bytes();
        let first = bytes.next().is_some_and(|b| b.is_ascii_lowercase());
        let rest =
            bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+-.".contains(&b));
        // These schemes make a client open a file, a page or a script instead of asking us.
        let local = ["file", "http", "https", "ws", "wss", "ftp", "data", "javascript"];
        if !first || !rest {
            Err(InvalidUri("has a scheme that is not lower-case letters, digits, `+`, `-` or `.`"))
        } else if local.contains(&text) {
            Err(InvalidUri("has a scheme that clients open themselves"))
        } else {
            Ok(Self(text.into()))
        }
    }

    /// Returns the scheme as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Scheme {
    fn default() -> Self {
        Self("skill".into())
    }
}

/// The URI of a file or directory, absolute and in normal form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceUri(Arc<str>);

impl ResourceUri {
    /// Parses a URI with an authority that is a plain name, and no userinfo, port, query,
    /// fragment, empty or dot segment, or superfluous percent-encoding.
    pub fn parse(text: &str) -> Result<Self, InvalidUri> {
        let uri = Uri::parse(text).map_err(|_| InvalidUri("is not a URI"))?;
        Scheme::parse(uri.scheme().as_str())?;
        let authority = uri.authority().ok_or(InvalidUri("has no `//`"))?;
        if authority.has_userinfo() || authority.has_port() {
            return Err(InvalidUri("has user information or a port"));
        }
        if uri.has_query() || uri.has_fragment() {
            return Err(InvalidUri("has a query or a fragment"));
        }
        let path = uri.path().as_str();
        let segments = || std::iter::once(authority.host()).chain(path.split('/').skip(1));
        for segment in segments() {
            let plain = decode(segment)?;
            if plain.is_empty() || plain == "." || plain == ".." {
                return Err(InvalidUri("has an empty or dot segment"));
            }
            if plain.contains(['/', '\0']) {
                return Err(InvalidUri("has a segment with an encoded slash or NUL"));
            }
        }
        let mut made = format!("{}://", uri.scheme());
        for (index, segment) in segments().enumerate() {
            if index > 0 {
                made.push('/');
            }
            encode(&decode(segment)?, index == 0, &mut made);
        }
        if made != text {
            return Err(InvalidUri("is not in normal form"));
        }
        Ok(Self(made.into()))
    }

    /// Makes the URI of plain segments, the first of which becomes the authority.
    pub fn from_segments<'a>(
        scheme: &Scheme,
        segments: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, InvalidUri> {
        let mut text = format!("{}://", scheme.as_str());
        for (index, segment) in segments.into_iter().enumerate() {
            if index > 0 {
                text.push('/');
            }
            encode(segment, index == 0, &mut text);
        }
        Self::parse(&text)
    }

    /// Returns the scheme.
    pub fn scheme(&self) -> &str {
        self.0.split_once("://").map_or(&self.0, |(scheme, _)| scheme)
    }

    /// Returns the plain segments, the authority first.
    pub fn segments(&self) -> Vec<String> {
        let rest = self.0.split_once("://").map_or(&*self.0, |(_, rest)| rest);
        rest.split('/').map(decode_or_keep).collect()
    }

    /// Returns the URI as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the shared text, for maps that hold many URIs.
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }

    /// Returns the URI of the directory that this is in, or none for a first segment.
    pub fn parent(&self) -> Option<Self> {
        let authority_end = self.0.find("://")? + 3;
        let slash = self.0[authority_end..].rfind('/')? + authority_end;
        Some(Self(self.0[..slash].into()))
    }

    /// Returns the last segment, decoded.
    pub fn name(&self) -> String {
        let last = self.0.rsplit('/').next().unwrap_or(&self.0);
        decode_or_keep(last)
    }

    /// Returns the URI of a file or directory below this one.
    #[must_use]
    pub fn child(&self, path: &RelPath) -> Self {
        let mut text = String::with_capacity(self.0.len() + path.as_str().len() + 8);
        text.push_str(&self.0);
        for segment in path.segments() {
            text.push('/');
            encode(segment, false, &mut text);
        }
        Self(text.into())
    }
}

impl fmt::Display for ResourceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ResourceUri {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// The URI of a skill's `SKILL.md`, which identifies the skill within its server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillUri {
    file: ResourceUri,
    root: ResourceUri,
}

impl SkillUri {
    /// Makes the URI of the skill at `path`.
    pub fn new(scheme: &Scheme, path: &SkillPath) -> Self {
        let mut root = format!("{}://", scheme.as_str());
        for (index, segment) in path.segments().enumerate() {
            if index > 0 {
                root.push('/');
            }
            encode(segment, index == 0, &mut root);
        }
        let root = ResourceUri(root.into());
        Self { file: root.child(&RelPath::skill_file()), root }
    }

    /// Parses a URI that ends in `/SKILL.md` below a valid skill name.
    pub fn parse(text: &str) -> Result<Self, InvalidUri> {
        let file = ResourceUri::parse(text)?;
        let root = file.parent().ok_or(InvalidUri("has no skill path"))?;
        if !file.as_str().ends_with(&format!("/{SKILL_FILE}")) {
            return Err(InvalidUri("does not end in `/SKILL.md`"));
        }
        if SkillName::parse(&root.name()).is_err() {
            return Err(InvalidUri("does not name a valid skill before `/SKILL.md`"));
        }
        Ok(Self { file, root })
    }

    /// Returns the URI of `SKILL.md`.
    pub fn file(&self) -> &ResourceUri {
        &self.file
    }

    /// Returns the URI of the skill's root directory, without a trailing slash.
    pub fn root(&self) -> &ResourceUri {
        &self.root
    }

    /// Returns the URI as text.
    pub fn as_str(&self) -> &str {
        self.file.as_str()
    }

    /// Tells whether something lies below the skill's root, segment by segment.
    pub fn contains(&self, uri: &ResourceUri) -> bool {
        self.below(uri).is_some()
    }

    /// Parses the URI of a file or directory below the skill's root.
    ///
    /// It accepts exactly what [`ResourceUri::parse`] and [`Self::contains`] do together, and need
    /// not look at the root again.
    pub fn resource(&self, text: &str) -> Option<ResourceUri> {
        self.path_in(text)?;
        let is_file = text == self.file.as_str();
        Some(if is_file { self.file.clone() } else { ResourceUri(text.into()) })
    }

    /// Returns the path of a URI relative to the skill's root, if it lies below the root.
    pub fn below(&self, uri: &ResourceUri) -> Option<RelPath> {
        self.path_in(uri.as_str())
    }

    fn path_in(&self, text: &str) -> Option<RelPath> {
        let rest = text.strip_prefix(self.root.as_str())?.strip_prefix('/')?;
        RelPath::parse(&decode_path(rest)?).ok()
    }
}

impl fmt::Display for SkillUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.fmt(f)
    }
}

impl Serialize for SkillUri {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.file.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(path: &str) -> SkillUri {
        SkillUri::new(&Scheme::default(), &SkillPath::parse(path).unwrap())
    }

    #[test]
    fn uris_have_the_form_of_the_extension_srv_16() {
        assert_eq!(uri("acme/billing/refunds").as_str(), "skill://acme/billing/refunds/SKILL.md");
        let file = uri("pdf").root().child(&RelPath::parse("references/FORMS.md").unwrap());
        assert_eq!(file.as_str(), "skill://pdf/references/FORMS.md");
        assert_eq!(file.to_string(), file.as_str());
        assert_eq!(uri("pdf").to_string(), "skill://pdf/SKILL.md");
    }

    #[test]
    fn prefix_segments_are_percent_encoded_and_round_trip_srv_20() {
        for prefix in ["a b", "ü", "%", "?", "#", "a:b", "x@y", "[1]", "%20", "<>", "\u{7f}"] {
            let made = uri(&format!("{prefix}/sub {prefix}/refunds"));
            let parsed = SkillUri::parse(made.as_str()).unwrap();
            assert_eq!(parsed, made);
            assert_eq!(parsed.root().parent().unwrap().parent().unwrap().name(), prefix);
        }
    }

    #[test]
    fn other_schemes_follow_the_same_structure_srv_21() {
        let parsed = SkillUri::parse("github://owner/repo/skills/refunds/SKILL.md").unwrap();
        assert_eq!(parsed.root().as_str(), "github://owner/repo/skills/refunds");
        assert_eq!(Scheme::parse("x-1.y+z").unwrap().as_str(), "x-1.y+z");
        assert!(Scheme::parse("x_y").is_err());
        assert!(Scheme::parse("1x").is_err());
        assert!(Scheme::parse("file").is_err());
        assert!(Scheme::parse("Skill").is_err());
        assert!(Scheme::parse("").is_err());
    }

    #[test]
    fn root_uri_is_the_skill_file_without_its_name_srv_22() {
        assert_eq!(uri("pdf").root().as_str(), "skill://pdf");
        assert_eq!(uri("pdf").root().parent(), None);
    }

    #[test]
    fn distinct_paths_have_distinct_uris_srv_23() {
        let root = uri("pdf");
        let names = ["a b", "a%20b", "a+b", "é", "e\u{301}", "a%2Fb", "a%2fb", "A b"];
        let made: std::collections::BTreeSet<_> =
            names.iter().map(|n| root.root().child(&RelPath::parse(n).unwrap())).collect();
        assert_eq!(made.len(), names.len());
        for (uri, name) in names.iter().map(|n| (root.root().child(&RelPath::parse(n).unwrap()), n))
        {
            assert_eq!(uri.name(), **name);
            assert_eq!(ResourceUri::parse(uri.as_str()).unwrap(), uri);
        }
    }

    #[test]
    fn paths_below_a_skill_are_read_as_they_are_written_srv_23() {
        for (text, path) in [
            ("a/b.md", Some("a/b.md")),
            ("a%20b/c%25/d.md", Some("a b/c%/d.md")),
            ("%C3%A9", Some("é")),
            ("a%2Fb", None),
            ("a%2f", None),
            ("%61", None),
            ("a b", None),
            ("a%20b/../c", None),
        ] {
            assert_eq!(decode_path(text).as_deref(), path, "{text}");
            let whole = format!("skill://pdf/{text}");
            let found = uri("pdf").resource(&whole);
            assert_eq!(found.is_some(), path.is_some(), "{text}");
            assert_eq!(
                found.and_then(|found| uri("pdf").below(&found)).as_ref().map(RelPath::as_str),
                path
            );
        }
    }

    #[test]
    fn a_uri_is_made_of_plain_segments_and_read_back_into_them_srv_20() {
        let scheme = Scheme::parse("github").unwrap();
        let segments = ["a:b", "c:d", "e f", "100%", "é"];
        let made = ResourceUri::from_segments(&scheme, segments).unwrap();
        assert_eq!(made.as_str(), "github://a%3Ab/c:d/e%20f/100%25/%C3%A9");
        assert_eq!(made.scheme(), "github");
        assert_eq!(made.segments(), segments);
        assert!(ResourceUri::from_segments(&scheme, ["a", "..", "b"]).is_err());
        assert!(ResourceUri::from_segments(&scheme, []).is_err());
    }

    #[test]
    fn only_the_normal_form_is_a_uri_srv_71() {
        for bad in [
            "skill://pdf/../x/SKILL.md",
            "skill://pdf/./SKILL.md",
            "skill://pdf//SKILL.md",
            "skill://pdf/SKILL.md/",
            "skill://pdf/%53KILL.md",
            "skill://pdf/%2e%2e/SKILL.md",
            "skill://pdf/a%2Fb/SKILL.md",
            "skill://pdf/%00/SKILL.md",
            "skill://pdf/%c0%ae/SKILL.md",
            "skill://pdf/SKILL.md?q",
            "skill://pdf/SKILL.md#f",
            "skill://u:p@pdf:1/SKILL.md",
            "SKILL://pdf/SKILL.md",
            "skill:pdf/SKILL.md",
            "skill:///SKILL.md",
            "skill://SKILL.md",
            "skill://PDF/SKILL.md",
            "skill://pdf/skill.md",
            "skill://pdf/a b/SKILL.md",
            "skill://pdf\\SKILL.md",
            "file:///etc/passwd",
            "/etc/passwd",
            "",
        ] {
            assert!(SkillUri::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_reason_for_a_refusal_is_the_one_there_is_srv_71() {
        for (bad, reason) in [
            ("skill://u@pdf/x.md", "has user information or a port"),
            ("skill://pdf:1/x.md", "has user information or a port"),
            ("skill://pdf/x.md?q", "has a query or a fragment"),
            ("skill://pdf/x.md#f", "has a query or a fragment"),
            ("skill://pdf/./x.md", "has an empty or dot segment"),
            ("skill://pdf/../x.md", "has an empty or dot segment"),
            ("skill://pdf//x.md", "has an empty or dot segment"),
            ("skill://pdf/a%2Fb.md", "has a segment with an encoded slash or NUL"),
            ("skill://pdf/%78.md", "is not in normal form"),
        ] {
            assert_eq!(ResourceUri::parse(bad).unwrap_err().to_string(), reason, "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn made_uris_parse_back_to_the_same_text_srv_23(
            segments in proptest::collection::vec("[^/\0]{1,12}", 1..5)
        ) {
            let joined = segments.join("/");
            if let Ok(path) = RelPath::parse(&joined) {
                let made = uri("pdf").root().child(&path);
                proptest::prop_assert_eq!(&ResourceUri::parse(made.as_str()).unwrap(), &made);
            }
        }

        #[test]
        fn what_lies_below_a_skill_is_what_parses_and_is_contained_srv_23(
            text in "(%[0-9a-fA-F]{2}|[a-zA-Z./:@?# é~%-]){0,12}"
        ) {
            let skill = uri("acme/pdf");
            for candidate in [
                text.clone(),
                format!("skill://acme/pdf{text}"),
                format!("skill://acme/pdf/{text}"),
                format!("skill://acme/pdf/a/{text}"),
            ] {
                let parsed = ResourceUri::parse(&candidate).ok();
                let contained = parsed.filter(|parsed| skill.contains(parsed));
                proptest::prop_assert_eq!(skill.resource(&candidate), contained);
            }
        }

        #[test]
        fn parsing_any_text_never_panics_and_accepts_only_itself_v_02(text in ".{0,60}") {
            for candidate in [text.clone(), format!("skill://{text}"), format!("skill://a/{text}/SKILL.md")] {
                if let Ok(parsed) = ResourceUri::parse(&candidate) {
                    proptest::prop_assert_eq!(parsed.as_str(), candidate);
                }
            }
        }
    }
}
