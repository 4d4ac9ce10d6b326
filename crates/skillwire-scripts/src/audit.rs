//! One line for each run, for people who look later.

use serde_json::{Value, json};
use skillwire_core::digest::Digest;
use skillwire_sandbox::{job::Job, outcome::Outcome, record};

use crate::scripts::NotRun;

/// Who asked for what.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) caller: String,
    pub(crate) skill: String,
    pub(crate) script: String,
    /// One digest over everything the skill is made of.
    pub(crate) content: Digest,
    pub(crate) digest: Digest,
}

/// Writes down that a run begins, for a server that does not live to see its end.
pub(crate) fn begins(asked: &Asked) {
    write(asked, "a script is started", None);
}

/// Writes down a job that came to an end, or that could not be run.
pub(crate) fn ended(asked: &Asked, job: &Job, became: Result<&Outcome, &NotRun>) {
    let what = if became.is_ok() { "a script was run" } else { "a script was not run" };
    let became = became.map_err(ToString::to_string);
    let detail = record::of(job, became.as_ref().copied().map_err(String::as_str));
    write(asked, what, Some(&detail));
}

/// Writes down a request that did not even become a job.
pub(crate) fn refused(asked: &Asked, why: &NotRun) {
    let detail = json!({ "outcome": format!("not run: {why}") });
    write(asked, "a script was not run", Some(&detail));
}

fn write(asked: &Asked, what: &str, detail: Option<&Value>) {
    tracing::info!(
        target: "skillwire::audit",
        caller = asked.caller,
        skill = asked.skill,
        content = %asked.content,
        script = asked.script,
        script_digest = %asked.digest,
        detail = detail.map(tracing::field::display),
        "{what}",
    );
}
