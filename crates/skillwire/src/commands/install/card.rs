//! Shows skills before they are installed, and what changed in them.

use std::io::{self, Write};

use serde_json::Value;
use skillwire_core::{
    Level,
    visible::{one_line, one_line_within},
};
use skillwire_install::{BundledFile, SkillBundle};

use super::diff;
use crate::{
    output::{FAINT, STRONG, WARNING, counted},
    report,
};

/// The longest value of the frontmatter that is shown whole.
const MAX_VALUE_CHARS: usize = 600;

/// The most files that are named.
const MAX_FILES: usize = 50;

/// The largest file whose lines are compared.
const MAX_COMPARED: usize = 1 << 20;

/// Writes what a skill is, its files, and what is to be said about it.
pub(super) fn write(out: &mut impl Write, bundle: &SkillBundle, from: &str) -> io::Result<()> {
    writeln!(out, "{STRONG}{}{STRONG:#}  from {}", bundle.name(), one_line(from))?;
    for (key, value) in bundle.frontmatter().fields() {
        if key == "name" {
            continue;
        }
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let value = one_line_within(&text, MAX_VALUE_CHARS);
        writeln!(out, "  {FAINT}{}{FAINT:#}  {value}", one_line(key))?;
    }
    let files = bundle.files();
    writeln!(out, "  {}, {}", counted(files.len(), "file"), size(bundle.size()))?;
    for file in files.iter().take(MAX_FILES) {
        let runs = if file.executable { "  can be run" } else { "" };
        let path = one_line(file.path.as_str());
        writeln!(out, "  {FAINT}{:>9}{FAINT:#}  {path}{runs}", size(file.bytes.len() as u64))?;
    }
    if files.len() > MAX_FILES {
        writeln!(out, "  {FAINT}and {} more{FAINT:#}", files.len() - MAX_FILES)?;
    }
    for finding in bundle.findings().iter().filter(|finding| finding.level >= Level::Warning) {
        report::finding(out, finding)?;
    }
    scanned(out, bundle, None)
}

fn size(bytes: u64) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} B"),
        10_000..=9_999_999 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// Writes how the files differ from those that were installed.
pub(super) fn changes(
    out: &mut impl Write,
    before: &[BundledFile],
    bundle: &SkillBundle,
) -> io::Result<()> {
    let find = |files: &[BundledFile], file: &BundledFile| {
        files.iter().find(|other| other.path == file.path).cloned()
    };
    let gone = before.iter().filter(|file| find(bundle.files(), file).is_none());
    for file in gone {
        difference(out, file, Some(file), None)?;
    }
    for file in bundle.files() {
        let old = find(before, file);
        if old.as_ref().map(|old| &old.bytes) != Some(&file.bytes) {
            difference(out, file, old.as_ref(), Some(file))?;
        }
        if old.is_some_and(|old| old.executable != file.executable) {
            let now = if file.executable { "can be run now" } else { "can no longer be run" };
            writeln!(out, "{WARNING}{} {now}.{WARNING:#}", one_line(file.path.as_str()))?;
        }
    }
    scanned(out, bundle, Some(before))
}

fn difference(
    out: &mut impl Write,
    file: &BundledFile,
    before: Option<&BundledFile>,
    after: Option<&BundledFile>,
) -> io::Result<()> {
    let path = file.path.as_str();
    let text = |file: Option<&BundledFile>| match file {
        None => Some(String::new()),
        Some(file) if file.bytes.len() > MAX_COMPARED => None,
        Some(file) => std::str::from_utf8(&file.bytes).ok().map(str::to_owned),
    };
    if let (Some(before), Some(after)) = (text(before), text(after)) {
        return diff::content(out, path, &before, &after, true);
    }
    let bytes = |file: Option<&BundledFile>| {
        file.map_or_else(|| "nothing".to_owned(), |file| size(file.bytes.len() as u64))
    };
    writeln!(
        out,
        "{WARNING}{}{WARNING:#} is not text or too large to compare: {} before, {} now.",
        one_line(path),
        bytes(before),
        bytes(after)
    )
}

/// Writes what the scanner finds, or finds only now.
#[cfg(feature = "scan")]
fn scanned(
    out: &mut impl Write,
    bundle: &SkillBundle,
    before: Option<&[BundledFile]>,
) -> io::Result<()> {
    use skillwire_scan::{RuleSet, Severity, SkillFiles, scan};

    use crate::commands::scan::finding_line;

    /// The most findings that are named.
    const MOST: usize = 8;
    let report = |files: &[BundledFile]| {
        let mut given = SkillFiles::new();
        for file in files {
            given.add(file.path.as_str(), file.bytes.clone());
        }
        scan(&given, RuleSet::built_in())
    };
    let now = report(bundle.files());
    let earlier = report(before.unwrap_or_default());
    let serious: Vec<_> =
        now.new_since(&earlier).filter(|finding| finding.severity >= Severity::Medium).collect();
    let since = if before.is_some() { "New since it was installed" } else { "The scanner found" };
    for finding in serious.iter().take(MOST) {
        writeln!(out, "{WARNING}{since}{WARNING:#}: {}", finding_line(finding))?;
    }
    if serious.len() > MOST {
        writeln!(out, "{WARNING}and {} more{WARNING:#}", serious.len() - MOST)?;
    }
    Ok(())
}

#[cfg(not(feature = "scan"))]
#[expect(clippy::unnecessary_wraps, reason = "the other build writes")]
fn scanned(_: &mut impl Write, _: &SkillBundle, _: Option<&[BundledFile]>) -> io::Result<()> {
    Ok(())
}
