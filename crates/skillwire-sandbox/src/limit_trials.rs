//! Tries every limit by a script that goes beyond it.

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use skillwire_core::RelPath;

use crate::{
    arguments::ScriptArguments,
    enforced_limit::{LimitEnforcement, LimitKind},
    interpreter::InterpreterFinder,
    job::{JobFile, ScriptJob},
    limits::RunLimits,
    outcome::{RunEnd, StopReason},
};

/// How much longer than its limit a run may take to be stopped on a busy machine.
const LATE: Duration = Duration::from_secs(3);

/// What came of a script that went beyond one limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TriedLimit {
    /// The limit.
    pub limit: LimitKind,
    /// Whether the script was stopped, or what it asked for was refused.
    pub held: bool,
    /// How the script ended, as the end of a sentence that begins with "The script".
    pub end: String,
    /// What holds the limit.
    pub enforcement: LimitEnforcement,
}

/// A script that goes beyond a limit. It exits with 3 when it is refused something, and goes on for
/// ever when it is not.
pub(crate) struct LimitTrial {
    pub(crate) limit: LimitKind,
    script: &'static str,
    limits: fn(RunLimits) -> RunLimits,
    /// The reason for which the sandbox stops the script where the kernel does not refuse anything.
    stop: StopReason,
}

const MIB: u64 = 1024 * 1024;

/// One for each limit. They use only commands that are built into the shell, but for the one about
/// processes.
pub(crate) const LIMIT_TRIALS: [LimitTrial; 8] = [
    LimitTrial {
        limit: LimitKind::Time,
        script: "while :; do :; done",
        limits: |limits| limits.with_wall_time(Duration::from_millis(300)),
        stop: StopReason::Wall,
    },
    LimitTrial {
        limit: LimitKind::Cpu,
        script: "while :; do :; done",
        limits: |limits| limits.with_cpu_time(Duration::from_millis(200)),
        stop: StopReason::Cpu,
    },
    LimitTrial {
        limit: LimitKind::Memory,
        script: "x=0123456789; while :; do x=$x$x; done",
        limits: |limits| limits.with_memory_bytes(32 * MIB),
        stop: StopReason::Memory,
    },
    LimitTrial {
        limit: LimitKind::Processes,
        script: "i=0; while [ $i -lt 64 ]; do sleep 60 & i=$((i + 1)); done; while :; do :; done",
        limits: |limits| limits.with_processes(8),
        stop: StopReason::Processes,
    },
    LimitTrial {
        limit: LimitKind::OpenFiles,
        // The shell keeps the input of each call open until the call is over.
        script: "open() { if [ $1 -gt 0 ]; then open $(($1 - 1)) < \"$0\" || exit 3; fi; }\n\
                 open 400\nwhile :; do :; done",
        limits: |limits| limits.with_open_files(64),
        // Nothing counts open files: the kernel refuses them.
        stop: StopReason::Cancelled,
    },
    LimitTrial {
        limit: LimitKind::Disk,
        script: "x=0123456789abcdef; for n in 1 2 3 4 5 6; do x=$x$x; done\n\
                 for n in 1 2 3 4 5 6 7 8; do\n\
                 i=0; while [ $i -lt 512 ]; do echo $x || exit 3; i=$((i + 1)); done > $n || exit 3\n\
                 done; while :; do :; done",
        limits: |limits| limits.with_folder_bytes(MIB),
        stop: StopReason::Disk,
    },
    LimitTrial {
        limit: LimitKind::Files,
        script: "i=0; while [ $i -lt 200 ]; do : > $i || exit 3; i=$((i + 1)); done\n\
                 while :; do :; done",
        limits: |limits| limits.with_folder_files(64),
        stop: StopReason::Disk,
    },
    LimitTrial {
        limit: LimitKind::Output,
        script: "while :; do echo 0123456789abcdef; done",
        limits: |limits| limits.with_stream_bytes(1000),
        stop: StopReason::Output,
    },
];

impl LimitTrial {
    /// The job of the trial, which ends after a few seconds in any case.
    pub(crate) fn job(&self) -> Result<ScriptJob, String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        let script = RelPath::parse("beyond.sh").map_err(|error| text(&error))?;
        let file =
            JobFile { path: script.clone(), bytes: Bytes::from_static(self.script.as_bytes()) };
        let arguments = ScriptArguments::from_words(Vec::new(), Vec::new());
        let arguments = arguments.map_err(|error| text(&error))?;
        let mut job = ScriptJob::new(vec![file], script, arguments, &InterpreterFinder::default())
            .map_err(|error| text(&error))?;
        let limits = RunLimits::default().with_wall_time(Duration::from_secs(4));
        job.set_limits((self.limits)(limits));
        Ok(job)
    }

    /// Whether this is how a run ends whose limit holds.
    pub(crate) fn is_held(&self, end: RunEnd, started: Instant, limits: &RunLimits) -> bool {
        let in_time = started.elapsed() < limits.wall_time + LATE;
        in_time
            && match end {
                RunEnd::Stopped(reason) => reason == self.stop,
                // Refused by the kernel: the shell gives up, or a signal ends it.
                RunEnd::Exited(code) => code != 0 && self.limit != LimitKind::Time,
                RunEnd::Signalled(_) => true,
            }
    }
}
