//! Where a skill that stands in no other skill was found, and where it goes.

/// The place of an outermost skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its directory in words the operator knows.
    pub(crate) origin: String,
    /// The segments its served path begins with.
    pub(crate) above: Vec<String>,
    /// The name of its directory, unless that is the root of a file system.
    pub(crate) directory: Option<String>,
}

/// Where one skill of a place goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The segments its served path begins with.
    pub(crate) above: Vec<String>,
    /// The name of its directory, which its own name should equal.
    pub(crate) directory: Option<String>,
}

impl Place {
    /// What the operator calls something inside, by its path in the tree; the skill itself is `""`.
    pub(crate) fn name_of(&self, path: &str) -> String {
        below(&self.origin, path)
    }

    /// Where a directory inside goes when it is no part of a skill around it.
    pub(crate) fn standing(&self, dir: &str) -> Standing {
        if dir.is_empty() {
            return Standing { above: self.above.clone(), directory: self.directory.clone() };
        }
        let (parents, name) = dir.rsplit_once('/').map_or((None, dir), |(p, n)| (Some(p), n));
        let between = parents.into_iter().flat_map(|parents| parents.split('/'));
        let above = self.above.iter().chain(&self.directory).map(String::as_str).chain(between);
        Standing { above: above.map(str::to_owned).collect(), directory: Some(name.to_owned()) }
    }
}

/// Joins two `/`-separated paths, either of which may be empty.
pub(crate) fn below(directory: &str, path: &str) -> String {
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
        assert_eq!(below("", "a"), "a");
        assert_eq!(below("a", ""), "a");
        assert_eq!(below("/", "a"), "/a");
        assert_eq!(below("./skills", "a/b"), "./skills/a/b");
    }

    #[test]
    fn a_directory_inside_stands_below_the_names_of_the_directories_above_it() {
        let place = Place {
            origin: "skills/x/outer".to_owned(),
            above: vec!["team".to_owned(), "x".to_owned()],
            directory: Some("outer".to_owned()),
        };
        assert_eq!(place.standing("").above, ["team", "x"]);
        assert_eq!(place.standing("").directory.as_deref(), Some("outer"));
        assert_eq!(place.standing("a/b").above, ["team", "x", "outer", "a"]);
        assert_eq!(place.standing("a/b").directory.as_deref(), Some("b"));
    }
}
