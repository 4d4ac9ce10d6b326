//! Writes audit events to the log: one when a run starts, and one when it ends or is refused.

use std::fmt;

use serde_json::{Value, json};
use skillwire_core::Digest;
use skillwire_sandbox::{RunOutcome, ScriptJob, run_record};

use crate::script_not_run::ScriptNotRun;

/// The caller, skill and script of a request.
#[derive(Debug, Clone)]
pub(crate) struct AuditSubject {
    pub(crate) caller: String,
    pub(crate) skill: String,
    pub(crate) script: String,
    /// One digest over all content of the skill.
    pub(crate) content: Digest,
    /// The digest of the script; none if the skill has no such file.
    pub(crate) script_digest: Option<Digest>,
}

/// Logs that a run starts. It is written before the run, so that the log names the script even if
/// the server dies during it.
pub(crate) fn log_started(subject: &AuditSubject) {
    write(subject, "a script is started", None);
}

/// Logs how a job ended, or why it could not be run.
pub(crate) fn log_finished(
    subject: &AuditSubject,
    job: &ScriptJob,
    result: Result<&RunOutcome, &ScriptNotRun>,
) {
    let event = if result.is_ok() { "a script was run" } else { "a script was not run" };
    let result = result.map_err(ToString::to_string);
    let detail = run_record(job, result.as_ref().copied().map_err(String::as_str));
    write(subject, event, Some(&detail));
}

/// Logs a request that did not become a job.
pub(crate) fn log_refused(subject: &AuditSubject, reason: &impl fmt::Display) {
    let detail = json!({ "outcome": format!("not run: {reason}") });
    write(subject, "a script was not run", Some(&detail));
}

fn write(subject: &AuditSubject, event: &str, detail: Option<&Value>) {
    tracing::info!(
        target: "skillwire::audit",
        caller = subject.caller,
        skill = subject.skill,
        content = %subject.content,
        script = subject.script,
        script_digest = subject.script_digest.as_ref().map(tracing::field::display),
        detail = detail.map(tracing::field::display),
        "{event}",
    );
}
