//! How much a script may use.

use std::time::Duration;

use serde::{Deserialize, Serialize};

const MIB: u64 = 1024 * 1024;

/// The bounds of one run. Reaching one of them ends the run or fails the script's request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How long the run may take.
    pub wall: Duration,
    /// How much processor time all of its processes may use together.
    pub cpu: Duration,
    /// How many bytes of memory all of its processes may hold together.
    pub memory: u64,
    /// How many processes may exist at once. Without a process namespace there is only one.
    pub processes: u64,
    /// How many files a process may have open.
    pub open_files: u64,
    /// How many bytes the temporary folder may hold, and how many the output folder.
    pub scratch: u64,
    /// How many files each of these folders may hold.
    pub scratch_files: u64,
    /// How many bytes of standard output are kept, and how many of standard error.
    pub output: usize,
    /// How many files of the output folder are given back.
    pub output_files: usize,
}

impl Limits {
    /// A script that writes more than this many times what is kept is ended.
    pub(crate) const FLOOD: usize = 64;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(30),
            cpu: Duration::from_secs(20),
            memory: 512 * MIB,
            processes: 32,
            open_files: 256,
            scratch: 32 * MIB,
            scratch_files: 1024,
            output: 256 * 1024,
            output_files: 32,
        }
    }
}
