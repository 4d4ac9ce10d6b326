//! Keeps results of scans, so that the same content is scanned once.

use std::{fs, path::PathBuf};

use skillwire_core::{ContentId, Digest, RelPath};
use skillwire_scan::{RuleSet, ScanReport, SkillFiles};

use crate::settings::scan_folder;

/// The longest result that is read back.
const MOST_BYTES: u64 = 4 << 20;

/// Results of scans by content, rules and version of the scanner.
///
/// A result that cannot be read or written is made again; the cache only saves time.
pub(crate) struct ScanCache {
    folder: Option<PathBuf>,
    version: String,
}

impl ScanCache {
    /// Opens the user's cache for some rules.
    pub(crate) fn open(off: bool, rules: &RuleSet) -> Self {
        let folder = if off { None } else { scan_folder() };
        Self { folder, version: rules.version() }
    }

    /// The result for some files: what was kept, or what `scan` finds.
    pub(crate) fn get_or(
        &self,
        files: &SkillFiles,
        scan: impl FnOnce() -> ScanReport,
    ) -> ScanReport {
        let Some(path) = self.path(files) else { return scan() };
        if let Some(kept) = read(&path) {
            return kept;
        }
        let report = scan();
        if let Err(error) = write(&path, &report) {
            tracing::debug!(%error, "the result of a scan could not be kept");
        }
        report
    }

    /// Where the result for some files is kept; nowhere if not all of them were read.
    fn path(&self, files: &SkillFiles) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        if !files.is_complete() {
            return None;
        }
        let listed = files.read().map(|(path, bytes)| {
            let path = RelPath::parse(path).ok()?;
            Some((path, Digest::of(bytes), bytes.len() as u64))
        });
        let content = ContentId::of(listed.collect::<Option<Vec<_>>>()?).ok()?;
        let name = Digest::of(format!("{content}\n{}", self.version).as_bytes()).hex();
        Some(folder.join(&name[..2]).join(format!("{name}.json")))
    }
}

fn read(path: &std::path::Path) -> Option<ScanReport> {
    if fs::metadata(path).ok()?.len() > MOST_BYTES {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn write(path: &std::path::Path, report: &ScanReport) -> std::io::Result<()> {
    let bytes = serde_json::to_vec(report)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // A reader never sees half of a result.
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&temporary, bytes)?;
    fs::rename(&temporary, path)
}
