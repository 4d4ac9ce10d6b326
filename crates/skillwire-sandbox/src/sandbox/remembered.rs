//! What a machine was seen to give, kept between starts.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};

use crate::isolation::Isolation;

/// The longest file that is read.
const MAX_BYTES: u64 = 64 * 1024;

/// A file with the answer. A wrong answer in it harms nobody: a run that finds a layer missing does
/// not begin.
#[derive(Debug)]
pub(super) struct Remembered(PathBuf);

#[derive(Serialize, Deserialize)]
struct Content {
    /// What must be the same for the answer to hold.
    seen: Circumstances,
    isolation: Isolation,
}

#[derive(PartialEq, Serialize, Deserialize)]
struct Circumstances {
    boot: String,
    user: u32,
    helper: (u64, u64, u64),
}

impl Circumstances {
    fn now(helper: &Path) -> Option<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let metadata = fs::metadata(helper).ok()?;
        let changed = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let changed = u64::try_from(changed.as_nanos()).ok()?;
        Some(Self { boot, user: user(), helper: (metadata.len(), changed, inode(&metadata)) })
    }
}

#[cfg(target_os = "linux")]
fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(target_os = "linux")]
fn inode(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(target_os = "linux"))]
fn user() -> u32 {
    0
}

#[cfg(not(target_os = "linux"))]
fn inode(_: &fs::Metadata) -> u64 {
    0
}

impl Remembered {
    pub(super) fn new(file: PathBuf) -> Self {
        Self(file)
    }

    pub(super) fn read(&self, helper: &Path) -> Option<Isolation> {
        if fs::metadata(&self.0).ok()?.len() > MAX_BYTES {
            return None;
        }
        let content: Content = serde_json::from_slice(&fs::read(&self.0).ok()?).ok()?;
        (content.seen == Circumstances::now(helper)?).then_some(content.isolation)
    }

    /// Writes the answer; if that fails it is found out again next time.
    pub(super) fn write(&self, helper: &Path, isolation: &Isolation) {
        let Some(seen) = Circumstances::now(helper) else { return };
        let content = Content { seen, isolation: isolation.clone() };
        let write = || -> std::io::Result<()> {
            let folder = self.0.parent().ok_or(std::io::ErrorKind::InvalidInput)?;
            fs::create_dir_all(folder)?;
            let mut secret = [0; 8];
            getrandom::fill(&mut secret).map_err(std::io::Error::other)?;
            let fresh = folder.join(format!(".isolation-{:016x}", u64::from_ne_bytes(secret)));
            let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&fresh)?;
            let written = file
                .write_all(&serde_json::to_vec(&content)?)
                .and_then(|()| fs::rename(&fresh, &self.0));
            written.inspect_err(|_| drop(fs::remove_file(&fresh)))
        };
        let _ = write();
    }

    pub(super) fn forget(&self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::isolation::Tier;

    #[test]
    fn an_answer_holds_for_one_boot_and_one_program() {
        let folder = tempfile::tempdir().unwrap();
        let (file, helper) = (folder.path().join("new/answer"), folder.path().join("helper"));
        fs::write(&helper, "one").unwrap();
        let isolation =
            Isolation { tier: Tier::Full, notes: vec!["x".to_owned()], missing: vec![] };
        let remembered = Remembered::new(file.clone());
        assert_eq!(remembered.read(&helper), None);
        remembered.write(&helper, &isolation);
        assert_eq!(remembered.read(&helper), Some(isolation));
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("\"boot\":\"", "\"boot\":\"0")).unwrap();
        assert_eq!(remembered.read(&helper), None);
        fs::write(&file, &text).unwrap();
        fs::write(&helper, "other").unwrap();
        assert_eq!(remembered.read(&helper), None);
        remembered.forget();
        assert!(!file.exists());
    }
}
