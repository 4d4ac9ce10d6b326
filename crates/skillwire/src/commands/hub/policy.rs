//! `skillwire hub policy`: rules about who sees which skills, tried before they count.

use std::{io::Write as _, path::Path};

use serde_json::json;
use skillwire_hub_server::{HubAccess, PolicyComparison};

use super::client::{open_store, store_failure};
use crate::{
    args::{HubPolicyCheckArgs, HubPolicyExplainArgs, HubPolicySchemaArgs, HubPolicyTestArgs},
    commands::Outcome,
    exit::Exit,
    failure::Failure,
    output::{ADDED, FAINT, REMOVED, STRONG, WARNING, counted},
    prose, report, session,
    settings::{hub::HubFile, hub_access::checked_policy},
};

/// The most changes that are printed; JSON has all of them.
const MOST_SHOWN: usize = 50;

/// Prints the schema of policies.
pub(super) fn schema(args: &HubPolicySchemaArgs) -> Outcome {
    let mut out = std::io::stdout().lock();
    if args.json {
        report::json(&mut out, &json!({"schema": skillwire_policy::SCHEMA}))?;
        return Ok(Exit::Ok);
    }
    out.write_all(skillwire_policy::SCHEMA.as_bytes())?;
    Ok(Exit::Ok)
}

/// Checks a policy without a hub.
pub(super) fn check(args: &HubPolicyCheckArgs) -> Outcome {
    let policy = checked_policy(&args.file)?;
    if args.json {
        let warnings: Vec<_> = policy.warnings().iter().map(ToString::to_string).collect();
        // The rule that roles are is always there.
        let checked =
            json!({"file": args.file, "rules": policy.rules().count() - 1, "warnings": warnings});
        report::json(&mut std::io::stdout().lock(), &checked)?;
        return Ok(Exit::Ok);
    }
    for warning in policy.warnings() {
        writeln!(prose::stderr(), "{WARNING}warning{WARNING:#}: {warning}")?;
    }
    // The rule that roles are is always there.
    let rules = counted(policy.rules().count() - 1, "rule");
    writeln!(prose::stdout(), "`{}` can be used: {rules}.", args.file.display())?;
    Ok(Exit::Ok)
}

/// Compares a policy with what the hub decides now.
pub(super) fn test(args: &HubPolicyTestArgs) -> Outcome {
    session::run(args.json, async || {
        let file = HubFile::read(&args.hub)?;
        let before = file.access()?;
        let after = with_policy(&before, &args.file)?;
        let store = open_store(&file).await?;
        let compared = skillwire_hub_server::compare(&store, &before, &after).await;
        let compared = compared.map_err(store_failure)?;
        store.close().await;
        if args.json {
            report::json(&mut std::io::stdout().lock(), &compared)?;
        } else {
            print(&compared)?;
        }
        Ok(if compared.changes.is_empty() { Exit::Ok } else { Exit::Findings })
    })
}

fn print(compared: &PolicyComparison) -> std::io::Result<()> {
    let mut out = prose::stdout();
    for change in compared.changes.iter().take(MOST_SHOWN) {
        let rules =
            if change.rules.is_empty() { "no rule".to_owned() } else { change.rules.join(", ") };
        let (caller, skill) = (&change.caller, &change.skill);
        if change.seen {
            writeln!(out, "{ADDED}+{ADDED:#} {caller} sees {skill}  {FAINT}({rules}){FAINT:#}")?;
        } else {
            writeln!(
                out,
                "{REMOVED}-{REMOVED:#} {caller} loses {skill}  {FAINT}({rules}){FAINT:#}"
            )?;
        }
    }
    if compared.changes.len() > MOST_SHOWN {
        writeln!(out, "and {} more", compared.changes.len() - MOST_SHOWN)?;
    }
    writeln!(
        out,
        "{} for {} and {}.",
        counted(compared.changes.len(), "change"),
        counted(compared.callers, "caller"),
        counted(compared.skills, "skill")
    )
}

/// Says which rule decides whether a caller sees a skill.
pub(super) fn explain(args: &HubPolicyExplainArgs) -> Outcome {
    session::run(args.json, async || {
        let file = HubFile::read(&args.hub)?;
        let mut access = file.access()?;
        if let Some(policy) = &args.policy {
            access = with_policy(&access, policy)?;
        }
        let bad = |error: skillwire_hub::InvalidHubName| Failure::usage(error.to_string());
        let skill = args.skill.parse().map_err(bad)?;
        let who: skillwire_hub::Subject = args.caller.parse().map_err(bad)?;
        let caller = skillwire_hub_server::named_caller(&who, &access);
        let store = open_store(&file).await?;
        let explained = skillwire_hub_server::explain(&store, &access, &caller, &skill).await;
        let explained = explained.map_err(store_failure)?;
        store.close().await;
        let explained = explained.ok_or_else(|| {
            Failure::new(Exit::NotFound, format!("The hub serves no skill `{skill}`."))
                .hint("`skillwire hub list` shows the skills.")
        })?;
        if args.json {
            report::json(&mut std::io::stdout().lock(), &explained)?;
        } else {
            let mut out = prose::stdout();
            let decision = &explained.decision;
            let verb = if decision.allowed { "sees" } else { "does not see" };
            let decided = match &decision.rules[..] {
                [] => "no rule allows it".to_owned(),
                rules => format!("decided by {}", rules.join(", ")),
            };
            writeln!(out, "{STRONG}{who} {verb} {skill}{STRONG:#}: {decided}.")?;
            let roles = if explained.roles.is_empty() {
                "none".to_owned()
            } else {
                explained.roles.join(", ")
            };
            let facts = &explained.facts;
            writeln!(out, "  {FAINT}roles:{FAINT:#} {roles}")?;
            writeln!(out, "  {FAINT}state:{FAINT:#} {}", facts.state)?;
            writeln!(out, "  {FAINT}origin:{FAINT:#} {}", facts.origin)?;
            writeln!(out, "  {FAINT}has_scripts:{FAINT:#} {}", facts.has_scripts)?;
            writeln!(out, "  {FAINT}worst_finding:{FAINT:#} {}", facts.worst_finding)?;
            writeln!(out, "  {FAINT}age:{FAINT:#} {}", facts.age)?;
            for problem in &decision.problems {
                writeln!(prose::stderr(), "{WARNING}warning{WARNING:#}: {problem}")?;
            }
        }
        Ok(Exit::Ok)
    })
}

fn with_policy(access: &HubAccess, file: &Path) -> Result<HubAccess, Failure> {
    let mut access = access.clone();
    access.policy = std::sync::Arc::new(checked_policy(file)?);
    Ok(access)
}
