//! One file of state that is read whole and replaced whole.

use std::path::{Path, PathBuf};

use skillwire_trust::StoreError;

use super::folder::{Folder, PathError};

/// A text file that only the user can write, changed by one process at a time.
#[derive(Debug, Clone)]
pub struct StateFile {
    folder: PathBuf,
    file: String,
    most: u64,
}

impl StateFile {
    /// Names a file of at most `most` bytes in a folder; both are created by the first change.
    pub fn new(folder: impl Into<PathBuf>, file: impl Into<String>, most: u64) -> Self {
        Self { folder: folder.into(), file: file.into(), most }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.file)
    }

    /// Reads the file, if it exists.
    pub fn read(&self) -> Result<Option<String>, StoreError> {
        match Folder::find(&self.folder)? {
            Some(folder) => self.text(&folder),
            None => Ok(None),
        }
    }

    /// Reads the file and replaces it by what `change` returns beside its own result; `None` leaves the
    /// file as it is. No other process changes it meanwhile.
    pub fn change<T, E: From<StoreError>>(
        &self,
        change: impl FnOnce(Option<String>) -> Result<(Option<String>, T), E>,
    ) -> Result<T, E> {
        let folder = Folder::make(&self.folder).map_err(StoreError::from)?;
        let _locked = folder.lock(&format!("{}.lock", self.file)).map_err(StoreError::from)?;
        let (text, result) = change(self.text(&folder)?)?;
        if let Some(text) = text {
            self.replace(&folder, &text)?;
        }
        Ok(result)
    }

    fn replace(&self, folder: &Folder, text: &str) -> Result<(), StoreError> {
        if text.len() as u64 > self.most {
            let problem = format!("cannot have more than {} bytes", self.most);
            return Err(PathError::new(self.path(), problem).into());
        }
        let new = format!("{}.new", self.file);
        // A process that was killed may have left one. This process holds the lock, so no other
        // process still writes to it.
        folder.remove_file(&new)?;
        Ok(folder.replace(&self.file, &new, text.as_bytes(), true)?)
    }

    fn text(&self, folder: &Folder) -> Result<Option<String>, StoreError> {
        let Some(bytes) = folder.read(&self.file, self.most)? else { return Ok(None) };
        let path: &Path = &self.path();
        let text = String::from_utf8(bytes).map_err(|_| PathError::new(path, "is not text"))?;
        Ok(Some(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_sees_the_last_one_and_a_failed_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::new(folder.path().join("state"), "x.json", 10);
        assert_eq!(file.read().unwrap(), None);
        let set = |text: &str| file.change(|old| Ok::<_, StoreError>((Some(text.to_owned()), old)));
        assert_eq!(set("one").unwrap(), None);
        assert_eq!(set("two").unwrap().as_deref(), Some("one"));
        assert!(set("much too long").is_err());
        let failed = file.change(|_| Err::<(Option<String>, ()), _>(StoreError::new("x", "y")));
        assert!(failed.is_err());
        file.change(|_| Ok::<_, StoreError>((None, ()))).unwrap();
        assert_eq!(file.read().unwrap().as_deref(), Some("two"));
    }
}
