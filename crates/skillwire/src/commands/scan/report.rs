//! Prints what a scan found.

use std::{
    collections::BTreeMap,
    io::{self, BufWriter, Write},
};

use serde::Serialize;
use serde_json::{Value, json};
use skillwire_core::{Digest, Level};
use skillwire_scan::{
    Evidence, LedgerDiff, LedgerKind, RuleSet, ScanFinding, ScanReport, Severity, SilencedFinding,
    Silences, SkillFiles, Usage,
};

use super::super::Outcome;
use crate::{
    args::ReportFormat,
    exit::Exit,
    failure::Failure,
    output::{ADDED, ERROR, FAINT, HELP, NOTE, REMOVED, STRONG, WARNING, counted},
    prose,
    report::{self, printable},
};

/// The most places of one finding that are printed for people.
const MOST_EVIDENCE: usize = 6;

/// A skill that was scanned.
#[derive(Serialize)]
pub(crate) struct ScannedSkill {
    /// Its folder as the user knows it, or its handle.
    #[serde(rename = "skill")]
    pub(crate) name: String,
    /// Its folder relative to the file with silences.
    #[serde(skip)]
    pub(crate) base: String,
    #[serde(flatten)]
    pub(crate) report: ScanReport,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) silenced: Vec<SilencedFinding>,
    /// The digests of the files that were read, for silences.
    pub(crate) digests: BTreeMap<String, Digest>,
}

/// The digests of the files that were read.
pub(super) fn digests(files: &SkillFiles) -> BTreeMap<String, Digest> {
    files.read().map(|(path, bytes)| (path.to_owned(), Digest::of(bytes))).collect()
}

/// What is new in a version of a skill.
#[derive(Serialize)]
pub(super) struct SinceVersion {
    skill: String,
    findings: Vec<ScanFinding>,
    ledger: LedgerDiff,
}

impl SinceVersion {
    /// Compares one skill with its earlier version.
    pub(super) fn between(now: &[ScannedSkill], before: &[ScannedSkill]) -> Result<Self, Failure> {
        let ([now], [before]) = (now, before) else {
            return Err(Failure::usage(
                "`--since` compares one skill with one earlier version of it.",
            )
            .hint("Name one skill and its earlier version: a folder, or the handle of a skill."));
        };
        Ok(Self {
            skill: now.name.clone(),
            findings: now.report.new_since(&before.report).cloned().collect(),
            ledger: now.report.ledger.since(&before.report.ledger),
        })
    }
}

/// Everything that one run found.
pub(crate) struct ScanOutput<'a> {
    pub(crate) skills: Vec<ScannedSkill>,
    pub(crate) rules: &'a RuleSet,
    pub(super) since: Option<SinceVersion>,
}

#[derive(Serialize)]
struct ScanSummary {
    skills: usize,
    findings: BTreeMap<&'static str, usize>,
    silenced: usize,
    files: usize,
    bytes: u64,
    unseen: usize,
}

