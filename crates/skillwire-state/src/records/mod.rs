//! Records in files, one for each skill of each origin.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use parking_lot::{Mutex, MutexGuard};
use skillwire_trust::{Origin, Record, RecordStore, SkillId, StoreError};

use super::{
    encoding::{decode, encode, skill_of_root},
    folder::{EntryKind, Folder, HeldLock, PathError, Stamp},
};

mod format;
#[cfg(test)]
mod tests;

/// The largest record that is read or written.
const MAX_RECORD_BYTES: u64 = 8 * 1024 * 1024;

/// The most path components of a record; a URI that needs more has over twelve thousand characters.
const MAX_COMPONENTS: usize = 64;

/// How many records are kept in memory.
const MOST_SEEN: usize = 4_096;

/// The limit on the total file size of these records.
const MOST_SEEN_BYTES: u64 = 4 * 1024 * 1024;

/// The lock that a process holds while it changes any record. One lock is enough: a change takes
/// milliseconds. Encoded names have no dot, so no server's folder has this name.
const LOCK: &str = ".lock";

/// The lock of earlier versions. It lies where the folder of a server labelled `lock` belongs.
const EARLIER_LOCK: &str = "lock";

/// The extension of record files; encoded names have no dot, so folders never have it.
const ENDING: &str = ".json";

/// Records in a folder: `LABEL/URI.json`, encoded as by [`encode`].
///
/// A record names its skill and holds what was approved, so that a copied, moved or older file
/// approves nothing but the content it holds. A file that is not a valid record in every part is an
/// error and stays in place until [`Self::set_aside`].
#[derive(Debug, Clone)]
pub struct FileRecords {
    root: PathBuf,
    /// Records in memory, each used only while its file is unchanged.
    seen: Arc<Mutex<RecordCache>>,
}

/// Records in memory, because every load asks for one.
#[derive(Debug, Default)]
struct RecordCache {
    records: HashMap<SkillId, SeenRecord>,
    /// The total size of their files.
    bytes: u64,
}

/// A record, and the path and stamp of the file it was read from.
#[derive(Debug)]
struct SeenRecord {
    path: PathBuf,
    stamp: Stamp,
    record: Arc<Record>,
}

impl FileRecords {
    /// Creates a store below a folder; the folder is created on the first write.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), seen: Arc::default() }
    }

    /// Returns a record from memory if its file still has the same stamp; otherwise the caller
    /// reads the file again.
    fn still(&self, id: &SkillId) -> Option<Arc<Record>> {
        let (path, stamp, record) = {
            let seen = self.seen();
            let SeenRecord { path, stamp, record } = seen.records.get(id)?;
            (path.clone(), *stamp, Arc::clone(record))
        };
        (Stamp::at(&path)? == stamp).then_some(record)
    }

    fn remember(&self, path: PathBuf, stamp: Stamp, record: &Arc<Record>) {
        let mut seen = self.seen();
        if seen.records.len() >= MOST_SEEN || seen.bytes + stamp.size() > MOST_SEEN_BYTES {
            *seen = RecordCache::default();
        }
        // A replaced record stays counted, so the sum may be too large but never too small.
        seen.bytes += stamp.size();
        let record = Arc::clone(record);
        seen.records.insert(record.id.clone(), SeenRecord { path, stamp, record });
    }

    fn seen(&self) -> MutexGuard<'_, RecordCache> {
        self.seen.lock()
    }

    /// Returns the current record of a skill.
    ///
    /// A record is kept in memory only if its file was settled before the read. If the file were
    /// younger than a clock tick, another process could revoke the approval without changing the
    /// stamp, and this process would go on using the old one.
    fn current(&self, id: &SkillId) -> Result<Option<Arc<Record>>, StoreError> {
        if let Some(record) = self.still(id) {
            return Ok(Some(record));
        }
        let now = SystemTime::now();
        let place = RecordPlace::of(id)?;
        let Some(root) = Folder::find(&self.root)? else { return Ok(None) };
        let Some(folder) = place.find(&root)? else { return Ok(None) };
        let Some((record, stamp)) = read_stamped(&folder, &place.file, id)? else {
            return Ok(None);
        };
        let record = Arc::new(record);
        if let Some(stamp) = stamp.filter(|stamp| stamp.is_settled(now)) {
            self.remember(folder.path().join(&place.file), stamp, &record);
        }
        Ok(Some(record))
    }

    /// Moves the unreadable record of a skill aside, so that the user can be asked again, and
    /// returns its new path; a readable record stays in place.
    #[tracing::instrument(skip_all, fields(skill = %id))]
    pub fn set_aside(&self, id: &SkillId) -> Result<Option<PathBuf>, StoreError> {
        let place = RecordPlace::of(id)?;
        let Some(root) = Folder::find(&self.root)? else { return Ok(None) };
        let _locked = lock(&root)?;
        let Some(folder) = place.find(&root)? else { return Ok(None) };
        if place.read(&folder, id).is_ok() {
            return Ok(None);
        }
        let taken: Vec<String> = folder.entries()?.into_iter().map(|(name, _)| name).collect();
        // There is one more number than there are files, so one is free.
        let aside = (1..=taken.len() + 1)
            .map(|number| format!("{}.broken-{number}", place.file))
            .find(|name| !taken.contains(name))
            .unwrap_or_default();
        folder.rename(&place.file, &aside)?;
        folder.sync()?;
        Ok(Some(folder.path().join(aside)))
    }
}

