//! How much one archive may expand to, and all archives of one server together.

use skillwire_core::limits::{MAX_BYTES, MAX_FILES};

use crate::unpack::ArchiveFile;

/// The bounds of one archive; all are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveLimits {
    /// Bytes of all files together, a link's copy included.
    pub bytes: u64,
    /// Entries of any kind.
    pub entries: usize,
    /// Segments of a path.
    pub depth: usize,
    /// Bytes of a path.
    pub path: usize,
    /// How many bytes one packed byte may expand to, once the archive exceeds `free_bytes`.
    pub ratio: u64,
    /// Bytes that any archive may expand to, whatever its ratio.
    pub free_bytes: u64,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self {
            bytes: MAX_BYTES,
            entries: MAX_FILES,
            depth: 16,
            path: 4096,
            ratio: 200,
            free_bytes: 1 << 20,
        }
    }
}

impl ArchiveLimits {
    /// Sets the most bytes of all files together.
    #[must_use]
    pub fn with_bytes(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }

    /// Sets the most entries of any kind.
    #[must_use]
    pub fn with_entries(self, entries: usize) -> Self {
        Self { entries, ..self }
    }

    /// Sets the most segments of a path.
    #[must_use]
    pub fn with_depth(self, depth: usize) -> Self {
        Self { depth, ..self }
    }

    /// Sets the most bytes of a path.
    #[must_use]
    pub fn with_path(self, path: usize) -> Self {
        Self { path, ..self }
    }

    /// Sets how many bytes one packed byte may expand to.
    #[must_use]
    pub fn with_ratio(self, ratio: u64) -> Self {
        Self { ratio, ..self }
    }

    /// Sets how many bytes any archive may expand to, whatever its ratio.
    #[must_use]
    pub fn with_free_bytes(self, free_bytes: u64) -> Self {
        Self { free_bytes, ..self }
    }
}

impl ArchiveLimits {
    /// The size of the largest tar file within these bounds: the files, and their headers, long
    /// names and padding.
    pub(crate) fn tar_bytes(&self) -> u64 {
        let overhead = self.path as u64 + 4 * 512;
        self.bytes + (self.entries as u64 + 2) * overhead + 20 * 512
    }

    /// Tells whether `packed` bytes may expand to `unpacked` bytes.
    pub(crate) fn allows_ratio(&self, packed: usize, unpacked: u64) -> bool {
        unpacked <= self.free_bytes || unpacked <= (packed as u64).saturating_mul(self.ratio)
    }
}

/// How much the archives of one server may still expand to in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    bytes: u64,
    entries: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: 4 * MAX_BYTES, entries: 4 * MAX_FILES }
    }
}

impl Budget {
    /// Tells whether the caller may open no further archive of this server.
    pub fn is_spent(&self) -> bool {
        self.bytes == 0 || self.entries == 0
    }

    /// Returns the bounds of the next archive: `limits`, or what is left if that is less.
    pub fn next(&self, limits: ArchiveLimits) -> ArchiveLimits {
        ArchiveLimits {
            bytes: limits.bytes.min(self.bytes),
            entries: limits.entries.min(self.entries),
            ..limits
        }
    }

    /// Subtracts the files of an opened archive.
    pub fn spend(&mut self, files: &[ArchiveFile]) {
        let bytes: u64 = files.iter().map(|file| file.bytes.len() as u64).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        self.entries = self.entries.saturating_sub(files.len());
    }

    /// Subtracts the largest archive that is allowed, because the size of a refused one is unknown.
    pub fn spend_refused(&mut self) {
        let most = ArchiveLimits::default();
        self.bytes = self.bytes.saturating_sub(most.bytes);
        self.entries = self.entries.saturating_sub(most.entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_spent_its_budget_has_nothing_opened_ar_09() {
        let mut budget = Budget::default();
        for _ in 0..4 {
            assert!(!budget.is_spent());
            budget.spend_refused();
        }
        assert!(budget.is_spent());
        assert_eq!(budget.next(ArchiveLimits::default()).bytes, 0);
    }
}
