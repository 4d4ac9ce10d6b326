//! `skillwire scan`: says what skills would do.

mod cache;
mod explain;
mod folder;
mod report;
#[cfg(feature = "host")]
mod served;

use std::path::Path;

pub(crate) use self::{
    cache::ScanCache,
    report::{ScanOutput, ScannedSkill},
};
use self::{folder::ScanFolder, report::SinceVersion};
use skillwire_scan::{RuleSet, ScanFinding, Severity, Silences, SkillFiles, scan};

use super::Outcome;
use crate::{
    args::{ScanArgs, SeverityArg},
    failure::Failure,
    progress::StepLine,
    report::printable,
};

/// The most bytes of a file of rules.
const MOST_RULE_BYTES: u64 = 1 << 20;

pub(super) fn run(args: &ScanArgs) -> Outcome {
    if let Some(rule) = &args.explain {
        return explain::run(rule, Rules::load(&args.rules)?.set());
    }
    let rules = Rules::load(&args.rules)?;
    let cache = ScanCache::open(args.no_cache, rules.set());
    let scanner = SkillScanner { rules: rules.set(), cache: &cache };
    let (paths, named): (Vec<_>, Vec<_>) =
        args.targets.iter().partition(|target| Path::new(target.as_str()).exists());
    let mut skills = Vec::new();
    for path in paths {
        skills.extend(scanner.folder(path)?);
    }
    if !named.is_empty() {
        skills.extend(scan_served(&scanner, &named, args)?);
    }
    if let Some(rule) = &args.silence {
        return report::silence_entries(&skills, rule, args.reason.as_deref().unwrap_or_default());
    }
    let since = match &args.since {
        Some(name) => {
            let before = if Path::new(name).exists() {
                scanner.folder(name)?
            } else {
                scan_served(&scanner, &[name], args)?
            };
            Some(SinceVersion::between(&skills, &before)?)
        }
        None => None,
    };
    let output = ScanOutput { skills, rules: rules.set(), since };
    let exit = output.exit(args.fail_on.severity());
    match output.write(args.format(), args.show.severity(), args.ledger) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(exit),
        written => Ok(written.map(|()| exit)?),
    }
}

#[cfg(feature = "host")]
fn scan_served(
    scanner: &SkillScanner<'_>,
    named: &[&String],
    args: &ScanArgs,
) -> Result<Vec<ScannedSkill>, Failure> {
    served::scan_named(scanner, named, args)
}

#[cfg(not(feature = "host"))]
fn scan_served(
    _: &SkillScanner<'_>,
    named: &[&String],
    _: &ScanArgs,
) -> Result<Vec<ScannedSkill>, Failure> {
    let first = named.first().map_or("", |name| name.as_str());
    Err(Failure::new(
        crate::exit::Exit::NotFound,
        format!("There is no `{}`.", first.escape_debug()),
    ))
}

/// Scans the folders of skills below paths, for other commands.
pub(crate) fn scan_paths(paths: &[String]) -> Result<ScanOutput<'static>, Failure> {
    let rules = RuleSet::built_in();
    let cache = ScanCache::open(false, rules);
    let scanner = SkillScanner { rules, cache: &cache };
    let mut skills = Vec::new();
    for path in paths {
        skills.extend(scanner.folder(path)?);
    }
    Ok(ScanOutput { skills, rules, since: None })
}

/// A finding of some files that has this severity or a worse one, as a sentence. Findings that are silenced
/// beside the folder that the files are from do not count.
pub(crate) fn worst(
    files: &SkillFiles,
    severity: Severity,
    folder: Option<&str>,
) -> Option<String> {
    let rules = RuleSet::built_in();
    let mut report = ScanCache::open(false, rules).get_or(files, || scan(files, rules));
    report.at_least(severity).next()?;
    if let Some(folder) = folder {
        folder::silence_beside(folder, files, &mut report);
    }
    report.at_least(severity).next().map(finding_line)
}

/// A finding in one line: how bad it is, by which rule, where, and what.
pub(crate) fn finding_line(finding: &ScanFinding) -> String {
    let place = finding.line().map_or_else(String::new, |line| format!(":{line}"));
    format!(
        "{}[{}] {}{place}: {}",
        finding.severity,
        finding.rule,
        printable(finding.file()),
        finding.title
    )
}

