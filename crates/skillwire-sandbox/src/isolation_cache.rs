//! A file that keeps what isolation a machine was seen to give.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};

use crate::isolation::AvailableIsolation;

/// The longest file that is read.
const MAX_BYTES: u64 = 64 * 1024;

/// Keeps the answer of [`Sandbox::isolation`](crate::Sandbox::isolation) between starts of a
/// program.
///
/// The file needs no protection of its own. A user who can write to it can only make the sandbox
/// skip the probe: every layer is still put in place before a script starts, and a run that finds
/// one missing does not begin.
#[derive(Debug)]
pub(crate) struct IsolationCache(PathBuf);

#[derive(Serialize, Deserialize)]
struct CachedAnswer {
    /// The circumstances that must be the same for the answer to hold.
    seen: ProbeCircumstances,
    isolation: AvailableIsolation,
}

/// What the answer depends on: another kernel needs another boot, another program or another user
/// can have other rights.
#[derive(PartialEq, Serialize, Deserialize)]
struct ProbeCircumstances {
    boot: String,
    user: u32,
    /// Size, time of change and inode of the helper program.
    helper: (u64, u64, u64),
}

impl ProbeCircumstances {
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

impl IsolationCache {
    pub(crate) fn new(file: PathBuf) -> Self {
        Self(file)
    }

    /// Reads the answer, if it was written under the same circumstances.
    pub(crate) fn read(&self, helper: &Path) -> Option<AvailableIsolation> {
        let metadata = fs::metadata(&self.0).ok()?;
        // Opening a fifo would wait for its writer.
        if !metadata.is_file() || metadata.len() > MAX_BYTES {
            return None;
        }
        let cached: CachedAnswer = serde_json::from_slice(&fs::read(&self.0).ok()?).ok()?;
        (cached.seen == ProbeCircumstances::now(helper)?).then_some(cached.isolation)
    }

    /// Writes the answer. A failure costs the next start one probe, so it is only logged.
    pub(crate) fn write(&self, helper: &Path, isolation: &AvailableIsolation) {
        let Some(seen) = ProbeCircumstances::now(helper) else { return };
        let answer = CachedAnswer { seen, isolation: isolation.clone() };
        if let Err(error) = self.replace(&answer) {
            let file = self.0.display();
            tracing::debug!(%file, %error, "the isolation of this machine could not be cached");
        }
    }

    /// Writes a new file and renames it, so that another process never reads half an answer.
    fn replace(&self, answer: &CachedAnswer) -> io::Result<()> {
        let folder = self.0.parent().ok_or(io::ErrorKind::InvalidInput)?;
        fs::create_dir_all(folder)?;
        let mut suffix = [0; 8];
        getrandom::fill(&mut suffix).map_err(io::Error::other)?;
        let fresh = folder.join(format!(".isolation-{:016x}", u64::from_ne_bytes(suffix)));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&fresh)?;
        let written =
            file.write_all(&serde_json::to_vec(answer)?).and_then(|()| fs::rename(&fresh, &self.0));
        written.inspect_err(|_| drop(fs::remove_file(&fresh)))
    }

    /// Removes the answer, after a run found that it no longer holds.
    pub(crate) fn forget(&self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::isolation::IsolationTier;

    #[test]
    fn an_answer_holds_for_one_boot_one_user_and_one_program() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/answer");
        let helper = folder.path().join("helper");
        fs::write(&helper, "one").unwrap();
        let isolation = AvailableIsolation {
            tier: IsolationTier::Full,
            notes: vec!["x".to_owned()],
            missing: vec![],
        };
        let cache = IsolationCache::new(file.clone());
        assert_eq!(cache.read(&helper), None);
        cache.write(&helper, &isolation);
        assert_eq!(cache.read(&helper), Some(isolation.clone()));
        let text = fs::read_to_string(&file).unwrap();
        for (now, other) in [("\"boot\":\"", "\"boot\":\"0"), ("\"user\":", "\"user\":1")] {
            let changed = text.replace(now, other);
            assert_ne!(changed, text);
            fs::write(&file, changed).unwrap();
            assert_eq!(cache.read(&helper), None, "{other}");
        }
        fs::write(&file, &text).unwrap();
        assert_eq!(cache.read(&helper), Some(isolation));
        fs::write(&helper, "other").unwrap();
        assert_eq!(cache.read(&helper), None);
        cache.forget();
        assert!(!file.exists());
    }
}
