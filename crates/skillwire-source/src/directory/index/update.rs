//! The index during one scan: the old one, and the update that replaces it.

use std::{
    collections::HashSet,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{IndexLocation, IndexedGroup, LoadedIndex, writer::IndexWriter};
use crate::directory::{inspect::SkillState, scan::FolderMemory};

/// The index of an earlier scan.
#[derive(Default)]
pub(in crate::directory) struct OldIndex {
    index: Option<LoadedIndex>,
    /// The number of its groups that did not change.
    recalled: AtomicUsize,
    error: Option<io::Error>,
}

impl OldIndex {
    /// Reads the index.
    pub(in crate::directory) fn load(place: Option<&IndexLocation>) -> Self {
        let (index, error) = match place.map(IndexLocation::load) {
            Some(Ok(index)) => (index, None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        Self { index, recalled: AtomicUsize::new(0), error }
    }

    /// The record of a group.
    pub(in crate::directory) fn known(&self, group: &str) -> Option<IndexedGroup<'_>> {
        self.index.as_ref()?.get(group)
    }

    /// Counts a group that did not change.
    pub(in crate::directory) fn count_unchanged(&self) {
        self.recalled.fetch_add(1, Ordering::Relaxed);
    }
}

/// The new index that a scan writes.
///
/// New records are written as they come. When the scan ends, the records of unchanged groups are
/// copied from the old index, and the new one replaces it with a rename. If nothing changed,
/// nothing is written.
pub(in crate::directory) struct IndexUpdate<'a> {
    /// `None` if the scan does not cover everything, so that it cannot write an index.
    place: Option<&'a IndexLocation>,
    writer: Option<IndexWriter>,
    put: HashSet<Arc<str>>,
    error: Option<io::Error>,
}

impl<'a> IndexUpdate<'a> {
    pub(in crate::directory) fn at(place: Option<&'a IndexLocation>) -> Self {
        Self { place, writer: None, put: HashSet::new(), error: None }
    }

    /// Writes the record of a group; without an index to write it is left for a later scan.
    pub(in crate::directory) fn put(
        &mut self,
        group: &Arc<str>,
        remembered: &SkillState,
        record: &[u8],
    ) {
        let Some(place) = self.place.filter(|_| self.error.is_none()) else { return };
        let written =
            self.writer.take().map_or_else(|| place.begin(), Ok).and_then(|mut writer| {
                writer.put(group, &remembered.fingerprint, record)?;
                Ok(writer)
            });
        match written {
            Ok(writer) => {
                self.writer = Some(writer);
                self.put.insert(Arc::clone(group));
            }
            Err(error) => self.error = Some(error),
        }
    }

    /// Replaces the old index if the new one differs, and returns the first error.
    pub(in crate::directory) fn finish(
        mut self,
        old: OldIndex,
        memory: &mut FolderMemory,
    ) -> Option<io::Error> {
        let place = self.place?;
        let recalled = old.recalled.load(Ordering::Relaxed);
        let stale = memory.stale || old.index.as_ref().is_some_and(|old| old.len() != recalled);
        if self.error.is_none() && (self.writer.is_some() || stale) {
            match self.complete(place, old.index, memory) {
                Ok(()) => {
                    memory.unwritten.retain(|group| !self.put.contains(group));
                    memory.stale = false;
                }
                Err(error) => self.error = Some(error),
            }
        }
        self.error.or(old.error)
    }

    /// Copies the unchanged records from the old index, and replaces it.
    fn complete(
        &mut self,
        place: &IndexLocation,
        old: Option<LoadedIndex>,
        memory: &FolderMemory,
    ) -> io::Result<()> {
        let old = old.or_else(|| place.load().ok().flatten());
        let mut writer = self.writer.take().map_or_else(|| place.begin(), Ok)?;
        for (group, remembered) in &memory.skills {
            let known = old.as_ref().filter(|_| !self.put.contains(group));
            let known = known.and_then(|old| old.get(group));
            let known = known.filter(|known| known.fingerprint == remembered.fingerprint);
            if let Some(record) = known.and_then(|known| known.current_record()) {
                writer.put(group, &remembered.fingerprint, record)?;
            }
        }
        writer.finish()
    }
}