impl ScanOutput<'_> {
    /// The exit code: 1 if there is a finding of this severity or worse.
    pub(crate) fn exit(&self, fail_on: Severity) -> Exit {
        let fails = self.skills.iter().any(|it| it.report.at_least(fail_on).next().is_some());
        if fails { Exit::Findings } else { Exit::Ok }
    }

    pub(crate) fn write(
        &self,
        format: ReportFormat,
        show: Severity,
        ledger: bool,
    ) -> io::Result<()> {
        match format {
            ReportFormat::Human => self.human(&mut BufWriter::new(prose::stdout()), show, ledger),
            ReportFormat::Concise => self.concise(&mut BufWriter::new(prose::stdout()), show),
            ReportFormat::Json => report::json(&mut io::stdout().lock(), &self.json()),
            ReportFormat::Sarif => {
                let log = report::sarif_log(&self.sarif_rules(), &self.sarif_results());
                report::json(&mut io::stdout().lock(), &log)
            }
            ReportFormat::Github => self.github(&mut BufWriter::new(io::stdout().lock()), show),
        }
    }

    /// Everything, for programs.
    pub(crate) fn json(&self) -> Value {
        let mut all = json!({
            "skills": self.skills,
            "rules": self.rules.version(),
            "summary": self.summary(),
        });
        if let Some(since) = &self.since {
            all["since"] = json!(since);
        }
        all
    }

    fn summary(&self) -> ScanSummary {
        let mut findings = BTreeMap::new();
        for finding in self.skills.iter().flat_map(|skill| &skill.report.findings) {
            *findings.entry(finding.severity.as_str()).or_default() += 1;
        }
        let sum = |of: fn(&ScannedSkill) -> usize| self.skills.iter().map(of).sum();
        ScanSummary {
            skills: self.skills.len(),
            findings,
            silenced: sum(|skill| skill.silenced.len()),
            files: sum(|skill| skill.report.coverage.files),
            bytes: self.skills.iter().map(|skill| skill.report.coverage.bytes).sum(),
            unseen: sum(|skill| skill.report.coverage.unseen.len()),
        }
    }

    /// Prints for people.
    pub(crate) fn human(
        &self,
        out: &mut impl Write,
        show: Severity,
        ledger: bool,
    ) -> io::Result<()> {
        for skill in &self.skills {
            for finding in skill.report.at_least(show) {
                self.finding(out, skill, finding)?;
            }
            for unseen in &skill.report.coverage.unseen {
                let bytes =
                    unseen.bytes.map_or_else(String::new, |bytes| format!(", {bytes} bytes"));
                let path = printable(&place(&skill.name, &unseen.file));
                let reason = unseen.reason.as_str();
                let looked =
                    if unseen.reason.is_partial() { "partly looked at" } else { "not looked at" };
                writeln!(out, "{FAINT}{looked}{FAINT:#}: {path} ({reason}{bytes})")?;
            }
            if ledger {
                write_ledger(out, skill)?;
            }
        }
        if let Some(since) = &self.since {
            write_since(out, since)?;
        }
        let summary = self.summary();
        let found: Vec<_> = Severity::ALL
            .iter()
            .rev()
            .filter_map(|severity| {
                let count = summary.findings.get(severity.as_str())?;
                Some(format!("{count} {severity}"))
            })
            .chain((summary.silenced > 0).then(|| format!("{} silenced", summary.silenced)))
            .collect();
        let found = if found.is_empty() { "nothing found".to_owned() } else { found.join(", ") };
        let all = self.skills.iter().flat_map(|skill| &skill.report.coverage.unseen);
        let partial = all.filter(|unseen| unseen.reason.is_partial()).count();
        let sentence = |count: usize, looked: &str| match count {
            0 => String::new(),
            count => format!(" {} {looked} looked at.", counted(count, "file")),
        };
        let unseen = sentence(summary.unseen - partial, "not") + &sentence(partial, "partly");
        let skills = counted(summary.skills, "skill");
        let files = counted(summary.files, "file");
        writeln!(out, "{skills}, {files} scanned: {found}.{unseen}")?;
        let hidden = self.skills.iter().flat_map(|skill| &skill.report.findings);
        let hidden = hidden.filter(|finding| finding.severity < show).count();
        if hidden > 0 {
            let (are, show) = if hidden == 1 { ("is", "it") } else { ("are", "them") };
            writeln!(
                out,
                "{hidden} of lower severity {are} not shown; `--show info` shows {show}."
            )?;
        }
        if self.skills.iter().any(|skill| !skill.report.findings.is_empty()) {
            writeln!(out, "Run `skillwire scan --explain RULE` to learn more about a rule.")?;
        }
        out.flush()
    }

    fn finding(
        &self,
        out: &mut impl Write,
        skill: &ScannedSkill,
        finding: &ScanFinding,
    ) -> io::Result<()> {
        let style = match finding.severity {
            Severity::Critical | Severity::High => ERROR,
            Severity::Medium => WARNING,
            Severity::Low | Severity::Info => NOTE,
        };
        let quoted = if finding.usage == Usage::Mentioned { " (mentioned, not done)" } else { "" };
        writeln!(
            out,
            "{style}{}[{}]{style:#}: {STRONG}{}{STRONG:#}{quoted}",
            finding.severity, finding.rule, finding.title
        )?;
        for evidence in finding.evidence.iter().take(MOST_EVIDENCE) {
            write_evidence(out, skill, evidence)?;
        }
        if finding.repeated > 0 {
            writeln!(out, "  {FAINT}and {} more in this file{FAINT:#}", finding.repeated)?;
        }
        if let Some(rule) = self.rules.rule(&finding.rule) {
            writeln!(out, "  {HELP}ask{HELP:#}: {}", rule.ask)?;
        }
        writeln!(out)
    }

    pub(crate) fn sarif_rules(&self) -> Vec<Value> {
        let rule = |rule: &skillwire_scan::ScanRule| {
            json!({
                "id": rule.id,
                "shortDescription": { "text": rule.title },
                "fullDescription": { "text": rule.why },
                "help": { "text": format!("{} {}", rule.why, rule.ask) },
                "defaultConfiguration": { "level": sarif_level(rule.severity) },
                "properties": {
                    "tags": ["security", rule.family],
                    "owasp-agentic-skills": rule.owasp,
                    "security-severity": security_severity(rule.severity),
                },
            })
        };
        self.rules.rules().iter().map(rule).collect()
    }

    pub(crate) fn sarif_results(&self) -> Vec<Value> {
        let mut results = Vec::new();
        for skill in &self.skills {
            results.extend(skill.report.findings.iter().map(|it| sarif_result(skill, it)));
            results.extend(skill.silenced.iter().map(|silenced| {
                let mut result = sarif_result(skill, &silenced.finding);
                result["suppressions"] =
                    json!([{ "kind": "external", "justification": silenced.reason }]);
                result
            }));
        }
        results
    }

    pub(crate) fn github(&self, out: &mut impl Write, show: Severity) -> io::Result<()> {
        for skill in &self.skills {
            for finding in skill.report.at_least(show) {
                let level = match finding.severity {
                    Severity::Critical | Severity::High => Level::Error,
                    Severity::Medium => Level::Warning,
                    Severity::Low | Severity::Info => Level::Info,
                };
                let file = place(&skill.name, finding.file());
                let first = finding.evidence.first();
                let lines = first.and_then(|it| Some((it.line?, it.end_line?)));
                let ask = self.rules.rule(&finding.rule).map_or("", |rule| &rule.ask);
                let message = format!("{} {ask}", finding.title);
                report::github_lines(out, level, &file, lines, &finding.rule, &message)?;
            }
        }
        out.flush()
    }
}

