//! The limits of a run as data: what is allowed, what was used, and what holds each of them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    limits::RunLimits,
    outcome::{ResourceUsage, millis},
};

/// Something that a run may use only so much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LimitKind {
    /// Milliseconds from start to end, isolation included.
    Time,
    /// Milliseconds of processor time of all processes together.
    Cpu,
    /// Bytes of memory of all processes together.
    Memory,
    /// Processes and threads that exist at once.
    Processes,
    /// Files that one process has open.
    OpenFiles,
    /// Bytes in the temporary folder, and bytes in the output folder.
    Disk,
    /// Files in the temporary folder, and files in the output folder.
    Files,
    /// Bytes of standard output that are kept, and bytes of standard error that are kept.
    Output,
}

impl LimitKind {
    /// Every limit, in the order in which users see them.
    pub const ALL: [Self; 8] = [
        Self::Time,
        Self::Cpu,
        Self::Memory,
        Self::Processes,
        Self::OpenFiles,
        Self::Disk,
        Self::Files,
        Self::Output,
    ];

    /// The name that records and messages use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::OpenFiles => "open files",
            Self::Disk => "disk",
            Self::Files => "files",
            Self::Output => "output",
        }
    }
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What holds a limit. Displays as the end of a sentence that begins with "It is".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LimitEnforcement {
    /// The kernel refuses what goes beyond the limit, or beyond what the mechanism adds to it.
    Kernel {
        /// The mechanism, such as `cgroup` or `tmpfs`.
        by: String,
    },
    /// The supervisor sees every use, and stops the run at the limit.
    Supervised,
    /// The supervisor counts fifty times a second, and stops the run when it finds more than the
    /// limit. Between two counts a run can use more.
    Counted,
}

impl LimitEnforcement {
    pub(crate) fn kernel(by: &str) -> Self {
        Self::Kernel { by: by.to_owned() }
    }
}

impl fmt::Display for LimitEnforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel { by } => write!(f, "held by the kernel ({by})"),
            Self::Supervised => f.write_str("held by the supervisor"),
            Self::Counted => f.write_str("counted fifty times a second"),
        }
    }
}

/// One limit of a run, with what holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EnforcedLimit {
    /// What is limited. Its documentation says in which unit.
    pub limit: LimitKind,
    /// How much is allowed.
    pub allowed: u64,
    /// How much was used, where that is known and the run is over.
    pub used: Option<u64>,
    /// What holds the limit.
    pub enforcement: LimitEnforcement,
}

/// Names what holds each limit in one sentence without its full stop, the strongest first.
pub fn holders_sentence(limits: &[EnforcedLimit]) -> String {
    let held_by = |wanted: fn(&LimitEnforcement) -> bool, holder: &str| {
        let limits = limits.iter().filter(|limit| wanted(&limit.enforcement));
        let names = limits.map(|limit| limit.limit.name()).collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| format!("{holder}: {names}"))
    };
    let parts = [
        held_by(|held| matches!(held, LimitEnforcement::Kernel { .. }), "held by the kernel"),
        held_by(|held| *held == LimitEnforcement::Supervised, "by this program"),
        held_by(|held| *held == LimitEnforcement::Counted, "counted fifty times a second"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// What holds those limits whose enforcement differs between machines and tiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LimitHolders {
    pub(crate) memory: LimitEnforcement,
    pub(crate) processes: LimitEnforcement,
    pub(crate) folders: LimitEnforcement,
}

impl LimitHolders {
    /// Every limit of a run, in the order of [`LimitKind::ALL`]; with what was used, once the run is
    /// over.
    pub(crate) fn limits(
        &self,
        limits: &RunLimits,
        used: Option<&ResourceUsage>,
    ) -> Vec<EnforcedLimit> {
        LimitKind::ALL
            .into_iter()
            .map(|limit| {
                let (allowed, used, enforcement) = match limit {
                    LimitKind::Time => (
                        millis(limits.wall_time),
                        used.map(|used| millis(used.wall_time)),
                        LimitEnforcement::Supervised,
                    ),
                    LimitKind::Cpu => (
                        millis(limits.cpu_time),
                        used.map(|used| millis(used.cpu_time)),
                        LimitEnforcement::Counted,
                    ),
                    LimitKind::Memory => (
                        limits.memory_bytes,
                        used.map(|used| used.peak_memory_bytes),
                        self.memory.clone(),
                    ),
                    LimitKind::Processes => (
                        limits.processes,
                        used.map(|used| used.peak_processes),
                        self.processes.clone(),
                    ),
                    LimitKind::OpenFiles => {
                        (limits.open_files, None, LimitEnforcement::kernel("RLIMIT_NOFILE"))
                    }
                    LimitKind::Disk => (
                        limits.folder_bytes,
                        used.map(|used| used.folder_bytes),
                        self.folders.clone(),
                    ),
                    LimitKind::Files => (
                        limits.folder_files,
                        used.map(|used| used.folder_files),
                        self.folders.clone(),
                    ),
                    LimitKind::Output => (
                        limits.stream_bytes as u64,
                        used.map(|used| used.output_bytes),
                        LimitEnforcement::Supervised,
                    ),
                };
                EnforcedLimit { limit, allowed, used, enforcement }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_says_what_holds_it() {
        let holders = LimitHolders {
            memory: LimitEnforcement::Counted,
            processes: LimitEnforcement::kernel("RLIMIT_NPROC"),
            folders: LimitEnforcement::kernel("tmpfs"),
        };
        let limits = holders.limits(&RunLimits::default(), None);
        assert_eq!(limits.iter().map(|limit| limit.limit).collect::<Vec<_>>(), LimitKind::ALL);
        let memory = &limits[2];
        assert_eq!((memory.allowed, memory.used), (512 * 1024 * 1024, None));
        assert_eq!(memory.enforcement.to_string(), "counted fifty times a second");
        assert_eq!(limits[5].enforcement.to_string(), "held by the kernel (tmpfs)");
        assert_eq!(
            holders_sentence(&limits),
            "held by the kernel: processes, open files, disk, files; by this program: time, output; \
             counted fifty times a second: cpu, memory"
        );
        let used = ResourceUsage { folder_files: 3, ..ResourceUsage::default() };
        let after = holders.limits(&RunLimits::default(), Some(&used));
        assert_eq!(after[6].used, Some(3));
    }
}
