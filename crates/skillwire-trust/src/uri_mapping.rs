//! Maps the URIs of an origin to URIs that name the origin, and back.

use skillwire_core::{ResourceUri, Scheme, SkillUri};

use crate::origin::Origin;

/// Begins the segment that names the scheme of a URI whose scheme is not the ordinary one.
const SCHEME_MARK: char = '+';

/// A one-to-one mapping between the URIs of one origin and the URIs that clients of a gateway see.
///
/// `skill://acme/pdf/SKILL.md` of the server `docs` becomes `skill://docs/acme/pdf/SKILL.md`. A URI
/// of another scheme, and one whose first segment begins with `+`, gets a segment that says which
/// scheme it has: `github://acme/pdf/SKILL.md` becomes `skill://docs/+github/acme/pdf/SKILL.md`.
/// The ordinary scheme of this machine's folders is the name of their origin:
/// `local://pdf/SKILL.md` becomes `skill://local/pdf/SKILL.md`. A label has no slash, and no server
/// may have the name of a folder's origin, so two origins never share a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriMapping {
    /// The scheme of the URIs that name the origin; none if URIs stay as they are.
    scheme: Option<Scheme>,
    origin: Origin,
}

impl UriMapping {
    /// Creates the mapping from the URIs of `origin` to URIs of `scheme`.
    pub fn new(scheme: Scheme, origin: Origin) -> Self {
        Self { scheme: Some(scheme), origin }
    }

    /// Creates the mapping that leaves every URI as it is, for clients that see this origin alone.
    pub fn unchanged(origin: Origin) -> Self {
        Self { scheme: None, origin }
    }

    /// Returns the origin, whose label is the first segment of every URI that is passed on.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The scheme whose URIs need no mark.
    fn ordinary(&self) -> &str {
        match &self.origin {
            Origin::Server(_) => "skill",
            Origin::Local | Origin::Project => self.origin.label(),
        }
    }

    /// Returns the URI under which a resource of the origin is passed on.
    ///
    /// There always is one, since every segment of one URI can be a segment of another.
    pub fn passed_on(&self, uri: &ResourceUri) -> Option<ResourceUri> {
        let Some(scheme) = &self.scheme else { return Some(uri.clone()) };
        let segments = uri.segments();
        let mark = format!("{SCHEME_MARK}{}", uri.scheme());
        let needs_mark = uri.scheme() != self.ordinary() || is_marked(&segments);
        let whole = [self.origin.label()]
            .into_iter()
            .chain(needs_mark.then_some(mark.as_str()))
            .chain(segments.iter().map(String::as_str));
        ResourceUri::from_segments(scheme, whole).ok()
    }

    /// Returns the origin's own URI of a resource that a client asked for, if it is of this origin.
    pub fn own(&self, uri: &ResourceUri) -> Option<ResourceUri> {
        let Some(scheme) = &self.scheme else { return Some(uri.clone()) };
        let segments = uri.segments();
        let (label, rest) = segments.split_first()?;
        if uri.scheme() != scheme.as_str() || label != self.origin.label() {
            return None;
        }
        let (scheme, rest) = match rest.first()?.strip_prefix(SCHEME_MARK) {
            None => (self.ordinary(), rest),
            // Only URIs that need the mark have it, so that each resource has exactly one URI.
            Some(scheme) if scheme == self.ordinary() && !is_marked(&rest[1..]) => return None,
            Some(scheme) => (scheme, &rest[1..]),
        };
        let scheme = Scheme::parse(scheme).ok()?;
        ResourceUri::from_segments(&scheme, rest.iter().map(String::as_str)).ok()
    }

    /// Returns the URI under which a skill of the origin is passed on.
    pub fn passed_on_skill(&self, uri: &SkillUri) -> Option<SkillUri> {
        SkillUri::parse(self.passed_on(uri.file())?.as_str()).ok()
    }

    /// Returns the origin's own URI of a skill that a client asked for, if it is of this origin.
    pub fn own_skill(&self, uri: &SkillUri) -> Option<SkillUri> {
        SkillUri::parse(self.own(uri.file())?.as_str()).ok()
    }
}

fn is_marked(segments: &[String]) -> bool {
    segments.first().is_some_and(|first| first.starts_with(SCHEME_MARK))
}
