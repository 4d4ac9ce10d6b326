//! Verified files on disk, separated by origin and skill.

use std::{
    collections::HashMap,
    path::{Component, Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use bytes::Bytes;
use parking_lot::Mutex;
use skillwire_core::{Digest, SkillResource, agent_folders::lies_in_agent_folder};
use skillwire_trust::{Cache, Origin, SkillId, StoreError, VerifiedFile};

use super::{
    encoding::{decode, encode, skill_of_root},
    folder::{Folder, PathError},
};

mod evict;
#[cfg(test)]
mod tests;

/// The size limit, unless the embedder sets another.
const DEFAULT_BOUND: u64 = 256 * 1024 * 1024;

/// The most path components of a file; skills with longer URIs are not cached.
const MAX_COMPONENTS: usize = 64;

/// How many skills have their folders held open.
const MOST_OPEN: usize = 64;

/// How often a write is tried when another process removes its folder meanwhile.
const ATTEMPTS: usize = 3;

/// A cache in a folder: `LABEL/URI/DIGEST`, encoded as by [`encode`].
///
/// Equal bytes of two skills are two files, each below its own origin. No file is called
/// `SKILL.md`, so that no agent finds a skill there. The cache is not trusted: the host compares
/// the bytes it gets with the entry it holds.
#[derive(Debug)]
pub struct FileCache {
    root: PathBuf,
    bound: u64,
    /// Bytes written since this process last measured the cache; `None` before the first time.
    unswept: Mutex<Option<u64>>,
    /// Open folders of skills that were read: opening them again takes longer than reading a file.
    open: Mutex<HashMap<SkillId, Arc<OpenFolders>>>,
}

/// Open folders from the root of a cache to the folder of a skill.
#[derive(Debug)]
struct OpenFolders {
    root: Folder,
    inner: Vec<(String, Folder)>,
}

impl OpenFolders {
    /// Opens every folder on the way, if all of them exist.
    fn find(root: &Path, skill: &SkillId) -> Result<Option<Self>, PathError> {
        let Some(root) = Folder::find(root)? else { return Ok(None) };
        let mut way = Self { root, inner: Vec::new() };
        for name in folders(skill) {
            match way.last().folder(&name)? {
                Some(folder) => way.inner.push((name, folder)),
                None => return Ok(None),
            }
        }
        Ok(Some(way))
    }

    fn last(&self) -> &Folder {
        self.inner.last().map_or(&self.root, |(_, folder)| folder)
    }

    /// Tells whether opening the path again would end in the same folder: every name on it still
    /// leads to the open folder, through no link, and no other user can write to any of them.
    fn is_still_right(&self) -> bool {
        let mut outer = &self.root;
        self.root.is_still_there()
            && self.inner.iter().all(|(name, folder)| {
                let right = outer.still_holds(name, folder);
                outer = folder;
                right
            })
    }
}

impl FileCache {
    /// Creates a cache below a folder; the folder is created on the first write.
    ///
    /// A folder in which agents look for skills is refused, so that no agent takes content of a
    /// server for a local skill.
    pub fn new(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let root = root.into();
        if lies_in_agent_folder(&root) {
            let problem = "is where agents look for skills, so nothing may be cached there";
            return Err(PathError::new(root, problem).into());
        }
        Ok(Self { root, bound: DEFAULT_BOUND, unswept: Mutex::default(), open: Mutex::default() })
    }

    /// Limits the cache to this many bytes; the oldest files are removed first.
    #[must_use]
    pub fn bounded(self, bytes: u64) -> Self {
        Self { bound: bytes, ..self }
    }

    /// Returns the path at which a file of a skill is cached.
    pub fn path_of(&self, skill: &SkillId, digest: &Digest) -> PathBuf {
        let mut path = self.root.clone();
        path.extend(folders(skill));
        path.join(file_name(digest))
    }

    /// Returns the skill that a cached file belongs to, from its path alone.
    pub fn skill_of(&self, path: &Path) -> Option<SkillId> {
        let names = self.names(path)?;
        let (_digest, folders) = names.split_last()?;
        let (_label, uri) = folders.split_first()?;
        let uri = skill_of_root(&decode(uri)?)?;
        Some(SkillId { origin: self.origin_of(path)?, uri })
    }

    /// Returns the origin of a path in this cache, from the path alone.
    pub fn origin_of(&self, path: &Path) -> Option<Origin> {
        let names = self.names(path)?;
        Origin::parse(&decode(names.get(..1)?)?).ok()
    }

    fn names<'a>(&self, path: &'a Path) -> Option<Vec<&'a str>> {
        let name = |part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        };
        path.strip_prefix(&self.root).ok()?.components().map(name).collect()
    }

    fn read(&self, skill: &SkillId, file: &SkillResource) -> Result<Option<Bytes>, PathError> {
        let name = file_name(&file.digest);
        let held = self.open.lock().get(skill).map(Arc::clone);
        if let Some(way) = held.filter(|way| way.is_still_right()) {
            return Ok(way.last().read_exactly(&name, file.size)?.map(Bytes::from));
        }
        self.open.lock().remove(skill);
        let Some(way) = OpenFolders::find(&self.root, skill)? else { return Ok(None) };
        let bytes = way.last().read_exactly(&name, file.size)?;
        // On systems without file numbers the check always fails, so holding the folder would be
        // useless.
        if bytes.is_some() && way.is_still_right() {
            self.hold(skill, way);
        }
        Ok(bytes.map(Bytes::from))
    }

    fn hold(&self, skill: &SkillId, way: OpenFolders) {
        let mut open = self.open.lock();
        if open.len() >= MOST_OPEN {
            open.clear();
        }
        open.insert(skill.clone(), Arc::new(way));
    }

    fn write(&self, file: &VerifiedFile) -> Result<(), PathError> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let mut folder = Folder::make(&self.root)?;
        for name in folders(file.skill()) {
            folder = folder.make_folder(&name)?;
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let new = format!("new-{}-{}-{count}", std::process::id(), now.as_nanos());
        // Not synced: damage from a power cut is noticed when the host compares the digest.
        folder.replace(&file_name(&file.listed().digest), &new, file.bytes(), false)
    }

    /// Evicts files if enough was written since the last sweep.
    fn tidy(&self, put: u64) -> Result<(), PathError> {
        let mut unswept = self.unswept.lock();
        let since = unswept.map(|since| since.saturating_add(put));
        match since {
            Some(since) if since <= self.bound / 16 => *unswept = Some(since),
            _ => {
                evict::oldest(&self.root, self.bound)?;
                *unswept = Some(0);
            }
        }
        Ok(())
    }
}

