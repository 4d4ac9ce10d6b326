//! URIs of resources that belong to no skill, as clients of the gateway see them.

use std::borrow::Cow;

use skillwire_core::{ResourceUri, SKILL_FILE, Scheme};
use skillwire_trust::{Origin, ServerLabel, UriMapping};

/// The longest URI or template that is passed on, in bytes.
const MAX_BYTES: usize = 2_048;

/// Ends the label in the scheme of a URI that is passed on. No label has it.
const SEPARATOR: char = '+';

/// A one-to-one mapping between a server's own URIs and those that clients of the gateway see.
///
/// Where several servers share a mount, `file:///a.txt` of the server `docs` becomes
/// `docs+file:///a.txt`: only the scheme changes, so that templates and references inside the URI keep
/// their meaning. URIs of skills are mapped by [`UriMapping`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResourceUris {
    /// The label and the separator; none if URIs stay as they are.
    prefix: Option<String>,
    skills: UriMapping,
}

impl ResourceUris {
    /// Creates the mapping of a server; `None` if its label cannot begin a scheme.
    pub(super) fn new(label: &ServerLabel, is_shared: bool) -> Option<Self> {
        let origin = Origin::Server(label.clone());
        if !is_shared {
            return Some(Self { prefix: None, skills: UriMapping::unchanged(origin) });
        }
        let text = label.as_str();
        let fits = text.starts_with(|c: char| c.is_ascii_lowercase()) && !text.contains('_');
        let skills = UriMapping::new(Scheme::default(), origin);
        fits.then(|| Self { prefix: Some(format!("{text}{SEPARATOR}")), skills })
    }

    /// Tells whether clients see other URIs than the server's own.
    pub(super) fn renames(&self) -> bool {
        self.prefix.is_some()
    }

    /// Returns the URI or template under which a resource is passed on.
    pub(super) fn passed_on(&self, own: &str) -> String {
        self.prefix.as_ref().map_or_else(|| own.to_owned(), |prefix| format!("{prefix}{own}"))
    }

    /// Returns the server's own URI of a resource that a client asked for, if it is of this server.
    pub(super) fn own<'a>(&self, uri: &'a str) -> Option<&'a str> {
        self.prefix.as_ref().map_or(Some(uri), |prefix| uri.strip_prefix(prefix.as_str()))
    }

    /// Returns the URI that a result links to as clients see it, be it of a skill or of another resource;
    /// `None` if it stays as it is.
    pub(super) fn link(&self, own: &str) -> Option<String> {
        self.prefix.as_ref()?;
        if is_of_ordinary_skill(own) {
            let uri = ResourceUri::parse(own).ok()?;
            return Some(self.skills.passed_on(&uri)?.as_str().to_owned());
        }
        scheme(own).map(|_| self.passed_on(own))
    }
}

/// Tells whether a text is the URI, or a template of URIs, of a resource that may be passed on.
///
/// URIs of skills are not: files of a skill are passed on with the skill or not at all. Nor are URIs with
/// `.` and `..` segments, which a server may understand as another URI than the one that was allowed.
pub(super) fn is_passable(uri: &str) -> bool {
    let Some(scheme) = scheme(uri) else { return false };
    let rest = &uri[scheme.len() + 1..];
    uri.len() <= MAX_BYTES
        && !uri.chars().any(|c| c.is_control() || c.is_whitespace())
        && !is_of_ordinary_skill(uri)
        && !decode(rest)
            // A server may decode before it splits, and it may split at more than slashes.
            .split(['/', '\\', '?', '#'])
            .any(|segment| matches!(segment, "." | ".." | SKILL_FILE))
}

fn is_of_ordinary_skill(uri: &str) -> bool {
    scheme(uri).is_some_and(|scheme| scheme.eq_ignore_ascii_case(Scheme::default().as_str()))
}

/// Returns the scheme of an absolute URI.
fn scheme(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let is_one = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(plain);
    is_one.then_some(scheme)
}

/// Decodes every escape; a byte that is no text becomes a replacement character.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%'
            && let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2))
        {
            // Two hexadecimal digits make one byte.
            decoded.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&decoded).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uris(label: &str) -> ResourceUris {
        ResourceUris::new(&ServerLabel::parse(label).unwrap(), true).unwrap()
    }

    #[test]
    fn resources_of_two_servers_never_share_a_uri_g_02() {
        let own = ["file:///a?x=1#y", "urn:isbn:1", "db+file:///a", "x://{id}/{+path}"];
        let mut seen = std::collections::HashSet::new();
        for label in ["docs", "docs-db", "db", "d.b"] {
            for uri in own {
                let passed_on = uris(label).passed_on(uri);
                assert_eq!(uris(label).own(&passed_on), Some(uri));
                assert!(seen.insert(passed_on.clone()), "{passed_on}");
            }
        }
        assert_eq!(uris("docs").own("file:///a"), None);
        assert_eq!(uris("docs").own("docs-db+file:///a"), None);
        assert_eq!(ResourceUris::new(&ServerLabel::parse("a_b").unwrap(), true), None);
        assert_eq!(ResourceUris::new(&ServerLabel::parse("1a").unwrap(), true), None);
    }

    #[test]
    fn links_name_the_server_where_several_share_a_mount_gw_05() {
        let docs = uris("docs");
        assert_eq!(docs.link("file:///a").as_deref(), Some("docs+file:///a"));
        assert_eq!(docs.link("skill://a/b.md").as_deref(), Some("skill://docs/a/b.md"));
        assert_eq!(docs.link("no uri"), None);
        let own = ResourceUris::new(&ServerLabel::parse("docs").unwrap(), false).unwrap();
        assert_eq!(own.link("file:///a"), None);
        assert_eq!(own.own("file:///a"), Some("file:///a"));
    }

    #[test]
    fn uris_of_skills_and_those_that_climb_are_no_resources_g_08() {
        for good in ["file:///a.b/c..d/...", "x:y", "db://t?q=1/2", "x://{id}/{+path}"] {
            assert!(is_passable(good), "{good}");
        }
        let long = format!("x:{}", "y".repeat(MAX_BYTES));
        for bad in [
            "skill://a/notes.md",
            "SKILL://a/notes.md",
            "github://acme/pdf/SKILL.md",
            "github://acme/pdf/%53KILL.md",
            "file:///docs/../etc/passwd",
            "file:///docs/%2e%2E/etc",
            "file:///docs%2f..%2Fetc",
            "file:///docs\\..\\etc",
            "file:///a/./b",
            "file:///a\nb",
            "file:///a b",
            "relative/path",
            "1x:y",
            ":x",
            "",
            &long,
        ] {
            assert!(!is_passable(bad), "{bad}");
        }
    }
}
