//! From the URIs of a server to URIs that say whose they are, and back.

use skillwire_core::uri::{ResourceUri, Scheme, SkillUri};
use skillwire_host::label::ServerLabel;

/// What begins the segment that names the scheme of a URI which is not an ordinary `skill://` one.
const SCHEME_MARK: char = '+';

/// The scheme whose URIs need no mark.
const ORDINARY: &str = "skill";

/// A one-to-one mapping between the URIs of one server and those they are passed on under.
///
/// `skill://acme/pdf/SKILL.md` of the server `docs` becomes `skill://docs/acme/pdf/SKILL.md`. A URI
/// of another scheme, and one whose first segment begins with `+`, gets a segment that says which
/// scheme it has: `github://acme/pdf/SKILL.md` becomes `skill://docs/+github/acme/pdf/SKILL.md`. A
/// label has no slash, so that no two servers can come to share a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewriting {
    scheme: Scheme,
    label: ServerLabel,
}

impl Rewriting {
    /// Maps the URIs of the server with this label to URIs of this scheme.
    pub fn new(scheme: Scheme, label: ServerLabel) -> Self {
        Self { scheme, label }
    }

    /// The label in every URI that is passed on.
    pub fn label(&self) -> &ServerLabel {
        &self.label
    }

    /// The URI under which something of the server is passed on.
    ///
    /// There always is one, since every segment of one URI can be a segment of another.
    pub fn down(&self, uri: &ResourceUri) -> Option<ResourceUri> {
        let segments = uri.segments();
        let mark = format!("{SCHEME_MARK}{}", uri.scheme());
        let needs_mark = uri.scheme() != ORDINARY || is_marked(&segments);
        let whole = [self.label.as_str()]
            .into_iter()
            .chain(needs_mark.then_some(mark.as_str()))
            .chain(segments.iter().map(String::as_str));
        ResourceUri::from_segments(&self.scheme, whole).ok()
    }

    /// The server's URI of something that was asked for; nothing when it is none of this server's.
    pub fn up(&self, uri: &ResourceUri) -> Option<ResourceUri> {
        let segments = uri.segments();
        let (label, rest) = segments.split_first()?;
        if uri.scheme() != self.scheme.as_str() || label != self.label.as_str() {
            return None;
        }
        let (scheme, rest) = match rest.first()?.strip_prefix(SCHEME_MARK) {
            None => (ORDINARY, rest),
            // What needs no mark has none, else there were two URIs for it.
            Some(ORDINARY) if !is_marked(&rest[1..]) => return None,
            Some(scheme) => (scheme, &rest[1..]),
        };
        let scheme = Scheme::parse(scheme).ok()?;
        ResourceUri::from_segments(&scheme, rest.iter().map(String::as_str)).ok()
    }

    /// The URI under which a skill of the server is passed on.
    pub fn down_skill(&self, uri: &SkillUri) -> Option<SkillUri> {
        SkillUri::parse(self.down(uri.file())?.as_str()).ok()
    }

    /// The server's URI of a skill that was asked for; nothing when it is none of this server's.
    pub fn up_skill(&self, uri: &SkillUri) -> Option<SkillUri> {
        SkillUri::parse(self.up(uri.file())?.as_str()).ok()
    }
}

fn is_marked(segments: &[String]) -> bool {
    segments.first().is_some_and(|first| first.starts_with(SCHEME_MARK))
}
