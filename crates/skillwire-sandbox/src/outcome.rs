//! What became of a run.

use std::{fmt, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use skillwire_core::path::RelPath;

use crate::isolation::Tier;

/// A script that ran, to its end or until it was stopped.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// What it wrote to standard output.
    pub stdout: Text,
    /// What it wrote to standard error.
    pub stderr: Text,
    /// What it left in its output folder.
    pub files: Vec<OutputFile>,
    /// How many things in the output folder were not taken: links, devices, or more than allowed.
    pub left_out: u64,
    /// What it used.
    pub usage: Usage,
    /// How it was isolated.
    pub tier: Tier,
    /// What bounded all of its processes together.
    pub together: Together,
}

/// What bounds the processes of a run together; each of them is bounded in any case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Together {
    /// The kernel, by these controllers of a cgroup, at every moment.
    Cgroup {
        /// Their names, such as `memory`.
        controllers: Vec<String>,
    },
    /// What they hold and use is added up many times a second.
    Counted {
        /// Why there is no cgroup.
        why: String,
    },
}

impl fmt::Display for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cgroup { controllers } => {
                write!(f, "bounded by a cgroup ({})", controllers.join(", "))
            }
            Self::Counted { why } => {
                write!(f, "counted fifty times a second and bounded by no cgroup: {why}")
            }
        }
    }
}

/// How a script ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It exited with this code.
    Exited(i32),
    /// It was ended by this signal, which the sandbox did not send.
    Signalled(i32),
    /// It was stopped.
    Stopped(Stop),
}

impl End {
    /// Whether the script says that it succeeded.
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited with {code}"),
            Self::Signalled(signal) => write!(f, "was ended by signal {signal}"),
            Self::Stopped(stop) => write!(f, "was stopped: {stop}"),
        }
    }
}

/// Why a script was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It took too long.
    Wall,
    /// It used too much processor time.
    Cpu,
    /// It held too much memory.
    Memory,
    /// It wrote far more than is kept.
    Output,
    /// It filled its scratch folders.
    Disk,
    /// The caller cancelled it.
    Cancelled,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wall => "it took too long",
            Self::Cpu => "it used too much processor time",
            Self::Memory => "it held too much memory",
            Self::Output => "it wrote too much",
            Self::Disk => "it filled its folders",
            Self::Cancelled => "it was cancelled",
        })
    }
}

/// Text of a script: valid UTF-8 without control sequences, never longer than was allowed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    pub(crate) text: String,
    pub(crate) truncated: bool,
}

impl Text {
    /// The text. It is the script's word, and nobody vouches for it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the script wrote more than this.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }
}

/// A file that a script left in its output folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    /// Where it lies in the output folder.
    pub path: RelPath,
    /// What it holds.
    pub bytes: Bytes,
}

/// What a run used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// How long it took, isolation included.
    pub wall: Duration,
    /// The processor time of all of its processes.
    pub cpu: Duration,
    /// The most memory that was seen in all of its processes together.
    pub peak_memory: u64,
}
