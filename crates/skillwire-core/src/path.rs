//! Paths inside a skill and paths of skills, as lists of plain segments.

use std::fmt;

use crate::name::SkillName;

/// The file every skill has at its root.
pub const SKILL_FILE: &str = "SKILL.md";

/// The reason why a text is not a path; the text continues "the path".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPath(&'static str);

fn check_segment(segment: &str) -> Result<(), InvalidPath> {
    match segment {
        "" => Err(InvalidPath("has an empty segment")),
        "." | ".." => Err(InvalidPath("has a `.` or `..` segment")),
        _ if segment.contains('\0') => Err(InvalidPath("holds a NUL character")),
        _ => Ok(()),
    }
}

/// The path of a file or directory relative to a skill's root, `/`-separated and not empty.
///
/// A segment holds the file name as it is on disk, never percent-encoded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(Box<str>);

impl RelPath {
    /// Parses a relative path without empty, `.` or `..` segments.
    pub fn parse(text: &str) -> Result<Self, InvalidPath> {
        text.split('/').try_for_each(check_segment)?;
        Ok(Self(text.into()))
    }

    /// Returns the path of the skill's own `SKILL.md`.
    pub fn skill_file() -> Self {
        Self(SKILL_FILE.into())
    }

    /// Appends one segment.
    pub fn join(&self, segment: &str) -> Result<Self, InvalidPath> {
        if segment.contains('/') {
            return Err(InvalidPath("has a segment that holds a slash"));
        }
        check_segment(segment)?;
        Ok(Self(format!("{}/{segment}", self.0).into()))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the segments, outermost first.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns the last segment.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns the directory that the path is in, or none if that is the skill's root.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(parent, _)| Self(parent.into()))
    }

    /// Returns the rest of the path below `directory`, if the path lies inside it.
    pub fn strip_prefix(&self, directory: &Self) -> Option<Self> {
        let rest = self.0.strip_prefix(directory.as_str())?.strip_prefix('/')?;
        Some(Self(rest.into()))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The path of a skill in a server's namespace: free prefix segments, then the skill's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillPath {
    prefix: Vec<Box<str>>,
    name: SkillName,
}

impl SkillPath {
    /// Puts a name below prefix segments.
    pub fn new<'a>(
        prefix: impl IntoIterator<Item = &'a str>,
        name: SkillName,
    ) -> Result<Self, InvalidPath> {
        let prefix = prefix
            .into_iter()
            .map(|segment| {
                check_segment(segment)?;
                if segment.contains('/') {
                    return Err(InvalidPath("has a segment that holds a slash"));
                }
                Ok(segment.into())
            })
            .collect::<Result<_, InvalidPath>>()?;
        Ok(Self { prefix, name })
    }

    /// Parses the text form, such as `acme/billing/refunds`.
    pub fn parse(text: &str) -> Result<Self, InvalidPath> {
        let (prefix, name) = text.rsplit_once('/').map_or((None, text), |(p, n)| (Some(p), n));
        let name = SkillName::parse(name)
            .map_err(|_| InvalidPath("does not end in a valid skill name"))?;
        Self::new(prefix.into_iter().flat_map(|prefix| prefix.split('/')), name)
    }

    /// Returns the skill's name, which is the last segment.
    pub fn name(&self) -> &SkillName {
        &self.name
    }

    /// Returns every segment, the name last.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.prefix.iter().map(AsRef::as_ref).chain([self.name.as_str()])
    }
}

impl fmt::Display for SkillPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.prefix {
            write!(f, "{segment}/")?;
        }
        self.name.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_have_no_way_up_or_out() {
        for bad in ["", "/", "/a", "a/", "a//b", "..", "a/../b", "./a", "a/.", "a\0b"] {
            assert!(RelPath::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(RelPath::parse("a/b c.md").unwrap().file_name(), "b c.md");
    }

    #[test]
    fn prefix_is_taken_off_by_segment() {
        let path = RelPath::parse("pdf-extra/x").unwrap();
        assert_eq!(path.strip_prefix(&RelPath::parse("pdf").unwrap()), None);
        assert_eq!(path.strip_prefix(&RelPath::parse("pdf-extra").unwrap()).unwrap().as_str(), "x");
    }

    #[test]
    fn skill_path_may_have_any_depth_srv_17() {
        let path = SkillPath::parse("acme/billing/refunds").unwrap();
        assert_eq!(path.name().as_str(), "refunds");
        assert_eq!(path.to_string(), "acme/billing/refunds");
        assert!(SkillPath::parse("refunds").is_ok());
        for bad in ["", "a//b", "../a", "a/B", "a/"] {
            assert!(SkillPath::parse(bad).is_err(), "{bad:?}");
        }
    }
}