impl ScanOutput<'_> {
    /// One line for each finding.
    fn concise(&self, out: &mut impl Write, show: Severity) -> io::Result<()> {
        for skill in &self.skills {
            for finding in skill.report.at_least(show) {
                let file = printable(&place(&skill.name, finding.file()));
                let line = finding.evidence.first().and_then(|it| it.line);
                let line = line.map_or(String::new(), |line| format!("{line}:"));
                let severity = finding.severity.as_str();
                writeln!(out, "{file}:{line} {severity}[{}]: {}", finding.rule, finding.title)?;
            }
        }
        out.flush()
    }
}

/// The path of a file of a skill, as the user knows it.
fn place(skill: &str, file: &str) -> String {
    match skill {
        "" | "." => file.to_owned(),
        skill => format!("{}/{file}", skill.trim_end_matches('/')),
    }
}

fn write_evidence(
    out: &mut impl Write,
    skill: &ScannedSkill,
    evidence: &Evidence,
) -> io::Result<()> {
    let path = printable(&place(&skill.name, &evidence.file));
    let line = evidence.line.map_or_else(String::new, |line| format!(":{line}"));
    let step = evidence.step.as_ref().map_or_else(String::new, |step| format!(" {step}:"));
    writeln!(out, "  {path}{line}:{step}")?;
    for text in evidence.text.lines().take(4) {
        writeln!(out, "    {FAINT}|{FAINT:#} {}", printable(text.trim_end()))?;
    }
    if let Some(decoded) = &evidence.decoded {
        let by: Vec<_> = evidence.encodings.iter().map(|encoding| encoding.as_str()).collect();
        let by = if by.is_empty() {
            "read as".to_owned()
        } else {
            format!("decoded, {}", by.join(", "))
        };
        for text in decoded.lines().take(4) {
            writeln!(out, "    {WARNING}{by}{WARNING:#}: {}", printable(text.trim_end()))?;
        }
    }
    Ok(())
}

fn write_ledger(out: &mut impl Write, skill: &ScannedSkill) -> io::Result<()> {
    writeln!(out, "{STRONG}{}{STRONG:#} reaches out to:", printable(&skill.name))?;
    for entry in skill.report.ledger.all() {
        if entry.kind == LedgerKind::Url {
            continue;
        }
        let (kind, value) = (entry.kind.as_str(), printable(&entry.value));
        let place = printable(&format!("{}:{}", entry.file, entry.line));
        writeln!(out, "  {kind:<9} {value}  {FAINT}{place}{FAINT:#}")?;
    }
    for signature in skill.report.ledger.signatures() {
        let signature = printable(signature);
        writeln!(out, "  {FAINT}{signature} is a signature; what it states is left out{FAINT:#}")?;
    }
    if skill.report.ledger.left_out() > 0 {
        writeln!(out, "  {FAINT}and {} more{FAINT:#}", skill.report.ledger.left_out())?;
    }
    Ok(())
}