/// What scans skills with one set of rules.
struct SkillScanner<'a> {
    rules: &'a RuleSet,
    cache: &'a ScanCache,
}

impl SkillScanner<'_> {
    /// Scans every skill below a path, on every core.
    fn folder(&self, path: &str) -> Result<Vec<ScannedSkill>, Failure> {
        let folder = ScanFolder::open(path)?;
        let beside = folder.silences()?;
        let line = StepLine::new("Scanning", folder.len());
        let scanned = folder.each(|found| {
            line.step(found.name());
            let files = found.read();
            let mut report = self.files(&files);
            let digests = report::digests(&files);
            let located = |file: &str| {
                let path = found.beside_silences(file, &beside)?;
                Some((path, *digests.get(file)?))
            };
            let silenced = beside.entries.apply(&mut report, located);
            ScannedSkill {
                name: found.name().to_owned(),
                base: beside.base_of(found),
                report,
                silenced,
                digests,
            }
        });
        Ok(scanned)
    }

    /// Scans the files of one skill, or returns what an earlier scan of the same bytes found.
    fn files(&self, files: &SkillFiles) -> skillwire_scan::ScanReport {
        self.cache.get_or(files, || scan(files, self.rules))
    }
}

/// The rules of one run.
enum Rules {
    BuiltIn,
    Extended(Box<RuleSet>),
}

impl Rules {
    /// Reads the user's rules and tries their examples: a rule that does not do what its examples say
    /// would be trusted for nothing.
    fn load(folders: &[std::path::PathBuf]) -> Result<Self, Failure> {
        let mut files = Vec::new();
        for folder in folders {
            let unreadable = |error: std::io::Error| {
                Failure::usage(format!("`{}` cannot be read.", folder.display())).because(error)
            };
            let mut paths: Vec<_> = std::fs::read_dir(folder)
                .and_then(|entries| entries.map(|entry| entry.map(|it| it.path())).collect())
                .map_err(unreadable)?;
            paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
            paths.sort();
            if paths.is_empty() {
                let message = format!("There are no rules in `{}`.", folder.display());
                return Err(Failure::usage(message).hint("Rules are in files named `*.toml`."));
            }
            for path in paths {
                let text = read_small(&path).map_err(unreadable)?;
                files.push((path.display().to_string(), text));
            }
        }
        if files.is_empty() {
            return Ok(Self::BuiltIn);
        }
        let set = RuleSet::with_files(&files).map_err(|error| {
            Failure::usage("A rule cannot be used.").because(error).hint(
                "`docs/scanning.md` describes the format, and the rules of the program are examples.",
            )
        })?;
        if let Some(broken) = set.check_examples().first() {
            let expected = match broken.kind {
                skillwire_scan::ExampleKind::Match => "should match and does not",
                skillwire_scan::ExampleKind::Pass => "should not match and does",
            };
            let message = format!("The rule `{}` has an example that {expected}.", broken.rule);
            return Err(Failure::usage(message).hint(format!("The example is: {}", broken.text)));
        }
        Ok(Self::Extended(Box::new(set)))
    }

    fn set(&self) -> &RuleSet {
        match self {
            Self::BuiltIn => RuleSet::built_in(),
            Self::Extended(set) => set,
        }
    }
}

/// Reads a small regular file.
fn read_small(path: &Path) -> std::io::Result<String> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > MOST_RULE_BYTES {
        return Err(std::io::Error::other("it is not a small regular file"));
    }
    std::fs::read_to_string(path)
}

/// The silences that hold for a folder, and the folder that their paths are relative to.
#[derive(Default)]
struct FolderSilences {
    base: std::path::PathBuf,
    entries: Silences,
}

impl SeverityArg {
    /// The scanner's severity.
    pub(crate) fn severity(self) -> Severity {
        match self {
            Self::Info => Severity::Info,
            Self::Low => Severity::Low,
            Self::Medium => Severity::Medium,
            Self::High => Severity::High,
            Self::Critical => Severity::Critical,
        }
    }
}
