//! Where an outermost skill was found, and at which path it is served.

use skillwire_core::SkillName;

/// The location of an outermost skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillLocation {
    /// Its directory, in words that the operator knows.
    pub(crate) origin: String,
    /// The segments its served path begins with.
    pub(crate) above: Vec<String>,
    /// The name of its directory, unless that is the root of a file system.
    pub(crate) directory: Option<String>,
    /// Whether it is all that its source has, so that no other skill stands beside it.
    pub(crate) alone: bool,
}

/// The path at which one skill is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServedPosition {
    /// The segments its served path begins with.
    pub(crate) above: Vec<String>,
    /// The name of its directory, which its own name should equal.
    pub(crate) directory: Option<String>,
    /// Whether no other skill stands beside it.
    pub(crate) alone: bool,
}

impl ServedPosition {
    /// The segments before the name of a skill that stands here.
    ///
    /// A skill whose name is not its directory's is served below the directory's name. So two skills
    /// of one folder never claim the same path, whatever their authors wrote, and a new one cannot
    /// take the path of another.
    pub(crate) fn prefix<'a>(
        &'a self,
        name: &SkillName,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        let misnamed = self.directory.as_deref().filter(|directory| *directory != name.as_str());
        let between = misnamed.filter(|_| !self.alone);
        self.above.iter().map(String::as_str).chain(between)
    }
}

impl SkillLocation {
    /// The operator's name for a path of the tree; the skill itself is `""`.
    pub(crate) fn name_of(&self, path: &str) -> String {
        join_path(&self.origin, path)
    }

    /// The position of a directory of the tree that is not nested in a served skill.
    pub(crate) fn position(&self, dir: &str) -> ServedPosition {
        if dir.is_empty() {
            let Self { above, directory, alone, .. } = self.clone();
            return ServedPosition { above, directory, alone };
        }
        let (parents, name) = dir.rsplit_once('/').map_or((None, dir), |(p, n)| (Some(p), n));
        let between = parents.into_iter().flat_map(|parents| parents.split('/'));
        let above = self.above.iter().chain(&self.directory).map(String::as_str).chain(between);
        ServedPosition {
            above: above.map(str::to_owned).collect(),
            directory: Some(name.to_owned()),
            alone: false,
        }
    }
}

/// Joins two `/`-separated paths, either of which may be empty.
pub(crate) fn join_path(directory: &str, path: &str) -> String {
    if directory.is_empty() {
        path.to_owned()
    } else if path.is_empty() {
        directory.to_owned()
    } else if directory.ends_with('/') {
        format!("{directory}{path}")
    } else {
        format!("{directory}/{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_joined_with_one_slash() {
        assert_eq!(join_path("", "a"), "a");
        assert_eq!(join_path("a", ""), "a");
        assert_eq!(join_path("/", "a"), "/a");
        assert_eq!(join_path("./skills", "a/b"), "./skills/a/b");
    }

    #[test]
    fn a_directory_inside_stands_below_the_names_of_the_directories_above_it() {
        let place = SkillLocation {
            origin: "skills/x/outer".to_owned(),
            above: vec!["team".to_owned(), "x".to_owned()],
            directory: Some("outer".to_owned()),
            alone: false,
        };
        assert_eq!(place.position("").above, ["team", "x"]);
        assert_eq!(place.position("").directory.as_deref(), Some("outer"));
        assert_eq!(place.position("a/b").above, ["team", "x", "outer", "a"]);
        assert_eq!(place.position("a/b").directory.as_deref(), Some("b"));
    }
}