fn write_since(out: &mut impl Write, since: &SinceVersion) -> io::Result<()> {
    let name = printable(&since.skill);
    if since.findings.is_empty() && since.ledger.is_empty() {
        return writeln!(out, "{STRONG}{name}{STRONG:#}: this version does nothing new.");
    }
    for finding in &since.findings {
        let place = printable(finding.file());
        writeln!(out, "{ADDED}new{ADDED:#}  {}[{}] in {place}", finding.severity, finding.rule)?;
    }
    for entry in since.ledger.added.iter().filter(|entry| entry.kind != LedgerKind::Url) {
        let place = printable(&format!("{}:{}", entry.file, entry.line));
        let (verb, value) = (entry.kind.verb(), printable(&entry.value));
        writeln!(out, "{ADDED}new{ADDED:#}  This version newly {verb} `{value}` ({place}).")?;
    }
    for entry in since.ledger.removed.iter().filter(|entry| entry.kind != LedgerKind::Url) {
        let (verb, value) = (entry.kind.verb(), printable(&entry.value));
        writeln!(out, "{REMOVED}gone{REMOVED:#} This version no longer {verb} `{value}`.")?;
    }
    Ok(())
}

fn sarif_level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

/// The number by which code scanners sort.
fn security_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.0",
        Severity::Low => "2.0",
        Severity::Info => "0.0",
    }
}

fn sarif_result(skill: &ScannedSkill, finding: &ScanFinding) -> Value {
    let location = |evidence: &Evidence| {
        let uri = report::sarif_uri(&place(&skill.name, &evidence.file));
        let mut place = json!({ "artifactLocation": { "uri": uri } });
        if let (Some(first), Some(last)) = (evidence.line, evidence.end_line) {
            place["region"] = json!({ "startLine": first, "endLine": last });
        }
        let mut location = json!({ "physicalLocation": place });
        if let Some(step) = &evidence.step {
            location["message"] = json!({ "text": step });
        }
        location
    };
    let decoded = finding.evidence.iter().find_map(|evidence| evidence.decoded.as_deref());
    let text = match decoded {
        Some(decoded) => format!("{} It reads: {}", finding.title, printable(decoded)),
        None => finding.title.clone(),
    };
    let mut result = json!({
        "ruleId": finding.rule,
        "level": sarif_level(finding.severity),
        "message": { "text": text },
        "locations": finding.evidence.iter().take(1).map(location).collect::<Vec<_>>(),
        "properties": { "severity": finding.severity, "usage": finding.usage },
    });
    if finding.evidence.iter().any(|evidence| evidence.step.is_some()) {
        let steps = finding.evidence.iter().map(|it| json!({ "location": location(it) }));
        let steps: Vec<_> = steps.collect();
        result["codeFlows"] = json!([{ "threadFlows": [{ "locations": steps }] }]);
    } else if finding.evidence.len() > 1 {
        result["relatedLocations"] = finding.evidence.iter().skip(1).map(location).collect();
    }
    result
}

/// Prints the entries that silence the findings of a rule.
pub(super) fn silence_entries(skills: &[ScannedSkill], rule: &str, reason: &str) -> Outcome {
    let mut out = prose::stdout();
    let mut count = 0;
    let mut printed = std::collections::BTreeSet::new();
    for skill in skills {
        for finding in skill.report.findings.iter().filter(|finding| finding.rule == rule) {
            let located = |file: &str| Some((place(&skill.base, file), *skill.digests.get(file)?));
            let Some(entry) = Silences::entry(finding, reason, located) else { continue };
            if printed.insert(entry.clone()) {
                writeln!(out, "{entry}")?;
                count += 1;
            }
        }
    }
    if count == 0 {
        return Err(Failure::usage(format!("No finding has the rule `{}`.", rule.escape_debug()))
            .hint("`skillwire scan` prints the rule of each finding in brackets."));
    }
    Ok(Exit::Ok)
}
