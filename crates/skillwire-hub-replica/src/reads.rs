//! Which caller read which content: collected in memory, and written to the audit log within a second,
//! together with calls of tools.

use std::{
    any::Any,
    collections::{BTreeMap, HashMap},
    fmt,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use skillwire_core::{ContentId, RelPath};
use skillwire_hub::VersionRef;
use skillwire_hub_store::{HubStore, ReadRecord, StoreError};
use skillwire_server::{Caller, ReadObserver};
use skillwire_source::{Skill, SkillContent};

use crate::{calls::CallLog, files::StoredFiles};

/// How long a read waits in memory, at most, while the database answers. A killed process loses these.
const FLUSH_EVERY: Duration = Duration::from_millis(900);

/// The most files that wait, those of each caller counted apart. Further reads are counted, and the log
/// says how many are missing.
const MOST_WAITING: usize = 20_000;

/// Entries of one transaction. Writers take turns, and a publication must not wait long for its own.
const ENTRIES_AT_ONCE: usize = 256;

/// Which reads are written to the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RecordedReads {
    /// None.
    #[default]
    Off,
    /// Every read; those of one content by one caller within a second are one entry with counts.
    All,
    /// One of so many reads.
    OneIn(u32),
}

/// The error for a text that does not say which reads are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("reads are recorded as `off`, `all`, or a share such as `1/100`")]
pub struct InvalidRecordedReads;

impl FromStr for RecordedReads {
    type Err = InvalidRecordedReads;

    fn from_str(text: &str) -> Result<Self, InvalidRecordedReads> {
        match text {
            "off" => Ok(Self::Off),
            "all" | "1/1" => Ok(Self::All),
            _ => {
                let share = text.strip_prefix("1/").and_then(|share| share.parse().ok());
                share.filter(|share| *share > 1).map(Self::OneIn).ok_or(InvalidRecordedReads)
            }
        }
    }
}

impl fmt::Display for RecordedReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::All => f.write_str("all"),
            Self::OneIn(share) => write!(f, "1/{share}"),
        }
    }
}

/// Collects reads until they are written to the audit log.
pub(crate) struct ReadLog {
    store: HubStore,
    recorded: RecordedReads,
    seen: AtomicU64,
    waiting: Mutex<Waiting>,
    /// Calls of tools, which are always recorded.
    calls: Arc<CallLog>,
    /// Held while reads are written. A task that is ended in the middle of that would lose what it took.
    writing: tokio::sync::Mutex<()>,
}

/// A caller, and what it read.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ReadKey {
    caller: Box<str>,
    source: ReadSource,
}

/// What a file belongs to. A skill stands for the address of its value, which `Waiting` keeps alive.
#[derive(Clone, PartialEq, Eq, Hash)]
enum ReadSource {
    Served(usize),
    Version(String, ContentId),
}

/// How often each file was read.
type FileCounts = BTreeMap<RelPath, u64>;

#[derive(Default)]
struct Waiting {
    reads: HashMap<ReadKey, FileCounts>,
    skills: HashMap<usize, Arc<Skill>>,
    /// The files of all reads.
    files: usize,
    lost: u64,
}

impl Waiting {
    fn add(&mut self, key: ReadKey, path: RelPath, count: u64, skill: Option<&Arc<Skill>>) {
        if let Some(known) = self.reads.get_mut(&key).and_then(|files| files.get_mut(&path)) {
            *known += count;
        } else if self.files < MOST_WAITING {
            if let (ReadSource::Served(address), Some(skill)) = (&key.source, skill) {
                self.skills.entry(*address).or_insert_with(|| Arc::clone(skill));
            }
            self.reads.entry(key).or_default().insert(path, count);
            self.files += 1;
        } else {
            self.lost += count;
        }
    }

    fn skill_of(&self, source: &ReadSource) -> Option<&Arc<Skill>> {
        match source {
            ReadSource::Served(address) => self.skills.get(address),
            ReadSource::Version(..) => None,
        }
    }

    /// Takes back what could not be written.
    fn take_back(&mut self, reads: impl IntoIterator<Item = (ReadKey, FileCounts)>, from: &Self) {
        for (key, files) in reads {
            let skill = from.skill_of(&key.source);
            for (path, count) in files {
                self.add(key.clone(), path, count, skill);
            }
        }
    }
}

