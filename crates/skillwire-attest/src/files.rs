//! The files of a skill, and how they differ from what was signed.

use std::{collections::BTreeMap, fmt};

use skillwire_core::{ContentId, Digest, NoContentId, RelPath};

use crate::not_verified::NotVerified;

/// How many paths of each kind a difference names.
const NAMED_PATHS: usize = 3;

/// The files of a skill by path, each with its digest and size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFiles(BTreeMap<RelPath, (Digest, u64)>);

impl SkillFiles {
    /// Takes the files of a skill; a path that is there twice, or holds a control character, is
    /// refused.
    pub fn new(
        files: impl IntoIterator<Item = (RelPath, Digest, u64)>,
    ) -> Result<Self, NoContentId> {
        let mut by_path = BTreeMap::new();
        for (path, digest, size) in files {
            if path.as_str().contains(char::is_control) {
                return Err(NoContentId::ControlCharacter(path.as_str().into()));
            }
            if by_path.insert(path.clone(), (digest, size)).is_some() {
                return Err(NoContentId::RepeatedPath(path.as_str().into()));
            }
        }
        Ok(Self(by_path))
    }

    /// Leaves out the file that holds the signature.
    #[must_use]
    pub fn without(mut self, signature: &RelPath) -> Self {
        self.0.remove(signature);
        self
    }

    /// Returns the files in order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&RelPath, &Digest, u64)> {
        self.0.iter().map(|(path, (digest, size))| (path, digest, *size))
    }

    /// Returns how many files there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the identity of these files.
    pub fn content_id(&self) -> Result<ContentId, NoContentId> {
        ContentId::of(self.0.iter().map(|(path, (digest, size))| (path.clone(), *digest, *size)))
    }
}

/// The files that a trusted signer signed, by path; not every format says how large they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SignedFiles(BTreeMap<RelPath, (Digest, Option<u64>)>);

impl SignedFiles {
    /// Adds a file by the name that the signer wrote.
    pub(crate) fn add(
        &mut self,
        name: &str,
        digest: Digest,
        size: Option<u64>,
    ) -> Result<(), NotVerified> {
        let wrong = |problem| {
            NotVerified::malformed(format!("the path `{}`", name.escape_debug()), problem)
        };
        let path = RelPath::parse(name).map_err(|error| wrong(error.to_string()))?;
        if name.contains(char::is_control) {
            return Err(wrong("holds a control character".to_owned()));
        }
        // On some systems it would separate directories, and the path would be another one.
        if name.contains('\\') {
            return Err(wrong("holds a backslash".to_owned()));
        }
        if self.0.insert(path, (digest, size)).is_some() {
            return Err(wrong("is listed twice".to_owned()));
        }
        Ok(())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&RelPath, &Digest, Option<u64>)> {
        self.0.iter().map(|(path, (digest, size))| (path, digest, *size))
    }

    /// Compares what was signed with what is there: nothing may be missing, changed or unlisted.
    pub(crate) fn compare(&self, files: &SkillFiles) -> Result<(), ContentDifference> {
        let mut difference = ContentDifference::default();
        for (path, (digest, size)) in &self.0 {
            match files.0.get(path) {
                None => difference.missing.push(path.clone()),
                Some((actual, actual_size)) => {
                    if actual != digest || size.is_some_and(|size| size != *actual_size) {
                        difference.changed.push(path.clone());
                    }
                }
            }
        }
        let unlisted = files.0.keys().filter(|path| !self.0.contains_key(*path));
        difference.unlisted.extend(unlisted.cloned());
        if difference.is_empty() { Ok(()) } else { Err(difference) }
    }
}

/// How the files of a skill differ from those that were signed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContentDifference {
    /// Files that were signed and are not there.
    pub missing: Vec<RelPath>,
    /// Files with other bytes than those that were signed.
    pub changed: Vec<RelPath>,
    /// Files that are there and were not signed.
    pub unlisted: Vec<RelPath>,
}

impl ContentDifference {
    fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.changed.is_empty() && self.unlisted.is_empty()
    }
}

/// Writes `1 changed (a), 4 not signed (b, c, d and 1 more)`.
impl fmt::Display for ContentDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            ("missing", &self.missing),
            ("changed", &self.changed),
            ("not signed", &self.unlisted),
        ];
        let mut first = true;
        for (word, paths) in kinds.iter().filter(|(_, paths)| !paths.is_empty()) {
            if !first {
                f.write_str(", ")?;
            }
            first = false;
            write!(f, "{} {word} (", paths.len())?;
            for (index, path) in paths.iter().take(NAMED_PATHS).enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                write!(f, "{comma}`{}`", path.as_str().escape_debug())?;
            }
            if paths.len() > NAMED_PATHS {
                write!(f, " and {} more", paths.len() - NAMED_PATHS)?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}
