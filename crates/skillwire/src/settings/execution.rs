//! Resolves which scripts a server runs, and how.

use std::time::Duration;

use skillwire_scripts::{ExecutionRule, ExecutionRules, PathPatterns, RunLimits, ScriptRunner};

use super::{environment::variable, reading::bad_pattern};
use crate::{
    args::{IsolationArgs, ScriptRule, ServeArgs},
    execution,
    failure::Failure,
};

/// Makes the script runner, if the operator enabled it. Fails if this machine cannot isolate
/// scripts.
pub(super) fn scripts(args: &ServeArgs) -> Result<Option<ScriptRunner>, Failure> {
    if !args.execute {
        if args.allow_script.is_empty() && args.script.is_empty() {
            return Ok(None);
        }
        return Err(Failure::usage("Scripts are allowed to run, but nothing runs them.")
            .hint("Pass `--execute` as well, or write `execute = true`."));
    }
    let mut rules = args.script.iter().map(rule).collect::<Result<Vec<_>, _>>()?;
    if !args.allow_script.is_empty() {
        let scripts = PathPatterns::parse(&args.allow_script)
            .map_err(|error| bad_pattern("--allow-script", error))?;
        rules.push(ExecutionRule::new(scripts));
    }
    if rules.is_empty() {
        return Err(Failure::usage("`--execute` runs only scripts that are allowed, and none is.")
            .hint("Pass `--allow-script 'refunds/scripts/*.py'`, or write a `[[script]]` table."));
    }
    let named: Vec<_> = args
        .interpreters
        .iter()
        .map(|(language, program)| format!("{language}={program}"))
        .collect();
    let interpreters = execution::interpreters(&named)?;
    let isolation = IsolationArgs { accept_restricted: args.accept_restricted };
    let sandbox = execution::sandbox(isolation).with_standby_helper();
    // The server does not start if every call of the tool would fail.
    sandbox.isolation().map_err(|unavailable| execution::not_run(&unavailable.into()))?;
    sandbox.prestart_helper();
    let runner = ScriptRunner::new(sandbox, interpreters, ExecutionRules::new(rules));
    Ok(Some(execution::with_packages(runner)))
}

fn rule(written: &ScriptRule) -> Result<ExecutionRule, Failure> {
    let scripts =
        PathPatterns::parse(&written.allow).map_err(|error| bad_pattern("script.allow", error))?;
    let variables = written.env.iter().map(|name| {
        let value = variable(name).ok_or_else(|| {
            Failure::usage(format!("The variable `{}` is not set.", name.escape_debug()))
                .hint("Set it, or take it out of `env` in the `[[script]]` table.")
        })?;
        Ok((name.clone(), value))
    });
    let network = written.network.iter().map(|destination| execution::destination(destination));
    let mut limits = RunLimits::default();
    if let Some(seconds) = written.timeout {
        limits.wall_time = Duration::from_secs(seconds.clamp(1, 24 * 60 * 60));
        limits.cpu_time = limits.wall_time;
    }
    if let Some(mebibytes) = written.memory {
        limits.memory_bytes = mebibytes.clamp(16, 1024 * 1024) * 1024 * 1024;
    }
    Ok(ExecutionRule::new(scripts)
        .with_variables(variables.collect::<Result<_, Failure>>()?)
        .with_destinations(network.collect::<Result<_, Failure>>()?)
        .with_limits(limits))
}