impl ReadLog {
    pub(crate) fn new(store: HubStore, recorded: RecordedReads, calls: Arc<CallLog>) -> Self {
        Self {
            store,
            recorded,
            seen: AtomicU64::new(0),
            waiting: Mutex::default(),
            calls,
            writing: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn is_off(&self) -> bool {
        self.recorded == RecordedReads::Off
    }

    fn is_recorded(&self) -> bool {
        match self.recorded {
            RecordedReads::Off => false,
            RecordedReads::All => true,
            RecordedReads::OneIn(share) => {
                self.seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(u64::from(share))
            }
        }
    }

    /// Notes that a caller of the API read a file of a version.
    pub(crate) fn version_read(
        &self,
        subject: &str,
        version: &VersionRef,
        content: ContentId,
        path: &RelPath,
    ) {
        if self.is_recorded() {
            let source = ReadSource::Version(version.to_string(), content);
            let key = ReadKey { caller: subject.into(), source };
            self.waiting.lock().add(key, path.clone(), 1, None);
        }
    }

    /// What takes calls of tools.
    pub(crate) fn calls(&self) -> &Arc<CallLog> {
        &self.calls
    }

    /// Writes what waits to the audit log, again and again.
    pub(crate) async fn write_for_ever(&self) {
        loop {
            tokio::time::sleep(FLUSH_EVERY).await;
            if let Err(error) = self.flush().await {
                tracing::debug!(%error, "reads and calls wait until the database can be reached");
            }
        }
    }

    /// Waits until nothing is being written, and keeps it so until the guard is dropped.
    pub(crate) async fn between_writes(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.writing.lock().await
    }

    /// Writes what waits now. What could not be written goes on to wait.
    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        let _writing = self.writing.lock().await;
        self.calls.flush().await?;
        let mut taken = std::mem::take(&mut *self.waiting.lock());
        let mut lost = taken.lost;
        let mut entries: Vec<(ReadKey, FileCounts)> = taken.reads.drain().collect();
        while !entries.is_empty() || lost > 0 {
            let rest = entries.split_off(entries.len().min(ENTRIES_AT_ONCE));
            let record = |(key, files): &(ReadKey, FileCounts)| {
                let (target, content) = describe(&key.source, &taken)?;
                let files = files.iter().map(|(path, count)| (path.to_string(), *count)).collect();
                Some(ReadRecord {
                    actor: subject_of(&key.caller).to_owned(),
                    target,
                    content,
                    files,
                })
            };
            let records: Vec<ReadRecord> = entries.iter().filter_map(record).collect();
            if let Err(error) = self.store.record_reads(&records, lost).await {
                let mut waiting = self.waiting.lock();
                waiting.take_back(entries.into_iter().chain(rest), &taken);
                waiting.lost += lost;
                return Err(error);
            }
            (entries, lost) = (rest, 0);
        }
        Ok(())
    }
}

impl ReadObserver for ReadLog {
    fn file_read(&self, caller: &Caller, skill: &Arc<Skill>, path: &RelPath) {
        if self.is_recorded() {
            let source = ReadSource::Served(Arc::as_ptr(skill).addr());
            let key = ReadKey { caller: caller.name.as_str().into(), source };
            self.waiting.lock().add(key, path.clone(), 1, Some(skill));
        }
    }
}

/// What the log calls the source of a file, and its content; nothing for one that is generated.
fn describe(source: &ReadSource, waiting: &Waiting) -> Option<(String, ContentId)> {
    if let ReadSource::Version(version, content) = source {
        return Some((version.clone(), *content));
    }
    let skill = waiting.skill_of(source)?;
    let SkillContent::Files(tree) = &skill.content else { return None };
    let store: &dyn Any = &*tree.store;
    if let Some(files) = store.downcast_ref::<StoredFiles>() {
        return Some((files.name().to_owned(), files.content()));
    }
    Some((skill.uri.to_string(), skill.content_id()?))
}

/// The subject of a caller; its name ends with the number of its token.
pub(crate) fn subject_of(caller: &str) -> &str {
    caller.split_once('#').map_or(caller, |(subject, _)| subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_reads_are_recorded_is_written_and_read_back() {
        for (text, expected) in [
            ("off", RecordedReads::Off),
            ("all", RecordedReads::All),
            ("1/100", RecordedReads::OneIn(100)),
        ] {
            assert_eq!(text.parse(), Ok(expected));
            assert_eq!(expected.to_string(), text);
        }
        for bad in ["", "some", "1/0", "2/3", "1/x", "1/-1"] {
            assert_eq!(bad.parse::<RecordedReads>(), Err(InvalidRecordedReads), "{bad}");
        }
    }

    #[test]
    fn waiting_reads_are_bounded_and_what_is_lost_is_counted() {
        let mut waiting = Waiting::default();
        let key = |number: usize| ReadKey {
            caller: format!("ana{number}#1").into(),
            source: ReadSource::Version("acme/refunds@1.0.0".to_owned(), content()),
        };
        let path = RelPath::skill_file;
        for number in 0..MOST_WAITING + 5 {
            waiting.add(key(number), path(), 1, None);
        }
        waiting.add(key(0), path(), 2, None);
        assert_eq!((waiting.reads.len(), waiting.lost), (MOST_WAITING, 5));
        assert_eq!(waiting.reads[&key(0)][&path()], 3);
        // What could not be written waits again, beside what came meanwhile.
        let mut later = Waiting::default();
        later.add(key(0), path(), 1, None);
        let reads = std::mem::take(&mut waiting.reads);
        later.take_back(reads, &waiting);
        assert_eq!(later.reads[&key(0)][&path()], 4);
        assert_eq!((later.files, later.lost), (MOST_WAITING, 0));
    }

    fn content() -> ContentId {
        let file = (RelPath::skill_file(), skillwire_core::Digest::of(b""), 0);
        ContentId::of([file]).unwrap()
    }
}
