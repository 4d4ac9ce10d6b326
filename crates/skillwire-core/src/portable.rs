//! Checks that files can be written to any disk without one replacing another.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;

use crate::path::RelPath;

/// Names that Windows gives to devices, whatever the ending.
const DEVICES: [&str; 24] = [
    "aux", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "con", "conin$",
    "conout$", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9", "nul",
    "prn",
];

/// The reason why files cannot be written, as a clause about them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotPortable {
    /// Two paths are one where case or Unicode form do not count, or a file is also a directory.
    #[error("`{0}` and `{1}` are one name on some disks")]
    Collide(String, String),
    /// A name means something else on some system.
    #[error("`{0}` is reserved or changed by some systems")]
    Reserved(String),
}

/// Checks that files stay apart and keep their names on every disk.
pub fn check<'a>(paths: impl IntoIterator<Item = &'a RelPath>) -> Result<(), NotPortable> {
    let mut names = Names::default();
    paths.into_iter().try_for_each(|path| names.add_file(path))
}

/// The names in a tree that is still growing: each must stay apart from all before it.
#[derive(Debug, Default)]
pub struct Names {
    /// Every file and directory, by its name on a disk that ignores case and Unicode form.
    known: HashMap<String, (String, bool)>,
}

impl Names {
    /// Adds a file and the directories it is in.
    pub fn add_file(&mut self, path: &RelPath) -> Result<(), NotPortable> {
        self.add(path, true)
    }

    /// Adds a directory and those it is in; the same directory may come again.
    pub fn add_directory(&mut self, path: &RelPath) -> Result<(), NotPortable> {
        self.add(path, false)
    }

    fn add(&mut self, path: &RelPath, ends_in_file: bool) -> Result<(), NotPortable> {
        let text = path.as_str();
        if path.segments().any(is_reserved) {
            return Err(NotPortable::Reserved(text.to_owned()));
        }
        let ends = text.match_indices('/').map(|(at, _)| at).chain([text.len()]);
        for end in ends {
            let (part, is_file) = (&text[..end], ends_in_file && end == text.len());
            let first = self.known.insert(folded(part), (part.to_owned(), is_file));
            if let Some((first, was_file)) = first
                && (first != part || is_file || was_file)
            {
                return Err(NotPortable::Collide(first, text.to_owned()));
            }
        }
        Ok(())
    }
}

fn folded(text: &str) -> String {
    text.nfkc().flat_map(char::to_lowercase).nfc().collect()
}

fn is_reserved(name: &str) -> bool {
    let folded = folded(name);
    let stem = folded.split('.').next().unwrap_or(&folded).trim_end();
    DEVICES.contains(&stem)
        || name.ends_with(['.', ' '])
        || name.contains(|c: char| c.is_control() || "\\:*?\"<>|".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(paths: &[&str]) -> Result<(), NotPortable> {
        let paths: Vec<_> = paths.iter().map(|path| RelPath::parse(path).unwrap()).collect();
        check(&paths)
    }

    #[test]
    fn names_that_some_disks_take_for_one_are_refused_hst_113() {
        for paths in [
            ["SKILL.md", "Skill.md"],
            ["caf\u{e9}.md", "cafe\u{301}.md"],
            ["\u{fb01}le", "file"],
            ["A/x", "a/y"],
            ["a", "a/b"],
            ["a/b", "A"],
            ["x", "x"],
        ] {
            assert!(matches!(checked(&paths), Err(NotPortable::Collide(..))), "{paths:?}");
        }
        assert_eq!(checked(&["SKILL.md", "a/SKILL.md", "a/b", "a/c/d", ".env.example"]), Ok(()));
    }

    #[test]
    fn a_directory_may_come_again_and_a_file_may_not_hst_113() {
        let path = |text: &str| RelPath::parse(text).unwrap();
        let mut names = Names::default();
        assert_eq!(names.add_directory(&path("a/b")), Ok(()));
        assert_eq!(names.add_directory(&path("a/b")), Ok(()));
        assert_eq!(names.add_file(&path("a/b/c")), Ok(()));
        for clash in ["a/b/c", "a/b", "A/d", "a/B"] {
            let mut names = Names::default();
            names.add_directory(&path("a/b")).unwrap();
            names.add_file(&path("a/b/c")).unwrap();
            assert!(names.add_file(&path(clash)).is_err(), "{clash}");
        }
        assert!(names.add_directory(&path("a/b/c")).is_err());
        assert!(names.add_directory(&path("a/b/C/d")).is_err());
    }

    #[test]
    fn names_of_devices_are_refused_hst_113() {
        for path in [
            "CON",
            "a/nul.txt",
            "com1",
            "COM\u{b9}",
            "aux .md",
            "lpt9.tar.gz",
            "a.",
            "b ",
            "c:d",
            "e\\f",
            "g\u{7}",
            "conin$",
        ] {
            assert!(matches!(checked(&[path]), Err(NotPortable::Reserved(_))), "{path}");
        }
        assert_eq!(checked(&["console.md", "com10", "a.b", "null"]), Ok(()));
    }
}