impl RecordStore for FileRecords {
    fn get(&self, id: &SkillId) -> Result<Option<Record>, StoreError> {
        Ok(self.current(id)?.map(Arc::unwrap_or_clone))
    }

    fn is_disabled(&self, id: &SkillId) -> Result<bool, StoreError> {
        Ok(self.current(id)?.is_some_and(|record| record.disabled))
    }

    fn update(
        &self,
        id: &SkillId,
        change: &mut dyn FnMut(&mut Record),
    ) -> Result<Record, StoreError> {
        let place = RecordPlace::of(id)?;
        let root = Folder::make(&self.root)?;
        let _locked = lock(&root)?;
        let folder = place.make(&root)?;
        let mut record = place.read(&folder, id)?.unwrap_or_else(|| Record::new(id.clone()));
        change(&mut record);
        let at = folder.path().join(&place.file);
        let text = format::write(&record, id).map_err(|problem| PathError::new(at, problem))?;
        let new = format!("{}.new", place.file);
        // A process that was killed may have left one. This process holds the lock, so no other
        // process still writes to it.
        folder.remove_file(&new)?;
        folder.replace(&place.file, &new, text.as_bytes(), true)?;
        Ok(record)
    }

    fn remove_origin(&self, origin: &Origin) -> Result<usize, StoreError> {
        let Some(root) = Folder::find(&self.root)? else { return Ok(0) };
        let _locked = lock(&root)?;
        let [label] = &encode(origin.label())[..] else { return Ok(0) };
        let removed = root.remove_all(label)?;
        root.sync()?;
        Ok(removed)
    }

    fn all(&self) -> (Vec<Record>, Vec<StoreError>) {
        let mut found = RecordWalk::default();
        match Folder::find(&self.root) {
            Ok(Some(root)) => found.labels(&root),
            Ok(None) => {}
            Err(fault) => found.faults.push(fault.into()),
        }
        (found.records, found.faults)
    }

    fn of_origin(&self, origin: &Origin) -> (Vec<Record>, Vec<StoreError>) {
        let mut found = RecordWalk::default();
        match (Folder::find(&self.root), &encode(origin.label())[..]) {
            (Ok(Some(root)), [label]) if !is_earlier_lock(&root, label) => {
                found.inner(&root, label, origin, &[]);
            }
            (Ok(_), _) => {}
            (Err(fault), _) => found.faults.push(fault.into()),
        }
        (found.records, found.faults)
    }
}

/// Locks the store, and removes the lock of earlier versions, so that a server may be labelled
/// `lock`.
fn lock(root: &Folder) -> Result<HeldLock, PathError> {
    let locked = root.lock(LOCK)?;
    if is_earlier_lock(root, EARLIER_LOCK) {
        root.remove_file(EARLIER_LOCK)?;
    }
    Ok(locked)
}

fn is_earlier_lock(root: &Folder, name: &str) -> bool {
    name == EARLIER_LOCK && root.facts(name).is_some_and(|facts| facts.kind == EntryKind::File)
}

/// The place of a record below the root.
struct RecordPlace {
    folders: Vec<String>,
    file: String,
}

impl RecordPlace {
    fn of(id: &SkillId) -> Result<Self, StoreError> {
        let mut folders = encode(id.origin.label());
        folders.extend(encode(id.uri.root().as_str()));
        if folders.len() > MAX_COMPONENTS {
            let short: String = id.uri.as_str().chars().take(80).collect();
            let place = format!("{}:{short}…", id.origin);
            return Err(StoreError::new(place, "has a URI that is too long to remember"));
        }
        let last = folders.pop().unwrap_or_default();
        Ok(Self { folders, file: last + ENDING })
    }

