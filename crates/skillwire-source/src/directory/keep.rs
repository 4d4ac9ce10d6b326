//! The index of a source through one scan: what it still knows, and what is to be written.

use std::{
    collections::HashSet,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    index::{Index, Known, Place, write::Writer},
    inspect::Remembered,
    memory::Memory,
};

/// What the index of an earlier scan knows.
#[derive(Default)]
pub(super) struct Old {
    index: Option<Index>,
    /// How many of its sites are as they were.
    recalled: AtomicUsize,
    error: Option<io::Error>,
}

impl Old {
    /// Reads the index.
    pub(super) fn load(place: Option<&Place>) -> Self {
        let (index, error) = match place.map(Place::load) {
            Some(Ok(index)) => (index, None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        Self { index, recalled: AtomicUsize::new(0), error }
    }

    /// What was known of a site when the index was written.
    pub(super) fn known(&self, site: &str) -> Option<Known<'_>> {
        self.index.as_ref()?.get(site)
    }

    /// Counts a site that is as it was.
    pub(super) fn recall(&self) {
        self.recalled.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a scan writes down.
pub(super) struct New<'a> {
    /// Nothing when the scan does not look at everything, so that no index can be made of it.
    place: Option<&'a Place>,
    writer: Option<Writer>,
    put: HashSet<Arc<str>>,
    error: Option<io::Error>,
}

impl<'a> New<'a> {
    pub(super) fn at(place: Option<&'a Place>) -> Self {
        Self { place, writer: None, put: HashSet::new(), error: None }
    }

    /// Writes a site down; without an index to write it is left for a later scan.
    pub(super) fn put(&mut self, site: &Arc<str>, remembered: &Remembered, record: &[u8]) {
        let Some(place) = self.place.filter(|_| self.error.is_none()) else { return };
        let written =
            self.writer.take().map_or_else(|| place.begin(), Ok).and_then(|mut writer| {
                writer.put(site, &remembered.fingerprint, record)?;
                Ok(writer)
            });
        match written {
            Ok(writer) => {
                self.writer = Some(writer);
                self.put.insert(Arc::clone(site));
            }
            Err(error) => self.error = Some(error),
        }
    }

    /// Puts an index in place if it differs from the old one; says what went wrong.
    pub(super) fn finish(mut self, old: Old, memory: &mut Memory) -> Option<io::Error> {
        let place = self.place?;
        let recalled = old.recalled.load(Ordering::Relaxed);
        let stale = memory.stale || old.index.as_ref().is_some_and(|old| old.len() != recalled);
        if self.error.is_none() && (self.writer.is_some() || stale) {
            match self.complete(place, old.index, memory) {
                Ok(()) => {
                    memory.unwritten.retain(|site| !self.put.contains(site));
                    memory.stale = false;
                }
                Err(error) => self.error = Some(error),
            }
        }
        self.error.or(old.error)
    }

    /// Adds what did not change, from the index there is.
    fn complete(&mut self, place: &Place, old: Option<Index>, memory: &Memory) -> io::Result<()> {
        let old = old.or_else(|| place.load().ok().flatten());
        let mut writer = self.writer.take().map_or_else(|| place.begin(), Ok)?;
        for (site, remembered) in &memory.skills {
            let known = old.as_ref().filter(|_| !self.put.contains(site));
            let known = known.and_then(|old| old.get(site));
            if let Some(known) = known.filter(|known| known.fingerprint == remembered.fingerprint) {
                writer.put(site, &known.fingerprint, known.record)?;
            }
        }
        writer.finish()
    }
}
