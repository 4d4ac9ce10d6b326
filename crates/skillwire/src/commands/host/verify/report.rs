//! Prints the result of a verification for people.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use skillwire_host::{
    context::text::one_line,
    verification::{Demand, Finding, Verification},
};

use crate::output::{ERROR, FAINT, STRONG, WARNING, counted};

/// Writes the findings, skill by skill, and a line that sums them up.
pub(super) fn write(out: &mut impl Write, found: &Verification) -> io::Result<()> {
    let mut by_skill: BTreeMap<String, Vec<&Finding>> = BTreeMap::new();
    for finding in &found.findings {
        let subject = finding.refusal.subject.as_ref().map(ToString::to_string);
        by_skill.entry(subject.unwrap_or_default()).or_default().push(finding);
    }
    for (skill, findings) in by_skill {
        writeln!(out, "{STRONG}{}{STRONG:#}", one_line(&skill))?;
        for finding in findings {
            write_finding(out, finding)?;
        }
    }
    if let Some(dialect) = found.dialect.filter(|dialect| !dialect.lacks().is_empty()) {
        let code = dialect.code();
        let title = dialect.title();
        writeln!(out, "{STRONG}What {code} ({title}) cannot guarantee{STRONG:#}")?;
        for sentence in &found.not_guaranteed {
            writeln!(out, "  {sentence}")?;
        }
    }
    writeln!(out, "{}", summary(found))?;
    out.flush()
}

fn write_finding(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    let (style, level) = match finding.demand {
        Demand::Must => (ERROR, "error"),
        Demand::Should => (WARNING, "warning"),
    };
    let refusal = &finding.refusal;
    let code = refusal.reason.code();
    let meaning = refusal.reason.meaning();
    writeln!(out, "  {style}{level}[{code}]{style:#}: {meaning}")?;
    let details =
        [("at", &refusal.file), ("expected", &refusal.expected), ("actual", &refusal.actual)];
    for (name, value) in details {
        if let Some(value) = value {
            writeln!(out, "    {FAINT}{name}:{FAINT:#} {}", one_line(value))?;
        }
    }
    Ok(())
}

fn summary(found: &Verification) -> String {
    let Verification { skills, files, dynamic, findings, first_seen, .. } = found;
    let count = |demand| findings.iter().filter(|finding| finding.demand == demand).count();
    let errors = count(Demand::Must);
    let warnings = count(Demand::Should);
    let unverifiable = match dynamic {
        0 => String::new(),
        _ => format!(" Without digests, which cannot be verified: {}.", counted(*dynamic, "skill")),
    };
    let pinned = match first_seen {
        0 => String::new(),
        _ => format!(" First-seen: {}.", counted(*first_seen, "skill")),
    };
    format!(
        "{} listed, {} as promised: {}, {}.{unverifiable}{pinned}",
        counted(*skills, "skill"),
        counted(*files, "file"),
        counted(errors, "error"),
        counted(warnings, "warning"),
    )
}
