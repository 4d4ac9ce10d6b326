//! `skillwire scan --explain`: what a rule means.

use std::io::Write as _;

use skillwire_scan::RuleSet;

use super::super::Outcome;
use crate::{
    exit::Exit,
    failure::Failure,
    output::{FAINT, STRONG},
    prose,
};

pub(super) fn run(id: &str, rules: &RuleSet) -> Outcome {
    let mut out = prose::stdout();
    if id == "all" {
        for rule in rules.rules() {
            writeln!(out, "{STRONG}{}{STRONG:#}  {}  {}", rule.id, rule.severity, rule.title)?;
        }
        return Ok(Exit::Ok);
    }
    let rule = rules.rule(id).ok_or_else(|| {
        Failure::usage(format!("There is no rule `{}`.", id.escape_debug())).hint(
            "`skillwire scan --explain all` lists the rules; `--rules DIR` adds those of a folder.",
        )
    })?;
    writeln!(out, "{STRONG}{}{STRONG:#}  {}", rule.id, rule.severity)?;
    writeln!(out, "{}\n", rule.title)?;
    writeln!(out, "Why it matters: {}", rule.why)?;
    writeln!(out, "What to ask: {}", rule.ask)?;
    writeln!(out, "{FAINT}OWASP Agentic Skills Top 10: {}{FAINT:#}", rule.owasp.join(", "))?;
    Ok(Exit::Ok)
}
