//! Runs a skill's script in isolation, or says why it cannot.
//!
//! This crate never knows where a skill came from, who asked for the run, or what MCP is. It reads
//! no environment variable and no configuration.
//!
//! A [`ScriptJob`] holds a private copy of a skill's files, the script to run, and what was granted
//! to it. [`Sandbox::run`] hands the job to a fresh process of the same program, which confines
//! itself before it becomes the script. The caller's process never forks and then runs code of its
//! own: it may have threads, and a lock that another thread holds at the fork is never released in
//! the copy.
//!
//! There is no way to run a job without isolation. Where a machine gives too little of it, the
//! answer is [`IsolationUnavailable`].
//!
//! # Putting a job together
//!
//! ```
//! # #[cfg(unix)]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//!
//! use skillwire_sandbox::{
//!     InterpreterFinder, JobFile, RelPath, RunLimits, ScriptArguments, ScriptJob,
//! };
//!
//! let script = RelPath::parse("scripts/greet.sh")?;
//! let files = vec![JobFile { path: script.clone(), bytes: "echo \"hello $1\"\n".into() }];
//! let arguments = ScriptArguments::from_words(vec!["world".to_owned()], Vec::new())?;
//!
//! // Nothing is granted yet, and the default limits apply.
//! let mut job = ScriptJob::new(files, script, arguments, &InterpreterFinder::default())?;
//! job.set_limits(RunLimits::default().with_wall_time(Duration::from_secs(5)));
//! job.grant_variable("API_TOKEN", "secret".to_owned())?;
//!
//! assert_eq!(job.limits().wall_time, Duration::from_secs(5));
//! assert!(job.grant_variable("LD_PRELOAD", "evil.so".to_owned()).is_err());
//! # Ok(())
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```
//!
//! # Running it
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use skillwire_sandbox::{CancelHandle, IsolationPolicy, RunError, Sandbox, ScriptJob};
//!
//! fn main() -> ExitCode {
//!     // First, before any thread exists: this process may have been started as a helper.
//!     if let Some(code) = skillwire_sandbox::run_if_helper() {
//!         return code;
//!     }
//!     // The program itself starts here.
//!     ExitCode::SUCCESS
//! }
//!
//! fn run(job: &ScriptJob) -> Result<(), RunError> {
//!     let sandbox = Sandbox::new(IsolationPolicy::default());
//!     let cancel = CancelHandle::new().map_err(RunError::Supervision)?;
//!     let outcome = sandbox.run(job, &cancel, &mut |progress| {
//!         println!("running for {:?}", progress.elapsed);
//!     })?;
//!     println!("The script {}: {}", outcome.end, outcome.stdout.as_str());
//!     Ok(())
//! }
//! ```

#![cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))),
    expect(dead_code, reason = "what a job holds is only read where one can be run")
)]

mod arguments;
mod audit_record;
mod cancel;
mod enforced_limit;
mod helper_entry;
mod interpreter;
mod isolation;
mod isolation_cache;
mod job;
mod limit_trials;
mod limits;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[expect(
    unsafe_code,
    reason = "forks, filters and mounts have no safe interface for all they need"
)]
mod linux;
mod outcome;
mod platform;
mod sandbox;
mod sanitise;
#[cfg(test)]
#[path = "../tests/it/test_skip.rs"]
mod test_skip;

pub use bytes::Bytes;
pub use skillwire_core::RelPath;
pub use skillwire_egress::{
    InvalidDestination, NetworkDestination, RefusalReason, RefusedDestination,
};

pub use self::{
    arguments::{InvalidArguments, ScriptArguments},
    audit_record::{run_record, usage_record},
    cancel::CancelHandle,
    enforced_limit::{EnforcedLimit, LimitEnforcement, LimitKind, holders_sentence},
    helper_entry::run_if_helper,
    interpreter::{InterpreterError, InterpreterFinder, ScriptInterpreter, ScriptLanguage},
    isolation::{
        AvailableIsolation, IsolationPolicy, IsolationTier, IsolationUnavailable,
        MissingRequirement,
    },
    job::{InputFile, InvalidJob, JobFile, ScriptJob},
    limit_trials::TriedLimit,
    limits::RunLimits,
    outcome::{
        AggregateEnforcement, OutputFile, OutputText, ResourceUsage, RunEnd, RunOutcome, StopReason,
    },
    sandbox::{OutputStream, RunError, RunObserver, RunProgress, Sandbox},
};
