//! Changes to folders of agents, all of them or none.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    bundle::BundledFile, directory::write_directory, placement::content_at, store::remove_if_there,
};

/// What marks the names of directories that a change has not finished with.
const MARK: &str = "skillwire-";

/// Changes to several directories that are prepared beside them and then made together.
///
/// Everything that can fail for want of space or rights is done while the directories still hold what
/// they held. If a rename fails after that, those before it are taken back. Dropping it without
/// [`commit`](Self::commit) leaves the directories as they were.
#[derive(Debug, Default)]
pub struct FolderChange {
    steps: Vec<Step>,
    /// Directories that this change made, outermost first.
    made: Vec<PathBuf>,
    committed: bool,
}

#[derive(Debug)]
struct Step {
    directory: PathBuf,
    /// The new directory, beside the old one; `None` removes the old one.
    new: Option<PathBuf>,
    /// The place of the old directory until everything is done.
    old: PathBuf,
    moved_old: bool,
    moved_new: bool,
}

impl FolderChange {
    /// Prepares a directory with these files; returns the directories above that were made for it.
    pub fn copy(&mut self, directory: &Path, files: &[BundledFile]) -> io::Result<Vec<PathBuf>> {
        let made = self.make_parent(directory)?;
        let new = self.step(directory, true)?;
        write_directory(&new, files)?;
        Ok(made)
    }

    /// Prepares a link to a directory; returns the directories above that were made for it.
    pub fn link(&mut self, directory: &Path, target: &Path) -> io::Result<Vec<PathBuf>> {
        let made = self.make_parent(directory)?;
        let new = self.step(directory, true)?;
        make_link(target, &new)?;
        Ok(made)
    }

    /// Prepares that a directory or link is removed.
    pub fn remove(&mut self, directory: &Path) -> io::Result<()> {
        recover(directory)?;
        if fs::symlink_metadata(directory).is_ok() {
            self.step(directory, false)?;
        }
        Ok(())
    }

    /// Makes the changes.
    pub fn commit(mut self) -> io::Result<()> {
        for step in &mut self.steps {
            // An error drops this, which takes back what was done.
            step.make()?;
        }
        self.committed = true;
        Ok(())
    }

    fn make_parent(&mut self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let parent = directory.parent().unwrap_or(directory);
        let absent = |path: &&Path| fs::symlink_metadata(path).is_err();
        let mut made: Vec<PathBuf> =
            parent.ancestors().take_while(absent).map(Path::to_owned).collect();
        made.reverse();
        fs::create_dir_all(parent)?;
        self.made.extend(made.iter().cloned());
        Ok(made)
    }

    fn step(&mut self, directory: &Path, adds: bool) -> io::Result<PathBuf> {
        recover(directory)?;
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Names with a dot are read by no agent, and the process makes them its own.
        let beside = |what: &str| {
            directory.with_file_name(format!(".{name}.{MARK}{what}-{}", std::process::id()))
        };
        let new = beside("new");
        let old = beside("old");
        self.steps.push(Step {
            directory: directory.to_owned(),
            new: adds.then(|| new.clone()),
            old,
            moved_old: false,
            moved_new: false,
        });
        Ok(new)
    }
}

impl Step {
    fn make(&mut self) -> io::Result<()> {
        if fs::symlink_metadata(&self.directory).is_ok() {
            fs::rename(&self.directory, &self.old)?;
            self.moved_old = true;
        }
        if let Some(new) = &self.new {
            fs::rename(new, &self.directory)?;
            self.moved_new = true;
        }
        Ok(())
    }

    fn take_back(&self) {
        // The error that led here is reported; these can only do their best.
        if self.moved_new {
            let _ = remove_if_there(&self.directory);
        }
        if self.moved_old {
            let _ = fs::rename(&self.old, &self.directory);
        }
    }
}

impl Drop for FolderChange {
    fn drop(&mut self) {
        if !self.committed {
            self.steps.iter().rev().for_each(Step::take_back);
        }
        for step in &self.steps {
            let _ = step.new.as_deref().map(remove_if_there);
            if self.committed {
                let _ = remove_if_there(&step.old);
            }
        }
        if !self.committed {
            remove_empty(&self.made);
        }
    }
}

