//! Folders of skills made for one test.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// A temporary folder that tests fill with skills; dropping it removes the folder.
#[derive(Debug)]
pub struct SkillFolder(TempDir);

/// The smallest `SKILL.md` of that name.
pub fn skill_md(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}. Use when testing.\n---\n\n# {name}\n")
}

impl SkillFolder {
    /// Makes an empty folder.
    #[expect(clippy::new_without_default, reason = "making a folder is work, not a default")]
    pub fn new() -> Self {
        Self(TempDir::new().expect("a temporary folder can be made"))
    }

    /// Makes a folder with minimal skills at these paths, such as `acme/billing/refunds`.
    pub fn with_skills(paths: &[&str]) -> Self {
        let folder = Self::new();
        for path in paths {
            folder.skill(path);
        }
        folder
    }

    /// Adds a minimal skill at a path and returns the folder for more.
    pub fn skill(&self, path: &str) -> &Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.file(&format!("{path}/SKILL.md"), skill_md(name))
    }

    /// Writes a file, making the directories above it.
    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let full = self.path().join(path);
        fs::create_dir_all(full.parent().unwrap_or(&full)).expect("directories can be made");
        fs::write(&full, content).expect("a file can be written");
        self
    }

    /// Makes an empty directory.
    pub fn directory(&self, path: &str) -> &Self {
        fs::create_dir_all(self.path().join(path)).expect("a directory can be made");
        self
    }

    /// Removes a file or a whole directory.
    pub fn remove(&self, path: &str) -> &Self {
        let full = self.path().join(path);
        let removed =
            if full.is_dir() { fs::remove_dir_all(&full) } else { fs::remove_file(&full) };
        removed.expect("what is removed was there");
        self
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file or directory in the folder.
    pub fn join(&self, path: &str) -> PathBuf {
        self.path().join(path)
    }
}
