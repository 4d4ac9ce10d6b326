//! Which scripts a server runs, and how.

use std::time::Duration;

use skillwire_sandbox::limits::Limits;
use skillwire_scripts::{
    rules::{Rule, Rules},
    scripts::Scripts,
};
use skillwire_source::PathPatterns;

use super::{bad_pattern, variable};
use crate::{
    args::{IsolationArgs, ScriptRule, ServeArgs},
    execution,
    failure::Failure,
};

/// What runs scripts, if the operator wants that and this machine can isolate them.
pub(super) fn scripts(args: &ServeArgs) -> Result<Option<Scripts>, Failure> {
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
            .map_err(|error| bad_pattern("--allow-script", &error))?;
        let (variables, network, limits) = Default::default();
        rules.push(Rule { scripts, variables, network, limits });
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
    let sandbox = execution::sandbox(isolation).keeping_one_ready();
    // Better no server than one whose calls all fail.
    sandbox.isolation().map_err(|unavailable| execution::not_run(&unavailable.into()))?;
    sandbox.get_ready();
    Ok(Some(Scripts::new(sandbox, interpreters, Rules::new(rules))))
}

fn rule(written: &ScriptRule) -> Result<Rule, Failure> {
    let scripts =
        PathPatterns::parse(&written.allow).map_err(|error| bad_pattern("script.allow", &error))?;
    let variables = written.env.iter().map(|name| {
        let value = variable(name).ok_or_else(|| {
            Failure::usage(format!("The variable `{}` is not set.", name.escape_debug()))
                .hint("Set it, or take it out of `env` in the `[[script]]` table.")
        })?;
        Ok((name.clone(), value))
    });
    let network = written.network.iter().map(|destination| execution::destination(destination));
    let mut limits = Limits::default();
    if let Some(seconds) = written.timeout {
        limits.wall = Duration::from_secs(seconds.clamp(1, 24 * 60 * 60));
        limits.cpu = limits.wall;
    }
    if let Some(mebibytes) = written.memory {
        limits.memory = mebibytes.clamp(16, 1024 * 1024) * 1024 * 1024;
    }
    Ok(Rule {
        scripts,
        variables: variables.collect::<Result<_, Failure>>()?,
        network: network.collect::<Result<_, Failure>>()?,
        limits,
    })
}