    fn find(&self, root: &Folder) -> Result<Option<Folder>, PathError> {
        let mut folder: Option<Folder> = None;
        if self.folders.first().is_some_and(|label| is_earlier_lock(root, label)) {
            return Ok(None);
        }
        for name in &self.folders {
            match folder.as_ref().unwrap_or(root).folder(name)? {
                Some(inner) => folder = Some(inner),
                None => return Ok(None),
            }
        }
        Ok(folder)
    }

    fn make(&self, root: &Folder) -> Result<Folder, PathError> {
        let (first, rest) = self.folders.split_first().ok_or_else(|| nowhere(root))?;
        rest.iter().try_fold(root.make_folder(first)?, |folder, name| folder.make_folder(name))
    }

    fn read(&self, folder: &Folder, id: &SkillId) -> Result<Option<Record>, PathError> {
        read(folder, &self.file, id)
    }
}

fn nowhere(root: &Folder) -> PathError {
    PathError::new(root.path(), "has no place for a skill without a label")
}

/// Reads one file, which must be a record of that skill.
fn read(folder: &Folder, file: &str, id: &SkillId) -> Result<Option<Record>, PathError> {
    Ok(read_stamped(folder, file, id)?.map(|(record, _)| record))
}

/// Reads one file, with the stamp it had before the read.
fn read_stamped(
    folder: &Folder,
    file: &str,
    id: &SkillId,
) -> Result<Option<(Record, Option<Stamp>)>, PathError> {
    let Some((bytes, stamp)) = folder.read_stamped(file, MAX_RECORD_BYTES)? else {
        return Ok(None);
    };
    let record = format::read(&bytes, id).map_err(|problem| {
        let problem = format!("{problem}; nothing is approved by it, and it was left as it is");
        PathError::new(folder.path().join(file), problem)
    })?;
    Ok(Some((record, stamp)))
}

/// The results of a walk over all records.
#[derive(Default)]
struct RecordWalk {
    records: Vec<Record>,
    faults: Vec<StoreError>,
}

impl RecordWalk {
    fn labels(&mut self, root: &Folder) {
        for (name, kind) in self.entries(root) {
            if kind == EntryKind::File && [LOCK, EARLIER_LOCK].contains(&name.as_str()) {
                continue;
            }
            match decode(&[&name]).and_then(|label| Origin::parse(&label).ok()) {
                Some(origin) => self.inner(root, &name, &origin, &[]),
                None => self.foreign(&root.path().join(&name)),
            }
        }
    }

    fn inner(&mut self, folder: &Folder, name: &str, origin: &Origin, above: &[String]) {
        match folder.folder(name) {
            Ok(Some(inner)) => self.records(&inner, origin, above),
            Ok(None) => {}
            Err(fault) => self.faults.push(fault.into()),
        }
    }

    fn records(&mut self, folder: &Folder, origin: &Origin, above: &[String]) {
        for (name, kind) in self.entries(folder) {
            let deeper = |part: &str| [above, &[part.to_owned()]].concat();
            if let Some(part) = name.strip_suffix(ENDING) {
                match decode(&deeper(part)).and_then(|root| skill_of_root(&root)) {
                    Some(uri) => {
                        let id = SkillId { origin: origin.clone(), uri };
                        self.record(folder, &name, &id);
                    }
                    None => self.foreign(&folder.path().join(&name)),
                }
            } else if kind == EntryKind::Folder && above.len() < MAX_COMPONENTS {
                self.inner(folder, &name, origin, &deeper(&name));
            } else if !name.contains(".json.") {
                // A file with another extension was set aside or never finished.
                self.foreign(&folder.path().join(&name));
            }
        }
    }

    fn record(&mut self, folder: &Folder, file: &str, id: &SkillId) {
        match read(folder, file, id) {
            Ok(record) => self.records.extend(record),
            Err(fault) => self.faults.push(fault.into()),
        }
    }

    fn entries(&mut self, folder: &Folder) -> Vec<(String, EntryKind)> {
        folder.entries().unwrap_or_else(|fault| {
            self.faults.push(fault.into());
            Vec::new()
        })
    }

    fn foreign(&mut self, path: &Path) {
        self.faults.push(PathError::new(path, "is not a record of this program").into());
    }
}