/// Clears what a process that was killed left beside a directory. If it had moved the directory away and
/// put nothing in its place, the directory comes back first.
fn recover(directory: &Path) -> io::Result<()> {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Nothing is beside a directory in a folder that is not there.
    let Some(Ok(entries)) = directory.parent().map(fs::read_dir) else { return Ok(()) };
    let begins = |what: &str| format!(".{name}.{MARK}{what}-");
    for entry in entries {
        let entry = entry?;
        let left = entry.file_name().to_string_lossy().into_owned();
        if left.starts_with(&begins("old")) && fs::symlink_metadata(directory).is_err() {
            fs::rename(entry.path(), directory)?;
        } else if left.starts_with(&begins("old")) || left.starts_with(&begins("new")) {
            remove_if_there(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes directories that are empty, innermost first.
pub fn remove_empty(directories: &[PathBuf]) {
    for directory in directories.iter().rev() {
        // One that holds something else stays.
        let _ = fs::remove_dir(directory);
    }
}

/// Tells whether a directory holds exactly these files.
pub fn holds(directory: &Path, content: &skillwire_core::ContentId) -> bool {
    content_at(directory).as_ref() == Some(content)
}

#[cfg(unix)]
fn make_link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(windows)]
fn make_link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(target, link)
}

#[cfg(not(any(unix, windows)))]
fn make_link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::tests::file;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn all_directories_change_together_and_nothing_stays_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("one/pdf")).unwrap();
        fs::write(at("one/pdf/old.txt"), "old").unwrap();
        let mut change = FolderChange::default();
        change.copy(&at("one/pdf"), &[file("new.txt", "new")]).unwrap();
        let made = change.copy(&at("two/deep/pdf"), &[file("new.txt", "new")]).unwrap();
        assert_eq!(made, [at("two"), at("two/deep")]);
        assert!(at("one/pdf/old.txt").exists() && !at("two/deep/pdf").exists());
        change.commit().unwrap();
        assert_eq!(names(&at("one")), ["pdf"]);
        assert_eq!(names(&at("one/pdf")), ["new.txt"]);
        assert_eq!(names(&at("two/deep/pdf")), ["new.txt"]);
        let mut change = FolderChange::default();
        change.remove(&at("two/deep/pdf")).unwrap();
        change.remove(&at("nowhere/pdf")).unwrap();
        change.commit().unwrap();
        remove_empty(&made);
        assert_eq!(names(folder.path()), ["one"]);
    }

    #[test]
    fn what_a_killed_process_left_is_cleared_by_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        let leave = |name: &str, text: &str| {
            fs::create_dir_all(at(name)).unwrap();
            fs::write(at(name).join("file.txt"), text).unwrap();
        };
        // It was killed after the old directory had been moved away.
        leave(".pdf.skillwire-old-1", "old");
        leave(".pdf.skillwire-new-1", "new");
        leave(".pdf-forms.skillwire-new-1", "of another skill");
        drop(FolderChange::default().copy(&at("pdf"), &[file("file.txt", "newer")]));
        assert_eq!(names(folder.path()), [".pdf-forms.skillwire-new-1", "pdf"]);
        assert_eq!(fs::read_to_string(at("pdf/file.txt")).unwrap(), "old");
        leave(".pdf.skillwire-new-2", "new");
        let mut change = FolderChange::default();
        change.remove(&at("pdf")).unwrap();
        change.commit().unwrap();
        assert_eq!(names(folder.path()), [".pdf-forms.skillwire-new-1"]);
    }

    #[test]
    fn a_change_that_fails_or_is_dropped_leaves_everything_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("one/pdf")).unwrap();
        fs::write(at("one/pdf/old.txt"), "old").unwrap();
        let mut change = FolderChange::default();
        change.copy(&at("one/pdf"), &[file("new.txt", "new")]).unwrap();
        change.copy(&at("two/pdf"), &[file("new.txt", "new")]).unwrap();
        drop(change);
        assert_eq!(names(folder.path()), ["one"]);
        let mut change = FolderChange::default();
        change.copy(&at("one/pdf"), &[file("new.txt", "new")]).unwrap();
        change.copy(&at("two/pdf"), &[file("new.txt", "new")]).unwrap();
        // The second rename fails: what was prepared for it is gone.
        fs::remove_dir_all(at("two")).unwrap();
        assert!(change.commit().is_err());
        assert_eq!(names(&at("one")), ["pdf"]);
        assert_eq!(names(&at("one/pdf")), ["old.txt"]);
    }
}
