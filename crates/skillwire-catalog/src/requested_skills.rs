//! Records the skills that clients request, for folders in which not every change is reported.
//!
//! Some skills of a large folder are only scanned in turns, because the system has no watches for
//! all of their directories. A client that requests one of them should see a change before its
//! turn.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use skillwire_source::{Skill, SkillContent};
use tokio::sync::{Mutex, mpsc};

/// The most skills that wait for a scan; further ones are scanned when their turn comes.
const BACKLOG: usize = 64;

/// The requested skills, recorded while a follower wants them.
#[derive(Debug)]
pub(crate) struct RequestedSkills {
    wanted: AtomicBool,
    sender: mpsc::Sender<PathBuf>,
    places: Mutex<mpsc::Receiver<PathBuf>>,
}

impl Default for RequestedSkills {
    fn default() -> Self {
        let (sender, places) = mpsc::channel(BACKLOG);
        Self { wanted: AtomicBool::new(false), sender, places: Mutex::new(places) }
    }
}

impl RequestedSkills {
    /// Sets whether requests are recorded.
    pub(crate) fn want(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    /// Records a request for a skill.
    pub(crate) fn note(&self, skill: &Skill) {
        if !self.wanted.load(Ordering::Relaxed) {
            return;
        }
        if let SkillContent::Files(tree) = &skill.content
            && let Some(place) = tree.store.directory()
        {
            let _enough_are_waiting = self.sender.try_send(place);
        }
    }

    /// Waits for a requested skill and returns the directories of all that are waiting.
    pub(crate) async fn next(&self) -> BTreeSet<PathBuf> {
        let mut waiting = self.places.lock().await;
        // The sender lives as long as `self`, so `recv` always returns a directory.
        let mut places: BTreeSet<_> = waiting.recv().await.into_iter().collect();
        places.extend(std::iter::from_fn(|| waiting.try_recv().ok()));
        places
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use skillwire_core::{RelPath, SkillUri};
    use skillwire_source::{FileStore, FileStoreError, FileTree};

    use super::*;

    #[derive(Debug)]
    struct At(&'static str);

    impl FileStore for At {
        fn read(&self, _: &RelPath, _: u64) -> Result<Bytes, FileStoreError> {
            Err(FileStoreError::Changed)
        }

        fn directory(&self) -> Option<PathBuf> {
            Some(self.0.into())
        }
    }

    fn skill(place: &'static str) -> Skill {
        let (files, empty_directories) = (Box::default(), Box::default());
        let content =
            SkillContent::Files(FileTree { files, empty_directories, store: Arc::new(At(place)) });
        let uri = SkillUri::parse("skill://a/SKILL.md").unwrap();
        Skill { uri, entry: "{}".into(), content, listed: true, provenance: None }
    }

    #[tokio::test]
    async fn requests_are_recorded_while_they_are_wanted() {
        let asked = RequestedSkills::default();
        asked.note(&skill("/unwanted"));
        asked.want(true);
        for _ in 0..BACKLOG * 2 {
            asked.note(&skill("/a"));
        }
        assert_eq!(asked.next().await, BTreeSet::from(["/a".into()]));
        assert!(asked.places.lock().await.try_recv().is_err());
    }
}
