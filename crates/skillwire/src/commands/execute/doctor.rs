//! `skillwire doctor`: how scripts can be isolated here, found by running one.

use std::io::{self, Write as _};

use serde_json::json;
use skillwire_sandbox::{
    InterpreterFinder, IsolationPolicy, IsolationTier, MissingRequirement, Sandbox, ScriptLanguage,
    TriedLimit,
};

use super::Outcome;
use crate::{
    args::DoctorArgs,
    exit::Exit,
    output::{ADDED, ERROR, FAINT, WARNING},
    prose, report,
};

pub(in crate::commands) fn run(args: &DoctorArgs) -> Outcome {
    // Without the isolation cache: the user wants to know what works now.
    let sandbox = Sandbox::new(IsolationPolicy::default().accept_restricted(true));
    let tiers = [IsolationTier::Full, IsolationTier::Restricted]
        .map(|tier| (tier, sandbox.probe_tier(tier)));
    let enforcement = sandbox.aggregate_enforcement();
    // Every limit of every tier that works is tried: one that only seems to hold is worse than none.
    let limits = tiers
        .iter()
        .filter(|(_, tried)| tried.is_ok())
        .map(|(tier, _)| (*tier, sandbox.try_limits(*tier)))
        .collect::<Vec<_>>();
    let all_hold = limits.iter().flat_map(|(_, tried)| tried).all(|limit| limit.held);
    let interpreters = InterpreterFinder::default();
    let languages = ScriptLanguage::ALL.map(|language| (language, interpreters.program(language)));
    let best = tiers.iter().find(|(_, tried)| tried.is_ok()).map(|(tier, _)| *tier);
    if args.json {
        let tiers = tiers.iter().map(|(tier, tried)| match tried {
            Ok(notes) => json!({ "tier": tier, "works": true, "notes": notes }),
            Err(missing) => json!({ "tier": tier, "works": false, "missing": missing }),
        });
        let languages = languages.iter().map(|(language, found)| {
            let program = found.as_ref().ok().map(|(program, _)| program);
            json!({ "language": language.name(), "program": program })
        });
        let found = json!({
            "isolation": best,
            "tiers": tiers.collect::<Vec<_>>(),
            "bounded_by": enforcement,
            "limits": limits
                .iter()
                .map(|(tier, tried)| json!({ "tier": tier, "tried": tried }))
                .collect::<Vec<_>>(),
            "interpreters": languages.collect::<Vec<_>>(),
        });
        report::json(&mut io::stdout().lock(), &found)?;
    } else {
        let mut out = prose::stdout();
        writeln!(out, "Isolation, tested by running a script from start to end:")?;
        for (tier, tried) in &tiers {
            show_tier(&mut out, *tier, tried)?;
        }
        writeln!(out, "Limits, each tried by a script that goes beyond it:")?;
        for (tier, tried) in &limits {
            tried.iter().try_for_each(|limit| show_limit(&mut out, *tier, limit))?;
        }
        writeln!(out, "  Of all processes together: {enforcement}.")?;
        writeln!(out, "Interpreters in the system's directories:")?;
        for (language, found) in &languages {
            match found {
                Ok((program, _)) => writeln!(out, "  {language:<12} {}", program.display())?,
                Err(_) => writeln!(out, "  {language:<12} {WARNING}not installed{WARNING:#}")?,
            }
        }
        writeln!(out, "{}", verdict(best))?;
        out.flush()?;
    }
    Ok(if best == Some(IsolationTier::Full) && all_hold { Exit::Ok } else { Exit::Findings })
}

fn show_limit(out: &mut impl io::Write, tier: IsolationTier, tried: &TriedLimit) -> io::Result<()> {
    let TriedLimit { limit, end, enforcement, .. } = tried;
    let tier = tier.to_string();
    let limit = limit.to_string();
    if tried.held {
        writeln!(out, "  {tier:<12} {limit:<10} {ADDED}holds{ADDED:#}, {enforcement}")
    } else {
        writeln!(out, "  {tier:<12} {limit:<10} {ERROR}does not hold{ERROR:#}: the script {end}")
    }
}

fn show_tier(
    out: &mut impl io::Write,
    tier: IsolationTier,
    tried: &Result<Vec<String>, MissingRequirement>,
) -> io::Result<()> {
    let tier = tier.to_string();
    match tried {
        Ok(notes) => {
            writeln!(out, "  {tier:<12} {ADDED}works{ADDED:#}")?;
            notes.iter().try_for_each(|note| writeln!(out, "    {FAINT}{note}{FAINT:#}"))
        }
        Err(missing) => {
            writeln!(out, "  {tier:<12} {ERROR}does not work{ERROR:#}")?;
            writeln!(out, "    It needs {}: {}.", missing.what, missing.why)?;
            writeln!(out, "    {}", missing.hint)
        }
    }
}

fn verdict(best: Option<IsolationTier>) -> &'static str {
    match best {
        Some(IsolationTier::Full) => "Scripts can run here in full isolation.",
        Some(IsolationTier::Restricted) => {
            "Scripts can run here as confined processes among your own, with `--accept-restricted`."
        }
        None => "Scripts cannot run here, because this machine cannot isolate them.",
    }
}