impl Cache for FileCache {
    fn get(&self, skill: &SkillId, file: &SkillResource) -> Option<Bytes> {
        match self.read(skill, file) {
            Ok(bytes) => bytes,
            Err(fault) => {
                tracing::warn!(%fault, "a cached file is not used");
                None
            }
        }
    }

    fn put(&self, file: &VerifiedFile) -> Result<(), StoreError> {
        if file.listed().size > self.bound {
            let problem = format!("keeps at most {} bytes", self.bound);
            return Err(PathError::new(&self.root, problem).into());
        }
        if folders(file.skill()).len() > MAX_COMPONENTS {
            return Err(PathError::new(&self.root, "has no room for so long a URI").into());
        }
        let mut written = self.write(file);
        for _ in 1..ATTEMPTS {
            // Another process may have removed the folder while it was empty.
            if written.as_ref().is_err_and(PathError::is_gone) {
                written = self.write(file);
            }
        }
        written?;
        Ok(self.tidy(file.listed().size)?)
    }

    fn remove_origin(&self, origin: &Origin) -> Result<usize, StoreError> {
        self.open.lock().retain(|skill, _| skill.origin != *origin);
        let Some(root) = Folder::find(&self.root)? else { return Ok(0) };
        let [label] = &encode(origin.label())[..] else { return Ok(0) };
        Ok(root.remove_all(label)?)
    }
}

/// Returns the folder names of a skill, outermost first.
fn folders(skill: &SkillId) -> Vec<String> {
    let mut folders = encode(skill.origin.label());
    folders.extend(encode(skill.uri.root().as_str()));
    folders
}

/// Returns the name of a file: its digest in hexadecimal digits.
fn file_name(digest: &Digest) -> String {
    digest.to_string().split_off("sha256:".len())
}
