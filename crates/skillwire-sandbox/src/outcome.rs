//! How a run ended, and what it left behind.

use std::{fmt, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use skillwire_core::RelPath;
use skillwire_egress::RefusedDestination;

use crate::{enforced_limit::EnforcedLimit, isolation::IsolationTier};

/// The result of a script that ran, to its end or until the sandbox stopped it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunOutcome {
    /// How the script ended.
    pub end: RunEnd,
    /// What it wrote to standard output.
    pub stdout: OutputText,
    /// What it wrote to standard error.
    pub stderr: OutputText,
    /// The files that it left in its output folder.
    pub files: Vec<OutputFile>,
    /// How many entries of the output folder were not collected: links, devices, unreadable names,
    /// or more than the limits allow.
    pub skipped_files: u64,
    /// The first destinations that it asked for and was refused; only where it was granted some.
    pub refused_destinations: Vec<RefusedDestination>,
    /// What the run used.
    pub usage: ResourceUsage,
    /// The tier that it ran in.
    pub tier: IsolationTier,
    /// How the limits on all of its processes together were enforced.
    pub enforcement: AggregateEnforcement,
    /// Every limit, with what was used of it and what held it.
    pub limits: Vec<EnforcedLimit>,
}

/// How limits on all processes of a run together are enforced. Displays as a sentence without its
/// full stop.
///
/// Each single process has kernel limits in either case. What holds which limit is told by
/// [`RunOutcome::limits`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AggregateEnforcement {
    /// The kernel bounds what these controllers of a cgroup count. No controller bounds processor
    /// time.
    Cgroup {
        /// The names of the controllers, such as `memory`.
        controllers: Vec<String>,
    },
    /// The supervisor adds up what the processes use, many times a second, and stops the run when
    /// it is too much. Between two samples a run can exceed a limit.
    #[serde(rename = "counted")]
    Sampled {
        /// Why no cgroup is used.
        why: String,
    },
}

impl fmt::Display for AggregateEnforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cgroup { controllers } => {
                let bounded = controllers.iter().map(|name| match name.as_str() {
                    "pids" => "processes",
                    "cpu" => "share of the processors",
                    other => other,
                });
                let bounded = bounded.collect::<Vec<_>>().join(", ");
                write!(f, "a cgroup bounds all processes of a run together ({bounded})")
            }
            Self::Sampled { why } => {
                write!(f, "no cgroup bounds the processes of a run together: {why}")
            }
        }
    }
}

/// How a script ended. Displays as the end of a sentence that begins with "The script".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// It exited with this code.
    Exited(i32),
    /// A signal that the sandbox did not send ended it.
    Signalled(i32),
    /// The sandbox stopped it.
    Stopped(StopReason),
}

impl RunEnd {
    /// Whether the script exited with code 0.
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited with {code}"),
            Self::Signalled(signal) => write!(f, "was ended by signal {signal}"),
            Self::Stopped(reason) => write!(f, "was stopped: {reason}"),
        }
    }
}

/// Why the sandbox stopped a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It reached [`RunLimits::wall_time`](crate::RunLimits::wall_time).
    Wall,
    /// It reached [`RunLimits::cpu_time`](crate::RunLimits::cpu_time).
    Cpu,
    /// It reached [`RunLimits::memory_bytes`](crate::RunLimits::memory_bytes).
    Memory,
    /// It reached [`RunLimits::processes`](crate::RunLimits::processes) where the kernel does not
    /// refuse more.
    Processes,
    /// It wrote many times more than [`RunLimits::stream_bytes`](crate::RunLimits::stream_bytes).
    Output,
    /// It reached [`RunLimits::folder_bytes`](crate::RunLimits::folder_bytes) or
    /// [`RunLimits::folder_files`](crate::RunLimits::folder_files).
    Disk,
    /// The caller cancelled it.
    Cancelled,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wall => "it took too long",
            Self::Cpu => "it used too much processor time",
            Self::Memory => "it used too much memory",
            Self::Processes => "it made too many processes or threads",
            Self::Output => "it wrote too much output",
            Self::Disk => "it filled its folders",
            Self::Cancelled => "it was cancelled",
        })
    }
}

/// Text that a script wrote: valid UTF-8 without control sequences, never longer than was allowed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputText {
    pub(crate) text: String,
    pub(crate) truncated: bool,
}

impl OutputText {
    /// The text. It is untrusted: the script may write whatever it likes.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the script wrote more than was kept.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }
}

/// A file that a script left in its output folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    /// Its path in the output folder.
    pub path: RelPath,
    /// Its content.
    pub bytes: Bytes,
}

/// What a run used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ResourceUsage {
    /// How long the run took, isolation included.
    pub wall_time: Duration,
    /// The processor time of all of its processes.
    pub cpu_time: Duration,
    /// The most memory that all of its processes were seen to hold together.
    pub peak_memory_bytes: u64,
    /// The most processes and threads that were seen at once.
    pub peak_processes: u64,
    /// Bytes in that of its two folders which held more of them.
    pub folder_bytes: u64,
    /// Files in that of its two folders which held more of them.
    pub folder_files: u64,
    /// Bytes that it wrote to both streams, kept or not.
    pub output_bytes: u64,
}

/// A time in whole milliseconds.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
