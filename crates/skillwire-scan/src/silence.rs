//! Findings that a reviewer looked at and accepts, with the reason, in a file that others see.

use serde::{Deserialize, Serialize};
use skillwire_core::Digest;

use crate::{ScanFinding, ScanReport, archive};

/// Silences of findings.
#[derive(Debug, Clone, Default)]
pub struct Silences {
    entries: Vec<SilenceEntry>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SilenceEntry {
    rule: String,
    /// The file, relative to the folder that the silences are in.
    file: String,
    /// The digest of the file that the reviewer looked at.
    content: String,
    reason: String,
}

/// A finding that is silenced, or whose silence ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SilencedFinding {
    /// The finding.
    #[serde(flatten)]
    pub finding: ScanFinding,
    /// Why a reviewer accepts it.
    pub reason: String,
}

/// Silences that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
#[non_exhaustive]
pub struct InvalidSilences {
    /// What is wrong.
    pub problem: String,
}

#[derive(Deserialize, Default)]
struct SilenceFile {
    #[serde(default)]
    scan: ScanTable,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct ScanTable {
    #[serde(default)]
    silence: Vec<SilenceEntry>,
}

impl Silences {
    /// Reads the entries `[[scan.silence]]` of a TOML file; other tables are for other readers.
    pub fn parse(text: &str) -> Result<Self, InvalidSilences> {
        let invalid = |problem: String| InvalidSilences { problem };
        let file: SilenceFile = toml::from_str(text).map_err(|error| invalid(error.to_string()))?;
        for entry in &file.scan.silence {
            if entry.reason.trim().is_empty() {
                return Err(invalid(format!("The silence of `{}` has no reason.", entry.rule)));
            }
            if entry.content.parse::<Digest>().is_err() {
                let problem = format!("`{}` is not a digest such as `sha256:…`.", entry.content);
                return Err(invalid(problem));
            }
        }
        Ok(Self { entries: file.scan.silence })
    }

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes silenced findings out of a report.
    ///
    /// `located` says where a file of the skill lies, relative to the folder of the silences, and
    /// what its digest is. A silence holds for exactly that content: when the file changes, or any
    /// file that the finding rests on, it ends.
    pub fn apply(
        &self,
        report: &mut ScanReport,
        located: impl Fn(&str) -> Option<(String, Digest)>,
    ) -> Vec<SilencedFinding> {
        let mut silenced = Vec::new();
        if self.entries.is_empty() {
            return silenced;
        }
        let reason = |finding: &ScanFinding| {
            let (path, digest) = content_of(finding, &located)?;
            let entry = self.entries.iter().find(|entry| {
                entry.rule == finding.rule
                    && entry.file.trim_start_matches("./") == path.trim_start_matches("./")
                    && entry.content == digest.to_string()
            });
            entry.map(|entry| entry.reason.clone())
        };
        let mut left = Vec::with_capacity(report.findings.len());
        for finding in report.findings.drain(..) {
            match reason(&finding) {
                Some(reason) => silenced.push(SilencedFinding { finding, reason }),
                None => left.push(finding),
            }
        }
        report.findings = left;
        silenced
    }

    /// The entry that would silence a finding; `located` is as for [`apply`](Self::apply).
    pub fn entry(
        finding: &ScanFinding,
        reason: &str,
        located: impl Fn(&str) -> Option<(String, Digest)>,
    ) -> Option<String> {
        let (path, content) = content_of(finding, &located)?;
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        Some(format!(
            "[[scan.silence]]\nrule = {}\nfile = {}\ncontent = \"{content}\"\nreason = {}\n",
            quoted(&finding.rule),
            quoted(&path),
            quoted(reason)
        ))
    }
}

/// The file that a finding points at, and a digest of every file that it rests on.
fn content_of(
    finding: &ScanFinding,
    located: impl Fn(&str) -> Option<(String, Digest)>,
) -> Option<(String, Digest)> {
    // What is in an archive has no digest of its own: the archive has.
    let file = |path| if located(path).is_some() { path } else { archive::outer(path) };
    let (path, digest) = located(file(finding.file()))?;
    let mut files: Vec<&str> = finding.evidence.iter().map(|it| file(&it.file)).collect();
    files.sort_unstable();
    files.dedup();
    if files.len() <= 1 {
        return Some((path, digest));
    }
    let digests: Option<Vec<_>> =
        files.iter().map(|file| located(file).map(|(_, digest)| digest.to_string())).collect();
    Some((path, Digest::of(digests?.join("\n").as_bytes())))
}
