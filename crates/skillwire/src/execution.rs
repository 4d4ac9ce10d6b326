//! What the commands that run scripts share: the sandbox, interpreters, destinations and messages.

use std::{fmt::Write as _, path::Path};

use serde_json::json;
use skillwire_core::Digest;
use skillwire_sandbox::{
    InterpreterFinder, InvalidJob, IsolationPolicy, IsolationUnavailable, NetworkDestination,
    RunError, RunLimits, RunOutcome, Sandbox, ScriptJob, ScriptLanguage, run_record,
};
use skillwire_scripts::{PackageCache, ScriptRunner};
#[cfg(feature = "host")]
use skillwire_trust::RunGrants;

use crate::{args::IsolationArgs, exit::Exit, failure::Failure, settings};

/// Makes the sandbox of this program, with a cache of the isolation that this machine gives.
pub(crate) fn sandbox(isolation: IsolationArgs) -> Sandbox {
    let policy = IsolationPolicy::default().accept_restricted(isolation.accept_restricted);
    let sandbox = Sandbox::new(policy);
    match settings::isolation_file() {
        Some(file) => sandbox.with_isolation_cache(file),
        None => sandbox,
    }
}

/// Lets scripts use the packages that the user agreed to install for `skillwire run`.
pub(crate) fn with_packages(runner: ScriptRunner) -> ScriptRunner {
    match settings::package_folder() {
        Some(folder) => runner.with_packages(PackageCache::new(folder)),
        None => runner,
    }
}

/// Parses `LANGUAGE=PROGRAM` options.
pub(crate) fn interpreters(named: &[String]) -> Result<InterpreterFinder, Failure> {
    let mut interpreters = InterpreterFinder::default();
    for text in named {
        let parts = text.split_once('=');
        let known = parts.and_then(|(name, path)| Some((ScriptLanguage::parse(name)?, path)));
        let (language, program) = known.ok_or_else(|| {
            Failure::usage(format!("`--interpreter {text}` cannot be understood."))
                .hint("Write `python=/opt/python/bin/python3`, or the same for bash, sh or node.")
        })?;
        interpreters.use_program(language, Path::new(program)).map_err(|error| {
            Failure::usage(format!("`--interpreter {text}` cannot be used."))
                .because(error)
                .hint("Name the program by its whole path.")
        })?;
    }
    Ok(interpreters)
}

/// Parses a `HOST:PORT` option.
pub(crate) fn destination(text: &str) -> Result<NetworkDestination, Failure> {
    NetworkDestination::parse(text).map_err(|error| {
        Failure::caused(Exit::Usage, error)
            .hint("Write a name or address, such as `api.example.com:443`.")
    })
}

/// The limits of a run with these grants.
#[cfg(feature = "host")]
pub(crate) fn granted_limits(grants: &RunGrants) -> RunLimits {
    let time = grants.time_limit().duration();
    let limits = RunLimits::default().with_memory_bytes(grants.memory_limit().bytes());
    match grants.time {
        None => limits,
        Some(_) => limits.with_wall_time(time).with_cpu_time(time),
    }
}

/// Makes the failure for a script that was not run, with a hint.
pub(crate) fn not_run(error: &RunError) -> Failure {
    match error {
        RunError::Unavailable(unavailable) => isolation_unavailable(unavailable),
        RunError::Supervision(_) => Failure::new(Exit::Internal, sentence(&error.to_string())),
        RunError::Invalid(invalid) => {
            let failure = Failure::usage(sentence(&error.to_string()));
            match invalid {
                InvalidJob::NoSuchScript(_) => {
                    failure.hint("`skillwire show` with the skill's handle lists its files.")
                }
                InvalidJob::Interpreter(_) => failure.hint(
                    "`skillwire doctor` shows the interpreters, `--interpreter` names another.",
                ),
                _ => failure,
            }
        }
        RunError::NetworkNeedsFull | RunError::Exec(_) => {
            Failure::new(Exit::Declined, sentence(&error.to_string()))
                .hint("`skillwire doctor` shows what this machine gives.")
        }
    }
}

fn isolation_unavailable(unavailable: &IsolationUnavailable) -> Failure {
    let mut message = "Scripts cannot be isolated on this machine, so none is run.".to_owned();
    for missing in &unavailable.missing {
        // Writing to a string cannot fail.
        let _ = write!(message, "\n  {missing}");
    }
    Failure::new(Exit::Declined, message).hint(
        "`skillwire doctor` shows what this machine gives. `--accept-restricted` also accepts \
         restricted isolation, where that works.",
    )
}

pub(crate) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

/// The audit record of a run that starts, on one line.
pub(crate) fn started_detail(script: &str, digest: &Digest, job: &ScriptJob) -> String {
    let mut detail = run_record(job, Err("it starts"));
    detail["outcome"] = "started".into();
    detail["asked_by"] = "user".into();
    detail["script"] = script.into();
    detail["script_digest"] = json!(digest);
    detail.to_string()
}

/// The audit record of a request that did not become a job, on one line.
pub(crate) fn refused_detail(script: &str, failure: &Failure) -> String {
    let reason = anstream::adapter::strip_str(&failure.to_string()).to_string();
    let reason: String = reason.lines().next().unwrap_or_default().chars().take(512).collect();
    json!({ "asked_by": "user", "script": script, "outcome": format!("not run: {reason}") })
        .to_string()
}

/// The audit record of a run, on one line.
pub(crate) fn audit_detail(
    asked_by: &str,
    script: &str,
    digest: &Digest,
    job: &ScriptJob,
    became: Result<&RunOutcome, &RunError>,
) -> String {
    let became = became.map_err(ToString::to_string);
    let mut detail = run_record(job, became.as_ref().copied().map_err(String::as_str));
    detail["asked_by"] = asked_by.into();
    detail["script"] = script.into();
    detail["script_digest"] = json!(digest);
    detail.to_string()
}

#[cfg(all(test, feature = "host"))]
mod tests {
    use skillwire_trust::{NetworkGrant, RunGrants};

    use super::*;

    #[test]
    fn what_cards_call_usual_is_what_a_run_without_grants_gets() {
        assert_eq!(granted_limits(&RunGrants::default()), RunLimits::default());
    }

    #[test]
    fn whatever_can_be_granted_is_a_destination_of_the_sandbox() {
        for text in
            ["api.example.com:443", "*.example.com:443", "192.0.2.7:80", "[2001:db8::1]:443"]
        {
            let granted = NetworkGrant::parse(text).unwrap().to_string();
            assert_eq!(destination(&granted).unwrap().to_string(), granted);
        }
    }
}
