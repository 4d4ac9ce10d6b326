//! State that ends with the process, for tests and for agents that keep nothing.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use parking_lot::Mutex;
use skillwire_core::{Digest, SkillResource};

use crate::{
    cache::Cache,
    dialect_memory::{DialectMemory, KnownDialect},
    label::ServerLabel,
    origin::{Origin, SkillId},
    record::{Record, RecordStore, StoreError},
    verified::VerifiedFile,
};

/// The size limit of the cache, unless the embedder sets another.
const DEFAULT_BOUND: u64 = 64 * 1024 * 1024;

/// Records in memory.
#[derive(Debug, Default)]
pub struct MemoryRecords {
    records: Mutex<BTreeMap<SkillId, Record>>,
}

impl RecordStore for MemoryRecords {
    fn get(&self, id: &SkillId) -> Result<Option<Record>, StoreError> {
        Ok(self.records.lock().get(id).cloned())
    }

    fn is_disabled(&self, id: &SkillId) -> Result<bool, StoreError> {
        Ok(self.records.lock().get(id).is_some_and(|record| record.disabled))
    }

    fn update(
        &self,
        id: &SkillId,
        change: &mut dyn FnMut(&mut Record),
    ) -> Result<Record, StoreError> {
        let mut records = self.records.lock();
        let mut record = records.get(id).cloned().unwrap_or_else(|| Record::new(id.clone()));
        change(&mut record);
        if record.id != *id {
            return Err(StoreError::new(id.to_string(), "is the record of another skill"));
        }
        records.insert(id.clone(), record.clone());
        Ok(record)
    }

    fn remove_origin(&self, origin: &Origin) -> Result<usize, StoreError> {
        let mut records = self.records.lock();
        let before = records.len();
        records.retain(|id, _| id.origin != *origin);
        Ok(before - records.len())
    }

    fn all(&self) -> (Vec<Record>, Vec<StoreError>) {
        (self.records.lock().values().cloned().collect(), Vec::new())
    }
}

/// A cache in memory; the oldest files are removed first.
#[derive(Debug)]
pub struct MemoryCache {
    bound: u64,
    kept: Mutex<KeptBytes>,
}

#[derive(Debug, Default)]
struct KeptBytes {
    files: BTreeMap<(SkillId, Digest), Bytes>,
    order: VecDeque<(SkillId, Digest)>,
    bytes: u64,
}

impl Default for MemoryCache {
    fn default() -> Self {
        Self { bound: DEFAULT_BOUND, kept: Mutex::default() }
    }
}

impl MemoryCache {
    /// Limits the cache to this many bytes.
    #[must_use]
    pub fn bounded(self, bytes: u64) -> Self {
        Self { bound: bytes, ..self }
    }
}

impl KeptBytes {
    fn remove_if(&mut self, unwanted: impl Fn(&(SkillId, Digest)) -> bool) -> usize {
        let before = self.order.len();
        for key in self.order.iter().filter(|key| unwanted(key)) {
            self.bytes -= self.files.remove(key).map_or(0, |bytes| bytes.len() as u64);
        }
        self.order.retain(|key| !unwanted(key));
        before - self.order.len()
    }

    fn drop_oldest(&mut self) {
        if let Some(key) = self.order.pop_front() {
            self.bytes -= self.files.remove(&key).map_or(0, |bytes| bytes.len() as u64);
        }
    }
}

impl Cache for MemoryCache {
    fn get(&self, skill: &SkillId, file: &SkillResource) -> Option<Bytes> {
        self.kept.lock().files.get(&(skill.clone(), file.digest)).cloned()
    }

    fn put(&self, file: &VerifiedFile) -> Result<(), StoreError> {
        let size = file.bytes().len() as u64;
        if size > self.bound {
            let problem = format!("keeps at most {} bytes", self.bound);
            return Err(StoreError::new("the cache in memory", problem));
        }
        let key = (file.skill().clone(), file.listed().digest);
        let mut kept = self.kept.lock();
        if kept.files.insert(key.clone(), file.bytes().clone()).is_none() {
            kept.order.push_back(key);
            kept.bytes += size;
        }
        while kept.bytes > self.bound {
            kept.drop_oldest();
        }
        Ok(())
    }

    fn remove_origin(&self, origin: &Origin) -> Result<usize, StoreError> {
        Ok(self.kept.lock().remove_if(|(skill, _)| skill.origin == *origin))
    }
}

/// Dialects of servers, remembered until the process ends.
#[derive(Debug, Default)]
pub struct MemoryDialects {
    known: Mutex<BTreeMap<ServerLabel, KnownDialect>>,
}

impl DialectMemory for MemoryDialects {
    fn recall(&self, server: &ServerLabel) -> Option<KnownDialect> {
        self.known.lock().get(server).copied()
    }

    fn remember(&self, server: &ServerLabel, known: KnownDialect) -> Result<(), StoreError> {
        self.known.lock().insert(server.clone(), known);
        Ok(())
    }

    fn forget(&self, server: &ServerLabel) -> Result<(), StoreError> {
        self.known.lock().remove(server);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{id, listed, verified};

    const URI: &str = "skill://a/b/SKILL.md";

    #[test]
    fn records_in_memory_keep_origins_apart_hst_11_hst_97() {
        let records = MemoryRecords::default();
        let (one, two) = (id("one", URI), id("two", URI));
        records.update(&one, &mut |record| record.disabled = true).unwrap();
        records.update(&two, &mut |_| {}).unwrap();
        assert!(records.get(&one).unwrap().unwrap().disabled);
        assert!(!records.get(&two).unwrap().unwrap().disabled);
        assert!(records.update(&one, &mut |record| record.id = two.clone()).is_err());
        assert_eq!(records.remove_origin(&one.origin).unwrap(), 1);
        assert_eq!(records.get(&one).unwrap(), None);
        assert_eq!(records.all().0.len(), 1);
    }

    #[test]
    fn a_cache_in_memory_keeps_origins_apart_and_is_bounded_hst_11_hst_97() {
        let cache = MemoryCache::default().bounded(10);
        let (one, two) = (id("one", URI), id("two", URI));
        cache.put(&verified(&one, "x", b"1234")).unwrap();
        assert_eq!(cache.get(&two, &listed(&two, "x", b"1234")), None);
        cache.put(&verified(&one, "x", b"1234")).unwrap();
        cache.put(&verified(&two, "x", b"1234")).unwrap();
        assert!(cache.get(&one, &listed(&one, "x", b"1234")).is_some());
        cache.put(&verified(&two, "y", b"5678")).unwrap();
        assert_eq!(cache.get(&one, &listed(&one, "x", b"1234")), None);
        assert!(cache.put(&verified(&two, "z", b"12345678901")).is_err());
        assert_eq!(cache.remove_origin(&two.origin).unwrap(), 2);
        assert_eq!(cache.get(&two, &listed(&two, "y", b"5678")), None);
        cache.put(&verified(&one, "z", b"1234567890")).unwrap();
    }
}
