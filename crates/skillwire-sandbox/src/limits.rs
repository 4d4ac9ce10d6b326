//! Bounds on what one run may use.

use std::time::Duration;

use serde::{Deserialize, Serialize};

const MIB: u64 = 1024 * 1024;

/// The bounds of one run. A run that reaches one of them is stopped, or the script's own request
/// fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunLimits {
    /// How long the run may take, isolation included.
    pub wall_time: Duration,
    /// Processor time of all processes of the run together.
    pub cpu_time: Duration,
    /// Bytes of memory that all processes of the run may hold together.
    pub memory_bytes: u64,
    /// Processes and threads that may exist at once.
    pub processes: u64,
    /// Files that one process may have open.
    pub open_files: u64,
    /// Bytes that the temporary folder may hold, and bytes that the output folder may hold.
    pub folder_bytes: u64,
    /// Files that each of these two folders may hold.
    pub folder_files: u64,
    /// Bytes of standard output that are kept, and bytes of standard error that are kept.
    pub stream_bytes: usize,
    /// Files of the output folder that are returned to the caller.
    pub output_files: usize,
}

impl RunLimits {
    /// A script that writes more than this many times [`stream_bytes`](Self::stream_bytes) to one
    /// stream is stopped.
    pub(crate) const FLOOD_FACTOR: usize = 64;

    /// Sets how long the run may take.
    #[must_use]
    pub fn with_wall_time(mut self, wall_time: Duration) -> Self {
        self.wall_time = wall_time;
        self
    }

    /// Sets the processor time of all processes together.
    #[must_use]
    pub fn with_cpu_time(mut self, cpu_time: Duration) -> Self {
        self.cpu_time = cpu_time;
        self
    }

    /// Sets the bytes of memory that all processes may hold together.
    #[must_use]
    pub fn with_memory_bytes(mut self, memory_bytes: u64) -> Self {
        self.memory_bytes = memory_bytes;
        self
    }

    /// Sets how many processes may exist at once.
    #[must_use]
    pub fn with_processes(mut self, processes: u64) -> Self {
        self.processes = processes;
        self
    }

    /// Sets how many files one process may have open.
    #[must_use]
    pub fn with_open_files(mut self, open_files: u64) -> Self {
        self.open_files = open_files;
        self
    }

    /// Sets the bytes that the temporary folder and the output folder may hold each.
    #[must_use]
    pub fn with_folder_bytes(mut self, folder_bytes: u64) -> Self {
        self.folder_bytes = folder_bytes;
        self
    }

    /// Sets how many files the temporary folder and the output folder may hold each.
    #[must_use]
    pub fn with_folder_files(mut self, folder_files: u64) -> Self {
        self.folder_files = folder_files;
        self
    }

    /// Sets the bytes that are kept of standard output and of standard error each.
    #[must_use]
    pub fn with_stream_bytes(mut self, stream_bytes: usize) -> Self {
        self.stream_bytes = stream_bytes;
        self
    }

    /// Sets how many files of the output folder are returned to the caller.
    #[must_use]
    pub fn with_output_files(mut self, output_files: usize) -> Self {
        self.output_files = output_files;
        self
    }
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            wall_time: Duration::from_secs(30),
            cpu_time: Duration::from_secs(20),
            memory_bytes: 512 * MIB,
            processes: 32,
            open_files: 256,
            folder_bytes: 32 * MIB,
            folder_files: 1024,
            stream_bytes: 256 * 1024,
            output_files: 32,
        }
    }
}
